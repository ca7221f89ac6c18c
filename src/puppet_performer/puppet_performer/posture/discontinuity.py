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

import numpy as np
from puppet_core.body import (
    FASTEST_M_S,
    FASTEST_RAD_S,
    LIMB_SEGMENTS,
    LONGEST_S,
    PERFORMER_RATIO,
    SHORTEST_S,
)
from puppet_core.math import conjugate, copy, kernel, multiply, Quat, rotate, Vec3, work_array
from puppet_performer.posture.blend import CHANGED, DIFFERENCE, EARLIER, Ease, FRESH, STEP, TARGET
from puppet_performer.posture.body import BodyArrays, PELVIS, Proportions
from puppet_performer.posture.sensors import ABSENT, joint_of_sensor, Mounting, RESTARTED, Sensed

# A discontinuity is farther than a body goes in so many frames. A subscriber that misses one of
# two messages still detects it; if more are missing, frames are late (`HoldAndBlend`).
LEAP_FRAMES = 3.0
# A limb has gone along if, where the body went, it is nearer than so by far.
GONE_SHARE, GONE_M = 0.5, 0.1

_MIDDLES = np.array(LIMB_SEGMENTS[:, 1])  # whose own joint is elbow or knee


@kernel
def carry_after_leap(
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    body: BodyArrays,
) -> None:
    """
    Move the body to its pelvis, if the whole of it is elsewhere at once.

    Parameters
    ----------
    skeleton : Proportions
        Of the body.
    mounting, sensed : Mounting, Sensed
        How the sensors are mounted, and what they measure now.
    dt : float
        Since the last frame, >= 0 [s].
    ease : Ease
        State of the blending, carried along.
    body : BodyArrays
        As it was given out last, carried along.

    """
    last, quality = ease.sources[PELVIS], sensed.quality[PELVIS]
    if last == FRESH or quality == ABSENT or (quality != RESTARTED and last != CHANGED):
        return
    place, before, turn = work_array(3), work_array(3), work_array(4)
    joint_of_sensor(PELVIS, sensed, mounting, place)
    way = math.hypot(place[0] - body.root[0], place[1] - body.root[1])
    for k in range(2):
        before[k] = body.root[k] + ease.points[0, STEP, k]  # where he would have gone
    before[2] = place[2] = 0.0
    multiply(ease.rotations[PELVIS, STEP], body.rotations[PELVIS], turn)
    conjugate(turn, turn)
    multiply(sensed.orientations[PELVIS], turn, turn)
    _keep_vertical(turn)
    span = PERFORMER_RATIO * min(LEAP_FRAMES * max(dt, SHORTEST_S), LONGEST_S)
    angle = 2.0 * math.atan2(abs(turn[3]), abs(turn[0]))
    if way <= FASTEST_M_S * span and angle <= FASTEST_RAD_S * span:
        return
    if _has_gone(turn, before, place, skeleton, mounting, sensed, ease):
        _carry_all(turn, before, place, ease, body)


@kernel
def _keep_vertical(turn: Quat) -> None:
    """Leave of a rotation what is about the vertical; nothing of one that turns it over."""
    norm = math.hypot(turn[0], turn[3])
    turn[1] = turn[2] = 0.0
    if norm < 1e-6:
        turn[0], turn[3] = 1.0, 0.0
    else:
        turn[0] /= norm
        turn[3] /= norm


@kernel
def _has_gone(
    turn: Quat,
    before: Vec3,
    place: Vec3,
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    ease: Ease,
) -> bool:
    """Return whether the general end-effectors that are seen went along, all of them."""
    n_seen = 0
    now, then = work_array(3), work_array(3)
    for slot in range(1, len(ease.points)):
        limb, is_end = (slot - 1) % 4, slot <= 4
        segment = _MIDDLES[limb] + int(is_end)
        if sensed.quality[segment] == ABSENT:
            continue
        joint_of_sensor(segment, sensed, mounting, now)
        if is_end:
            rotate(sensed.orientations[segment], skeleton.interaction_points[limb], then)
            for k in range(3):
                now[k] += then[k]
        copy(ease.points[slot, TARGET], then)
        stayed_m = _apart(now, then)
        _carry(turn, before, place, then)
        if _apart(now, then) > GONE_SHARE * stayed_m + GONE_M:
            return False
        n_seen += 1
    return n_seen > 0


@kernel
def _carry_all(turn: Quat, before: Vec3, place: Vec3, ease: Ease, body: BodyArrays) -> None:
    """Move what is remembered of the body in the world; what is in a segment's frame stays."""
    _carry(turn, before, place, body.root)
    multiply(turn, body.rotations[PELVIS], body.rotations[PELVIS])
    for i in range(len(body.points)):
        _carry(turn, before, place, body.points[i])
    for i in range(len(body.turns)):
        _turn_along(turn, body.turns[i])
    for i in range(len(ease.points)):
        memory = ease.points[i]
        _carry(turn, before, place, memory[TARGET])
        _carry(turn, before, place, memory[EARLIER])
        rotate(turn, memory[DIFFERENCE], memory[DIFFERENCE])
        rotate(turn, memory[STEP], memory[STEP])
    memory = ease.rotations[PELVIS]
    multiply(turn, memory[TARGET], memory[TARGET])
    multiply(turn, memory[EARLIER], memory[EARLIER])
    _turn_along(turn, memory[STEP])


@kernel
def _apart(a: Vec3, b: Vec3) -> float:
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@kernel
def _carry(turn: Quat, from_point: Vec3, to_point: Vec3, point: Vec3) -> None:
    """Turn a point about another one, and move it with that."""
    for k in range(3):
        point[k] -= from_point[k]
    rotate(turn, point, point)
    for k in range(3):
        point[k] += to_point[k]


@kernel
def _turn_along(turn: Quat, rotation: Quat) -> None:
    """Turn the axis of a rotation."""
    back = work_array(4)
    conjugate(turn, back)
    multiply(turn, rotation, rotation)
    multiply(rotation, back, rotation)
