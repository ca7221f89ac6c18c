# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The segments of one frame: trunk, then arms and legs (kernels).

An unmeasured spine is turned halfway between pelvis and chest, and leans to where the chest's
sensor has the chest. An unmeasured chest goes with the head: it turns by a fraction of the head's
turn, and leans so that the neck comes to where the head's sensor has it.

A limb is estimated in four steps: each segment as measured or inferred; that blended over time;
the hand's or foot's point from position data, blended as well; and the segments turned so that the
limb ends at the point. What a segment is inferred from counts as a source of its own: when a hand
is lost, the elbow that was inferred from it is blended too.
"""

import math

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, PARENTS
from puppet_core.math import copy, kernel
from puppet_core.math.values import (
    add,
    align_sign,
    between,
    conjugate,
    IDENTITY,
    multiply,
    Quat,
    quat,
    rotate,
    scale,
    slerp,
    sub,
    Vec3,
    vec3,
)
from puppet_performer.posture.limbs import follow_turn, infer_limb, reach_goal
from puppet_performer.posture.state import (
    advance,
    approach,
    blend_point,
    blend_rotation,
    BY_END,
    BY_NEIGHBOUR,
    carried_velocity,
    CHEST,
    detour_weight,
    FRESH,
    has_restarted,
    HEAD,
    INFERRED,
    is_absent,
    joint_of_sensor,
    nearest_carrier,
    NOTHING,
    ORIGIN,
    PARENT_OF,
    PELVIS,
    place_joint,
    Record,
    ROOT,
    shift_in_world,
    SPINE,
)

HEAD_FRACTION = 0.5  # of the head's turn against the pelvis that an unmeasured chest makes [-]
LEAN_STEPS = 4  # each leaves about a third of the neck's error
TURN_SPEED_RAD_S = 10.0  # of what is added to a segment; an elbow's own is up to twice that
INFERRED_SPEED_RAD_S = 25.0  # of an inferred segment against its parent; a fast boxer's arm
FIRST_SEGMENTS = tuple(int(s) for s in LIMB_SEGMENTS[:, 0])
TRUNK = tuple(int(s) for s in PARENTS[LIMB_SEGMENTS[:, 0]])
# about X: an arm of which nothing is known hangs down [rad]
REST_TURNS = (-1.3, 1.3, 0.0, 0.0)


@kernel
def estimate_trunk(state: Record) -> None:
    """Fill rotations and joints of pelvis, spine, chest and head."""
    _estimate_pelvis(state)
    _estimate_torso(state)
    _estimate_root(state)


@kernel
def _estimate_pelvis(state: Record) -> None:
    """Fill the root's rotation: its sensor's, else the chest's at the first angle, else held."""
    slot = state.slots[PELVIS]
    if is_absent(PELVIS, state) and slot.source != INFERRED and slot.source != NOTHING:
        copy(quat(state.torso), state.carrying[:])
        slot.before = FRESH  # at another angle, so not the source that was used before
    last = quat(state.rotations[PELVIS])
    target, source = last, NOTHING
    if not is_absent(PELVIS, state):
        target, source = quat(state.sensors[PELVIS].orientation), PELVIS
    elif not is_absent(CHEST, state):
        chest = quat(state.sensors[CHEST].orientation)
        target, source = multiply(chest, conjugate(quat(state.carrying))), INFERRED
    root = blend_rotation(target, last, source, has_restarted(PELVIS, state), PELVIS, state)
    copy(root, state.rotations[PELVIS])
    copy(root, state.q_world[PELVIS])


