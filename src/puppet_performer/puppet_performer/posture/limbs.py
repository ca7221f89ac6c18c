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

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, PARENTS
from puppet_core.math import kernel, vec3
from puppet_core.math.values import (
    add,
    align_sign,
    between,
    conjugate,
    multiply,
    Quat,
    quat,
    rotate,
    scale,
    sub,
    Vec3,
)
from puppet_performer.posture.blend import advance, blend_point, blend_rotation, detour_weight
from puppet_performer.posture.limb_goal import (
    approach,
    follow_turn,
    infer_limb,
    INFERRED_SPEED_RAD_S,
    reach_goal,
    TURN_SPEED_RAD_S,
)
from puppet_performer.posture.sensors import (
    carried_velocity,
    has_restarted,
    is_absent,
    joint_of_sensor,
    nearest_carrier,
)
from puppet_performer.posture.state import (
    BY_END,
    BY_NEIGHBOUR,
    FRESH,
    INFERRED,
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
