# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whole bodies against the world: soles, heels and toes, and all that has no goal of its own.

A foot whose heel or toe would dip in is turned about its sole until it does not. What of torso
and head is in an object, or of knees and elbows in a plane, is taken out by the root, which is
pushed: a belly off the table's edge, knees off the floor. (Kernels.)
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
    norm,
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
SECTIONS = 10  # halvings of a capsule's core
TILT_BANDWIDTH = 120.0  # with which feet turn [1/s]
DIP_M = 0.005  # half of it may be left of what a foot dips in
LEVER_M = 0.02  # from the sole to what dips in: what is nearer hardly turns the foot


@kernel
def _depth_along(
    objects: ObjectArrays, j: int, start: Vec3Like, line: Vec3Like
) -> tuple[float, float, Vec3]:
    """Return where a line is deepest in object j, in [0, 1], how deep [m], and the normal."""
    low, high = 0.0, 1.0
    for _ in range(SECTIONS):  # the distance from a convex solid is convex along a line
        share = 0.5 * (low + high)
        _, _, normal = puppet_distance(objects, j, add(start, scale(line, share)))
        if dot(rotate(objects.puppet_orientations[j], normal), line) > 0.0:
            high = share
        else:
            low = share
    share = 0.5 * (low + high)
    if objects.shapes[j] == PLANE:
        share = 0.0 if share < 0.5 else 1.0
    distance, _, normal = puppet_distance(objects, j, add(start, scale(line, share)))
    return share, -distance, rotate(objects.puppet_orientations[j], normal)


@kernel
def deepest_in_object(
    shape: ShapeArrays, objects: ObjectArrays, j: int, segment: int, q: QuatLike, p: Vec3Like
) -> tuple[float, Vec3, Vec3]:
    """
    Return how deep a segment at an orientation and origin is in object j, negative outside [m].

    And the way from the origin to its capsule's core there [m], and the object's normal. What is
    farther than the ball around the segment is not looked at closely.
    """
    centre = rotate(q, shape.centres[segment])
    distance, _, normal = puppet_distance(objects, j, add(p, centre))
    deepest, place = shape.bounds[segment] - distance, centre
    out = rotate(objects.puppet_orientations[j], normal)
    if deepest <= 0.0:
        return deepest, place, out
    deepest = -math.inf
    for i in range(shape.first[segment], shape.first[segment + 1]):
        start = rotate(q, shape.starts[i])
        line = sub(rotate(q, shape.ends[i]), start)
        share, depth, way_out = _depth_along(objects, j, add(p, start), line)
        if shape.radii[i] + depth > deepest:
            deepest, out = shape.radii[i] + depth, way_out
            place = add(start, scale(line, share))
    return deepest, place, out


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
    """Return a foot's orientation turned about its sole, which is at its goal, out of objects."""
    dip, least = size * DIP_M, size * LEVER_M
    for _ in range(LEVEL_SWEEPS):  # toe, then what of the heel comes down
        for j in range(objects.n_objects):
            own = rotate(q, sole)
            depth, way, up = deepest_in_object(shape, objects, j, segment, q, sub(goal, own))
            if depth > 0.0:
                axis = cross(sub(way, own), up)
                raised = depth * depth / (2.0 * dip) if depth < dip else depth - 0.5 * dip
                q = multiply(exp(scale(axis, raised / (dot(axis, axis) + least * least))), q)
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
        segment = STARTS[limb] + 2
        sole, goal = model.interaction_points[limb], goals.positions[limb]
        q = quat(frame.q_ends[limb])
        level = _levelled(model.body.shape, objects, segment, sole, goal, tuning.world_scale, q)
        turn = follow_turn(
            frame.tilts[limb - 2], multiply(level, conjugate(q)), TILT_BANDWIDTH, dt
        )
        copy(multiply(turn, q), frame.q_ends[limb])
        copy(sub(goal, rotate(frame.q_ends[limb], sole)), frame.wrist_goals[limb])


@kernel
def note_push(model: PuppetModel, objects: ObjectArrays, frame: Frame) -> None:
    """Note how far the root has to be pushed: torso and head out of objects, limbs of planes."""
    push = frame.push[0, 0], frame.push[1, 0], frame.push[2, 0]
    gap = math.inf
    for j in range(objects.n_objects):
        deepest, out = -math.inf, (0.0, 0.0, 0.0)
        for segment in range(16):
            if segment >= STARTS[0]:
                is_end = (segment - STARTS[0]) % 3 == 2
                if is_end or objects.shapes[j] != PLANE:
                    continue
            q, p = frame.q_world[segment], frame.p_world[segment]
            depth, _, normal = deepest_in_object(model.body.shape, objects, j, segment, q, p)
            if depth > deepest:
                deepest, out = depth, normal
        gap = min(gap, -deepest)
        push = add(push, scale(out, max(deepest, 0.0)))
    if gap > 0.0:  # back, as far as there is room
        size = norm(push)
        push = scale(push, max(1.0 - gap / size, 0.0) if size > 0.0 else 0.0)
    copy(push, frame.wanted_push)
