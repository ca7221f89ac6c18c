# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Limbs, third step of a frame: the hand into its range, the elbow, the rotations (Shin2002 5.3).

`solve_limb` keeps the captured side of the elbow: range ball (Shin2002 eq. 5.10), rotations
(Shin2002 eqs. 5.11-5.13), and `blend_joint`, the blend with the captured rotation (eq. 5.14).
`solve_limb_on_circle` solves by swivel angle instead (ShinSlides 3.3). Limbs that touch the
own body are in `solvers.limb_ranges`, limbs inside objects in `solvers.penetration`. (Kernels.)
"""

import math

import numpy as np
from puppet_core.body import polar_limit, soft_distance
from puppet_core.math import (
    between,
    conjugate,
    copy,
    kernel,
    multiply,
    Quat,
    Quats,
    rotate,
    slerp,
    Vec3,
    Vec3s,
    work_array,
)

STRAIGHT = 0.2  # sine of the upper segment's angle below which a limb counts as straight [-]
HINT_SHARE = 0.3  # weight of the hint for a perfectly straight limb [-]
EXACT_SHARE = 0.998  # of the limb's length, as the default stretch_limit [-]
REACH_ROOM = 0.5  # fraction of the reach within which a goal of no importance is slowed [-]
HINT_CHANGE_RAD = 0.05  # correction at which half of that weight is there

# where a straight limb bends to, in its upper segment's frame: knees forward, elbows back
_KNEE_HINT = np.array([1.0, 0.0, 0.0])
_ELBOW_HINT = np.array([-1.0, 0.0, 0.0])

NO_SWIVEL = 1e-12  # amplitude below which all swivel angles are equally good [-]
MIN_DISTANCE_M = 1e-9  # shorter lines have no direction, as in `place_elbow`


# Where a limb's end goes, and the elbow that lets it.
#
# The hand must come into a range ball about its goal (eq. 5.10). The elbow then lies on the
# circle about the line from shoulder to hand that the two segment lengths leave it, and of that
# circle the point on the captured side is taken. Limbs that touch the body are in `limb_ranges`.


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
    # a nearly straight limb shows no side: there the hint does, if the bend is to change
    change = abs(wanted - math.atan2(bend, along))
    doubt = max(1.0 - bend / (STRAIGHT * upper), 0.0)
    share = HINT_SHARE * upper * doubt * doubt * change / (change + HINT_CHANGE_RAD)
    for k in range(3):
        out[k] += share * (hint[k] - side * axis[k])


@kernel
def place_elbow(
    shoulder: Vec3,
    elbow: Vec3,
    wrist: Vec3,
    upper: float,
    lower: float,
    goal: Vec3,
    current: float,
    hint: Vec3,
) -> None:
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
def into_range_ball(captured: Vec3, goal: Vec3, radius: float, slack: float, out: Vec3) -> None:
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
        r of Shin2002 eq. 5.10 [m].
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


# Joint rotations of one limb from its goal, and their blend.
#
# Shoulder and elbow turn by the least rotation that takes the captured segment direction to the
# solved one (eqs. 5.11-5.13); the wrist keeps the captured orientation of the hand in world;
# every joint is then blended with its captured rotation by importance (Shin2002 eq. 5.14).


@kernel
def bend_hint(limb: int, q_upper: Quat, out: Vec3) -> None:
    """Write the world direction to which a straight elbow or knee moves when it bends."""
    rotate(q_upper, _ELBOW_HINT if limb < 2 else _KNEE_HINT, out)


@kernel
def solve_limb(
    limb: int,
    q_parent: Quat,
    shoulder: Vec3,
    captured: Quats,
    q_end: Quat,
    offsets: Vec3s,
    upper: float,
    lower: float,
    goal: Vec3,
    current: float,
    weight: float,
    out: Quats,
) -> None:
    """
    Write the three joint rotations of a limb.

    Parameters
    ----------
    limb : int
        Index into LIMBS.
    q_parent : ndarray, shape (4,)
        Chest or pelvis in world.
    shoulder : ndarray, shape (3,)
        Shoulder or hip in world [m].
    captured : ndarray, shape (3, 4)
        Captured rotations of shoulder, elbow and wrist, each relative to its parent.
    q_end : ndarray, shape (4,)
        Orientation of the hand in world to keep.
    offsets : ndarray, shape (2, 3)
        Elbow in the upper segment's frame, wrist in the lower segment's [m].
    upper, lower : float
        Lengths of `offsets` [m].
    goal : ndarray, shape (3,)
        Where the wrist should be in world [m].
    current : float
        A distance of the wrist to be reached exactly; see `soft_reach` [m].
    weight : float
        Fraction of the solved rotations in the blend; 0 gives the captured ones exactly.
    out : ndarray, shape (3, 4)
        The rotations; may be `captured` itself.

    """
    q_upper, q_lower, hint = work_array(4), work_array(4), work_array(3)
    elbow, wrist = work_array(3), work_array(3)
    multiply(q_parent, captured[0], q_upper)
    rotate(q_upper, offsets[0], elbow)
    multiply(q_upper, captured[1], q_lower)
    rotate(q_lower, offsets[1], wrist)
    for k in range(3):
        elbow[k] += shoulder[k]
        wrist[k] += elbow[k]
    bend_hint(limb, q_upper, hint)
    place_elbow(shoulder, elbow, wrist, upper, lower, goal, current, hint)
    turn_limb(q_parent, shoulder, captured, q_end, offsets, elbow, wrist, weight, weight, out)


@kernel
def turn_limb(
    q_parent: Quat,
    shoulder: Vec3,
    captured: Quats,
    q_end: Quat,
    offsets: Vec3s,
    elbow: Vec3,
    wrist: Vec3,
    weight: float,
    end_weight: float,
    out: Quats,
) -> None:
    """
    Write the joint rotations of a limb whose elbow and wrist should be at given places.

    Parameters
    ----------
    q_parent, shoulder, captured, q_end, offsets, out
        As for `solve_limb`.
    elbow, wrist : ndarray, shape (3,)
        The places, the segments' lengths apart [m].
    weight, end_weight : float
        Fractions of the solved rotations in the blend at the shoulder, and at the elbow; the
        wrist keeps the hand's orientation by the first.

    """
    q_upper, q_lower, turn = work_array(4), work_array(4), work_array(4)
    before, after = work_array(3), work_array(3)
    multiply(q_parent, captured[0], q_upper)
    rotate(q_upper, offsets[0], before)
    for k in range(3):
        after[k] = elbow[k] - shoulder[k]
    between(before, after, turn)  # Shin2002 eq. 5.11
    multiply(turn, q_upper, q_upper)  # Shin2002 eq. 5.12

    multiply(q_upper, captured[1], q_lower)
    rotate(q_lower, offsets[1], before)
    for k in range(3):
        after[k] = wrist[k] - elbow[k]
    between(before, after, turn)  # Shin2002 eq. 5.13
    multiply(turn, q_lower, q_lower)

    blend_joint(q_upper, q_lower, captured[1], end_weight, turn, out[1])
    blend_joint(q_parent, q_upper, captured[0], weight, turn, out[0])
    # the blended forearm's, not the solved one's: the hand keeps its orientation all the way
    multiply(q_parent, out[0], q_lower)
    multiply(q_lower, out[1], q_lower)
    blend_joint(q_lower, q_end, captured[2], weight, turn, out[2])


@kernel
def blend_joint(
    q_parent: Quat, q_child: Quat, captured: Quat, weight: float, work: Quat, out: Quat
) -> None:
    """Write the joint rotation between the captured one and the solved one (Shin2002 eq. 5.14)."""
    conjugate(q_parent, work)
    multiply(work, q_child, work)
    slerp(captured, work, weight, out)


# Joint rotations of one limb by its swivel angle (ShinSlides 3.3).
#
# A wrist at its goal leaves the elbow a circle about the line from shoulder to wrist. The limb is
# bent in its own plane until the wrist is as far from the shoulder as the goal, turned onto the
# goal's line, and swivelled about that line to where the upper segment is oriented most like the
# captured one. The joint between the segments only bends, about the axis about which it was
# captured bent; `solve_limb` keeps the elbow's side instead and lets that axis turn.


@kernel
def swivel_angle(q_start: Quat, axis: Vec3, q_captured: Quat) -> float:
    """
    Return the turn about an axis that brings one orientation nearest to another.

    Maximises |q* . q(theta)| with q(theta) = e^(theta k / 2) q0. Of the rotation t from q* to
    q0 only the scalar part and the component along k count, so that the product is
    t_w cos(theta / 2) - (k . t) sin(theta / 2) = A sin(theta / 2 + alpha), which is +-A where
    the tangent of theta / 2 is -(k . t) / t_w.

    Parameters
    ----------
    q_start, q_captured : ndarray, shape (4,)
        q0 and q*, in the same coordinates; either may have either sign.
    axis : ndarray, shape (3,)
        k, unit, in those coordinates.

    Returns
    -------
    angle : float
        theta in [-pi, pi]; 0 where A = 0 and so every angle is as good [rad].

    """
    a, b = q_start, q_captured
    scalar = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    # vector part of q0 q*^-1
    x = -a[0] * b[1] + a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = -a[0] * b[2] + a[2] * b[0] - a[3] * b[1] + a[1] * b[3]
    z = -a[0] * b[3] + a[3] * b[0] - a[1] * b[2] + a[2] * b[1]
    along = axis[0] * x + axis[1] * y + axis[2] * z
    if scalar * scalar + along * along < NO_SWIVEL * NO_SWIVEL:
        return 0.0
    if scalar < 0.0:
        scalar, along = -scalar, -along
    return -2.0 * math.atan2(along, scalar)


@kernel
def _line(a: Vec3, b: Vec3, out: Vec3) -> float:
    """Write the unit vector from a to b, if they are apart; return how far they are [m]."""
    square = 0.0
    for k in range(3):
        out[k] = b[k] - a[k]
        square += out[k] * out[k]
    distance = math.sqrt(square)
    if distance >= MIN_DISTANCE_M:
        for k in range(3):
            out[k] /= distance
    return distance


@kernel
def _turn_onto(
    q: Quat, offset: Vec3, start: Vec3, end: Vec3, before: Vec3, after: Vec3, turn: Quat
) -> None:
    """Turn a segment, in place, by the least rotation that points it from start to end."""
    rotate(q, offset, before)
    for k in range(3):
        after[k] = end[k] - start[k]
    between(before, after, turn)
    multiply(turn, q, q)


@kernel
def _bend(
    limb: int,
    shoulder: Vec3,
    offsets: Vec3s,
    upper: float,
    lower: float,
    goal: Vec3,
    current: float,
    line: Vec3,
    axis: Vec3,
    q_upper: Quat,
    q_lower: Quat,
) -> bool:
    """
    Bend the captured limb in its plane to the goal's distance, the wrist staying on its line.

    Fills `line` and `axis`, the unit vectors to the captured wrist and to the goal; returns
    False, and bends nothing, if either is undefined.

    """
    elbow, wrist, hint = work_array(3), work_array(3), work_array(3)
    before, after, turn = work_array(3), work_array(3), work_array(4)
    rotate(q_upper, offsets[0], before)
    rotate(q_lower, offsets[1], after)
    for k in range(3):
        elbow[k] = shoulder[k] + before[k]
        wrist[k] = elbow[k] + after[k]
    distance = _line(shoulder, goal, axis)
    if distance < MIN_DISTANCE_M or _line(shoulder, wrist, line) < MIN_DISTANCE_M:
        return False
    bend_hint(limb, q_upper, hint)
    on_line = work_array(3)
    for k in range(3):
        on_line[k] = shoulder[k] + distance * line[k]
    place_elbow(shoulder, elbow, wrist, upper, lower, on_line, current, hint)
    # both turns are about the normal of the limb's plane: the joint bends and does not twist
    _turn_onto(q_upper, offsets[0], shoulder, elbow, before, after, turn)
    _turn_onto(q_lower, offsets[1], elbow, wrist, before, after, turn)
    return True


@kernel
def solve_limb_on_circle(
    limb: int,
    q_parent: Quat,
    shoulder: Vec3,
    captured: Quats,
    q_end: Quat,
    offsets: Vec3s,
    upper: float,
    lower: float,
    goal: Vec3,
    current: float,
    weight: float,
    out: Quats,
) -> None:
    """
    Write the three joint rotations of a limb; see `solve_limb` for all of them.

    Notes
    -----
    The best of all swivel angles gives the least rotation that takes the wrist's direction,
    as the bent limb had it with its upper segment as captured, to the goal's direction. It is
    smooth in everything but where these directions are opposite: there A = 0, and no choice
    could be continuous, for no field of rotations over a sphere is.

    """
    q_upper, q_lower, turn = work_array(4), work_array(4), work_array(4)
    q_captured, line, axis = work_array(4), work_array(3), work_array(3)
    multiply(q_parent, captured[0], q_upper)
    multiply(q_upper, captured[1], q_lower)
    copy(q_upper, q_captured)
    if _bend(limb, shoulder, offsets, upper, lower, goal, current, line, axis, q_upper, q_lower):
        between(line, axis, turn)
        multiply(turn, q_upper, q_upper)
        multiply(turn, q_lower, q_lower)
        half = 0.5 * swivel_angle(q_upper, axis, q_captured)
        turn[0] = math.cos(half)
        for k in range(3):
            turn[k + 1] = math.sin(half) * axis[k]
        multiply(turn, q_upper, q_upper)
        multiply(turn, q_lower, q_lower)
    blend_joint(q_upper, q_lower, captured[1], weight, turn, out[1])
    blend_joint(q_parent, q_upper, captured[0], weight, turn, out[0])
    # the blended forearm's, not the solved one's: the hand keeps its orientation all the way
    multiply(q_parent, out[0], q_lower)
    multiply(q_lower, out[1], q_lower)
    blend_joint(q_lower, q_end, captured[2], weight, turn, out[2])
