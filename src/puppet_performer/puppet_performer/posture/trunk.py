# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Pelvis, spine, chest and head of one frame (kernels).

An unmeasured spine is turned halfway between pelvis and chest, and leans to where the chest's
sensor has the chest. An unmeasured chest goes with the head: it turns by a fraction of the
head's turn, and leans so that the neck comes to where the head's sensor has it. Without a sensor
of its own the head follows the chest.
"""

import math

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
    slerp,
    sub,
    Vec3,
)
from puppet_performer.posture.blend import advance, blend_point, blend_rotation
from puppet_performer.posture.state import (
    BY_NEIGHBOUR,
    CHEST,
    FRESH,
    has_restarted,
    HEAD,
    identity,
    INFERRED,
    is_absent,
    joint_of_sensor,
    NOTHING,
    PARENT_OF,
    PELVIS,
    place_joint,
    Record,
    ROOT,
    SPINE,
)

HEAD_FRACTION = 0.5  # of the head's turn against the pelvis that an unmeasured chest makes [-]
LEAN_STEPS = 4  # each leaves about a third of the neck's error


@kernel
def estimate_trunk(state: Record) -> None:
    """Fill rotations and joints of pelvis, spine, chest and head."""
    _estimate_pelvis(state)
    _estimate_torso(state)
    _estimate_root(state)


@kernel
def _estimate_pelvis(state: Record) -> None:
    """
    Fill the root's rotation: its sensor's, else carried by the chest, else held.

    The chest carries the pelvis at the angle they had at first, not in the last frame: what is
    blended is already in that, and the pelvis would turn on and on. A chest that flickers carries
    it at that angle again.
    """
    slot = state.slots[PELVIS]
    if is_absent(PELVIS, state) and slot.source != INFERRED and slot.source != NOTHING:
        state.carrying[:] = quat(state.torso)
        slot.before = FRESH  # at another angle, so not the source that was used before
    last = quat(state.rotations[PELVIS])
    target, source = last, NOTHING
    if not is_absent(PELVIS, state):
        target, source = quat(state.sensors[PELVIS].orientation), PELVIS
    elif not is_absent(CHEST, state):
        chest = quat(state.sensors[CHEST].orientation)
        target, source = multiply(chest, conjugate(quat(state.carrying))), INFERRED
    root = blend_rotation(target, last, source, has_restarted(PELVIS, state), PELVIS, state)
    state.rotations[PELVIS] = state.q_world[PELVIS] = root


@kernel
def _estimate_torso(state: Record) -> None:
    """Fill the rotations of spine, chest and head."""
    inverse = conjugate(quat(state.rotations[PELVIS]))
    # chest in the pelvis' frame: its sensor's, else the spine's, else the head's
    target, source, restarted = _torso_target(inverse, state)
    torso = blend_rotation(target, quat(state.torso), source, restarted, CHEST, state)
    state.torso[:] = torso
    target, source, restarted = _spine_target(inverse, torso, state)
    spine = blend_rotation(target, quat(state.rotations[SPINE]), source, restarted, SPINE, state)
    state.rotations[SPINE] = spine
    chest = multiply(conjugate(spine), torso)
    state.rotations[CHEST] = align_sign(quat(state.rotations[CHEST]), chest)
    for segment in range(SPINE, HEAD + 1):
        parent = quat(state.q_world[PARENT_OF[segment]])
        if segment == HEAD:
            last = quat(state.rotations[HEAD])
            state.rotations[HEAD] = measured_rotation(HEAD, 0.0, parent, last, state)
        state.q_world[segment] = multiply(parent, quat(state.rotations[segment]))


@kernel
def measured_rotation(segment: int, rest: float, parent: Quat, last: Quat, state: Record) -> Quat:
    """
    Return the joint rotation of a segment that follows its parent if it is not measured.

    `rest` is its angle about X then [rad].
    """
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
        return identity(), INFERRED, False
    head = multiply(inverse, quat(state.sensors[HEAD].orientation))
    torso, neck = slerp(identity(), head, HEAD_FRACTION), _from_spine(HEAD, inverse, state)
    # spine and chest turn until they point to the neck
    for _ in range(LEAN_STEPS):
        chest = rotate(_halfway(torso), vec3(state.offsets[CHEST]))
        reached = add(chest, rotate(torso, vec3(state.offsets[HEAD])))
        torso = multiply(between(reached, neck), torso)
    return torso, HEAD, has_restarted(HEAD, state) or has_restarted(PELVIS, state)


@kernel
def _spine_target(inverse: Quat, torso: Quat, state: Record) -> tuple[Quat, int, bool]:
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
    return slerp(identity(), torso, 0.5)


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
    state.root[:] = root
    state.p_world[PELVIS] = root
    for segment in range(SPINE, HEAD + 1):
        place_joint(segment, PARENT_OF[segment], state)
