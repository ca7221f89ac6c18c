# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Pelvis, spine, chest and head of one frame (kernel layer).

An unmeasured spine is turned halfway between pelvis and chest, and leans to where the chest's
sensor has the chest. An unmeasured chest goes with the head: it takes a fraction of the head's
turn, and leans so that the neck comes to where the head's sensor has it. Without a sensor of
its own the head follows the chest.

"""

import math

from puppet_core.body import PARENTS
from puppet_core.math import (
    align_sign,
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
from puppet_performer.posture.blend import (
    advance,
    BY_NEIGHBOUR,
    Ease,
    ease_point,
    ease_rotation,
    EaseTimes,
    FRESH,
    INFERRED,
    NOTHING,
)
from puppet_performer.posture.body import (
    BodyArrays,
    CHEST,
    HEAD,
    PELVIS,
    Proportions,
    ROOT_SLOT,
    SPINE,
)
from puppet_performer.posture.sensors import ABSENT, joint_of_sensor, Mounting, RESTARTED, Sensed

HEAD_SHARE = 0.5  # of the head's turn against the pelvis that an unmeasured chest takes [-]
LEAN_STEPS = 4  # each leaves about a third of the neck's error

_PARENTS = tuple(int(p) for p in PARENTS)


@kernel
def settle_trunk(
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
    scratch: Quats,
    points: Vec3s,
) -> None:
    """Fill rotations and joints of pelvis, spine, chest and head."""
    settle_pelvis(sensed, dt, ease, times, body, scratch[0])
    settle_torso(skeleton, mounting, sensed, dt, ease, times, body, scratch)
    settle_root(skeleton, mounting, sensed, dt, ease, times, body, points)


@kernel
def settle_pelvis(
    sensed: Sensed, dt: float, ease: Ease, times: EaseTimes, body: BodyArrays, target: Quat
) -> None:
    """
    Fill the root's rotation: its sensor's, else carried by the chest, else held.

    The chest carries the pelvis at the angle they had at first, not in the last frame: what is
    blended is already in that, and the pelvis would turn on and on. A chest that flickers carries
    it at that angle again.

    """
    last = ease.sources[PELVIS]
    if sensed.quality[PELVIS] == ABSENT and last != INFERRED and last != NOTHING:
        copy(body.torso, body.carrying)
        ease.befores[PELVIS] = FRESH  # at another angle, so not the source that was used before
    if sensed.quality[PELVIS] != ABSENT:
        source = PELVIS
        copy(sensed.orientations[PELVIS], target)
    elif sensed.quality[CHEST] != ABSENT:
        source = INFERRED
        conjugate(body.carrying, target)
        multiply(sensed.orientations[CHEST], target, target)
    else:
        source = NOTHING
        copy(body.rotations[PELVIS], target)
    change = advance(PELVIS, source, sensed.quality[PELVIS] == RESTARTED, dt, ease)
    ease_rotation(target, PELVIS, change, dt, ease, times, body.rotations[PELVIS])
    copy(body.rotations[PELVIS], body.q_world[PELVIS])


@kernel
def settle_torso(
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
    scratch: Quats,
) -> None:
    """Fill the rotations of spine, chest and head."""
    target, inverse = scratch[0], scratch[1]
    conjugate(body.rotations[PELVIS], inverse)
    # chest in the pelvis' frame: its sensor's, else the spine's, else the head's
    source, restarted = _torso_target(skeleton, mounting, sensed, body, inverse, target)
    change = advance(CHEST, source, restarted, dt, ease)
    ease_rotation(target, CHEST, change, dt, ease, times, body.torso)
    source, restarted = _spine_target(skeleton, mounting, sensed, body, inverse, target)
    change = advance(SPINE, source, restarted, dt, ease)
    ease_rotation(target, SPINE, change, dt, ease, times, body.rotations[SPINE])
    conjugate(body.rotations[SPINE], target)
    multiply(target, body.torso, target)
    align_sign(body.rotations[CHEST], target, body.rotations[CHEST])
    for segment in range(SPINE, CHEST + 1):
        parent = body.q_world[_PARENTS[segment]]
        multiply(parent, body.rotations[segment], body.q_world[segment])
    own = body.rotations[HEAD]
    settle_segment(HEAD, 0.0, sensed, dt, ease, times, body.q_world[CHEST], own, target)
    multiply(body.q_world[CHEST], body.rotations[HEAD], body.q_world[HEAD])


@kernel
def settle_segment(
    segment: int,
    rest: float,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    parent: Quat,
    own: Quat,
    target: Quat,
) -> None:
    """
    Fill the joint rotation of a segment that follows its parent if it is not measured.

    `rest` is its angle about X then [rad].

    """
    if sensed.quality[segment] != ABSENT:
        source = segment
        conjugate(parent, target)
        multiply(target, sensed.orientations[segment], target)
    else:
        source = INFERRED
        target[0], target[1], target[2], target[3] = (
            math.cos(0.5 * rest),
            math.sin(0.5 * rest),
            0.0,
            0.0,
        )
    change = advance(segment, source, sensed.quality[segment] == RESTARTED, dt, ease)
    ease_rotation(target, segment, change, dt, ease, times, own)


@kernel
def _torso_target(
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    body: BodyArrays,
    inverse: Quat,
    target: Quat,
) -> tuple[int, bool]:
    """Write the chest in the pelvis' frame; return its source and whether that restarted."""
    quality = sensed.quality
    for carrier in (CHEST, SPINE):
        if quality[carrier] != ABSENT:
            multiply(inverse, sensed.orientations[carrier], target)
            return carrier, quality[carrier] == RESTARTED
    target[0], target[1], target[2], target[3] = 1.0, 0.0, 0.0, 0.0
    if quality[HEAD] == ABSENT or quality[PELVIS] == ABSENT:
        return INFERRED, False
    head, neck = work_array(4), work_array(3)
    multiply(inverse, sensed.orientations[HEAD], head)
    slerp(target, head, HEAD_SHARE, target)
    _from_spine(HEAD, skeleton, mounting, sensed, inverse, neck)
    _lean_to(skeleton, neck, target)
    return HEAD, quality[HEAD] == RESTARTED or quality[PELVIS] == RESTARTED


