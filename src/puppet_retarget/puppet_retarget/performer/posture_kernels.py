# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One frame of sensors on their segments to joint rotations and end-effectors (kernel layer).

A segment without a usable sensor takes what is inferred from its neighbours, eased as
`ease_kernels` does: slots 0 to 15 are the rotations of the segments (the chest's in the
pelvis' frame, so that the torso bends evenly), 16 the root, 17 to 24 the end-effectors.

"""

from typing import NamedTuple

from numpy.typing import NDArray
from puppet_core.arrays import Quat, Quats, Vec3, Vec3s
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import align_sign, conjugate, multiply, rotate, slerp
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS
from puppet_core.work_array import work_table
from puppet_retarget.performer.ease_kernels import (
    advance,
    Ease,
    ease_point,
    ease_rotation,
    EaseTimes,
    INFERRED,
    NOTHING,
)
from puppet_retarget.performer.sensor_kernels import (
    ABSENT,
    carried_velocity,
    joint_of_sensor,
    Mounting,
    nearest_carrier,
    PREDICTED,
    RESTARTED,
    Sensed,
)

N_POINTS = 9  # root, then the eight general end-effectors
STATUS_MEASURED, STATUS_INFERRED, STATUS_STALE = 0, 1, 2  # as in the Posture message

_PELVIS, _SPINE, _CHEST = 0, 1, 2
_ROOT_SLOT = N_SEGMENTS
_PARENTS = tuple(int(p) for p in PARENTS)
_LOWER = tuple(int(s) for s in LIMB_SEGMENTS[:, 1])
_END = tuple(int(s) for s in LIMB_SEGMENTS[:, 2])


class BodyArrays(NamedTuple):
    """The posture in all forms that are published; in: the last one, out: the new one."""

    rotations: Quats  # (16, 4) row 0 in world, others relative to the parent
    root: Vec3  # (3,) [m]
    q_world: Quats  # (16, 4)
    p_world: Vec3s  # (16, 3) [m]
    torso: Quat  # (4,) chest in the pelvis' frame
    points: Vec3s  # general end-effectors, (8, 3) [m]
    velocities: Vec3s  # (8, 3) [m/s]


class Proportions(NamedTuple):
    """The performer's skeleton, as writable copies so that kernels compile but once."""

    offsets: Vec3s  # (16, 3) [m]
    interaction_points: Vec3s  # (4, 3) [m]


@kernel
def estimate_posture(
    skeleton: Proportions, mounting: Mounting, sensed: Sensed,
    dt: float, ease: Ease, times: EaseTimes, body: BodyArrays, status: NDArray,
) -> None:  # fmt: skip
    """
    Advance the body by one frame whose sensors have been read.

    Parameters
    ----------
    skeleton, mounting, sensed : Proportions, Mounting, Sensed
        The body, its sensors and how they sit.
    dt : float
        Since the last frame, >= 0 [s].
    ease, times : Ease, EaseTimes
        Memory of the easing, and its times.
    body : BodyArrays
        In and out.
    status : ndarray of uint8, shape (16,)
        Out: STATUS_* of every segment.

    """
    quaternions, points = work_table(2, 4), work_table(3, 3)
    settle_pelvis(sensed, dt, ease, times, body, quaternions[0])
    settle_torso(sensed, dt, ease, times, body, quaternions)
    settle_segments(sensed, dt, ease, times, body, quaternions[0])
    settle_root(skeleton, mounting, sensed, dt, ease, times, body, points)
    settle_points(skeleton, mounting, sensed, dt, ease, times, body, points)
    grade_segments(sensed, ease, times, status)


@kernel
def settle_pelvis(
    sensed: Sensed, dt: float, ease: Ease, times: EaseTimes, body: BodyArrays, target: Quat
) -> None:
    """Fill the root's rotation: its sensor's, else carried by the chest, else held."""
    if sensed.quality[_PELVIS] != ABSENT:
        source = _PELVIS
        copy(sensed.orientations[_PELVIS], target)
    elif sensed.quality[_CHEST] != ABSENT:
        source = INFERRED
        conjugate(body.torso, target)
        multiply(sensed.orientations[_CHEST], target, target)
    else:
        source = NOTHING
        copy(body.rotations[_PELVIS], target)
    changed = advance(_PELVIS, source, sensed.quality[_PELVIS] == RESTARTED, dt, ease)
    ease_rotation(target, _PELVIS, changed, ease, times, body.rotations[_PELVIS])
    copy(body.rotations[_PELVIS], body.q_world[_PELVIS])


@kernel
def settle_torso(
    sensed: Sensed, dt: float, ease: Ease, times: EaseTimes, body: BodyArrays, scratch: Quats
) -> None:
    """Fill the rotations of spine and chest; an unmeasured spine stands halfway."""
    quality, measured = sensed.quality, sensed.orientations
    target, inverse = scratch[0], scratch[1]
    conjugate(body.rotations[_PELVIS], inverse)
    # chest in the pelvis' frame: its sensor's, else the spine's, else upright on the pelvis
    carrier = _CHEST if quality[_CHEST] != ABSENT else _SPINE
    source = carrier if quality[carrier] != ABSENT else INFERRED
    if source != INFERRED:
        multiply(inverse, measured[carrier], target)
    else:
        target[0], target[1], target[2], target[3] = 1.0, 0.0, 0.0, 0.0
    changed = advance(_CHEST, source, quality[carrier] == RESTARTED, dt, ease)
    ease_rotation(target, _CHEST, changed, ease, times, body.torso)
    if quality[_SPINE] != ABSENT:
        source = _SPINE
        multiply(inverse, measured[_SPINE], target)
    else:
        source = INFERRED
        target[0], target[1], target[2], target[3] = 1.0, 0.0, 0.0, 0.0
        slerp(target, body.torso, 0.5, target)
    changed = advance(_SPINE, source, quality[_SPINE] == RESTARTED, dt, ease)
    ease_rotation(target, _SPINE, changed, ease, times, body.rotations[_SPINE])
    conjugate(body.rotations[_SPINE], target)
    multiply(target, body.torso, target)
    align_sign(body.rotations[_CHEST], target, body.rotations[_CHEST])
    for segment in range(_SPINE, _CHEST + 1):
        parent = body.q_world[_PARENTS[segment]]
        multiply(parent, body.rotations[segment], body.q_world[segment])


@kernel
def settle_segments(
    sensed: Sensed, dt: float, ease: Ease, times: EaseTimes, body: BodyArrays, target: Quat
) -> None:
    """Fill the rotations of head and limbs; an unmeasured one follows its parent."""
    for segment in range(_CHEST + 1, N_SEGMENTS):
        parent = body.q_world[_PARENTS[segment]]
        own = body.rotations[segment]
        if sensed.quality[segment] != ABSENT:
            source = segment
            conjugate(parent, target)
            multiply(target, sensed.orientations[segment], target)
        else:
            source = INFERRED
            target[0], target[1], target[2], target[3] = 1.0, 0.0, 0.0, 0.0
        changed = advance(segment, source, sensed.quality[segment] == RESTARTED, dt, ease)
        ease_rotation(target, segment, changed, ease, times, own)
        multiply(parent, own, body.q_world[segment])


@kernel
def settle_root(
    skeleton: Proportions, mounting: Mounting, sensed: Sensed, dt: float,
    ease: Ease, times: EaseTimes, body: BodyArrays, scratch: Vec3s,
) -> None:  # fmt: skip
    """Fill the root's position and the world position of every joint."""
    target, step = scratch[0], scratch[1]
    source = _PELVIS if sensed.quality[_PELVIS] != ABSENT else _CHEST
    if sensed.quality[source] == ABSENT:
        source = NOTHING
        copy(body.root, target)
    else:
        joint_of_sensor(source, sensed, mounting, target)
    if source == _CHEST:
        for segment in range(_SPINE, _CHEST + 1):
            rotate(body.q_world[_PARENTS[segment]], skeleton.offsets[segment], step)
            for k in range(3):
                target[k] -= step[k]
    restarted = source >= 0 and sensed.quality[source] == RESTARTED
    changed = advance(_ROOT_SLOT, source, restarted, dt, ease)
    ease_point(target, _ROOT_SLOT, changed, ease, times, body.root)
    copy(body.root, body.p_world[0])
    for segment in range(1, N_SEGMENTS):
        parent = _PARENTS[segment]
        rotate(body.q_world[parent], skeleton.offsets[segment], body.p_world[segment])
        for k in range(3):
            body.p_world[segment, k] += body.p_world[parent, k]


@kernel
def settle_points(
    skeleton: Proportions, mounting: Mounting, sensed: Sensed, dt: float,
    ease: Ease, times: EaseTimes, body: BodyArrays, scratch: Vec3s,
) -> None:  # fmt: skip
    """Fill the end-effectors from position data, and their velocities from the twists."""
    middle, target, step = scratch[0], scratch[1], scratch[2]
    for limb in range(4):
        lower, end = _LOWER[limb], _END[limb]
        # elbow or knee
        if sensed.quality[lower] != ABSENT:
            joint_of_sensor(lower, sensed, mounting, middle)
        else:
            copy(body.p_world[lower], middle)
        settle_point(4 + limb, lower, middle, sensed, dt, ease, times, body)
        # palm or sole
        rotate(body.q_world[end], skeleton.interaction_points[limb], step)
        if sensed.quality[end] != ABSENT:
            joint_of_sensor(end, sensed, mounting, target)
        else:
            rotate(body.q_world[lower], skeleton.offsets[end], target)
            for k in range(3):
                target[k] += middle[k]
        for k in range(3):
            target[k] += step[k]
        settle_point(limb, end, target, sensed, dt, ease, times, body)


@kernel
def settle_point(
    index: int, segment: int, target: Vec3, sensed: Sensed,
    dt: float, ease: Ease, times: EaseTimes, body: BodyArrays,
) -> None:  # fmt: skip
    """Fill one end-effector and its velocity; `segment` is the one it belongs to."""
    slot = _ROOT_SLOT + 1 + index
    source = segment if sensed.quality[segment] != ABSENT else INFERRED
    changed = advance(slot, source, sensed.quality[segment] == RESTARTED, dt, ease)
    ease_point(target, slot, changed, ease, times, body.points[index])
    carrier = nearest_carrier(segment, sensed)
    if carrier >= 0:
        carried_velocity(body.points[index], carrier, sensed, body.velocities[index])
    else:
        body.velocities[index, :] = 0.0


@kernel
def grade_segments(sensed: Sensed, ease: Ease, times: EaseTimes, status: NDArray) -> None:
    """Fill the STATUS_* of every segment, shape (16,)."""
    for segment in range(N_SEGMENTS):
        quality = sensed.quality[segment]
        lost_lately = ease.ages[segment] < times.hold + times.fade
        if quality == ABSENT:
            stale = lost_lately or ease.sources[segment] == NOTHING
            status[segment] = STATUS_STALE if stale else STATUS_INFERRED
        else:
            status[segment] = STATUS_STALE if quality == PREDICTED else STATUS_MEASURED
