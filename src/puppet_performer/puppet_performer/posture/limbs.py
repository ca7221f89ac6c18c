# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Arms and legs of one frame (kernels).

In four steps: each segment as measured or inferred; that blended over time; the hand's or
foot's point from position data, blended as well; and the segments turned so that the limb ends
at the point. So the posture's hand is where the point is at every instant, also while sensors
come and go. What a segment is inferred from counts as a source of its own: when a hand is lost,
the elbow that was inferred from it is blended too.
"""

import math

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, PARENTS, polar_limit, soft_distance
from puppet_core.math import kernel, vec3
from puppet_core.math.values import (
    add,
    align_sign,
    between,
    conjugate,
    cross,
    dot,
    exp,
    multiply,
    norm,
    Quat,
    quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
)
from puppet_performer.posture.blend import (
    advance,
    approach,
    blend_point,
    blend_rotation,
    detour_weight,
)
from puppet_performer.posture.state import (
    BY_END,
    BY_NEIGHBOUR,
    carried_velocity,
    FRESH,
    has_restarted,
    INFERRED,
    is_absent,
    joint_of_sensor,
    nearest_carrier,
    origin,
    PARENT_OF,
    place_joint,
    Record,
    ROOT,
)
from puppet_performer.posture.trunk import measured_rotation

_FIRST_SEGMENTS = tuple(int(s) for s in LIMB_SEGMENTS[:, 0])
_TRUNK = tuple(int(s) for s in PARENTS[LIMB_SEGMENTS[:, 0]])
# about X: an arm of which nothing is known hangs down [rad]
_REST_TURNS = (-1.3, 1.3, 0.0, 0.0)


@kernel
def estimate_limb(limb: int, state: Record) -> None:
    """Fill the segments of a limb and its two general end-effectors; the trunk is done."""
    start, trunk = _FIRST_SEGMENTS[limb], _TRUNK[limb]
    is_first = state.slots[ROOT + 1 + limb].source == FRESH
    turn_s = np.inf if is_first else state.dt
    place_joint(start, trunk, state)
    shoulder = vec3(state.p_world[start])
    wrist, carrier = _measured_wrist(start, state)
    wrist = sub(wrist, shoulder)
    _blend_segments(limb, carrier, wrist, turn_s, state)
    _estimate_end(limb, carrier, wrist, state)
    palm = rotate(quat(state.q_world[start + 2]), vec3(state.interaction_points[limb]))
    _turn_to_goal(limb, sub(sub(vec3(state.points[limb]), palm), shoulder), turn_s, state)
    for segment in range(start, start + 3):
        parent = PARENT_OF[segment]
        q = multiply(conjugate(quat(state.q_world[parent])), quat(state.q_world[segment]))
        state.rotations[segment] = align_sign(quat(state.rotations[segment]), q)
        place_joint(segment, parent, state)
    _estimate_middle(limb, state)


@kernel
def _measured_wrist(start: int, state: Record) -> tuple[Vec3, int]:
    """Return where the wrist is by position data and by whose, INFERRED for no data."""
    middle, end = start + 1, start + 2
    if not is_absent(end, state):
        return joint_of_sensor(end, state), end
    if is_absent(middle, state):
        return origin(), INFERRED
    forearm = rotate(quat(state.sensors[middle].orientation), vec3(state.offsets[end]))
    return add(joint_of_sensor(middle, state), forearm), middle


@kernel
def _blend_segments(limb: int, carrier: int, wrist: Vec3, turn_s: float, state: Record) -> None:
    """
    Fill orientations in world: the targets of the blend (`aims`), and its value now (`q_world`).

    An inferred segment turns no faster than a person's: while a lost trunk comes back its
    shoulder may go past the hand, and where the hand is at the shoulder nothing fixes an elbow.
    """
    start = _FIRST_SEGMENTS[limb]
    source = _infer_segments(limb, carrier, wrist, state)
    for i in range(3):
        segment = start + i
        parent = quat(state.q_world[PARENT_OF[segment]])
        last = quat(state.blended[segment])
        if not is_absent(segment, state):
            state.aims[segment] = quat(state.sensors[segment].orientation)
        elif i == 2 or source == INFERRED:
            state.aims[segment] = quat(state.aims[segment - 1]) if i > 0 else parent
        if is_absent(segment, state) and source != INFERRED and i < 2:
            target = multiply(conjugate(parent), quat(state.aims[segment]))
            own = blend_rotation(target, last, source, False, segment, state)
            own = approach(last, own, INFERRED_SPEED_RAD_S * turn_s)
        else:
            rest = _REST_TURNS[limb] if i == 0 else 0.0
            own = measured_rotation(segment, rest, parent, last, state)
        state.blended[segment] = own
        state.q_world[segment] = multiply(parent, own)


@kernel
def _infer_segments(limb: int, carrier: int, wrist: Vec3, state: Record) -> int:
    """Fill what is inferred of upper and lower segment (`aims`); return from what."""
    start = _FIRST_SEGMENTS[limb]
    to_elbow, to_wrist = vec3(state.offsets[start + 1]), vec3(state.offsets[start + 2])
    no_upper, no_lower = is_absent(start, state), is_absent(start + 1, state)
    if carrier == INFERRED or not (no_upper or no_lower):
        return INFERRED
    if no_upper and no_lower:
        q_trunk = quat(state.q_world[_TRUNK[limb]])
        q_end = quat(state.sensors[start + 2].orientation)
        upper, lower = infer_limb(limb, q_trunk, q_end, to_elbow, to_wrist, wrist)
        state.aims[start], state.aims[start + 1] = upper, lower
        return BY_END
    # the segment that is not measured points from where the other one has the elbow
    if no_lower:
        q_upper = quat(state.sensors[start].orientation)
        step = sub(wrist, rotate(q_upper, to_elbow))
        state.aims[start + 1] = _pointed(q_upper, to_wrist, step)
    else:
        q_lower = quat(state.sensors[start + 1].orientation)
        step = sub(wrist, rotate(q_lower, to_wrist))
        state.aims[start] = _pointed(q_lower, to_elbow, step)
    return BY_NEIGHBOUR


@kernel
def _pointed(q_known: Quat, along: Vec3, to: Vec3) -> Quat:
    """Return the orientation of a segment that points somewhere and is else like another's."""
    return multiply(between(rotate(q_known, along), to), q_known)


