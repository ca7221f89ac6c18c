# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Vectors and quaternions as values, for kernels: tuples of floats in, tuples of floats out.

Quaternions are Hamilton, unit, `(w, x, y, z)`, active: `q_a_b` maps vectors from b coordinates
into a. `vec3` and `quat` read a row of an array; `copy(v, a[:])` writes one and compiles ten times
as fast as `a[:] = v`.
"""

import math

import numpy as np
from puppet_core.math.compiled import kernel

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]  # Hamilton (w, x, y, z), unit
Vec3Like = Vec3 | np.ndarray  # or a row of an array
QuatLike = Quat | np.ndarray
IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)

SMALL_ANGLE = 1e-4  # [rad]; below it the Taylor series err by less than 1e-17 relative
NEARLY_OPPOSITE = 1e-3  # [-]; half-angle cosine below which the axis of `between` is cleaned


@kernel
def vec3(row: Vec3Like) -> Vec3:
    """Return an array of shape (3,) as a value."""
    return row[0], row[1], row[2]


@kernel
def quat(row: QuatLike) -> Quat:
    """Return an array of shape (4,) as a value."""
    return row[0], row[1], row[2], row[3]


@kernel
def add(a: Vec3Like, b: Vec3Like) -> Vec3:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def sub(a: Vec3Like, b: Vec3Like) -> Vec3:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def scale(a: Vec3Like, factor: float) -> Vec3:
    return a[0] * factor, a[1] * factor, a[2] * factor


@kernel
def lerp(a: Vec3Like, b: Vec3Like, t: float) -> Vec3:
    """Return the point a fraction t of the way from a to b."""
    return add(a, scale(sub(b, a), t))


@kernel
def dot(a: Vec3Like, b: Vec3Like) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vec3Like, b: Vec3Like) -> Vec3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def norm(a: Vec3Like) -> float:
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def normalized(a: Vec3Like) -> Vec3:
    """Return a divided by its length, NaN if that is zero."""
    length = norm(a)
    return a[0] / length, a[1] / length, a[2] / length


@kernel
def clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


@kernel
def ease(w: float) -> float:
    """Return 3 w^2 - 2 w^3."""
    return w * w * (3.0 - 2.0 * w)


@kernel
def smooth_ramp(value: float, width: float) -> float:
    """Return 0 up to 0 and value - width / 2 from the width on, without a kink between them."""
    if value <= 0.0:
        return 0.0
    return value * value / (2.0 * width) if value < width else value - 0.5 * width


@kernel
def multiply(a: QuatLike, b: QuatLike) -> Quat:
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def conjugate(q: QuatLike) -> Quat:
    return q[0], -q[1], -q[2], -q[3]


@kernel
def rotate(q: QuatLike, v: Vec3Like) -> Vec3:
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
def rotate_inverse(q: QuatLike, v: Vec3Like) -> Vec3:
    return rotate(conjugate(q), v)


@kernel
def normalize(q: QuatLike) -> Quat:
    """Return q divided by its length; four NaN if that is zero or not finite."""
    length = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    factor = 1.0 / length if 0.0 < length < math.inf else math.nan
    return q[0] * factor, q[1] * factor, q[2] * factor, q[3] * factor


@kernel
def exp(rotvec: Vec3Like) -> Quat:
    """Return the rotation by a vector whose length is the full angle [rad]."""
    square = dot(rotvec, rotvec)
    angle = math.sqrt(square)
    if angle < SMALL_ANGLE:
        factor, w = 0.5 - square / 48.0, 1.0 - square / 8.0
    else:
        factor, w = math.sin(0.5 * angle) / angle, math.cos(0.5 * angle)
    return w, factor * rotvec[0], factor * rotvec[1], factor * rotvec[2]


@kernel
def log(q: QuatLike) -> Vec3:
    """Return the shortest rotation vector of q, at most pi long [rad]."""
    sign = 1.0 if q[0] >= 0.0 else -1.0
    sine, cosine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), sign * q[0]
    if sine < SMALL_ANGLE:
        # 2 atan(s/c)/s to third order; a NaN in w must not get lost where s is zero
        ratio = sine / cosine if cosine != 0.0 else math.nan
        factor = 2.0 / cosine * (1.0 - ratio * ratio / 3.0) if cosine != 0.0 else math.nan
    else:
        factor = 2.0 * math.atan2(sine, cosine) / sine
    factor *= sign
    return factor * q[1], factor * q[2], factor * q[3]


@kernel
def between(u: Vec3Like, v: Vec3Like) -> Quat:
    """
    Return the least rotation that turns the direction of u into that of v.

    Shin2002 eqs. 5.11 and 5.13 with the axis u x v (errata 8: printed the wrong way round).
    Opposite vectors leave the axis free: any one square to u is taken. A zero vector gives
    the identity.
    """
    u_length, v_length = norm(u), norm(v)
    if u_length == 0.0 or v_length == 0.0:
        return 1.0, 0.0, 0.0, 0.0
    ux, uy, uz = u[0] / u_length, u[1] / u_length, u[2] / u_length
    vx, vy, vz = v[0] / v_length, v[1] / v_length, v[2] / v_length
    # |u + v| = 2 cos(angle / 2), exact also where 1 + u.v has cancelled
    cosine = 0.5 * math.sqrt((ux + vx) ** 2 + (uy + vy) ** 2 + (uz + vz) ** 2)
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if cosine > NEARLY_OPPOSITE:
        factor = 0.5 / cosine
        return cosine, factor * x, factor * y, factor * z
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
    factor = math.sqrt((1.0 - cosine * cosine) / (x * x + y * y + z * z))
    return cosine, factor * x, factor * y, factor * z


@kernel
def angle_between(a: QuatLike, b: QuatLike) -> float:
    """Return the angle of the rotation from a to b, in [0, pi] [rad]."""
    w, x, y, z = multiply(conjugate(a), b)
    return 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


@kernel
def align_sign(reference: QuatLike, q: QuatLike) -> Quat:
    """Return q or -q, whichever is nearer to `reference`."""
    along = reference[0] * q[0] + reference[1] * q[1] + reference[2] * q[2] + reference[3] * q[3]
    sign = -1.0 if along < 0.0 else 1.0
    return sign * q[0], sign * q[1], sign * q[2], sign * q[3]


@kernel
def slerp(a: QuatLike, b: QuatLike, t: float) -> Quat:
    """
    Return the rotation a fraction t of the short way from a to b.

    Shin2002 eq. 5.14 is this with t = w; the short way round is errata 11. For rotations
    exactly half a turn apart either way is short, and the one of b's own sign is taken.
    """
    along = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    sign = -1.0 if along < 0.0 else 1.0
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
    factor = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return factor * w, factor * x, factor * y, factor * z
