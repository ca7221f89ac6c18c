# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One rotation as turns about one, two or three fixed axes, any axes in any order.

With half angles h, e_i = cos h_i + sin h_i a_i, and <q, e_1 e_2 ..> is the cosine of half the
angle that is left between q and the product. It is linear in (cos h_i, sin h_i) for each i:

- one axis: the greatest |m . u| over unit u = (cos h, sin h) is at u along m;
- two axes: the greatest |u1 M u2| is at the first singular vectors of the 2 x 2 matrix M;
- three axes: a1 . R a3 depends on the middle angle alone, A cos t + B sin t + C
  (PiovanBullo2012), which gives two angles, or the one that comes nearest to a1 . R a3 where
  the axes cannot reach R; with it the outer two are a case of two axes.

For one and two axes what comes out is the nearest rotation that they have. For three it is the
rotation itself where they have it, and else near it: `refine_angles` goes on from there.
(Kernels.)
"""

import math

import numpy as np
from puppet_core.math import Floats, kernel, Vec3s
from puppet_core.math.values import (
    angle_between,
    clamp,
    cross,
    dot,
    IDENTITY,
    multiply,
    Quat,
    rotate,
    vec3,
)

TINY = 1e-12  # [-]
SWEEPS = 12
SWEEP_TOL_RAD = 1e-7


@kernel
def axis_turn(axis: np.ndarray, angle: float) -> Quat:
    """Return the turn by an angle about a unit axis [rad]."""
    sine = math.sin(0.5 * angle)
    return math.cos(0.5 * angle), sine * axis[0], sine * axis[1], sine * axis[2]


@kernel
def _half_turn(axis: np.ndarray) -> Quat:
    return 0.0, axis[0], axis[1], axis[2]


@kernel
def _dot4(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@kernel
def compose_turns(axes: Vec3s, angles: Floats, first: int, end: int) -> Quat:
    """Return the product of the turns of joints first .. end - 1 in their order."""
    product = IDENTITY
    for i in range(first, end):
        product = multiply(product, axis_turn(axes[i], angles[i]))
    return product


@kernel
def best_angle(before: Quat, axis: np.ndarray, after: Quat, q: Quat, near: float) -> float:
    """Return the angle about an axis between two rotations that brings the product nearest q."""
    cosine = _dot4(q, multiply(before, after))
    sine = _dot4(q, multiply(multiply(before, _half_turn(axis)), after))
    if cosine * cosine + sine * sine < TINY:
        return near  # half a turn away whatever the angle
    return 2.0 * math.atan2(sine, cosine)


@kernel
def _two_angles(
    first: np.ndarray, middle: Quat, last: np.ndarray, q: Quat, near: float
) -> tuple[float, float]:
    """
    Return the angles about two axes, with a rotation between them, that come nearest to q.

    Where the two directions are one (both singular values equal) the first is `near`.
    """
    turned = multiply(_half_turn(first), middle)
    m00, m10 = _dot4(q, middle), _dot4(q, turned)
    m01 = _dot4(q, multiply(middle, _half_turn(last)))
    m11 = _dot4(q, multiply(turned, _half_turn(last)))
    # u1 M u2 = E cos(h1 - h2 - e) + F cos(h1 + h2 - f): greatest where both cosines are 1
    even_x, even_y = 0.5 * (m00 + m11), 0.5 * (m10 - m01)
    odd_x, odd_y = 0.5 * (m00 - m11), 0.5 * (m10 + m01)
    has_even = even_x * even_x + even_y * even_y > TINY
    has_odd = odd_x * odd_x + odd_y * odd_y > TINY
    difference, total = math.atan2(even_y, even_x), math.atan2(odd_y, odd_x)
    if has_even and has_odd:
        return total + difference, total - difference
    if has_even:
        return near, near - 2.0 * difference
    return near, 2.0 * total - near


@kernel
def _middle_angle(axes: Vec3s, first: int, q: Quat, family: int) -> float:
    """Return one of both middle angles that give three axes their a1 . R a3, PiovanBullo2012."""
    a, b, c = vec3(axes[first]), vec3(axes[first + 1]), vec3(axes[first + 2])
    constant = dot(a, b) * dot(b, c)
    cosine, sine = dot(a, c) - constant, dot(a, cross(b, c))
    size, phase = math.sqrt(cosine * cosine + sine * sine), math.atan2(sine, cosine)
    cosine_of_spread = (dot(a, rotate(q, c)) - constant) / max(size, TINY)
    spread = math.acos(clamp(cosine_of_spread, -1.0, 1.0))
    return phase + spread if family == 0 else phase - spread


@kernel
def turn_angles(
    axes: Vec3s, first: int, count: int, q: Quat, near: Floats, family: int
) -> tuple[float, float, float]:
    """
    Return the angles of one to three joints whose turns come nearest to a rotation [rad].

    Modulo whole turns, 0 for joints that are not there; `near` (n,) where any angle will do,
    `family` is which of the two solutions of three axes, 0 or 1.
    """
    if count == 1:
        return best_angle(IDENTITY, axes[first], IDENTITY, q, near[first]), 0.0, 0.0
    if count == 2:
        a, b = _two_angles(axes[first], IDENTITY, axes[first + 1], q, near[first])
        return a, b, 0.0
    middle = _middle_angle(axes, first, q, family)
    between = axis_turn(axes[first + 1], middle)
    a, b = _two_angles(axes[first], between, axes[first + 2], q, near[first])
    return a, middle, b


@kernel
def place_angle(angle: float, lower: float, upper: float, near: float) -> float:
    """Return the angle within limits that is nearest to one modulo whole turns, then to `near`."""
    turn = 2.0 * math.pi
    angle += turn * round((near - angle) / turn)
    if lower <= angle <= upper:
        return angle
    for k in (-1.0, 1.0, -2.0, 2.0):
        if lower <= angle + k * turn <= upper:
            return angle + k * turn
    below = (lower - angle) % turn
    above = (angle - upper) % turn
    return lower if below < above else upper


@kernel
def refine_angles(axes: Vec3s, q: Quat, lower: Floats, upper: Floats, angles: Floats) -> None:
    """
    Move the angles of some joints, (n,), each in turn, to the best that its limits allow.

    Each step is exact, the greatest of a sinusoid over an interval, so the angle that is left
    never grows.
    """
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(len(angles)):
            before = compose_turns(axes, angles, 0, i)
            after = compose_turns(axes, angles, i + 1, len(angles))
            best = best_angle(before, axes[i], after, q, angles[i])
            best = place_angle(best, lower[i], upper[i], angles[i])
            moved = max(moved, abs(best - angles[i]))
            angles[i] = best
        if moved < SWEEP_TOL_RAD:
            return


@kernel
def remaining_angle(q: Quat, axes: Vec3s, angles: Floats, first: int, count: int) -> float:
    """Return the angle between a rotation and the turns of some joints, in [0, pi] [rad]."""
    return angle_between(compose_turns(axes, angles, first, first + count), q)
