# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors, quaternions, small linear systems, and how kernels are compiled by numba."""

from puppet_core.math import quaternions, values
from puppet_core.math.arrays import (
    check_array,
    check_shape,
    Floats,
    frozen,
    Ints,
    Mat6,
    Quat,
    Quats,
    read_only,
    Vec3,
    Vec3s,
)
from puppet_core.math.compiled import (
    array_kernel,
    copy,
    kernel,
    on_first_compilation,
    pack_arrays,
    work_array,
    work_table,
)
from puppet_core.math.critically_damped import follow
from puppet_core.math.linear_system import factorise_in_place, solve_factorised
from puppet_core.math.quaternions import (
    between_rows,
    continuous_rows,
    from_matrix,
    to_matrix,
    two_axis_matrix,
)
from puppet_core.math.values import (
    add,
    align_sign,
    angle_between,
    between,
    clamp,
    conjugate,
    cross,
    dot,
    exp,
    log,
    multiply,
    norm,
    normalized,
    quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    vec3,
)
