# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The limb's angles made to agree with the position of its end (kernel layer).

Measured angles on a skeleton whose lengths are a little wrong, under skin that moves, do not
lead to where the hand is. Of all limbs whose wrist is there, the one is taken whose segments
turn least: it minimises the sum over both segments of length (1 - cos turn). With u0 and l0
the measured directions of the segments and n the direction to the wrist, the sum is linear in
the elbow's place on its circle about n, and least where the elbow lies to the side of
u0 - l0. Twists stay as measured. A limb measured straight has no such side; there its joint's
own way of bending decides, as far as the bend has to change.

Its angles also show how far the limb is bent, and near full stretch better: 5 mm less from
shoulder to wrist bend a straight arm by 15 deg and move its elbow by 4 cm, far more than
sensors' rotations are off. So there positions along the limb give way to angles; square to
the limb they always win.

No choice of a side can be continuous for all limbs and goals, and while sensors come and go
angles and goal may disagree by anything. So the turns that are added to the measured angles
may change at a limited speed only: then the hand is late, and nothing whips round.

"""

import math

from puppet_core.body import polar_limit, soft_distance
from puppet_core.math import (
    between,
    conjugate,
    copy,
    exp,
    kernel,
    log,
    multiply,
    Quat,
    rotate,
    Vec3,
    work_array,
)

KEPT_BACK_M = 1.7e-4  # for stopping at full stretch; costs the hand at most 0.1 mm
STRAIGHT = 0.2  # |u0 - l0| square to n below which a limb counts as straight [-]
HINT_SHARE = 0.3  # weight of the way of bending for a perfectly straight limb [-]
HINT_CHANGE_RAD = 0.1  # correction of the bend at which half of that weight is there
EXACT_M = 1e-9  # a wrist that near is there
NEGLIGIBLE_M = 1e-6  # nearer than this, the rest is let be more and more
# A wrist that is 4 mm off along the limb, as calibrations leave it, bends an elbow that stands
# so far off the line from shoulder to wrist by 1.5 deg, as much as angles may be off.
LEVER_M = 0.15
TURN_SPEED_RAD_S = 10.0  # of what is added to a segment; an elbow's own is up to twice that
INFERRED_SPEED_RAD_S = 25.0  # of an inferred segment against its parent; a fast boxer's arm


@kernel
def set_bend_axis(limb: int, out: Vec3) -> None:
    """Write to which side of the upper segment, in its frame, elbow or knee stands when bent."""
    out[0], out[1], out[2] = -1.0 if limb < 2 else 1.0, 0.0, 0.0


@kernel
def reach_goal(
    limb: int, to_elbow: Vec3, to_wrist: Vec3, goal: Vec3, q_upper: Quat, q_lower: Quat
) -> None:
    """
    Turn both segments of a limb so that the wrist comes to its goal.

    Along the line from the shoulder a nearly straight limb goes only a part of the way.
    Continuous in everything but where a goal lies at the shoulder.

    Parameters
    ----------
    limb : int
        Index into LIMBS.
    to_elbow, to_wrist : ndarray, shape (3,)
        Elbow in the upper segment's frame, wrist in the lower segment's [m].
    goal : ndarray, shape (3,)
        From the shoulder, in world; one out of reach is pointed at [m].
    q_upper, q_lower : ndarray, shape (4,)
        In: as measured; out: turned, in world.

    """
    upper_arm, forearm, axis = work_array(3), work_array(3), work_array(3)
    side, turn = work_array(3), work_array(4)
    rotate(q_upper, to_elbow, upper_arm)
    rotate(q_lower, to_wrist, forearm)
    for k in range(3):
        axis[k] = upper_arm[k] + forearm[k]
    missing = _distance(goal, axis)
    if missing <= EXACT_M:
        return
    upper, lower, current = _length(upper_arm), _length(forearm), _length(axis)
    square = missing * missing
    share = square / (square + NEGLIGIBLE_M * NEGLIGIBLE_M)
    for k in range(3):
        axis[k] += share * (goal[k] - axis[k])
    distance = _length(axis)
    if distance < EXACT_M:
        return
    for k in range(3):
        axis[k] /= distance
    distance = soft_distance(distance, current, upper, lower, KEPT_BACK_M)
    by_angles = _bend(upper, lower, current)
    bend = _weighed_bend(upper, lower, by_angles, _bend(upper, lower, distance))
    change = abs(bend - by_angles)
    _bend_side(limb, q_upper, upper_arm, forearm, upper, lower, axis, change, side)
    along, across = upper + lower * math.cos(bend), lower * math.sin(bend)
    distance = math.sqrt(along * along + across * across)
    # of the upper segment, along the line to the wrist and square to it
    along, across = upper * along / distance, upper * across / distance
    for k in range(3):
        side[k] = along * axis[k] + across * side[k]  # the elbow, from the shoulder
        axis[k] = distance * axis[k] - side[k]  # and the wrist from it
    between(upper_arm, side, turn)
    multiply(turn, q_upper, q_upper)
    between(forearm, axis, turn)
    multiply(turn, q_lower, q_lower)


@kernel
def follow_turn(q_start: Quat, q_end: Quat, limit: float, turn: Quat) -> None:
    """
    Move an orientation towards another, the turn between them following at a limited speed.

    Parameters
    ----------
    q_start : ndarray, shape (4,)
        As measured.
    q_end : ndarray, shape (4,)
        In: as wanted; out: as far as it can be by now.
    limit : float
        How far the turn may go from what it was [rad].
    turn : ndarray, shape (4,)
        From measured to given out; in: the last one, out: the new one.

    """
    wanted = work_array(4)
    conjugate(q_start, wanted)
    multiply(q_end, wanted, wanted)
    if approach(turn, wanted, limit):
        multiply(wanted, q_start, q_end)
    copy(wanted, turn)


@kernel
def approach(last: Quat, q: Quat, limit: float) -> bool:
    """
    Bring a rotation as near to where it was last as it may have gone since.

    Parameters
    ----------
    last : ndarray, shape (4,)
        What it was.
    q : ndarray, shape (4,)
        In: as wanted; out: as far as it can be by now.
    limit : float
        How far it may go [rad].

    Returns
    -------
    bool
        Whether it cannot be there yet.

    """
    step, rotvec = work_array(4), work_array(3)
    conjugate(last, step)
    multiply(q, step, step)
    # the usual case, without an arc tangent
    if limit >= math.pi or abs(step[0]) >= math.cos(0.5 * limit):
        return False
    log(step, rotvec)
    angle = _length(rotvec)
    if angle <= limit:  # by rounding, as with a limit of zero
        return False
    for k in range(3):
        rotvec[k] *= limit / angle
    exp(rotvec, step)
    multiply(step, last, q)
    return True


@kernel
def _bend_side(
    limb: int,
    q_upper: Quat,
    upper_arm: Vec3,
    forearm: Vec3,
    upper: float,
    lower: float,
    axis: Vec3,
    change: float,
    out: Vec3,
) -> None:
    """Write the unit vector, square to the axis, to which the elbow stands; zero if none."""
    hint = work_array(3)
    for k in range(3):
        out[k] = upper_arm[k] / upper - forearm[k] / lower
    take_out(axis, out)
    doubt = max(1.0 - _length(out) / STRAIGHT, 0.0)
    if doubt > 0.0:
        share = HINT_SHARE * doubt * doubt * change / (change + HINT_CHANGE_RAD)
        set_bend_axis(limb, hint)
        rotate(q_upper, hint, hint)
        take_out(axis, hint)
        for k in range(3):
            out[k] += share * hint[k]
    norm = _length(out)
    scale = 1.0 / norm if norm > 1e-12 else 0.0
    for k in range(3):
        out[k] *= scale


@kernel
def _weighed_bend(upper: float, lower: float, by_angles: float, by_end: float) -> float:
    """
    Return the bend of a limb on which its angles and its end disagree [rad].

    The wrist goes along the line from the shoulder by as much as the elbow stands off that
    line, per radian of bend. Where that lever is long the end determines the bend, and by the
    angles' errors the wrist would be off by centimetres. Where the limb is nearly straight the
    lever is short, and the end's errors would bend it by many degrees for millimetres: there
    the angles determine the bend, and the wrist stays off along the line by these millimetres.

    """
    middle = 0.5 * (by_angles + by_end)
    along, across = upper + lower * math.cos(middle), lower * math.sin(middle)
    lever = upper * across / max(math.sqrt(along * along + across * across), EXACT_M)
    share = min(lever / LEVER_M, 1.0)
    return by_angles + share * share * (3.0 - 2.0 * share) * (by_end - by_angles)


@kernel
def _bend(upper: float, lower: float, distance: float) -> float:
    return math.pi - polar_limit(upper, lower, distance)


@kernel
def take_out(axis: Vec3, v: Vec3) -> None:
    """Make a vector square to a unit vector."""
    along = axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]
    for k in range(3):
        v[k] -= along * axis[k]


@kernel
def _length(v: Vec3) -> float:
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@kernel
def _distance(a: Vec3, b: Vec3) -> float:
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
