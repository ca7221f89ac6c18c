# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Things that are fixed to segments, and goals that go with them (kernels).

Who touches his own hat touches the puppet's: the goal of a hand at it is a place in the frame of
the puppet's segment, and the segment gives way as the hand does. What is fixed to a segment is an
obstacle to nothing.
"""

from puppet_core.math import copy, Floats, kernel
from puppet_core.math.values import add, multiply, rotate, scale, sub, Vec3, vec3
from puppet_retarget.importance import (
    blend_weight,
    GOAL,
    importance,
    RADIUS,
    signed_distance,
    to_object,
    UNSEEN_Z,
)
from puppet_retarget.solvers.whole_body.frame import add_point, Frame
from puppet_retarget.solvers.whole_body.tree import place


@kernel
def fill_mounts(frame: Frame, rows: Floats) -> None:
    """
    Fill how far goals go with things on segments.

    By how much each object counts in the goal, so that one that goes over to another object goes
    steadily.
    """
    objects, mounts, world = frame.objects, frame.wishes.mounts, frame.world_scale
    mounts.shares[:] = 0.0
    mounts.places[:] = 0.0
    mounted = 0
    for j in range(objects.n_objects):
        mounted += objects.segments[j] >= 0
    if mounted == 0:
        return
    for i in range(len(rows)):
        for j in range(objects.n_objects):
            s = objects.segments[j]
            if s < 0:
                continue
            share, local = share_of_goal(frame, rows, i, j)
            turned = rotate(objects.mount_orientations[j], scale(local, world))
            mounts.shares[i, s] += share
            there = scale(add(objects.mounts[j], turned), share)
            copy(add(mounts.places[i, s], there), mounts.places[i, s])
        for s in range(16):
            if mounts.shares[i, s] > 0.0:
                copy(scale(mounts.places[i, s], 1.0 / mounts.shares[i, s]), mounts.places[i, s])


@kernel
def share_of_goal(frame: Frame, rows: Floats, i: int, j: int) -> tuple[float, Vec3]:
    """Return how much object j counts in the goal of an end, and the goal in its frame [m]."""
    objects, influence = frame.objects, rows[i, RADIUS]
    own, total, there = 0.0, 0.0, (0.0, 0.0, 0.0)
    for k in range(objects.n_objects):
        is_there = objects.influence_distances[k, i] > 0.0 and objects.positions[k, 2] > UNSEEN_Z
        if influence > 0.0 and is_there:
            gap, local = gap_of_goal(frame, k, vec3(rows[i, GOAL : GOAL + 3]))
            weight = blend_weight(importance(gap, 0.0, 0.0, influence), gap / influence)
            total += weight
            if k == j:
                own, there = weight, local
    return own / total if own > 0.0 else 0.0, there


@kernel
def gap_of_goal(frame: Frame, j: int, goal: Vec3) -> tuple[float, Vec3]:
    """
    Return how far a goal in the performer's world is from an object's counterpart, at least 0 [m].

    And the goal in the object's frame [m]. What is fixed to a segment is where the performer's is,
    all others where they are while nobody holds them.
    """
    objects, world = frame.objects, frame.world_scale
    q, origin = objects.orientations[j], vec3(objects.positions[j])
    if objects.segments[j] < 0:
        q = objects.puppet_orientations[j]
        origin = scale(objects.puppet_positions[j], 1.0 / world)
    local = to_object(q, origin, goal)
    size = scale(objects.puppet_sizes[j], 1.0 / world)
    return max(signed_distance(objects.shapes[j], size, local)[0], 0.0), local


@kernel
def way_with_mounts(frame: Frame, i: int) -> Vec3:
    """Return how far the goal of an end is moved by things on segments as posed [m]."""
    mounts, way = frame.wishes.mounts, (0.0, 0.0, 0.0)
    for s in range(16):
        if mounts.shares[i, s] > 0.0:
            there = place(frame.pose, s, mounts.places[i, s])
            way = add(way, scale(sub(there, frame.wishes.goals[i]), mounts.shares[i, s]))
    return way


@kernel
def add_mounts(frame: Frame, i: int, direction: Vec3) -> None:
    """Add to an end's row how its goal moves with segments."""
    mounts = frame.wishes.mounts
    for s in range(16):
        if mounts.shares[i, s] > 0.0:
            there = place(frame.pose, s, mounts.places[i, s])
            add_point(frame, s, there, scale(direction, -mounts.shares[i, s]))


@kernel
def place_mounts(frame: Frame) -> None:
    """Put what is fixed to segments where the posed puppet has it."""
    objects, pose = frame.objects, frame.pose
    for j in range(objects.n_objects):
        s = objects.segments[j]
        if s >= 0:
            copy(place(pose, s, objects.mounts[j]), objects.puppet_positions[j])
            turned = multiply(pose.q[s], objects.mount_orientations[j])
            copy(turned, objects.puppet_orientations[j])
