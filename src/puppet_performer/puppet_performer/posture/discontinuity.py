# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A discontinuity of the whole performer: the body is elsewhere from one frame to the next (kernels).

Where the filter reports that the pelvis' pose does not go on, or stamps leave a gap, and the whole
body is farther away than one moves in a few frames, nobody walked there: the performer was not
measured meanwhile, or it is another one. Blended, the body would cross the room faster than
anybody, and turn through its own hands. So all remembered poses in the world are carried there as
one piece, over the floor and about the vertical; only the remaining difference is blended.
Subscribers detect the discontinuity by the same measure (`DiscontinuityDetector`).

A pelvis alone has not gone anywhere: its sensor was lost. Nor has a body of which a hand is
measured where it was.
"""

import math

from puppet_core.body import (
    FASTEST_M_S,
    FASTEST_RAD_S,
    LIMB_SEGMENTS,
    LONGEST_S,
    N_SEGMENTS,
    PERFORMER_RATIO,
    SHORTEST_S,
)
from puppet_core.math import kernel, vec3
from puppet_core.math.values import add, conjugate, multiply, norm, Quat, quat, rotate, sub, Vec3
from puppet_performer.posture.state import (
    ABSENT,
    CHANGED,
    FRESH,
    is_absent,
    joint_of_sensor,
    N_SLOTS,
    PELVIS,
    Record,
    RESTARTED,
    ROOT,
)

# A discontinuity is farther than a body goes in so many frames. A subscriber that misses one of
# two messages still detects it; if more are missing, frames are late (`HoldAndBlend`).
LEAP_FRAMES = 3.0
# A limb has gone along if, where the body went, it is nearer than so by far.
GONE_SHARE, GONE_M = 0.5, 0.1

_MIDDLES = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])  # whose own joint is elbow or knee


@kernel
def carry_over_discontinuity(state: Record) -> None:
    """Move the body as it was published last to its pelvis, if the whole of it is elsewhere."""
    slot, sensor = state.slots[PELVIS], state.sensors[PELVIS]
    if slot.source == FRESH or sensor.quality == ABSENT:
        return
    if sensor.quality != RESTARTED and slot.source != CHANGED:
        return
    joint, root = joint_of_sensor(PELVIS, state), vec3(state.root)
    place = (joint[0], joint[1], 0.0)
    way = math.hypot(place[0] - root[0], place[1] - root[1])
    step = state.slots[ROOT].step
    before = (root[0] + step[0], root[1] + step[1], 0.0)  # where the body would have gone
    last = multiply(quat(slot.step), quat(state.rotations[PELVIS]))
    turn = _about_vertical(multiply(quat(sensor.orientation), conjugate(last)))
    span = PERFORMER_RATIO * min(LEAP_FRAMES * max(state.dt, SHORTEST_S), LONGEST_S)
    angle = 2.0 * math.atan2(abs(turn[3]), abs(turn[0]))
    if way <= FASTEST_M_S * span and angle <= FASTEST_RAD_S * span:
        return
    if _limbs_went_along(turn, before, place, state):
        _carry_all(turn, before, place, state)


@kernel
def _about_vertical(turn: Quat) -> Quat:
    """Return of a rotation what is about the vertical; nothing of one that turns it over."""
    length = math.hypot(turn[0], turn[3])
    if length < 1e-6:
        return 1.0, 0.0, 0.0, 0.0
    return turn[0] / length, 0.0, 0.0, turn[3] / length


@kernel
def _limbs_went_along(turn: Quat, before: Vec3, place: Vec3, state: Record) -> bool:
    """Return whether the general end-effectors that are seen went along, all of them."""
    n_seen = 0
    for point in range(8):
        limb, is_end = point % 4, point < 4
        segment = _MIDDLES[limb] + int(is_end)
        if is_absent(segment, state):
            continue
        now = joint_of_sensor(segment, state)
        if is_end:
            q = quat(state.sensors[segment].orientation)
            now = add(now, rotate(q, vec3(state.interaction_points[limb])))
        then = vec3(state.slots[ROOT + 1 + point].target)
        stayed_m = norm(sub(now, then))
        if norm(sub(now, _carried(turn, before, place, then))) > GONE_SHARE * stayed_m + GONE_M:
            return False
        n_seen += 1
    return n_seen > 0


@kernel
def _carry_all(turn: Quat, before: Vec3, place: Vec3, state: Record) -> None:
    """Move what is remembered of the body in the world; what is in a segment's frame stays."""
    state.root[:] = _carried(turn, before, place, vec3(state.root))
    state.rotations[PELVIS] = multiply(turn, quat(state.rotations[PELVIS]))
    for i in range(8):
        state.points[i] = _carried(turn, before, place, vec3(state.points[i]))
    for i in range(N_SEGMENTS):
        state.turns[i] = _turned_along(turn, quat(state.turns[i]))
    for i in range(ROOT, N_SLOTS):
        slot = state.slots[i]
        slot.target[:3] = _carried(turn, before, place, vec3(slot.target))
        slot.earlier[:3] = _carried(turn, before, place, vec3(slot.earlier))
        slot.difference[:3] = rotate(turn, vec3(slot.difference))
        slot.step[:3] = rotate(turn, vec3(slot.step))
    slot = state.slots[PELVIS]
    slot.target[:] = multiply(turn, quat(slot.target))
    slot.earlier[:] = multiply(turn, quat(slot.earlier))
    slot.step[:] = _turned_along(turn, quat(slot.step))


@kernel
def _carried(turn: Quat, from_point: Vec3, to_point: Vec3, point: Vec3) -> Vec3:
    """Return a point turned about another one, and moved with that."""
    return add(rotate(turn, sub(point, from_point)), to_point)


@kernel
def _turned_along(turn: Quat, rotation: Quat) -> Quat:
    """Return a rotation whose axis is turned."""
    return multiply(multiply(turn, rotation), conjugate(turn))
