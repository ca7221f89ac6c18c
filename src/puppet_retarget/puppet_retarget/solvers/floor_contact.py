# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whole bodies on floors, whose soles, heels and toes are more than the points that have goals.

A foot whose heel or toe would dip in is turned about its sole until it does not; what has no goal
of its own, from knees to head, is taken out by the root, which is lifted. (Kernels.)
"""

import math

from puppet_core.body import ShapeArrays
from puppet_core.math import (
    add,
    conjugate,
    copy,
    cross,
    dot,
    exp,
    kernel,
    multiply,
    quat,
    rotate,
    scale,
    sub,
)
from puppet_core.math.values import Quat, QuatLike, Vec3, Vec3Like
from puppet_retarget.importance import ObjectArrays, PLANE
from puppet_retarget.solvers.corrections import follow_turn
from puppet_retarget.solvers.penetration import puppet_distance
from puppet_retarget.solvers.state import Frame, Goals, PuppetModel, STARTS, Tuning

LEVEL_SWEEPS = 3
TILT_BANDWIDTH = 120.0  # with which feet turn [1/s]
DIP_M = 0.005  # half of it may be left of what a foot dips in
LEVER_M = 0.02  # from the sole to what dips in: what is nearer hardly turns the foot


@kernel
def deepest_in_floors(
    shape: ShapeArrays, objects: ObjectArrays, segment: int, q: QuatLike, p: Vec3Like
) -> tuple[float, Vec3, Vec3]:
    """
    Return how deep a segment at an orientation and origin is in planes, negative above [m].

    And the way to the middle of the capsule's end that is deepest, from the origin [m], and the
    normal of the plane that it is in.
    """
    deepest, place, up = -math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    for j in range(objects.n_objects):
        if objects.shapes[j] != PLANE:
            continue
        for i in range(shape.first[segment], shape.first[segment + 1]):
            for end in (shape.starts[i], shape.ends[i]):
                way = rotate(q, end)
                distance, _, normal = puppet_distance(objects, j, add(p, way))
                if shape.radii[i] - distance > deepest:
                    deepest, place = shape.radii[i] - distance, way
                    up = rotate(objects.puppet_orientations[j], normal)
    return deepest, place, up


@kernel
def _levelled(
    shape: ShapeArrays,
    objects: ObjectArrays,
    segment: int,
    sole: Vec3Like,
    goal: Vec3Like,
    size: float,
    q: Quat,
) -> Quat:
    """Return a foot's orientation turned about its sole, which is at its goal, out of floors."""
    dip, least = size * DIP_M, size * LEVER_M
    for _ in range(LEVEL_SWEEPS):  # toe, then what of the heel comes down
        own = rotate(q, sole)
        depth, way, up = deepest_in_floors(shape, objects, segment, q, sub(goal, own))
        if depth <= 0.0:
            break
        axis = cross(sub(way, own), up)
        square = dot(axis, axis)
        raised = depth * depth / (2.0 * dip) if depth < dip else depth - 0.5 * dip
        q = multiply(exp(scale(axis, raised / (square + least * least))), q)
    return q


@kernel
def level_soles(
    model: PuppetModel,
    tuning: Tuning,
    objects: ObjectArrays,
    goals: Goals,
    dt: float,
    frame: Frame,
) -> None:
    """Turn feet that would dip into the floor about their soles, where these should be."""
    for limb in range(2, 4):
        segment, sole, goal = STARTS[limb] + 2, model.interaction_points[limb], goals.positions[limb]
        q = quat(frame.q_ends[limb])
        level = _levelled(model.body.shape, objects, segment, sole, goal, tuning.world_scale, q)
        turn = follow_turn(frame.tilts[limb - 2], multiply(level, conjugate(q)), TILT_BANDWIDTH, dt)
        copy(multiply(turn, q), frame.q_ends[limb])
        copy(sub(goal, rotate(frame.q_ends[limb], sole)), frame.wrist_goals[limb])


@kernel
def note_lift(model: PuppetModel, objects: ObjectArrays, frame: Frame) -> None:
    """Note how far the root has to be lifted for all but hands and feet to be above the floor."""
    deepest = -math.inf
    for segment in range(16):
        if segment < STARTS[0] or (segment - STARTS[0]) % 3 < 2:
            q, p = frame.q_world[segment], frame.p_world[segment]
            depth, _, _ = deepest_in_floors(model.body.shape, objects, segment, q, p)
            deepest = max(deepest, depth)
    frame.lift[0] = max(frame.lift[1] + deepest, 0.0)
