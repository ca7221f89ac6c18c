# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rotation kernels on single unit quaternions, and on arrays of them.

Hamilton convention, unit, `(w, x, y, z)`, active: `q_a_b` maps vectors from b coordinates
into a, and products read with inner names cancelling. Rotation vectors have the rotation
angle in radians as their length. Every function writes into `out`, which may be
one of its inputs. Unless noted otherwise the inputs must be unit quaternions.
"""

import math

from numba import guvectorize
from puppet_core.math import values
from puppet_core.math.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.math.compiled import kernel


@kernel
def multiply(a: Quat, b: Quat, out: Quat) -> None:
    """Write the Hamilton product a b; inputs need not be unit."""
    w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    out[0], out[1], out[2], out[3] = w, x, y, z


@kernel
def conjugate(q: Quat, out: Quat) -> None:
    """Write the inverse rotation."""
    out[0], out[1], out[2], out[3] = q[0], -q[1], -q[2], -q[3]


@kernel
def normalize(q: Quat, out: Quat) -> None:
    """Write q divided by its length; four NaN if that is zero or not finite."""
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    scale = 1.0 / norm if 0.0 < norm < math.inf else math.nan
    out[0], out[1], out[2], out[3] = q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@kernel
def rotate(q: Quat, v: Vec3, out: Vec3) -> None:
    """Write the vector v, shape (3,), rotated by q."""
    # v + 2 w (u x v) + 2 u x (u x v), u the vector part
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    x = v[0] + q[0] * tx + q[2] * tz - q[3] * ty
    y = v[1] + q[0] * ty + q[3] * tx - q[1] * tz
    z = v[2] + q[0] * tz + q[1] * ty - q[2] * tx
    out[0], out[1], out[2] = x, y, z


@kernel
def rotate_inverse(q: Quat, v: Vec3, out: Vec3) -> None:
    """Write the vector v, shape (3,), rotated by the inverse of q."""
    tx = 2.0 * (q[3] * v[1] - q[2] * v[2])
    ty = 2.0 * (q[1] * v[2] - q[3] * v[0])
    tz = 2.0 * (q[2] * v[0] - q[1] * v[1])
    x = v[0] + q[0] * tx - q[2] * tz + q[3] * ty
    y = v[1] + q[0] * ty - q[3] * tx + q[1] * tz
    z = v[2] + q[0] * tz - q[1] * ty + q[2] * tx
    out[0], out[1], out[2] = x, y, z


@kernel
def exp(rotvec: Vec3, out: Quat) -> None:
    """Write the rotation by the vector `rotvec`, whose length is the full angle [rad]."""
    out[0], out[1], out[2], out[3] = values.exp(rotvec)


@kernel
def log(q: Quat, out: Vec3) -> None:
    """Write the shortest rotation vector of q, which is that of -q too, at most pi long [rad]."""
    out[0], out[1], out[2] = values.log(q)


@kernel
def align_sign(reference: Quat, q: Quat, out: Quat) -> None:
    """Write q or -q, whichever is nearer to `reference`."""
    out[0], out[1], out[2], out[3] = values.align_sign(reference, q)


@kernel
def angle_between(a: Quat, b: Quat) -> float:
    """Return the angle of the rotation from a to b, in [0, pi] [rad]."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    return 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


@kernel
def slerp(a: Quat, b: Quat, t: float, out: Quat) -> None:
    """Write the rotation a fraction t of the short way from a to b; see `values.slerp`."""
    out[0], out[1], out[2], out[3] = values.slerp(a, b, t)


@kernel
def between(u: Vec3, v: Vec3, out: Quat) -> None:
    """Write the least rotation that turns the direction of u into that of v."""
    out[0], out[1], out[2], out[3] = values.between(u, v)


# Arrays of rotations.


@guvectorize(['f8[:], f8[:], f8[:]'], '(q),(q)->(q)', nopython=True, cache=True)
def multiply_all(a: Quat, b: Quat, out: Quat) -> None:
    """Write the Hamilton products a b; the last axis has four numbers."""
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]


@guvectorize(['f8[:], f8[:], f8[:]'], '(q),(v)->(v)', nopython=True, cache=True)
def rotate_all(q: Quat, v: Vec3, out: Vec3) -> None:
    """Write the vectors v rotated by q; the last axes have three and four numbers."""
    # v + 2 w (u x v) + 2 u x (u x v), u the vector part
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    out[0] = v[0] + q[0] * tx + (q[2] * tz - q[3] * ty)
    out[1] = v[1] + q[0] * ty + (q[3] * tx - q[1] * tz)
    out[2] = v[2] + q[0] * tz + (q[1] * ty - q[2] * tx)


@kernel
def between_rows(u: Vec3s, v: Vec3s, out: Quats) -> None:
    """Write the shortest rotations from unit vectors u to v, shapes (n, 3), as (n, 4)."""
    for i in range(len(out)):
        between(u[i], v[i], out[i])


@kernel
def continuous_rows(q: Quats, out: Quats) -> None:
    """Write unit quaternions (n, k, 4), each with the sign that is nearer to its frame before."""
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            normalize(q[i, j], out[i, j])
            if i > 0:
                align_sign(out[i - 1, j], out[i, j], out[i, j])
