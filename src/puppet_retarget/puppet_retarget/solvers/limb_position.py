# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where a limb's end goes, and the elbow that lets it (kernel, Shin2002 5.3).

The hand must come into a range ball about its goal (eq. 5.10). The elbow then lies on the
circle about the line from shoulder to hand that the two segment lengths leave it, and of
that circle the point on the captured side is taken. Limbs that touch the body are in
`limb_ranges`.

"""

import math

from puppet_core.arrays import Vec3
from puppet_core.kernel import kernel
from puppet_core.limb_triangle import polar_limit, soft_distance
from puppet_core.quaternion import between, rotate
from puppet_core.work_array import work_array

STRAIGHT = 0.2  # sine of the upper segment's angle below which a limb counts as straight [-]
HINT_SHARE = 0.3  # weight of the hint for a perfectly straight limb [-]
EXACT_SHARE = 0.998  # of the limb's length, as the default stretch_limit [-]
REACH_ROOM = 0.5  # share of the reach within which a goal of no importance is slowed [-]
HINT_CHANGE_RAD = 0.05  # correction at which half of that weight is there


@kernel
def soft_reach(distance: float, current: float, upper: float, lower: float) -> float:
    """
    Return the distance at which the wrist ends when it should go to `distance`.

    A knee's angle changes infinitely fast where the leg becomes straight; that is the pop of a
    foot whose goal leaves reach. Goals up to EXACT_SHARE of the length, or up to the current
    distance of the wrist if that is more, are reached; beyond, half of what is left is
    approached but never passed. The same holds for folding.

    Parameters
    ----------
    distance, current : float
        Shoulder to goal, and to wrist as it is; 0 for none [m].
    upper, lower : float
        Segment lengths [m].

    """
    kept_back = (1.0 - EXACT_SHARE) * (upper + lower)
    return soft_distance(distance, current, upper, lower, kept_back)


@kernel
def _direction(a: Vec3, b: Vec3, out: Vec3) -> float:
    norm = 0.0
    for k in range(3):
        out[k] = b[k] - a[k]
        norm += out[k] * out[k]
    norm = math.sqrt(norm)
    if norm > 1e-12:
        for k in range(3):
            out[k] /= norm
    return norm


@kernel
def _bend_direction(
    shoulder: Vec3, elbow: Vec3, axis: Vec3, upper: float, wanted: float, hint: Vec3, out: Vec3
) -> None:
    """Write to which side of the captured line from shoulder to wrist the elbow stands."""
    along, side, square = 0.0, 0.0, 0.0
    for k in range(3):
        along += (elbow[k] - shoulder[k]) * axis[k]
        side += hint[k] * axis[k]
    for k in range(3):
        out[k] = elbow[k] - shoulder[k] - along * axis[k]
        square += out[k] * out[k]
    bend = math.sqrt(square)
    # a nearly straight limb tells no side: there the hint does, if the bend is to change
    change = abs(wanted - math.atan2(bend, along))
    doubt = max(1.0 - bend / (STRAIGHT * upper), 0.0)
    share = HINT_SHARE * upper * doubt * doubt * change / (change + HINT_CHANGE_RAD)
    for k in range(3):
        out[k] += share * (hint[k] - side * axis[k])


@kernel
def place_elbow(
    shoulder: Vec3, elbow: Vec3, wrist: Vec3, upper: float, lower: float, goal: Vec3,
    current: float, hint: Vec3,
) -> None:  # fmt: skip
    """
    Move elbow and wrist so that the wrist reaches its goal, on the captured side of the limb.

    Of the circle that the two lengths leave, the point nearest to the captured elbow would
    let a knee pass through the straight leg and bend backwards; so the captured direction
    of the bend is kept instead, carried over by the least rotation from the captured line
    shoulder-wrist to the new one.

    Parameters
    ----------
    shoulder : ndarray, shape (3,)
        Shoulder in world [m].
    elbow, wrist : ndarray, shape (3,)
        In: those of the captured angles; out: the solved ones in world [m].
    upper, lower : float
        Segment lengths [m].
    goal : ndarray, shape (3,)
        Goal of the wrist; one out of reach is pointed at [m].
    current : float
        A distance of the wrist to be reached exactly whatever it is; see `soft_reach` [m].
    hint : ndarray, shape (3,)
        Unit vector to which the elbow bends when captured straight.

    """
    axis, captured_axis, turn = work_array(3), work_array(3), work_array(4)
    distance = _direction(shoulder, goal, axis)
    captured_distance = _direction(shoulder, wrist, captured_axis)
    if distance < 1e-9 or captured_distance < 1e-9:
        return
    distance = soft_reach(distance, current, upper, lower)
    wanted = polar_limit(upper, distance, lower)
    bend = work_array(3)
    _bend_direction(shoulder, elbow, captured_axis, upper, wanted, hint, bend)
    between(captured_axis, axis, turn)
    rotate(turn, bend, bend)
    norm = math.sqrt(bend[0] * bend[0] + bend[1] * bend[1] + bend[2] * bend[2])
    along = upper * math.cos(wanted)
    scale = upper * math.sin(wanted) / norm if norm > 1e-12 else 0.0
    for k in range(3):
        elbow[k] = shoulder[k] + along * axis[k] + scale * bend[k]
        wrist[k] = shoulder[k] + distance * axis[k]


@kernel
def into_range_ball(
    captured: Vec3, goal: Vec3, radius: float, slack: float, out: Vec3
) -> None:
    """
    Write a point of the range ball about a goal, towards the captured position.

    The nearest point of the ball would move with a kink whenever the captured position
    crosses the ball's surface, and that kink is the larger part of a foot's added jerk.
    goal + v / sqrt(1 + |v|^2 / r^2), v from goal to captured, is always inside, smooth, the
    goal itself for r = 0 and the captured position for a large r. But a ball of metres that
    shrinks to a point drags a foot, which is some centimetres away, in the very last of it.
    With slack s the point is that of the ball r / s, as it is at no importance, with s^2 times
    its distance to the goal: within the ball r, and there with importance s = 1 - w smoothly.

    Parameters
    ----------
    captured, goal : ndarray, shape (3,)
        Wrist or ankle as captured, and where it should be [m].
    radius : float
        r of eq. 5.10 [m].
    slack : float
        1 - w; 1 for the ball alone.
    out : ndarray, shape (3,)
        The point [m].

    """
    square = 0.0
    for k in range(3):
        square += (captured[k] - goal[k]) ** 2
    share = 0.0
    if radius > 0.0:
        share = slack * slack * radius / math.sqrt(radius * radius + slack * slack * square)
    for k in range(3):
        out[k] = goal[k] + share * (captured[k] - goal[k])


@kernel
def into_reach(shoulder: Vec3, captured: Vec3, reach: float, slack: float, goal: Vec3) -> None:
    """
    Draw a goal that is not wholly important towards the shoulder before it leaves reach.

    `soft_reach` has a thousandth of the limb's length to stop a foot that heads for a goal out
    of reach, which is a blow. A goal that need not be met exactly gives it more room: slack
    times the reach, if the captured limb is not longer than that itself.

    Parameters
    ----------
    shoulder, captured : ndarray, shape (3,)
        Shoulder or hip, and wrist or ankle as captured, in world [m].
    reach : float
        Distance from the shoulder that this function passes by a thousandth of it at
        most [m].
    slack : float
        1 - w.
    goal : ndarray, shape (3,)
        In: a goal of the wrist; out: the same if that is near enough [m].

    """
    distance, current = 0.0, 0.0
    for k in range(3):
        distance += (goal[k] - shoulder[k]) ** 2
        current += (captured[k] - shoulder[k]) ** 2
    distance, current = math.sqrt(distance), math.sqrt(current)
    far = max((1.0 - REACH_ROOM * slack) * reach, current)
    if distance <= far:
        return
    # at full importance some is left, or the last of the slack would go with a jump
    room = max(reach - far, 0.0) + 0.5 * (1.0 - EXACT_SHARE) * reach
    share = (far + room * (1.0 - math.exp((far - distance) / room))) / distance
    for k in range(3):
        goal[k] = shoulder[k] + share * (goal[k] - shoulder[k])
