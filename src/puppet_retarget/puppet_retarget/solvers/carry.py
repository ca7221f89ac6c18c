# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What both hands hold goes with the puppet's hands, what is fixed to a segment with it (kernels).

A thing that rests on nothing is where the hands are. `carry_objects` puts the counterpart between
the palms as captured, where the puppet's own arms bring them at the reference root, and the goals
of the palms with it; after the limbs, `settle_carried` gives it what the palms still miss. Both in
proportion to the importances of the hands and to how loose the thing is, so nothing jumps when it
is taken or set down.

What is fixed to a segment is an obstacle to nothing; `mount_goals` puts the goals of ends at it
onto the puppet's as its segment is posed so far.
"""

import math

import numpy as np
from puppet_core.math import (
    add,
    copy,
    Floats,
    kernel,
    multiply,
    quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    vec3,
    Vec3s,
)
from puppet_core.math.values import Quat, Vec3
from puppet_retarget.importance import (
    blend_weight,
    from_object,
    GOAL,
    half_extent,
    IMPORTANCE,
    importance,
    OBJECT,
    ObjectArrays,
    RADIUS,
    signed_distance,
    support_by,
    to_object,
    UNSEEN_Z,
)
from puppet_retarget.solvers.body_contact import deepest_in_object
from puppet_retarget.solvers.state import Frame, Goals, PuppetModel, Tuning

CLEARING_STEPS = 6  # ahead, until a thing is out of the trunk


@kernel
def _carried(objects: ObjectArrays, rows: Floats) -> tuple[int, float]:
    """Return the object at both hands, -1 for none, and how much they carry it, in [0, 1]."""
    j = int(rows[0, OBJECT])
    if not 0 <= j < objects.n_objects or rows[1, OBJECT] != j:
        return -1, 0.0
    return j, objects.looseness[j] * rows[0, IMPORTANCE] * rows[1, IMPORTANCE]


@kernel
def _shift(objects: ObjectArrays, j: int, way: Vec3, goals: Vec3s) -> None:
    """Move a carried object, the palms' goals on it, and what moves and stands on it."""
    copy(add(objects.puppet_positions[j], way), objects.puppet_positions[j])
    for hand in range(2):
        copy(add(goals[hand], way), goals[hand])
    for k in range(j + 1, objects.n_objects):
        if objects.moves[k]:
            moved = add(objects.puppet_positions[k], scale(way, support_by(objects, k, j)))
            copy(moved, objects.puppet_positions[k])


@kernel
def carry_objects(
    model: PuppetModel,
    tuning: Tuning,
    objects: ObjectArrays,
    rows: Floats,
    goals: Goals,
    frame: Frame,
) -> None:
    """Move what the hands carry, and their goals, to between the palms as posed."""
    j, held = _carried(objects, rows)
    if held == 0.0:
        return
    # at the reference root: from where the goals' middle is to that of the palms, and ahead
    palms = middle_of_palms(frame)
    way = sub(palms, scale(add(goals.positions[0], goals.positions[1]), 0.5))
    ahead = sub(palms, vec3(frame.p_world[0]))
    ahead = scale((ahead[0], ahead[1], 0.0), 1.0 / max(math.hypot(ahead[0], ahead[1]), 1e-6))
    resting = vec3(objects.puppet_positions[j])
    way = add(way, scale(ahead, _longer(tuning, objects, j, ahead)))
    for _ in range(CLEARING_STEPS):
        copy(add(resting, way), objects.puppet_positions[j])
        way = add(way, scale(ahead, _trunk_depth(model, objects, j, frame)))
    copy(resting, objects.puppet_positions[j])
    _shift(objects, j, scale(way, held), goals.positions)


@kernel
def _longer(tuning: Tuning, objects: ObjectArrays, j: int, ahead: Vec3) -> float:
    """Return how far farther a counterpart extends than the performer's thing, at least 0 [m]."""
    along = rotate_inverse(objects.puppet_orientations[j], ahead)
    own = half_extent(objects.shapes[j], objects.puppet_sizes[j], along)
    performers = tuning.world_scale * half_extent(objects.shapes[j], objects.sizes[j], along)
    return max(own - performers, 0.0)


