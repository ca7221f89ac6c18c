# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint limits as inequality constraints, with their derivatives (kernel, LeeShin1999 eq. 6).

What the solvers of the live pipeline ease into, in `puppet_retarget.solvers.joint_limits`, is a
penalty here: nothing inside the limits, and beyond them how far the joint has gone.

"""

import math

from puppet_core.arrays import Floats, Quat, Quats, Vec3
from puppet_core.kernel import kernel
from puppet_core.quaternion import (
    align_sign,
    angle_between,
    conjugate,
    exp,
    multiply,
    rotate,
)
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
def _split(limit: Floats, q: Quat, swing: Vec3, parts: Floats) -> float:
    """
    Write a joint's swing, and where it is in its limits; return its twist.

    The parts are the swing by its two axes [rad], its share of the cone, where 1 is the limit,
    and the twist from the middle of its range [rad].

    """
    local = work_array(4)
    multiply(limit[CENTRE:CENTRE + 4], q, local)
    twist = split_swing_twist(local, limit[TWIST_AXIS:TWIST_AXIS + 3], swing)
    parts[0] = dot(swing, limit[FIRST:FIRST + 3])
    parts[1] = dot(swing, limit[SWING_SECOND:SWING_SECOND + 3])
    parts[2] = math.sqrt(
        (parts[0] / limit[SWINGS]) ** 2 + (parts[1] / limit[SWINGS + 1]) ** 2
    )
    offset = twist - 0.5 * (limit[TWISTS] + limit[TWISTS + 1])
    parts[3] = offset - 2.0 * math.pi * math.floor(offset / (2.0 * math.pi) + 0.5)
    return twist


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
    swing, parts = work_array(3), work_array(4)
    along, side, about = work_array(3), work_array(3), work_array(3)
    axis = limit[TWIST_AXIS:TWIST_AXIS + 3]
    twist = _split(limit, q, swing, parts)
    x, y, rho, offset = parts[0], parts[1], parts[2] / KEPT_INSIDE, parts[3]
    a, b = KEPT_INSIDE * limit[SWINGS], KEPT_INSIDE * limit[SWINGS + 1]
    half = 0.5 * KEPT_INSIDE * (limit[TWISTS + 1] - limit[TWISTS])
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


@kernel
def keep_limits(limits: Floats, before: Quats, rotations: Quats) -> int:
    """
    Bring displaced joints back to their limits in place; return how many there were.

    Between constrained frames no penalty has a say. A joint that was beyond its limits before
    may be so still, but not more.

    Parameters
    ----------
    limits : ndarray, shape (16, N_LIMIT)
        Of all joints.
    before, rotations : ndarray, shape (n, 16, 4)
        The motion before and after editing.

    """
    swing, was, parts = work_array(3), work_array(4), work_array(4)
    q, turn = work_array(4), work_array(4)
    n_changed = 0
    for segment in range(1, limits.shape[0]):
        limit = limits[segment]
        if limit[HAS] == 0.0:
            continue
        half = 0.5 * (limit[TWISTS + 1] - limit[TWISTS])
        for frame in range(len(rotations)):
            if angle_between(before[frame, segment], rotations[frame, segment]) == 0.0:
                continue
            _split(limit, before[frame, segment], swing, was)
            twist = _split(limit, rotations[frame, segment], swing, parts)
            cone, wide = max(was[2], 1.0), max(abs(was[3]), half)
            if parts[2] <= cone and abs(parts[3]) <= wide:
                continue
            n_changed += 1
            twist += min(max(parts[3], -wide), wide) - parts[3]
            share = min(cone / parts[2], 1.0) if parts[2] > 0.0 else 1.0
            for k in range(3):
                swing[k] *= share
            exp(swing, q)
            for k in range(3):
                swing[k] = twist * limit[TWIST_AXIS + k]
            exp(swing, turn)
            multiply(q, turn, q)
            conjugate(limit[CENTRE:CENTRE + 4], turn)
            multiply(turn, q, q)
            align_sign(before[frame, segment], q, rotations[frame, segment])
    return n_changed
