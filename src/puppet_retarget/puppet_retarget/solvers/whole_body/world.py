# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of the world: ends at their goals, surfaces outside of planes and solids (kernels).

Goals are those of Shin2002 eqs. 5.2, 5.4 and 5.10 in one: an end is held at its goal the more
firmly the more it matters. Of surfaces both ends of every capsule count, so heel, ball and toe of
a sole as well as knees, hips and back; and beside solids, which have edges, what is between them.
"""

from puppet_core.math import kernel
from puppet_core.math.values import (
    add,
    conjugate,
    cross,
    dot,
    log,
    multiply,
    norm,
    quat,
    scale,
    sub,
    Vec3,
    vec3,
)
from puppet_retarget.importance import (
    distance_from,
    gap_between,
    MAX_RESTS,
    PLANE,
    puppet_solid,
    REST_GAP,
    REST_IMPORTANCE,
    REST_OBJECT,
    REST_SEGMENT,
    REST_SOFT_M,
    Solid,
    UNSEEN_Z,
)
from puppet_retarget.solvers.whole_body.carried import add_thing, displacement
from puppet_retarget.solvers.whole_body.frame import add_motion, add_point, add_turn, Frame
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
        weight *= firmness(wishes.importances[j], frame.weights.touch_slack)
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
        solid = puppet_solid(objects, j)
        for s in range(16):
            if shape.first[s] == shape.first[s + 1]:
                continue
            centre = place(frame.pose, s, shape.centres[s])
            if distance_from(solid, centre)[0] <= shape.bounds[s]:
                _add_surface(frame, j, solid, s)


@kernel
def _add_surface(frame: Frame, j: int, solid: Solid, s: int) -> None:
    """Add rows for both ends of each capsule, and for what an edge is between them."""
    shape, pose = frame.shape, (quat(frame.pose.q[s]), vec3(frame.pose.p[s]))
    allowed, soft = frame.allowed[j, s], frame.weights.surface_m
    for m in range(shape.first[s], shape.first[s + 1]):
        is_ball = norm(sub(shape.starts[m], shape.ends[m])) == 0.0
        for side in range(1 if is_ball else 2):
            core = place(frame.pose, s, shape.starts[m] if side == 0 else shape.ends[m])
            distance, out = distance_from(solid, core)
            depth = shape.radii[m] - distance - allowed
            _push_out(frame, j, s, depth, (out, cross(core, out)))
        if solid.shape != PLANE and not is_ball:
            gap, way, turn = gap_between(shape, s, (m, m + 1), pose, solid, soft)
            _push_out(frame, j, s, -gap - allowed, (way, turn))


@kernel
def _push_out(frame: Frame, j: int, s: int, depth: float, out: tuple[Vec3, Vec3]) -> None:
    """Add the row of a depth in object j [m], which gets less as a segment moves by `out`."""
    beyond, slope = ramp(depth, frame.weights.surface_m)
    if beyond > 0.0:
        way = scale(out[0], slope)
        add_motion(frame, s, way, scale(out[1], slope))
        add_thing(frame, frame.wishes.thing.shares[j], way)
        close_row(frame.problem, frame.weights.surface, beyond)


@kernel
def add_rests(frame: Frame) -> None:
    """Add the rows that keep what rests as far from its object as the performer's, scaled."""
    shape, pose, weights, rests = frame.shape, frame.pose, frame.weights, frame.wishes.rests
    for i in range(MAX_RESTS):
        j, s = int(rests[i, REST_OBJECT]), int(rests[i, REST_SEGMENT])
        if j < 0:
            break
        weight = weights.rest * firmness(rests[i, REST_IMPORTANCE], weights.rest_slack)
        if weight == 0.0 or shape.first[s] == shape.first[s + 1]:
            continue
        weight *= 1.0 if s <= HEAD else weights.limbs
        capsules, here = (shape.first[s], shape.first[s + 1]), (quat(pose.q[s]), vec3(pose.p[s]))
        solid = puppet_solid(frame.objects, j)
        gap, way, turn = gap_between(shape, s, capsules, here, solid, REST_SOFT_M)
        wanted = frame.world_scale * max(rests[i, REST_GAP], 0.0)
        add_motion(frame, s, way, turn)
        add_thing(frame, frame.wishes.thing.shares[j], way)
        close_row(frame.problem, weight, wanted - gap)