@kernel
def _estimate_torso(state: Record) -> None:
    """Fill the rotations of spine, chest and head."""
    inverse = conjugate(quat(state.rotations[PELVIS]))
    # chest in the pelvis' frame: its sensor's, else the spine's, else the head's
    target, source, restarted = _torso_target(inverse, state)
    torso = blend_rotation(target, quat(state.torso), source, restarted, CHEST, state)
    copy(torso, state.torso[:])
    target, source, restarted = spine_target(inverse, torso, state)
    spine = blend_rotation(target, quat(state.rotations[SPINE]), source, restarted, SPINE, state)
    copy(spine, state.rotations[SPINE])
    chest = multiply(conjugate(spine), torso)
    copy(align_sign(quat(state.rotations[CHEST]), chest), state.rotations[CHEST])
    for segment in range(SPINE, HEAD + 1):
        parent = quat(state.q_world[PARENT_OF[segment]])
        if segment == HEAD:
            last = quat(state.rotations[HEAD])
            copy(measured_rotation(HEAD, 0.0, parent, last, state), state.rotations[HEAD])
        copy(multiply(parent, quat(state.rotations[segment])), state.q_world[segment])


@kernel
def measured_rotation(segment: int, rest: float, parent: Quat, last: Quat, state: Record) -> Quat:
    """Return a segment's joint rotation, else its parent's turned by `rest` about X [rad]."""
    target, source = (math.cos(0.5 * rest), math.sin(0.5 * rest), 0.0, 0.0), INFERRED
    if not is_absent(segment, state):
        target = multiply(conjugate(parent), quat(state.sensors[segment].orientation))
        source = segment
    return blend_rotation(target, last, source, has_restarted(segment, state), segment, state)


@kernel
def _torso_target(inverse: Quat, state: Record) -> tuple[Quat, int, bool]:
    """Return the chest in the pelvis' frame, its source and whether that restarted."""
    for carrier in (CHEST, SPINE):
        if not is_absent(carrier, state):
            torso = multiply(inverse, quat(state.sensors[carrier].orientation))
            return torso, carrier, has_restarted(carrier, state)
    if is_absent(HEAD, state) or is_absent(PELVIS, state):
        return IDENTITY, INFERRED, False
    head = multiply(inverse, quat(state.sensors[HEAD].orientation))
    torso, neck = slerp(IDENTITY, head, HEAD_FRACTION), _from_spine(HEAD, inverse, state)
    # spine and chest turn until they point to the neck
    for _ in range(LEAN_STEPS):
        chest = rotate(_halfway(torso), vec3(state.offsets[CHEST]))
        reached = add(chest, rotate(torso, vec3(state.offsets[HEAD])))
        torso = multiply(between(reached, neck), torso)
    return torso, HEAD, has_restarted(HEAD, state) or has_restarted(PELVIS, state)


@kernel
def spine_target(inverse: Quat, torso: Quat, state: Record) -> tuple[Quat, int, bool]:
    """Return the spine in the pelvis' frame, its source and whether that restarted."""
    if not is_absent(SPINE, state):
        spine = multiply(inverse, quat(state.sensors[SPINE].orientation))
        return spine, SPINE, has_restarted(SPINE, state)
    spine = _halfway(torso)
    if is_absent(CHEST, state) or is_absent(PELVIS, state):
        return spine, INFERRED, False
    reached = rotate(spine, vec3(state.offsets[CHEST]))
    lean = between(reached, _from_spine(CHEST, inverse, state))
    restarted = has_restarted(CHEST, state) or has_restarted(PELVIS, state)
    return multiply(lean, spine), BY_NEIGHBOUR, restarted


@kernel
def _from_spine(segment: int, inverse: Quat, state: Record) -> Vec3:
    """Return a segment's joint by position data, from the spine's, in the pelvis' frame [m]."""
    from_pelvis = sub(joint_of_sensor(segment, state), joint_of_sensor(PELVIS, state))
    return sub(rotate(inverse, from_pelvis), vec3(state.offsets[SPINE]))


@kernel
def _halfway(torso: Quat) -> Quat:
    """Return the rotation of a spine halfway between pelvis and chest."""
    return slerp(IDENTITY, torso, 0.5)


@kernel
def _estimate_root(state: Record) -> None:
    """Fill the root's position, carried by pelvis, chest or head, and the trunk's joints."""
    source = NOTHING
    for carrier in (HEAD, CHEST, PELVIS):
        if not is_absent(carrier, state):
            source = carrier
    target = vec3(state.root)
    if source != NOTHING:
        target = joint_of_sensor(source, state)
        segment = source
        while segment > PELVIS:
            parent = PARENT_OF[segment]
            step = rotate(quat(state.q_world[parent]), vec3(state.offsets[segment]))
            target, segment = sub(target, step), parent
    change = advance(source, has_restarted(source, state), state.slots[ROOT], state.dt)
    root = blend_point(target, vec3(state.root), change, ROOT, state)
    copy(root, state.root[:])
    copy(root, state.p_world[PELVIS])
    for segment in range(SPINE, HEAD + 1):
        place_joint(segment, PARENT_OF[segment], state)


