# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Arms and legs of one frame (kernel layer).

In four steps: what the sensors say, or what is inferred, of each segment; that eased; the
hand's or foot's point from position data, eased as well; and the segments turned so that the
limb ends at the point. So the posture's hand is where the point is at every instant, also
while sensors come and go. What a segment is inferred from counts as a source of its own: a
hand that is lost eases the elbow that it told.

"""

import numpy as np
from puppet_core.arrays import Quats, Vec3
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import align_sign, conjugate, multiply, rotate
from puppet_core.skeleton import LIMB_SEGMENTS, PARENTS
from puppet_core.work_array import work_array, work_table
from puppet_retarget.performer.body_arrays import BodyArrays, Proportions, ROOT_SLOT
from puppet_retarget.performer.ease_kernels import (
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
from puppet_retarget.performer.limb_goal_kernels import (
    approach,
    follow_turn,
    INFERRED_SPEED_RAD_S,
    reach_goal,
    TURN_SPEED_RAD_S,
)
from puppet_retarget.performer.limb_inference_kernels import follow_segment, infer_limb
from puppet_retarget.performer.sensor_kernels import (
    ABSENT,
    carried_velocity,
    joint_of_sensor,
    Mounting,
    nearest_carrier,
    RESTARTED,
    Sensed,
)
from puppet_retarget.performer.trunk_kernels import settle_segment

_SEGMENTS = np.array(LIMB_SEGMENTS)
_TRUNK = np.array(PARENTS[LIMB_SEGMENTS[:, 0]])
# about X: an arm of which nothing is known hangs down [rad]
_REST_TURNS = np.array([-1.3, 1.3, 0.0, 0.0])


@kernel
def settle_limb(
    limb: int, skeleton: Proportions, mounting: Mounting, sensed: Sensed,
    dt: float, ease: Ease, times: EaseTimes, body: BodyArrays,
) -> None:  # fmt: skip
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
    limb: int, start: int, carrier: int, wrist: Vec3, skeleton: Proportions, sensed: Sensed,
    dt: float, turn_s: float, ease: Ease, times: EaseTimes, body: BodyArrays, aims: Quats,
    q: Quats,
) -> None:  # fmt: skip
    """
    Write orientations in world: what they are eased to, and as they are eased now.

    An inferred segment turns no faster than a person's: while a lost trunk comes back its
    shoulder may go past the hand, and where the hand is at the shoulder nothing tells an elbow.

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
    limb: int, start: int, carrier: int, wrist: Vec3, skeleton: Proportions, sensed: Sensed,
    body: BodyArrays, targets: Quats,
) -> int:  # fmt: skip
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
    limb: int, start: int, carrier: int, wrist: Vec3, skeleton: Proportions, sensed: Sensed,
    dt: float, ease: Ease, times: EaseTimes, body: BodyArrays, aims: Quats, q: Quats,
) -> None:  # fmt: skip
    """
    Fill palm or sole from position data, else from the angles.

    A hand that comes back must not go straight to where it is, which may be through its own
    shoulder: while it takes over, it goes where the limb's eased angles lead, off by what
    the angles that are eased to are off. These leap where a segment's source changes.

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
    limb: int, start: int, skeleton: Proportions, goal: Vec3, dt: float, body: BodyArrays,
    q: Quats,
) -> None:  # fmt: skip
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
    limb: int, middle: int, mounting: Mounting, sensed: Sensed,
    dt: float, ease: Ease, times: EaseTimes, body: BodyArrays,
) -> None:  # fmt: skip
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
