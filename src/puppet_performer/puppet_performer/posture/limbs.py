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
from puppet_core.math import (
    align_sign,
    between,
    conjugate,
    copy,
    exp,
    kernel,
    multiply,
    Quat,
    Quats,
    rotate,
    rotate_inverse,
    Vec3,
    work_array,
    work_table,
)
from puppet_performer.posture.blend import (
    advance,
    BY_END,
    BY_NEIGHBOUR,
    detour_share,
    Ease,
    ease_point,
    ease_rotation,
    EaseTimes,
    FRESH,
    INFERRED,
)
from puppet_performer.posture.body import BodyArrays, Proportions, ROOT_SLOT
from puppet_performer.posture.limb_goal import (
    approach,
    follow_turn,
    INFERRED_SPEED_RAD_S,
    KEPT_BACK_M,
    reach_goal,
    set_bend_axis,
    take_out,
    TURN_SPEED_RAD_S,
)
from puppet_performer.posture.sensors import (
    ABSENT,
    carried_velocity,
    joint_of_sensor,
    Mounting,
    nearest_carrier,
    RESTARTED,
    Sensed,
)
from puppet_performer.posture.trunk import settle_segment

MIN_DISTANCE_M = 1e-9  # a shorter line has no direction

# rows, left side: middle of the workspace, and where the elbow then stands, both in the
# trunk's axes; the vectors in the hand's or foot's axes
_ARM = [
    [0.797, 0.576, -0.179],
    [-0.496, 0.458, -0.738],
    [-0.018, -0.257, 0.030],
    [0.209, -0.288, -0.261],
]
_LEG = [
    [0.442, -0.001, -0.897],
    [0.875, 0.220, 0.431],
    [0.428, -0.090, 0.476],
    [0.026, 0.048, -0.008],
]

_SEGMENTS = np.array(LIMB_SEGMENTS)
_TRUNK = np.array(PARENTS[LIMB_SEGMENTS[:, 0]])
# about X: an arm of which nothing is known hangs down [rad]
_REST_TURNS = np.array([-1.3, 1.3, 0.0, 0.0])


def _mirrored(rows: list[list[float]]) -> list[list[float]]:
    """Return the right side's: the last row goes through a cross product, hence the sign."""
    across = [1.0, -1.0, 1.0]
    signs = (1.0, 1.0, 1.0, -1.0)
    return [[s * a * x for a, x in zip(across, row)] for s, row in zip(signs, rows)]


_SWIVEL = np.array([_ARM, _mirrored(_ARM), _LEG, _mirrored(_LEG)])


@kernel
def _swivel_row(limb: int, row: int, out: Vec3) -> None:
    for k in range(3):
        out[k] = _SWIVEL[limb, row, k]


