# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of the world: ends at their goals, surfaces outside of planes and solids (kernels).

Goals are those of Shin2002 eqs. 5.2, 5.4 and 5.10 in one: an end is held at its goal the more
firmly the more it matters. Of surfaces both ends of every capsule count against planes, so heel,
ball and toe of a sole as well as knees, hips and back; against solids the deepest place of each
segment does.
"""

from puppet_core.math import kernel
from puppet_core.math.values import (
    add,
    conjugate,
    dot,
    lerp,
    log,
    multiply,
    rotate,
    scale,
    sub,
    Vec3,
)
from puppet_retarget.importance import (
    distance_from,
    lowest_place,
    MAX_RESTS,
    nearest_on_line,
    ObjectArrays,
    PLANE,
    REST_GAP,
    REST_IMPORTANCE,
    REST_OBJECT,
    REST_SEGMENT,
    UNSEEN_Z,
)
from puppet_retarget.solvers.whole_body.carried import add_thing, displacement
from puppet_retarget.solvers.whole_body.frame import add_point, add_turn, Frame
from puppet_retarget.solvers.whole_body.mounts import add_mounts, way_with_mounts
from puppet_retarget.solvers.whole_body.problem import close_row, firmness, ramp
from puppet_retarget.solvers.whole_body.tree import ENDS, MIDDLES, place

AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
TRUNK, HEAD = 3, 3  # segments of the trunk, and the one after them


@kernel
def add_ends(frame: Frame) -> None:
    """Add the rows of the eight general end-effectors' goals, by importance."""
    pose, wishes, weights = frame.pose, frame.wishes, frame.weights
    for j in range(8):
        weight = weights.goal * firmness(wishes.importances[j], weights.goal_slack)
        weight *= 1.0 if j < 4 else weights.limbs
        if weight <= 0.0:
            continue
        segment = ENDS[j] if j < 4 else MIDDLES[j - 4]
        missing = sub(goal_of(frame, j), pose.ends[j])
        for axis in AXES:
            add_point(frame, segment, pose.ends[j], axis)
            add_mounts(frame, j, axis)
            add_thing(frame, wishes.thing.goals[j], axis)
            close_row(frame.problem, weight, dot(axis, missing))


@kernel
def goal_of(frame: Frame, j: int) -> Vec3:
    """Return where an end should be, with what the puppet wears and carries as posed [m]."""
    with_thing = scale(displacement(frame), frame.wishes.thing.goals[j])
    return add(add(frame.wishes.goals[j], way_with_mounts(frame, j)), with_thing)


@kernel
def add_orientations(frame: Frame) -> None:
    """Add the rows of the orientations in world that hands and feet should keep."""
    pose, wishes = frame.pose, frame.wishes
    for j in range(4):
        is_sole = frame.tree.is_robot and j >= 2
        weight = frame.weights.level if is_sole else frame.weights.turn
        weight *= wishes.importances[j]
        if weight <= 0.0:
            continue
        missing = log(multiply(wishes.orientations[j], conjugate(pose.q[ENDS[j]])))
        for axis in AXES:
            add_turn(frame, ENDS[j], axis)
            close_row(frame.problem, weight, dot(axis, missing))


@kernel
def add_surfaces(frame: Frame) -> None:
    """Add one-sided rows for what of the body's surface is in planes and solids."""
    shape, objects = frame.shape, frame.objects
    for j in range(objects.n_objects):
        if objects.segments[j] >= 0 or objects.puppet_positions[j, 2] <= UNSEEN_Z:
            continue
        for s in range(16):
            if shape.first[s] == shape.first[s + 1]:
                continue
            centre = place(frame.pose, s, shape.centres[s])
            if from_object(objects, j, centre)[0] > shape.bounds[s]:
                continue
            if objects.shapes[j] == PLANE:
                _add_in_plane(frame, j, s)
            else:
                _add_in_solid(frame, j, s)


@kernel
def from_object(objects: ObjectArrays, j: int, point: Vec3) -> tuple[float, Vec3]:
    """Return the distance of a point from the puppet's object j [m], and its normal in world."""
    q, origin = objects.puppet_orientations[j], objects.puppet_positions[j]
    return distance_from(objects.shapes[j], objects.puppet_sizes[j], q, origin, point)


@kernel
def _add_in_plane(frame: Frame, j: int, s: int) -> None:
    shape, objects = frame.shape, frame.objects
    up = rotate(objects.puppet_orientations[j], (0.0, 0.0, 1.0))
    level = dot(up, objects.puppet_positions[j])
    for m in range(shape.first[s], shape.first[s + 1]):
        for side in range(2):
            core = place(frame.pose, s, shape.starts[m] if side == 0 else shape.ends[m])
            _push_out(frame, s, j, core, up, level + shape.radii[m] - dot(up, core))


@kernel
def _push_out(frame: Frame, s: int, j: int, core: Vec3, out: Vec3, depth: float) -> None:
    """Add the row of a place of a segment that is so deep in an object [m]."""
    beyond, slope = ramp(depth, frame.weights.surface_m)
    if beyond > 0.0:
        weight = frame.weights.hard if frame.tree.is_robot else frame.weights.surface
        add_point(frame, s, core, scale(out, slope))
        add_thing(frame, frame.wishes.thing.shares[j], scale(out, slope))
        close_row(frame.problem, weight, beyond)


@kernel
def _add_in_solid(frame: Frame, j: int, s: int) -> None:
    shape, objects = frame.shape, frame.objects
    there = objects.puppet_orientations[j], objects.puppet_positions[j]
    for m in range(shape.first[s], shape.first[s + 1]):
        start, end = place(frame.pose, s, shape.starts[m]), place(frame.pose, s, shape.ends[m])
        nearest = nearest_on_line(objects.shapes[j], objects.puppet_sizes[j], there, start, end)
        for share in (0.0, 1.0, nearest):
            core = lerp(start, end, share)
            distance, out = from_object(objects, j, core)
            depth = shape.radii[m] - distance - frame.allowed[j, s]
            # between the ends it comes and goes smoothly
            inner = 1.0 if share in (0.0, 1.0) else 4.0 * share * (1.0 - share)
            _push_out(frame, s, j, core, out, inner * depth)


@kernel
def add_rests(frame: Frame) -> None:
    """Add the rows that keep what rests as far from its object as the performer's, scaled."""
    shape, pose, weights, rests = frame.shape, frame.pose, frame.weights, frame.wishes.rests
    for i in range(MAX_RESTS):
        j, s = int(rests[i, REST_OBJECT]), int(rests[i, REST_SEGMENT])
        if j < 0:
            break
        if shape.first[s] == shape.first[s + 1]:
            continue
        centre = place(pose, s, shape.centres[s])
        distance, up = from_object(frame.objects, j, centre)
        height, where = lowest_place(shape, s, up, pose.q[s])
        gap = dot(up, sub(pose.p[s], centre)) + distance + height
        weight = weights.rest * firmness(rests[i, REST_IMPORTANCE], weights.rest_slack)
        weight *= 1.0 if s <= HEAD else weights.limbs
        wanted = frame.world_scale * max(rests[i, REST_GAP], 0.0)
        add_point(frame, s, place(pose, s, where), up)
        close_row(frame.problem, weight, wanted - gap)
