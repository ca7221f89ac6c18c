# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Vectors and quaternions as values, for kernels: tuples of floats in, tuples of floats out.

The conventions are those of `puppet_core.math.quaternion`. `vec3` and `quat` read a row of an
array; `a[0], a[1], a[2] = v` writes one.
"""

import math

import numpy as np
from puppet_core.math.compiled import kernel

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]  # Hamilton (w, x, y, z), unit
IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)


@kernel
def vec3(row: np.ndarray) -> Vec3:
    """Return an array of shape (3,) as a value."""
    return row[0], row[1], row[2]


@kernel
def quat(row: np.ndarray) -> Quat:
    """Return an array of shape (4,) as a value."""
    return row[0], row[1], row[2], row[3]


@kernel
def add(a: Vec3, b: Vec3) -> Vec3:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def sub(a: Vec3, b: Vec3) -> Vec3:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def scale(a: Vec3, factor: float) -> Vec3:
    """Return factor a."""
    return a[0] * factor, a[1] * factor, a[2] * factor


@kernel
def dot(a: Vec3, b: Vec3) -> float:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vec3, b: Vec3) -> Vec3:
    """Return the vector product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def norm(a: Vec3) -> float:
    """Return the length."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def normalized(a: Vec3) -> Vec3:
    """Return a divided by its length, NaN if that is zero."""
    length = norm(a)
    return a[0] / length, a[1] / length, a[2] / length


@kernel
def clamp(value: float, low: float, high: float) -> float:
    """Return the nearest number to `value` in low .. high."""
    return min(max(value, low), high)


@kernel
def multiply(a: Quat, b: Quat) -> Quat:
    """Return the Hamilton product a b."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def conjugate(q: Quat) -> Quat:
    """Return the inverse rotation."""
    return q[0], -q[1], -q[2], -q[3]


@kernel
def rotate(q: Quat, v: Vec3) -> Vec3:
    """Return v rotated by q."""
    # v + 2 w (u x v) + 2 u x (u x v), u the vector part
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    return (
        v[0] + q[0] * tx + q[2] * tz - q[3] * ty,
        v[1] + q[0] * ty + q[3] * tx - q[1] * tz,
        v[2] + q[0] * tz + q[1] * ty - q[2] * tx,
    )


@kernel
def rotate_inverse(q: Quat, v: Vec3) -> Vec3:
    """Return v rotated by the inverse of q."""
    return rotate(conjugate(q), v)