@kernel
def _elbow_side(limb: int, q_trunk: Quat, q_end: Quat, axis: Vec3, out: Vec3) -> None:
    """Write the unit vector, square to the axis, to which elbow or knee stands."""
    own, given, turn = work_array(3), work_array(3), work_array(4)
    rotate_inverse(q_trunk, axis, own)
    _swivel_row(limb, 0, given)
    between(given, own, turn)
    _swivel_row(limb, 1, given)
    rotate(turn, given, given)
    rotate(q_trunk, given, out)
    _swivel_row(limb, 2, own)
    rotate(q_end, own, own)
    _swivel_row(limb, 3, given)
    rotate(q_end, given, given)
    out[0] += own[0] + axis[1] * given[2] - axis[2] * given[1]
    out[1] += own[1] + axis[2] * given[0] - axis[0] * given[2]
    out[2] += own[2] + axis[0] * given[1] - axis[1] * given[0]
    take_out(axis, out)
    _to_unit(out)


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
    limb: int,
    q_trunk: Quat,
    q_end: Quat,
    to_elbow: Vec3,
    to_wrist: Vec3,
    goal: Vec3,
    q_upper: Quat,
    q_lower: Quat,
) -> None:
    """
    Write the orientations of both segments of a limb by where its wrist is.

    Both bend in the plane of the limb; what the hand is turned about the forearm, its joint
    has to take.

    Parameters
    ----------
    limb : int
        Index into LIMBS.
    q_trunk, q_end : ndarray, shape (4,)
        Chest or pelvis, and hand or foot, in world.
    to_elbow, to_wrist : ndarray, shape (3,)
        Elbow in the upper segment's frame, wrist in the lower segment's [m].
    goal : ndarray, shape (3,)
        Wrist from the shoulder, in world; one out of reach is pointed at [m].
    q_upper, q_lower : ndarray, shape (4,)
        Out: the orientations in world; of the trunk if the goal has no direction.

    """
    axis, side = work_array(3), work_array(3)
    rest, rest_side, segment, segment_side = (
        work_array(3),
        work_array(3),
        work_array(3),
        work_array(3),
    )
    for k in range(4):
        q_upper[k] = q_lower[k] = q_trunk[k]
    for k in range(3):
        axis[k] = goal[k]
    distance = _to_unit(axis)
    if distance < MIN_DISTANCE_M:
        return
    _elbow_side(limb, q_trunk, q_end, axis, side)
    upper = math.sqrt(to_elbow[0] ** 2 + to_elbow[1] ** 2 + to_elbow[2] ** 2)
    lower = math.sqrt(to_wrist[0] ** 2 + to_wrist[1] ** 2 + to_wrist[2] ** 2)
    distance = soft_distance(distance, 0.0, upper, lower, KEPT_BACK_M)
    angle = polar_limit(upper, distance, lower)
    set_bend_axis(limb, rest_side)
    # the two segments differ from the axis by these angles, to opposite sides
    for is_lower in range(2):
        if is_lower:
            angle = -polar_limit(lower, distance, upper)
        cosine, sine = math.cos(angle), math.sin(angle)
        for k in range(3):
            segment[k] = cosine * axis[k] + sine * side[k]
            segment_side[k] = cosine * side[k] - sine * axis[k]
            rest[k] = to_wrist[k] if is_lower else to_elbow[k]
        point_segment(rest, rest_side, segment, segment_side, q_lower if is_lower else q_upper)


@kernel
def point_segment(rest: Vec3, rest_side: Vec3, to: Vec3, side: Vec3, out: Quat) -> None:
    """
    Write the orientation of a segment from where it points and where its side shows.

    Parameters
    ----------
    rest, rest_side : ndarray, shape (3,)
        Direction and side of the segment in its own frame, any lengths, not parallel.
    to, side : ndarray, shape (3,)
        The same in world, unit and square to each other.
    out : ndarray, shape (4,)
        The orientation.

    """
    turned, twist = work_array(3), work_array(4)
    between(rest, to, out)
    rotate(out, rest_side, turned)
    sine = (
        to[0] * (turned[1] * side[2] - turned[2] * side[1])
        + to[1] * (turned[2] * side[0] - turned[0] * side[2])
        + to[2] * (turned[0] * side[1] - turned[1] * side[0])
    )
    cosine = turned[0] * side[0] + turned[1] * side[1] + turned[2] * side[2]
    angle = math.atan2(sine, cosine)
    for k in range(3):
        turned[k] = angle * to[k]
    exp(turned, twist)
    multiply(twist, out, out)


@kernel
def follow_segment(
    q_known: Quat, along: Vec3, to: Vec3, turn: Quat, work: Vec3, out: Quat
) -> None:
    """Write the orientation of a segment that points somewhere and is else like another's."""
    rotate(q_known, along, work)
    between(work, to, turn)
    multiply(turn, q_known, out)


@kernel
def _to_unit(v: Vec3) -> float:
    """Bring a vector to length one, if it has a length; return that."""
    length = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if length > 0.0:
        for k in range(3):
            v[k] /= length
    return length


# A limb of one frame.


@kernel
def settle_limb(
    limb: int,
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
) -> None:
    """Fill the segments of a limb and its two general end-effectors; the trunk is settled."""
    start, trunk = _SEGMENTS[limb, 0], _TRUNK[limb]
    is_first = ease.sources[ROOT_SLOT + 1 + limb] == FRESH
    turn_s = np.inf if is_first else dt
    q, aims = work_table(3, 4), work_table(3, 4)
    wrist, goal = work_array(3), work_array(3)
    q_trunk, shoulder = body.q_world[trunk], body.p_world[start]
    rotate(q_trunk, skeleton.offsets[start], shoulder)
    for k in range(3):
        shoulder[k] += body.p_world[trunk, k]
    carrier = _measured_wrist(start, skeleton, mounting, sensed, wrist)
    for k in range(3):
        wrist[k] -= shoulder[k]
    settle_segments(
        limb, start, carrier, wrist, skeleton, sensed, dt, turn_s, ease, times, body, aims, q
    )
    _settle_end(limb, start, carrier, wrist, skeleton, sensed, dt, ease, times, body, aims, q)
    rotate(q[2], skeleton.interaction_points[limb], goal)
    for k in range(3):
        goal[k] = body.points[limb, k] - goal[k] - shoulder[k]
    _turn_to_goal(limb, start, skeleton, goal, turn_s, body, q)
    _place_segments(start, trunk, skeleton, q, body)
    _settle_middle(limb, start + 1, mounting, sensed, dt, ease, times, body)