@kernel
def estimate_limb(limb: int, state: Record) -> None:
    """Fill the segments of a limb and its two general end-effectors; the trunk is done."""
    start, trunk = FIRST_SEGMENTS[limb], TRUNK[limb]
    is_first = state.slots[ROOT + 1 + limb].source == FRESH
    turn_s = np.inf if is_first else state.dt
    place_joint(start, trunk, state)
    shoulder = vec3(state.p_world[start])
    wrist, carrier = _measured_wrist(start, state)
    wrist = sub(wrist, shoulder)
    _blend_segments(limb, carrier, wrist, turn_s, state)
    _estimate_end(limb, carrier, wrist, state)
    palm = rotate(quat(state.q_world[start + 2]), vec3(state.interaction_points[limb]))
    goal = add(vec3(state.points[limb]), shift_in_world(start + 2, state))
    _turn_to_goal(limb, sub(sub(goal, palm), shoulder), turn_s, state)
    for segment in range(start, start + 3):
        parent = PARENT_OF[segment]
        q = multiply(conjugate(quat(state.q_world[parent])), quat(state.q_world[segment]))
        copy(align_sign(quat(state.rotations[segment]), q), state.rotations[segment])
        place_joint(segment, parent, state)
    _estimate_middle(limb, state)


@kernel
def _measured_wrist(start: int, state: Record) -> tuple[Vec3, int]:
    """Return where the wrist is by position data and by whose, INFERRED for no data."""
    middle, end = start + 1, start + 2
    if not is_absent(end, state):
        return joint_of_sensor(end, state), end
    if is_absent(middle, state):
        return ORIGIN, INFERRED
    forearm = rotate(quat(state.sensors[middle].orientation), vec3(state.offsets[end]))
    return add(joint_of_sensor(middle, state), forearm), middle


@kernel
def _blend_segments(limb: int, carrier: int, wrist: Vec3, turn_s: float, state: Record) -> None:
    """Fill orientations in world: the blend's targets (`aims`), and its value now (`q_world`)."""
    start = FIRST_SEGMENTS[limb]
    source = _infer_segments(limb, carrier, wrist, state)
    for i in range(3):
        segment = start + i
        parent = quat(state.q_world[PARENT_OF[segment]])
        last = quat(state.blended[segment])
        if not is_absent(segment, state):
            copy(quat(state.sensors[segment].orientation), state.aims[segment])
        elif i == 2 or source == INFERRED:
            copy(quat(state.aims[segment - 1]) if i > 0 else parent, state.aims[segment])
        if is_absent(segment, state) and source != INFERRED and i < 2:
            target = multiply(conjugate(parent), quat(state.aims[segment]))
            own = blend_rotation(target, last, source, False, segment, state)
            own = approach(last, own, INFERRED_SPEED_RAD_S * turn_s)
        else:
            rest = REST_TURNS[limb] if i == 0 else 0.0
            own = measured_rotation(segment, rest, parent, last, state)
        copy(own, state.blended[segment])
        copy(multiply(parent, own), state.q_world[segment])


