# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors, quaternions, small linear systems, and how kernels are compiled by numba."""

from puppet_core.math import quaternion, quaternions
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
from puppet_core.math.compiled import copy, kernel, pack_arrays, work_array, work_table
from puppet_core.math.critically_damped import follow
from puppet_core.math.linear_system import factorise_in_place, solve_factorised, solve_in_place
from puppet_core.math.quaternion import (
    align_sign,
    angle_between,
    between,
    between_rows,
    conjugate,
    continuous_rows,
    exp,
    log,
    multiply,
    normalize,
    rotate,
    rotate_inverse,
    slerp,
)
from puppet_core.math.quaternions import from_matrix, to_matrix

__all__ = [
    'Floats',
    'Ints',
    'Mat6',
    'Quat',
    'Quats',
    'Vec3',
    'Vec3s',
    'align_sign',
    'angle_between',
    'between',
    'between_rows',
    'check_array',
    'check_shape',
    'conjugate',
    'continuous_rows',
    'copy',
    'exp',
    'factorise_in_place',
    'follow',
    'from_matrix',
    'frozen',
    'kernel',
    'log',
    'multiply',
    'normalize',
    'pack_arrays',
    'quaternion',
    'quaternions',
    'read_only',
    'rotate',
    'rotate_inverse',
    'slerp',
    'solve_factorised',
    'solve_in_place',
    'to_matrix',
    'work_array',
    'work_table',
]