@kernel
def _trunk_depth(model: PuppetModel, objects: ObjectArrays, j: int, frame: Frame) -> float:
    """Return how deep pelvis, spine or chest is in an object, at least 0 [m]."""
    deepest = 0.0
    for segment in range(3):
        q, p = quat(frame.q_world[segment]), vec3(frame.p_world[segment])
        depth = deepest_in_object(model.body.shape, objects, j, segment, q, p)[0]
        deepest = max(deepest, depth)
    return deepest


@kernel
def settle_carried(objects: ObjectArrays, rows: Floats, goals: Vec3s, frame: Frame) -> None:
    """Move what the hands carry, and their goals, by what the palms miss on average."""
    palms = scale(add(goals[0], goals[1]), 0.5)
    carry_along(objects, rows, palms, goals, frame)


@kernel
def middle_of_palms(frame: Frame) -> Vec3:
    """Return the point between the puppet's palms [m]."""
    return scale(add(frame.end_effectors[0], frame.end_effectors[1]), 0.5)


@kernel
def carry_along(
    objects: ObjectArrays, rows: Floats, start: Vec3, goals: Vec3s, frame: Frame
) -> None:
    """Move what the hands carry, and their goals, as far as the palms' middle is from a start."""
    j, held = _carried(objects, rows)
    if held > 0.0:
        _shift(objects, j, scale(sub(middle_of_palms(frame), start), held), goals)


@kernel
def puppets_mount(objects: ObjectArrays, j: int, frame: Frame) -> tuple[Quat, Vec3]:
    """Return where the puppet has what is fixed to a segment: orientation, position [m]."""
    s = objects.segments[j]
    turn = quat(frame.q_world[s])
    place = add(frame.p_world[s], rotate(turn, objects.mounts[j]))
    return multiply(turn, objects.mount_orientations[j]), place


@kernel
def mount_goals(
    tuning: Tuning, objects: ObjectArrays, rows: Floats, goals: Goals, frame: Frame
) -> None:
    """
    Bring goals at the performer's objects on segments to the puppet's.

    By how much each object counts at the goal as `combine_pairs` weighs them, so that a goal that
    goes over to another object goes steadily. Once segments have moved, another call replaces
    what this one added. Rows without a radius stay where they are.
    """
    mounted = 0
    for j in range(objects.n_objects):
        mounted += objects.segments[j] >= 0
    if mounted == 0:
        return
    world = tuning.world_scale
    for i in range(len(rows)):
        goal, influence = vec3(rows[i, GOAL : GOAL + 3]), rows[i, RADIUS]
        if influence == 0.0:
            continue
        way, total = (0.0, 0.0, 0.0), 0.0
        for j in range(objects.n_objects):
            if objects.influence_distances[j, i] == 0.0 or objects.positions[j, 2] <= UNSEEN_Z:
                continue
            is_mounted = objects.segments[j] >= 0
            q, place = objects.orientations[j], vec3(objects.positions[j])
            if not is_mounted:
                q = objects.puppet_orientations[j]
                place = scale(objects.puppet_positions[j], 1.0 / world)
            local, size = to_object(q, place, goal), scale(objects.puppet_sizes[j], 1.0 / world)
            gap = max(signed_distance(objects.shapes[j], size, local)[0], 0.0)
            weight = blend_weight(importance(gap, 0.0, 0.0, influence), gap / influence)
            total += weight
            if is_mounted:
                turn, there = puppets_mount(objects, j, frame)
                there = from_object(turn, there, scale(local, world))
                way = add(way, scale(sub(there, scale(goal, world)), weight))
        way = scale(way, 1.0 / total) if total > 0.0 else way
        more = sub(way, frame.mounted[i])
        copy(add(goals.positions[i], more), goals.positions[i])
        if i < 4:
            copy(add(frame.wrist_goals[i], more), frame.wrist_goals[i])
        copy(way, frame.mounted[i])


@kernel
def place_mounted(packed: np.ndarray) -> None:
    """Put what is fixed to segments where the posed puppet has it."""
    objects = packed[0].objects
    for j in range(objects.n_objects):
        if objects.segments[j] >= 0:
            turn, place = puppets_mount(objects, j, packed[0].frame)
            copy(place, objects.puppet_positions[j])
            copy(turn, objects.puppet_orientations[j])
