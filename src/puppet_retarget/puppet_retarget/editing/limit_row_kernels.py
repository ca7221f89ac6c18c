# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint limits as inequality constraints, with their derivatives (kernel, LeeShin1999 eq. 6).

What the solvers of the live pipeline ease into, in `puppet_retarget.solvers.joint_limits`, is a
penalty here: nothing inside the limits, and beyond them how far the joint has gone.

"""

import math

from puppet_core.arrays import Floats, Quat, Vec3
from puppet_core.kernel import kernel
from puppet_core.quaternion import exp, multiply, rotate
from puppet_core.work_array import work_array
from puppet_retarget.editing.pose_arrays import (
    CENTRE,
    cross,
    dot,
    FIRST,
    HAS,
    SWING_SECOND,
    SWINGS,
    TWIST_AXIS,
    TWISTS,
)
from puppet_retarget.solvers.joint_limits import split_swing_twist

KEPT_INSIDE = 0.99  # share of a limit at which the penalty begins, so that it is kept


@kernel
def _turn_rates(
    axis: Vec3, swing: Vec3, twist: float, along: Vec3, side: Vec3, about: Vec3
) -> float:
    """
    Write how swing and twist change with a small turn in the joint's own frame.

    With sigma the swing's angle, u its axis, v = a x u: the swing changes along u by beta.u,
    along v by beta.v sigma / sin sigma, the twist by beta.a + tan(sigma / 2) beta.v, where beta
    is the turn seen before the twist.

    Parameters
    ----------
    axis, swing : ndarray, shape (3,)
        a and the swing's rotation vector.
    twist : float
        Angle [rad].
    along, side, about : ndarray, shape (3,)
        Out: u, v sigma / sin sigma and a + tan(sigma / 2) v, in the frame after the twist, so
        that their products with the turn are the three changes.

    Returns
    -------
    sigma : float
        The swing's angle [rad].

    """
    u, v, turn, q = work_array(3), work_array(3), work_array(3), work_array(4)
    sigma = math.sqrt(dot(swing, swing))
    if sigma > 1e-9:
        for k in range(3):
            u[k] = swing[k] / sigma
    else:
        # any axis square to a
        least = 0
        for k in range(1, 3):
            if abs(axis[k]) < abs(axis[least]):
                least = k
        turn[:] = 0.0
        turn[least] = 1.0
        cross(axis, turn, u)
        norm = math.sqrt(dot(u, u))
        for k in range(3):
            u[k] /= norm
    cross(axis, u, v)
    stretch = sigma / math.sin(sigma) if sigma > 1e-6 else 1.0
    slope = math.tan(0.5 * min(sigma, 3.0))
    for k in range(3):
        turn[k] = -twist * axis[k]
        side[k], about[k] = stretch * v[k], axis[k] + slope * v[k]
    exp(turn, q)
    rotate(q, u, along)
    rotate(q, side, side)
    rotate(q, about, about)
    return sigma


@kernel
def limit_rows(limit: Floats, q: Quat, values: Floats, rows: Floats) -> int:
    """
    Write by how much a joint is beyond its limits.

    Parameters
    ----------
    limit : ndarray, shape (N_LIMIT,)
        Of PoseTask.limits.
    q : ndarray, shape (4,)
        The joint's rotation.
    values : ndarray, shape (2,)
        Out: beyond the cone, beyond the range of twist [rad].
    rows : ndarray, shape (2, 3)
        Out: how they change with a small turn in the joint's own frame.

    Returns
    -------
    n : int
        Rows that are not zero; they come first.

    """
    if limit[HAS] == 0.0:
        return 0
    local, swing = work_array(4), work_array(3)
    along, side, about = work_array(3), work_array(3), work_array(3)
    axis = limit[TWIST_AXIS:TWIST_AXIS + 3]
    multiply(limit[CENTRE:CENTRE + 4], q, local)
    twist = split_swing_twist(local, axis, swing)
    x, y = dot(swing, limit[FIRST:FIRST + 3]), dot(swing, limit[SWING_SECOND:SWING_SECOND + 3])
    a, b = KEPT_INSIDE * limit[SWINGS], KEPT_INSIDE * limit[SWINGS + 1]
    rho = math.sqrt((x / a) ** 2 + (y / b) ** 2)
    middle = 0.5 * (limit[TWISTS] + limit[TWISTS + 1])
    half = 0.5 * KEPT_INSIDE * (limit[TWISTS + 1] - limit[TWISTS])
    offset = twist - middle
    offset -= 2.0 * math.pi * math.floor(offset / (2.0 * math.pi) + 0.5)
    if rho <= 1.0 and abs(offset) <= half:
        return 0
    sigma = _turn_rates(axis, swing, twist, along, side, about)
    n = 0
    if rho > 1.0:
        # the swing's two parts change along u and v; v is a x u
        length = sigma if sigma > 1e-9 else 1.0
        ux, uy = x / length, y / length
        px, py = x / (a * a * rho), y / (b * b * rho)
        scale = math.sqrt(a * b)
        values[n] = scale * (rho - 1.0)
        for k in range(3):
            rows[n, k] = scale * (
                (px * ux + py * uy) * along[k] + (py * ux - px * uy) * side[k]
            )
        n += 1
    if abs(offset) > half:
        sign = 1.0 if offset > 0.0 else -1.0
        values[n] = abs(offset) - half
        for k in range(3):
            rows[n, k] = sign * about[k]
        n += 1
    return n