@kernel
def _measured_wrist(
    start: int, skeleton: Proportions, mounting: Mounting, sensed: Sensed, wrist: Vec3
) -> int:
    """Write where the wrist is by position data; return whose, or INFERRED for no data."""
    middle, end = start + 1, start + 2
    if sensed.quality[end] != ABSENT:
        joint_of_sensor(end, sensed, mounting, wrist)
        return end
    wrist[0] = wrist[1] = wrist[2] = 0.0
    if sensed.quality[middle] == ABSENT:
        return INFERRED
    step = work_array(3)
    joint_of_sensor(middle, sensed, mounting, wrist)
    rotate(sensed.orientations[middle], skeleton.offsets[end], step)
    for k in range(3):
        wrist[k] += step[k]
    return middle


@kernel
def settle_segments(
    limb: int,
    start: int,
    carrier: int,
    wrist: Vec3,
    skeleton: Proportions,
    sensed: Sensed,
    dt: float,
    turn_s: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
    aims: Quats,
    q: Quats,
) -> None:
    """
    Write orientations in world: the targets of the blend, and its value now.

    An inferred segment turns no faster than a person's: while a lost trunk comes back its
    shoulder may go past the hand, and where the hand is at the shoulder nothing fixes an elbow.

    """
    target, last = work_array(4), work_array(4)
    source = _limb_targets(limb, start, carrier, wrist, skeleton, sensed, body, aims)
    for i in range(3):
        segment = start + i
        parent = q[i - 1] if i else body.q_world[_TRUNK[limb]]
        own = body.eased[segment]
        if sensed.quality[segment] != ABSENT:
            copy(sensed.orientations[segment], aims[i])
        elif i == 2 or source == INFERRED:
            copy(aims[i - 1] if i else parent, aims[i])
        if sensed.quality[segment] == ABSENT and source != INFERRED and i < 2:
            conjugate(parent, target)
            multiply(target, aims[i], target)
            change = advance(segment, source, False, dt, ease)
            copy(own, last)
            ease_rotation(target, segment, change, dt, ease, times, own)
            approach(last, own, INFERRED_SPEED_RAD_S * turn_s)
        else:
            rest = _REST_TURNS[limb] if i == 0 else 0.0
            settle_segment(segment, rest, sensed, dt, ease, times, parent, own, target)
        multiply(parent, own, q[i])


@kernel
def _limb_targets(
    limb: int,
    start: int,
    carrier: int,
    wrist: Vec3,
    skeleton: Proportions,
    sensed: Sensed,
    body: BodyArrays,
    targets: Quats,
) -> int:
    """Write what is inferred of upper and lower segment; return from what."""
    to_elbow, to_wrist = skeleton.offsets[start + 1], skeleton.offsets[start + 2]
    has_upper = sensed.quality[start] != ABSENT
    has_lower = sensed.quality[start + 1] != ABSENT
    if carrier == INFERRED or (has_upper and has_lower):
        return INFERRED
    step, turn, work = work_array(3), work_array(4), work_array(3)
    if not has_upper and not has_lower:
        q_trunk, q_end = body.q_world[_TRUNK[limb]], sensed.orientations[start + 2]
        infer_limb(limb, q_trunk, q_end, to_elbow, to_wrist, wrist, targets[0], targets[1])
        return BY_END
    if has_upper:
        q_upper = sensed.orientations[start]
        rotate(q_upper, to_elbow, step)
        for k in range(3):
            step[k] = wrist[k] - step[k]
        follow_segment(q_upper, to_wrist, step, turn, work, targets[1])
    else:
        q_lower = sensed.orientations[start + 1]
        rotate(q_lower, to_wrist, step)
        for k in range(3):
            step[k] = wrist[k] - step[k]
        follow_segment(q_lower, to_elbow, step, turn, work, targets[0])
    return BY_NEIGHBOUR