@kernel
def _infer_segments(limb: int, carrier: int, wrist: Vec3, state: Record) -> int:
    """Fill what is inferred of upper and lower segment (`aims`); return from what."""
    start = FIRST_SEGMENTS[limb]
    to_elbow, to_wrist = vec3(state.offsets[start + 1]), vec3(state.offsets[start + 2])
    no_upper, no_lower = is_absent(start, state), is_absent(start + 1, state)
    if carrier == INFERRED or not (no_upper or no_lower):
        return INFERRED
    if no_upper and no_lower:
        q_trunk = quat(state.q_world[TRUNK[limb]])
        q_end = quat(state.sensors[start + 2].orientation)
        upper, lower = infer_limb(limb, q_trunk, q_end, to_elbow, to_wrist, wrist)
        copy(upper, state.aims[start])
        copy(lower, state.aims[start + 1])
        return BY_END
    # the segment that is not measured points from where the other one has the elbow
    if no_lower:
        q_upper = quat(state.sensors[start].orientation)
        step = sub(wrist, rotate(q_upper, to_elbow))
        copy(_pointed(q_upper, to_wrist, step), state.aims[start + 1])
    else:
        q_lower = quat(state.sensors[start + 1].orientation)
        step = sub(wrist, rotate(q_lower, to_wrist))
        copy(_pointed(q_lower, to_elbow, step), state.aims[start])
    return BY_NEIGHBOUR


@kernel
def _pointed(q_known: Quat, along: Vec3, to: Vec3) -> Quat:
    """Return the orientation of a segment that points somewhere and is else like another's."""
    return multiply(between(rotate(q_known, along), to), q_known)


@kernel
def _estimate_end(limb: int, carrier: int, wrist: Vec3, state: Record) -> None:
    """
    Fill palm or sole from position data, else from the angles.

    A hand that comes back might go through its own shoulder: while its sensor takes over, it goes
    where the limb's blended angles lead, off by what the angles that are blended to are off.
    """
    start, index = FIRST_SEGMENTS[limb], ROOT + 1 + limb
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
    if carrier == start + 2:
        target = sub(target, shift_in_world(carrier, state))  # published where it was measured
    copy(blend_point(target, vec3(state.points[limb]), change, index, state), state.points[limb])
    _set_velocity(limb, start + 2, state)


@kernel
def _wrist_by_angles(start: int, orientations: np.ndarray, state: Record) -> Vec3:
    """Return the wrist from the shoulder, by orientations in world, shape (16, 4) [m]."""
    elbow = rotate(quat(orientations[start]), vec3(state.offsets[start + 1]))
    return add(elbow, rotate(quat(orientations[start + 1]), vec3(state.offsets[start + 2])))


@kernel
def _turn_to_goal(limb: int, goal: Vec3, turn_s: float, state: Record) -> None:
    """Turn upper and lower segment so that the wrist comes to its goal."""
    upper = FIRST_SEGMENTS[limb]
    lower = upper + 1
    to_elbow, to_wrist = vec3(state.offsets[lower]), vec3(state.offsets[lower + 1])
    q_upper, q_lower = quat(state.q_world[upper]), quat(state.q_world[lower])
    aims = reach_goal(limb, to_elbow, to_wrist, goal, q_upper, q_lower)
    limit = TURN_SPEED_RAD_S * turn_s
    q_upper, turn = follow_turn(q_upper, aims[0], limit, quat(state.turns[upper]))
    copy(q_upper, state.q_world[upper])
    copy(turn, state.turns[upper])
    q_lower, turn = follow_turn(q_lower, aims[1], limit, quat(state.turns[lower]))
    copy(q_lower, state.q_world[lower])
    copy(turn, state.turns[lower])


@kernel
def _estimate_middle(limb: int, state: Record) -> None:
    """Fill elbow or knee from position data, else from the angles."""
    middle, index = FIRST_SEGMENTS[limb] + 1, ROOT + 5 + limb
    target, source = vec3(state.p_world[middle]), INFERRED
    if not is_absent(middle, state):
        target, source = joint_of_sensor(middle, state), middle
    change = advance(source, has_restarted(source, state), state.slots[index], state.dt)
    last = vec3(state.points[4 + limb])
    copy(blend_point(target, last, change, index, state), state.points[4 + limb])
    _set_velocity(4 + limb, middle, state)


@kernel
def _set_velocity(point: int, segment: int, state: Record) -> None:
    """Fill the velocity of an end-effector; `segment` is the one it belongs to."""
    carrier = nearest_carrier(segment, state)
    velocity = ORIGIN
    if carrier >= 0:
        velocity = carried_velocity(vec3(state.points[point]), carrier, state)
    copy(velocity, state.velocities[point])