@kernel
def _estimate_end(limb: int, carrier: int, wrist: Vec3, state: Record) -> None:
    """
    Fill palm or sole from position data, else from the angles.

    A hand that comes back must not go straight to where it is, which may be through its own
    shoulder: while its sensor takes over, it goes where the limb's blended angles lead, off by
    what the angles that are blended to are off. These jump where a segment's source changes.
    """
    start, index = _FIRST_SEGMENTS[limb], ROOT + 1 + limb
    slot = state.slots[index]
    restarted = has_restarted(carrier, state)
    if carrier != INFERRED and detour_weight(slot.age + state.dt, state.times) > 0.0:
        upper, lower = state.slots[start], state.slots[start + 1]
        restarted = restarted or upper.age == 0.0 or lower.age == 0.0
    change = advance(carrier, restarted, slot, state.dt)
    weight = detour_weight(slot.age, state.times)
    by_angles = _wrist_by_angles(start, state.q_world, state)
    if carrier == INFERRED:
        wrist = by_angles
    elif weight > 0.0:
        detour = sub(by_angles, _wrist_by_angles(start, state.aims, state))
        wrist = add(wrist, scale(detour, weight))
    palm = rotate(quat(state.q_world[start + 2]), vec3(state.interaction_points[limb]))
    target = add(palm, add(vec3(state.p_world[start]), wrist))
    state.points[limb] = blend_point(target, vec3(state.points[limb]), change, index, state)
    _set_velocity(limb, start + 2, state)


@kernel
def _wrist_by_angles(start: int, orientations: np.ndarray, state: Record) -> Vec3:
    """Return the wrist from the shoulder, by orientations in world, shape (16, 4) [m]."""
    elbow = rotate(quat(orientations[start]), vec3(state.offsets[start + 1]))
    return add(elbow, rotate(quat(orientations[start + 1]), vec3(state.offsets[start + 2])))


