# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Two segments and their hand or foot: what is said of one agrees with the other (kernels)."""

import math

from puppet_core.body import polar_limit, soft_distance
from puppet_core.math import kernel
from puppet_core.math.values import (
    add,
    between,
    conjugate,
    cross,
    dot,
    ease,
    exp,
    multiply,
    norm,
    normalized,
    Quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
)
from puppet_performer.posture.state import approach

# The limb's angles made to agree with the position of its end.
#
# Measured angles on a skeleton whose lengths are a little wrong, under skin that moves, do not
# lead to where the hand is. Of all limbs whose wrist is there, the one is taken whose segments
# turn least: it minimises the sum over both segments of length (1 - cos turn). With u0 and l0 the
# measured directions of the segments and n the direction to the wrist, the sum is linear in the
# elbow's place on its circle about n, and least where the elbow lies to the side of u0 - l0.
# Twists stay as measured. A limb measured straight has no such side; there its joint's own way of
# bending decides, as far as the bend has to change.
#
# Its angles also show how far the limb is bent, and near full stretch better: 5 mm less from
# shoulder to wrist bend a straight arm by 15 deg and move its elbow by 4 cm, far more than
# sensors' rotations are off. So there positions along the limb give way to angles; square to the
# limb they always win.
#
# No choice of a side can be continuous for all limbs and goals, and while sensors come and go
# angles and goal may disagree by anything. So the turns that are added to the measured angles may
# change at a limited speed only: then the hand is late, and nothing whips round.

KEPT_BACK_M = 1.7e-4  # for stopping at full stretch; costs the hand at most 0.1 mm
STRAIGHT = 0.2  # |u0 - l0| square to n below which a limb counts as straight [-]
HINT_SHARE = 0.3  # weight of the way of bending for a perfectly straight limb [-]
HINT_CHANGE_RAD = 0.1  # correction of the bend at which half of that weight is there
EXACT_M = 1e-9  # a wrist that near is there
NEGLIGIBLE_M = 1e-6  # nearer than this, the rest is let be more and more
# A wrist that is 4 mm off along the limb, as calibrations leave it, bends an elbow that stands
# so far off the line from shoulder to wrist by 1.5 deg, as much as angles may be off.
LEVER_M = 0.15
MIN_DISTANCE_M = 1e-9  # a shorter line has no direction

# left side: middle of the workspace, and where the elbow then stands, both in the trunk's
# axes; the two vectors in the hand's or foot's axes
_ARM_ROWS = [
    [0.797, 0.576, -0.179],
    [-0.496, 0.458, -0.738],
    [-0.018, -0.257, 0.030],
    [0.209, -0.288, -0.261],
]
_LEG_ROWS = [
    [0.442, -0.001, -0.897],
    [0.875, 0.220, 0.431],
    [0.428, -0.090, 0.476],
    [0.026, 0.048, -0.008],
]


def _mirrored(rows: list[list[float]]) -> list[list[float]]:
    """Return the right side's: the last row goes through a cross product, hence the sign."""
    across = (1.0, -1.0, 1.0)
    signs = (1.0, 1.0, 1.0, -1.0)
    return [[s * a * x for a, x in zip(across, row)] for s, row in zip(signs, rows)]


_SWIVEL = tuple(
    tuple((x, y, z) for x, y, z in rows)
    for rows in (_ARM_ROWS, _mirrored(_ARM_ROWS), _LEG_ROWS, _mirrored(_LEG_ROWS))
)


@kernel
def bend_axis(limb: int) -> Vec3:
    """Return to which side of the upper segment, in its frame, elbow or knee stands when bent."""
    return -1.0 if limb < 2 else 1.0, 0.0, 0.0


@kernel
def reach_goal(
    limb: int, to_elbow: Vec3, to_wrist: Vec3, goal: Vec3, q_upper: Quat, q_lower: Quat
) -> tuple[Quat, Quat]:
    """
    Return both segments of a limb turned so that the wrist comes to its goal, in world.

    Along the line from the shoulder a nearly straight limb goes only a part of the way. Continuous
    in everything but where a goal lies at the shoulder. Elbow and wrist are in the frames of the
    segments before them, the goal is from the shoulder in world, and pointed at if it is out of
    reach [m].
    """
    upper_arm, forearm = rotate(q_upper, to_elbow), rotate(q_lower, to_wrist)
    wrist = add(upper_arm, forearm)
    missing = sub(goal, wrist)
    if norm(missing) <= EXACT_M:
        return q_upper, q_lower
    upper, lower, current = norm(upper_arm), norm(forearm), norm(wrist)
    square = norm(missing) * norm(missing)
    aim = add(wrist, scale(missing, square / (square + NEGLIGIBLE_M * NEGLIGIBLE_M)))
    distance = norm(aim)
    if distance < EXACT_M:
        return q_upper, q_lower
    axis = normalized(aim)
    distance = soft_distance(distance, current, upper, lower, KEPT_BACK_M)
    by_angles = _bend(upper, lower, current)
    bend = _weighed_bend(upper, lower, by_angles, _bend(upper, lower, distance))
    hint = rotate(q_upper, bend_axis(limb))
    off = sub(normalized(upper_arm), normalized(forearm))
    side = _bend_side(off, hint, axis, abs(bend - by_angles))
    along, across = upper + lower * math.cos(bend), lower * math.sin(bend)
    distance = math.sqrt(along * along + across * across)
    # of the upper segment, along the line to the wrist and square to it
    along, across = upper * along / distance, upper * across / distance
    elbow = add(scale(axis, along), scale(side, across))
    to_goal = sub(scale(axis, distance), elbow)
    return (
        multiply(between(upper_arm, elbow), q_upper),
        multiply(between(forearm, to_goal), q_lower),
    )