@kernel
def _settle_end(
    limb: int,
    start: int,
    carrier: int,
    wrist: Vec3,
    skeleton: Proportions,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
    aims: Quats,
    q: Quats,
) -> None:
    """
    Fill palm or sole from position data, else from the angles.

    A hand that comes back must not go straight to where it is, which may be through its own
    shoulder: while it takes over, it goes where the limb's blended angles lead, off by what
    the angles that are blended to are off. These jump where a segment's source changes.

    """
    target, by_angles, detour = work_array(3), work_array(3), work_array(3)
    slot = ROOT_SLOT + 1 + limb
    restarted = _restarted(carrier, sensed)
    if carrier != INFERRED and detour_share(ease.ages[slot] + dt, times) > 0.0:
        restarted = restarted or ease.ages[start] == 0.0 or ease.ages[start + 1] == 0.0
    change = advance(slot, carrier, restarted, dt, ease)
    share = detour_share(ease.ages[slot], times)
    if carrier == INFERRED:
        _wrist_by_angles(start, skeleton, q, wrist)
    elif share > 0.0:
        _wrist_by_angles(start, skeleton, q, by_angles)
        _wrist_by_angles(start, skeleton, aims, detour)
        for k in range(3):
            wrist[k] += share * (by_angles[k] - detour[k])
    rotate(q[2], skeleton.interaction_points[limb], target)
    for k in range(3):
        target[k] += body.p_world[start, k] + wrist[k]
    ease_point(target, slot, change, dt, ease, times, body.points[limb])
    _set_velocity(limb, start + 2, sensed, body)


@kernel
def _wrist_by_angles(start: int, skeleton: Proportions, q: Quats, out: Vec3) -> None:
    """Write the wrist from the shoulder, by orientations in world, shape (3, 4) [m]."""
    step = work_array(3)
    rotate(q[0], skeleton.offsets[start + 1], out)
    rotate(q[1], skeleton.offsets[start + 2], step)
    for k in range(3):
        out[k] += step[k]


@kernel
def _turn_to_goal(
    limb: int,
    start: int,
    skeleton: Proportions,
    goal: Vec3,
    dt: float,
    body: BodyArrays,
    q: Quats,
) -> None:
    """Turn upper and lower segment so that the wrist comes to its goal."""
    before = work_table(2, 4)
    for i in range(2):
        copy(q[i], before[i])
    reach_goal(limb, skeleton.offsets[start + 1], skeleton.offsets[start + 2], goal, q[0], q[1])
    for i in range(2):
        follow_turn(before[i], q[i], TURN_SPEED_RAD_S * dt, body.turns[2 * limb + i])


@kernel
def _place_segments(
    start: int, trunk: int, skeleton: Proportions, q: Quats, body: BodyArrays
) -> None:
    """Fill rotations, orientations and joints of a limb from its orientations in world."""
    target, parent = work_array(4), trunk
    for i in range(3):
        segment = start + i
        conjugate(body.q_world[parent], target)
        multiply(target, q[i], target)
        align_sign(body.rotations[segment], target, body.rotations[segment])
        copy(q[i], body.q_world[segment])
        if i > 0:
            rotate(body.q_world[parent], skeleton.offsets[segment], body.p_world[segment])
            for k in range(3):
                body.p_world[segment, k] += body.p_world[parent, k]
        parent = segment


@kernel
def _settle_middle(
    limb: int,
    middle: int,
    mounting: Mounting,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
) -> None:
    """Fill elbow or knee from position data, else from the angles."""
    target, source = work_array(3), INFERRED
    if sensed.quality[middle] != ABSENT:
        joint_of_sensor(middle, sensed, mounting, target)
        source = middle
    else:
        copy(body.p_world[middle], target)
    slot = ROOT_SLOT + 5 + limb
    change = advance(slot, source, _restarted(source, sensed), dt, ease)
    ease_point(target, slot, change, dt, ease, times, body.points[4 + limb])
    _set_velocity(4 + limb, middle, sensed, body)


@kernel
def _restarted(source: int, sensed: Sensed) -> bool:
    return source >= 0 and sensed.quality[source] == RESTARTED


@kernel
def _set_velocity(index: int, segment: int, sensed: Sensed, body: BodyArrays) -> None:
    """Fill the velocity of an end-effector; `segment` is the one it belongs to."""
    carrier = nearest_carrier(segment, sensed)
    if carrier >= 0:
        carried_velocity(body.points[index], carrier, sensed, body.velocities[index])
    else:
        body.velocities[index, :] = 0.0