@kernel
def _turn_to_goal(limb: int, goal: Vec3, turn_s: float, state: Record) -> None:
    """Turn upper and lower segment so that the wrist comes to its goal."""
    upper = _FIRST_SEGMENTS[limb]
    lower = upper + 1
    to_elbow, to_wrist = vec3(state.offsets[lower]), vec3(state.offsets[lower + 1])
    q_upper, q_lower = quat(state.q_world[upper]), quat(state.q_world[lower])
    aims = reach_goal(limb, to_elbow, to_wrist, goal, q_upper, q_lower)
    limit = TURN_SPEED_RAD_S * turn_s
    q_upper, turn = follow_turn(q_upper, aims[0], limit, quat(state.turns[upper]))
    state.q_world[upper], state.turns[upper] = q_upper, turn
    q_lower, turn = follow_turn(q_lower, aims[1], limit, quat(state.turns[lower]))
    state.q_world[lower], state.turns[lower] = q_lower, turn


@kernel
def _estimate_middle(limb: int, state: Record) -> None:
    """Fill elbow or knee from position data, else from the angles."""
    middle, index = _FIRST_SEGMENTS[limb] + 1, ROOT + 5 + limb
    target, source = vec3(state.p_world[middle]), INFERRED
    if not is_absent(middle, state):
        target, source = joint_of_sensor(middle, state), middle
    change = advance(source, has_restarted(source, state), state.slots[index], state.dt)
    last = vec3(state.points[4 + limb])
    state.points[4 + limb] = blend_point(target, last, change, index, state)
    _set_velocity(4 + limb, middle, state)


@kernel
def _set_velocity(point: int, segment: int, state: Record) -> None:
    """Fill the velocity of an end-effector; `segment` is the one it belongs to."""
    carrier = nearest_carrier(segment, state)
    velocity = origin()
    if carrier >= 0:
        velocity = carried_velocity(vec3(state.points[point]), carrier, state)
    state.velocities[point] = velocity


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
TURN_SPEED_RAD_S = 10.0  # of what is added to a segment; an elbow's own is up to twice that
INFERRED_SPEED_RAD_S = 25.0  # of an inferred segment against its parent; a fast boxer's arm
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
    axis = (aim[0] / distance, aim[1] / distance, aim[2] / distance)
    distance = soft_distance(distance, current, upper, lower, KEPT_BACK_M)
    by_angles = _bend(upper, lower, current)
    bend = _weighed_bend(upper, lower, by_angles, _bend(upper, lower, distance))
    hint = rotate(q_upper, bend_axis(limb))
    off = sub(_over(upper_arm, upper), _over(forearm, lower))
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

    The wrist goes along the line from the shoulder by as much as the elbow stands off that
    line, per radian of bend. Where that lever is long the end determines the bend, and by the
    angles' errors the wrist would be off by centimetres. Where the limb is nearly straight the
    lever is short, and the end's errors would bend it by many degrees for millimetres: there
    the angles determine the bend, and the wrist stays off along the line by these millimetres.
    """
    middle = 0.5 * (by_angles + by_end)
    along, across = upper + lower * math.cos(middle), lower * math.sin(middle)
    lever = upper * across / max(math.sqrt(along * along + across * across), EXACT_M)
    weight = min(lever / LEVER_M, 1.0)
    return by_angles + weight * weight * (3.0 - 2.0 * weight) * (by_end - by_angles)


@kernel
def _bend(upper: float, lower: float, distance: float) -> float:
    return math.pi - polar_limit(upper, lower, distance)


@kernel
def across(axis: Vec3, v: Vec3) -> Vec3:
    """Return the part of a vector that is square to a unit vector."""
    return sub(v, scale(axis, dot(axis, v)))


@kernel
def _over(v: Vec3, length: float) -> Vec3:
    return v[0] / length, v[1] / length, v[2] / length


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
    axis = _over(goal, distance)
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
    length = norm(out)
    return _over(out, length) if length > 0.0 else out