@kernel
def follow_turn(q_start: Quat, q_end: Quat, limit: float, turn: Quat) -> tuple[Quat, Quat]:
    """
    Return an orientation as near to another as it can be, and the turn that leads there.

    `q_start` is as measured, `q_end` as wanted; `turn` is the last one, from measured to
    published, which may change by `limit` [rad].
    """
    wanted = multiply(q_end, conjugate(q_start))
    reached = approach(turn, wanted, limit)
    if reached != wanted:
        q_end = multiply(reached, q_start)
    return q_end, reached


@kernel
def _bend_side(off: Vec3, hint: Vec3, axis: Vec3, change: float) -> Vec3:
    """Return the unit vector, square to the axis, to which the elbow stands; zero if none."""
    out = across(axis, off)
    doubt = max(1.0 - norm(out) / STRAIGHT, 0.0)
    if doubt > 0.0:
        weight = HINT_SHARE * doubt * doubt * change / (change + HINT_CHANGE_RAD)
        out = add(out, scale(across(axis, hint), weight))
    length = norm(out)
    return scale(out, 1.0 / length if length > 1e-12 else 0.0)


@kernel
def _weighed_bend(upper: float, lower: float, by_angles: float, by_end: float) -> float:
    """
    Return the bend of a limb on which its angles and its end disagree [rad].

    The wrist moves along its line by as much as the elbow stands off that, per radian of bend.
    Where that lever is long the end determines the bend. Of a nearly straight limb millimetres
    would bend it by many degrees: there the angles do, and the wrist stays off along the line.
    """
    middle = 0.5 * (by_angles + by_end)
    along, across = upper + lower * math.cos(middle), lower * math.sin(middle)
    lever = upper * across / max(math.sqrt(along * along + across * across), EXACT_M)
    weight = min(lever / LEVER_M, 1.0)
    return by_angles + ease(weight) * (by_end - by_angles)


@kernel
def _bend(upper: float, lower: float, distance: float) -> float:
    return math.pi - polar_limit(upper, lower, distance)


@kernel
def across(axis: Vec3, v: Vec3) -> Vec3:
    """Return the part of a vector that is square to a unit vector."""
    return sub(v, scale(axis, dot(axis, v)))


# A limb of which only hand or foot is measured.
#
# Wrist and segment lengths leave the elbow a circle, and something must fix where on it the elbow
# is. That is the sum of three vectors square to the line from shoulder to wrist: one that the
# trunk carries, turned with the line by the least rotation from the middle of the workspace, one
# fixed in the hand, and one square to another vector fixed in the hand. The first is a unit
# vector and the other two together are shorter, so that the sum never vanishes: the elbow is
# continuous wherever the hand goes, but straight away from the middle of the workspace, where no
# limb can point.
#
# The numbers are fitted by least squares to elbows and knees of captured people (nine clips of
# the CMU Graphics Lab database: walk, run, jump, climbing, washing, fight, three dances) and of
# the procedural performer.


@kernel
def infer_limb(
    limb: int, q_trunk: Quat, q_end: Quat, to_elbow: Vec3, to_wrist: Vec3, goal: Vec3
) -> tuple[Quat, Quat]:
    """
    Return the orientations of both segments of a limb by where its wrist is.

    Both bend in the plane of the limb; what the hand is turned about the forearm, its joint has to
    take. `q_trunk` is chest or pelvis and `q_end` hand or foot in world, lengths and goal as in
    `reach_goal`. Without a direction to the goal both are the trunk's.
    """
    distance = norm(goal)
    if distance < MIN_DISTANCE_M:
        return q_trunk, q_trunk
    axis = normalized(goal)
    side = _elbow_side(limb, q_trunk, q_end, axis)
    upper, lower = norm(to_elbow), norm(to_wrist)
    distance = soft_distance(distance, 0.0, upper, lower, KEPT_BACK_M)
    # the two segments differ from the axis by these angles, to opposite sides
    first, second = polar_limit(upper, distance, lower), -polar_limit(lower, distance, upper)
    return (
        point_segment(to_elbow, bend_axis(limb), *_turned(axis, side, first)),
        point_segment(to_wrist, bend_axis(limb), *_turned(axis, side, second)),
    )


@kernel
def _turned(axis: Vec3, side: Vec3, angle: float) -> tuple[Vec3, Vec3]:
    """Return two unit vectors that are square to each other, turned in their plane."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return (
        add(scale(axis, cosine), scale(side, sine)),
        sub(scale(side, cosine), scale(axis, sine)),
    )


@kernel
def point_segment(rest: Vec3, rest_side: Vec3, to: Vec3, side: Vec3) -> Quat:
    """
    Return the orientation of a segment from where it points and where its side shows.

    The first two are in its own frame, not parallel; `to` and `side` in world, unit and square to
    each other.
    """
    out = between(rest, to)
    turned = rotate(out, rest_side)
    angle = math.atan2(dot(to, cross(turned, side)), dot(turned, side))
    return multiply(exp(scale(to, angle)), out)


@kernel
def _elbow_side(limb: int, q_trunk: Quat, q_end: Quat, axis: Vec3) -> Vec3:
    """Return the unit vector, square to the axis, to which elbow or knee stands."""
    middle, stands, own, given = _SWIVEL[limb]
    turn = between(middle, rotate_inverse(q_trunk, axis))
    out = rotate(q_trunk, rotate(turn, stands))
    out = add(out, add(rotate(q_end, own), cross(axis, rotate(q_end, given))))
    out = across(axis, out)
    return normalized(out) if norm(out) > 0.0 else out
