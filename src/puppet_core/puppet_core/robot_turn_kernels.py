# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One rotation as turns about one, two or three fixed axes, any axes in any order (kernel layer).

With half angles h, e_i = cos h_i + sin h_i a_i, and <q, e_1 e_2 ..> is the cosine of half the
angle that is left between q and the product. It is linear in (cos h_i, sin h_i) for each i:

- one axis: the greatest |m . u| over unit u = (cos h, sin h) is at u along m;
- two axes: the greatest |u1 M u2| is at the first singular vectors of the 2 x 2 matrix M;
- three axes: a1 . R a3 depends on the middle angle alone, A cos t + B sin t + C
  (PiovanBullo2012), which gives two angles, or the one that comes nearest to a1 . R a3 where
  the axes cannot reach R; with it the outer two are a case of two axes.

For one and two axes what comes out is the nearest rotation that they have. For three it is the
rotation itself where they have it, and else near it: `refine_angles` goes on from there.

"""

import math

from puppet_core.arrays import Floats, Quat, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import conjugate, multiply, rotate
from puppet_core.work_array import work_array, work_table

TINY = 1e-12  # [-]
SWEEPS = 12
SWEEP_TOL_RAD = 1e-7


@kernel
def axis_turn(axis: Vec3, angle: float, out: Quat) -> None:
    """Write the turn by an angle about a unit axis [rad]."""
    sine = math.sin(0.5 * angle)
    out[0] = math.cos(0.5 * angle)
    out[1], out[2], out[3] = sine * axis[0], sine * axis[1], sine * axis[2]


@kernel
def _dot4(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@kernel
def _dot3(a: Vec3, b: Vec3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def compose_turns(axes: Vec3s, angles: Floats, first: int, end: int, out: Quat) -> None:
    """Write the product of the turns of joints first .. end - 1 in their order."""
    turn, product = work_array(4), work_array(4)
    product[0], product[1], product[2], product[3] = 1.0, 0.0, 0.0, 0.0
    for i in range(first, end):
        axis_turn(axes[i], angles[i], turn)
        multiply(product, turn, product)
    copy(product, out)


@kernel
def best_angle(before: Quat, axis: Vec3, after: Quat, q: Quat, near: float) -> float:
    """Return the angle about an axis between two rotations that brings the product nearest q."""
    m, turn = work_array(2), work_array(4)
    for k in range(2):
        # cos h and sin h one after the other
        axis_turn(axis, 0.0 if k == 0 else math.pi, turn)
        multiply(before, turn, turn)
        multiply(turn, after, turn)
        m[k] = _dot4(q, turn)
    if m[0] * m[0] + m[1] * m[1] < TINY:
        return near  # half a turn away whatever the angle
    return 2.0 * math.atan2(m[1], m[0])


@kernel
def _two_angles(first: Vec3, middle: Quat, last: Vec3, q: Quat, near: float, out: Floats) -> None:
    """
    Write the angles about two axes, with a rotation between them, that come nearest to q.

    Where the two directions are one (both singular values equal) the first is `near`.

    """
    m, one, other = work_table(2, 2), work_array(4), work_array(4)
    for i in range(2):
        for k in range(2):
            axis_turn(first, 0.0 if i == 0 else math.pi, one)
            axis_turn(last, 0.0 if k == 0 else math.pi, other)
            multiply(one, middle, one)
            multiply(one, other, one)
            m[i, k] = _dot4(q, one)
    # u1 M u2 = E cos(h1 - h2 - e) + F cos(h1 + h2 - f): greatest where both cosines are 1
    even_x, even_y = 0.5 * (m[0, 0] + m[1, 1]), 0.5 * (m[1, 0] - m[0, 1])
    odd_x, odd_y = 0.5 * (m[0, 0] - m[1, 1]), 0.5 * (m[1, 0] + m[0, 1])
    has_even = even_x * even_x + even_y * even_y > TINY
    has_odd = odd_x * odd_x + odd_y * odd_y > TINY
    difference = math.atan2(even_y, even_x)
    total = math.atan2(odd_y, odd_x)
    if has_even and has_odd:
        out[0], out[1] = total + difference, total - difference
    elif has_even:
        out[0], out[1] = near, near - 2.0 * difference
    else:
        out[0], out[1] = near, 2.0 * total - near


@kernel
def _middle_angles(axes: Vec3s, first: int, q: Quat, out: Floats) -> None:
    """Write both middle angles that give three axes their a1 . R a3, PiovanBullo2012."""
    a, b, c = axes[first], axes[first + 1], axes[first + 2]
    turned = work_array(3)
    rotate(q, c, turned)
    constant = _dot3(a, b) * _dot3(b, c)
    cosine = _dot3(a, c) - constant
    sine = (
        a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )  # fmt: skip
    size = math.sqrt(cosine * cosine + sine * sine)
    phase = math.atan2(sine, cosine)
    share = (_dot3(a, turned) - constant) / max(size, TINY)
    spread = math.acos(min(max(share, -1.0), 1.0))
    out[0], out[1] = phase + spread, phase - spread


@kernel
def turn_angles(
    axes: Vec3s, first: int, count: int, q: Quat, near: Floats, family: int, out: Floats
) -> None:
    """
    Write the angles of one to three joints whose turns come nearest to a rotation.

    Parameters
    ----------
    axes : ndarray, shape (n, 3)
        Unit axes of all joints.
    first, count : int
        The joints.
    q : ndarray, shape (4,)
        The rotation.
    near : ndarray, shape (n,)
        Angles to keep where any will do [rad].
    family : int
        Which of the two solutions of three axes, 0 or 1.
    out : ndarray, shape (3,)
        Out: the angles, modulo whole turns [rad].

    """
    between, both, pair = work_array(4), work_array(2), work_array(2)
    between[0], between[1], between[2], between[3] = 1.0, 0.0, 0.0, 0.0
    if count == 1:
        out[0] = best_angle(between, axes[first], between, q, near[first])
    elif count == 2:
        _two_angles(axes[first], between, axes[first + 1], q, near[first], pair)
        out[0], out[1] = pair[0], pair[1]
    else:
        _middle_angles(axes, first, q, both)
        axis_turn(axes[first + 1], both[family], between)
        _two_angles(axes[first], between, axes[first + 2], q, near[first], pair)
        out[0], out[1], out[2] = pair[0], both[family], pair[1]


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
def refine_angles(
    axes: Vec3s, first: int, count: int, q: Quat, lower: Floats, upper: Floats, angles: Floats
) -> None:
    """
    Move the angles of some joints, each in turn, to the best that its limits allow.

    Each step is exact, the greatest of a sinusoid over an interval, so the angle that is left
    never grows. Rows first .. first + count - 1 of `lower`, `upper` and `angles`, (n,), count.

    """
    before, after = work_array(4), work_array(4)
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(first, first + count):
            compose_turns(axes, angles, first, i, before)
            compose_turns(axes, angles, i + 1, first + count, after)
            best = best_angle(before, axes[i], after, q, angles[i])
            best = place_angle(best, lower[i], upper[i], angles[i])
            moved = max(moved, abs(best - angles[i]))
            angles[i] = best
        if moved < SWEEP_TOL_RAD:
            return


@kernel
def turn_left(q: Quat, axes: Vec3s, angles: Floats, first: int, count: int) -> float:
    """Return the angle between a rotation and the turns of some joints, in [0, pi] [rad]."""
    product = work_array(4)
    compose_turns(axes, angles, first, first + count, product)
    conjugate(product, product)
    multiply(product, q, product)
    sine = math.sqrt(product[1] ** 2 + product[2] ** 2 + product[3] ** 2)
    return 2.0 * math.atan2(sine, abs(product[0]))