@kernel
def _spine_target(
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    body: BodyArrays,
    inverse: Quat,
    target: Quat,
) -> tuple[int, bool]:
    """Write the spine in the pelvis' frame; return its source and whether that restarted."""
    quality = sensed.quality
    if quality[SPINE] != ABSENT:
        multiply(inverse, sensed.orientations[SPINE], target)
        return SPINE, quality[SPINE] == RESTARTED
    _halfway(body.torso, target)
    if quality[CHEST] == ABSENT or quality[PELVIS] == ABSENT:
        return INFERRED, False
    chest, reached, lean = work_array(3), work_array(3), work_array(4)
    _from_spine(CHEST, skeleton, mounting, sensed, inverse, chest)
    rotate(target, skeleton.offsets[CHEST], reached)
    between(reached, chest, lean)
    multiply(lean, target, target)
    return BY_NEIGHBOUR, quality[CHEST] == RESTARTED or quality[PELVIS] == RESTARTED


@kernel
def _from_spine(
    segment: int,
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    inverse: Quat,
    out: Vec3,
) -> None:
    """Write a segment's joint by position data, from the spine's, in the pelvis' frame [m]."""
    pelvis = work_array(3)
    joint_of_sensor(segment, sensed, mounting, out)
    joint_of_sensor(PELVIS, sensed, mounting, pelvis)
    for k in range(3):
        out[k] -= pelvis[k]
    rotate(inverse, out, out)
    for k in range(3):
        out[k] -= skeleton.offsets[SPINE, k]


@kernel
def _lean_to(skeleton: Proportions, neck: Vec3, torso: Quat) -> None:
    """Turn the chest so that spine and chest point to the neck, from the spine's joint."""
    spine, lean = work_array(4), work_array(4)
    reached, step = work_array(3), work_array(3)
    for _ in range(LEAN_STEPS):
        _halfway(torso, spine)
        rotate(spine, skeleton.offsets[CHEST], reached)
        rotate(torso, skeleton.offsets[HEAD], step)
        for k in range(3):
            reached[k] += step[k]
        between(reached, neck, lean)
        multiply(lean, torso, torso)


@kernel
def _halfway(torso: Quat, out: Quat) -> None:
    """Write the rotation of a spine halfway between pelvis and chest."""
    out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
    slerp(out, torso, 0.5, out)


@kernel
def settle_root(
    skeleton: Proportions,
    mounting: Mounting,
    sensed: Sensed,
    dt: float,
    ease: Ease,
    times: EaseTimes,
    body: BodyArrays,
    scratch: Vec3s,
) -> None:
    """Fill the root's position, carried by pelvis, chest or head, and the trunk's joints."""
    target, step = scratch[0], scratch[1]
    source = NOTHING
    for carrier in (HEAD, CHEST, PELVIS):
        if sensed.quality[carrier] != ABSENT:
            source = carrier
    if source == NOTHING:
        copy(body.root, target)
    else:
        joint_of_sensor(source, sensed, mounting, target)
        segment = source
        while segment > PELVIS:
            rotate(body.q_world[_PARENTS[segment]], skeleton.offsets[segment], step)
            for k in range(3):
                target[k] -= step[k]
            segment = _PARENTS[segment]
    restarted = source >= 0 and sensed.quality[source] == RESTARTED
    change = advance(ROOT_SLOT, source, restarted, dt, ease)
    ease_point(target, ROOT_SLOT, change, dt, ease, times, body.root)
    copy(body.root, body.p_world[PELVIS])
    for segment in range(SPINE, HEAD + 1):
        parent = _PARENTS[segment]
        rotate(body.q_world[parent], skeleton.offsets[segment], body.p_world[segment])
        for k in range(3):
            body.p_world[segment, k] += body.p_world[parent, k]
