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
from puppet_core.math.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.math.compiled import kernel

SMALL_ANGLE = 1e-4  # [rad]; below it the Taylor series err by less than 1e-17 relative
NEARLY_OPPOSITE = 1e-3  # [-]; half-angle cosine below which the axis of `between` is cleaned


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
    angle_sq = rotvec[0] * rotvec[0] + rotvec[1] * rotvec[1] + rotvec[2] * rotvec[2]
    angle = math.sqrt(angle_sq)
    if angle < SMALL_ANGLE:
        scale = 0.5 - angle_sq / 48.0  # sin(a/2)/a
        w = 1.0 - angle_sq / 8.0
    else:
        scale = math.sin(0.5 * angle) / angle
        w = math.cos(0.5 * angle)
    x, y, z = scale * rotvec[0], scale * rotvec[1], scale * rotvec[2]
    out[0], out[1], out[2], out[3] = w, x, y, z


@kernel
def log(q: Quat, out: Vec3) -> None:
    """Write the shortest rotation vector of q, which is that of -q too, at most pi long [rad]."""
    sign = 1.0 if q[0] >= 0.0 else -1.0
    sine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    cosine = sign * q[0]
    if sine < SMALL_ANGLE:
        # 2 atan(s/c)/s to third order; a NaN in w must not get lost where s is zero
        ratio = sine / cosine if cosine != 0.0 else math.nan
        scale = 2.0 / cosine * (1.0 - ratio * ratio / 3.0) if cosine != 0.0 else math.nan
    else:
        scale = 2.0 * math.atan2(sine, cosine) / sine
    scale *= sign
    out[0], out[1], out[2] = scale * q[1], scale * q[2], scale * q[3]


@kernel
def align_sign(reference: Quat, q: Quat, out: Quat) -> None:
    """Write q or -q, whichever is nearer to `reference`."""
    dot = reference[0] * q[0] + reference[1] * q[1] + reference[2] * q[2] + reference[3] * q[3]
    sign = -1.0 if dot < 0.0 else 1.0
    out[0], out[1], out[2], out[3] = sign * q[0], sign * q[1], sign * q[2], sign * q[3]


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
    """
    Write the rotation a fraction t of the short way from a to b.

    Shin2002 eq. 5.14 is this with t = w; the short way round is errata 11. For rotations
    exactly half a turn apart either way is short, and the one of b's own sign is taken.

    """
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    sign = -1.0 if dot < 0.0 else 1.0
    s, u = 1.0 - t, t
    if t != 0.0 and t != 1.0:
        # half the rotation angle, from the chord and its complement: exact near 0 and near pi/2
        minus = 0.0
        plus = 0.0
        for i in range(4):
            minus += (sign * b[i] - a[i]) ** 2
            plus += (sign * b[i] + a[i]) ** 2
        half = 2.0 * math.atan2(math.sqrt(minus), math.sqrt(plus))
        if not half < SMALL_ANGLE:
            sine = math.sin(half)
            s, u = math.sin((1.0 - t) * half) / sine, math.sin(t * half) / sine
    u *= sign
    w, x = s * a[0] + u * b[0], s * a[1] + u * b[1]
    y, z = s * a[2] + u * b[2], s * a[3] + u * b[3]
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    out[0], out[1], out[2], out[3] = scale * w, scale * x, scale * y, scale * z


@kernel
def between(u: Vec3, v: Vec3, out: Quat) -> None:
    """
    Write the least rotation that turns the direction of u into that of v.

    Shin2002 eqs. 5.11 and 5.13 with the axis u x v (errata 8: printed the wrong way round).
    Opposite vectors leave the axis free: any one square to u is taken. A zero vector gives
    the identity.

    """
    u_length = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    v_length = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if u_length == 0.0 or v_length == 0.0:
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    ux, uy, uz = u[0] / u_length, u[1] / u_length, u[2] / u_length
    vx, vy, vz = v[0] / v_length, v[1] / v_length, v[2] / v_length
    # |u + v| = 2 cos(angle / 2), exact also where 1 + u.v has cancelled
    cosine = 0.5 * math.sqrt((ux + vx) ** 2 + (uy + vy) ** 2 + (uz + vz) ** 2)
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if cosine > NEARLY_OPPOSITE:
        scale = 0.5 / cosine
        out[0], out[1], out[2], out[3] = cosine, scale * x, scale * y, scale * z
        return
    if math.sqrt(x * x + y * y + z * z) < 1e-15:
        # no axis left: one square to u, made with u's smallest component
        if abs(ux) <= abs(uy) and abs(ux) <= abs(uz):
            x, y, z = 0.0, uz, -uy
        elif abs(uy) <= abs(uz):
            x, y, z = -uz, 0.0, ux
        else:
            x, y, z = uy, -ux, 0.0
    # the cross product of nearly opposite vectors is small and so not quite square to u
    along = x * ux + y * uy + z * uz
    x, y, z = x - along * ux, y - along * uy, z - along * uz
    scale = math.sqrt((1.0 - cosine * cosine) / (x * x + y * y + z * z))
    out[0], out[1], out[2], out[3] = cosine, scale * x, scale * y, scale * z


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
    """
    Write quaternions made unit, each with the sign that is nearer to its frame before.

    Parameters
    ----------
    q : ndarray, shape (n, k, 4)
        Quaternions of k joints over n frames, none of them zero.
    out : ndarray, shape (n, k, 4)
        Out.

    """
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            normalize(q[i, j], out[i, j])
            if i > 0:
                align_sign(out[i - 1, j], out[i, j], out[i, j])
