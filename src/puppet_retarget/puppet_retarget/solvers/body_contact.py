# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whole bodies against the world: hands and feet as surfaces, and all that has no goal of its own.

A foot whose heel or toe would dip in is laid flatter about its sole until it does not, a hand
about its palm. What else of the body is in a plane is lifted out of it by the root, at once:
knees, hips and back off the floor; it comes down again smoothly. The root is pushed out of other
objects with torso, head and the legs it stands on: a belly off the table's edge. Arms whose palms
hold on swing aside. (Kernels.)
"""

import math

from puppet_core.body import ShapeArrays
from puppet_core.math import (
    add,
    between,
    conjugate,
    copy,
    dot,
    exp,
    Floats,
    kernel,
    log,
    multiply,
    norm,
    quat,
    rotate,
    scale,
    sub,
)
from puppet_core.math.values import (
    align_sign,
    clamp,
    ease,
    IDENTITY,
    Quat,
    smooth_ramp,
    Vec3,
    vec3,
    Vec3Like,
)
from puppet_retarget.importance import IMPORTANCE, OBJECT, ObjectArrays, PLANE
from puppet_retarget.solvers.corrections import at_most, follow_turn
from puppet_retarget.solvers.limbs import STARTS
from puppet_retarget.solvers.penetration import puppet_distance, take_elbow_to, take_end_to
from puppet_retarget.solvers.state import Frame, Goals, PuppetModel, Tuning, update_kinematics

LEVEL_STEPS = 8
UPRIGHT = 0.5  # cosine of the slope up to which an object is one to lie on [-]
UP = (0.0, 0.0, 1.0)  # of a foot's or hand's back as they lie flat
SECTIONS = 10  # halvings of a capsule's core
TILT_BANDWIDTH = 120.0  # with which hands and feet turn [1/s]
FREE_BANDWIDTH = 30.0  # with which they do in the air [1/s]
LEVEL_POWER = 8  # importance to this power is how firmly hands and feet stand [-]
DIP_M = 0.004  # half of it may be left of what dips in
NEAR_PLANE_M = 0.5  # from a plane, within which hands may slow down
CUSHION_M = 0.08  # above a plane, where a hand of no importance begins to slow down
LEAST_LEVER = 0.3  # of the way along a limb at which its elbow moves what is there [-]
STEEPEST = 3.0  # way out over an edge, as a multiple of the depth
MOST_PUSH = 1.5  # of the root, as a multiple of a leg's length


@kernel
def _depth_along(
    objects: ObjectArrays, j: int, start: Vec3Like, line: Vec3Like
) -> tuple[float, float, Vec3]:
    """Return where a line is deepest in object j, in [0, 1], how deep [m], and the normal."""
    low, high = 0.0, 1.0
    for _ in range(
        1 if objects.shapes[j] == PLANE else SECTIONS
    ):  # the distance from a convex solid is convex along a line
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
    shape: ShapeArrays, objects: ObjectArrays, j: int, segment: int, q: Quat, p: Vec3
) -> tuple[float, Vec3, Vec3]:
    """
    Return how deep a segment at an orientation and origin is in object j, negative outside [m].

    And the way from the origin to its capsule's core there [m], and the object's normal. What is
    farther than the ball around the segment, from a plane NEAR_PLANE_M farther, is not looked at
    closely.
    """
    centre = rotate(q, shape.centres[segment])
    distance, _, normal = puppet_distance(objects, j, add(p, centre))
    deepest, place = shape.bounds[segment] - distance, centre
    out = rotate(objects.puppet_orientations[j], normal)
    if deepest <= (-NEAR_PLANE_M if objects.shapes[j] == PLANE else 0.0):
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
def _depth_at(
    model: PuppetModel, objects: ObjectArrays, j: int, limb: int, goal: Vec3Like, q: Quat
) -> float:
    """Return how deep a hand or foot is in object j with its palm or sole at the goal [m]."""
    origin = sub(goal, rotate(q, model.interaction_points[limb]))
    return deepest_in_object(model.body.shape, objects, j, STARTS[limb] + 2, q, origin)[0]


@kernel
def _levelled(
    model: PuppetModel, objects: ObjectArrays, limb: int, goal: Vec3Like, size: float, q: Quat
) -> Quat:
    """
    Return the orientation of a hand or foot, turned about palm or sole out of objects.

    It turns by the least rotation that would lay it flat, as far along as it must. It is not
    laid on the side of what stands before a foot.
    """
    back = rotate(q, UP)
    for j in range(objects.n_objects):
        if limb < 2 and objects.shapes[j] != PLANE:
            continue
        depth = _depth_at(model, objects, j, limb, goal, q)
        rise = smooth_ramp(depth, size * DIP_M)
        if rise == 0.0:
            continue
        _, _, normal = puppet_distance(objects, j, vec3(goal))
        up = rotate(objects.puppet_orientations[j], normal)
        lies = 1.0
        if objects.shapes[j] != PLANE:
            lies = ease(clamp(dot(back, up) / UPRIGHT, 0.0, 1.0))
        flat = log(between(back, up))
        # false position, halving the kept end: the share at which the depth is less by the rise
        low, high, deep = 0.0, 1.0, rise
        laid = multiply(exp(flat), q)
        free = _depth_at(model, objects, j, limb, goal, laid) - depth + rise
        if free >= rise:  # it would be no less deep
            continue
        for _ in range(LEVEL_STEPS):
            if free >= 0.0:
                break
            share = (low * free - high * deep) / (free - deep)
            turned = multiply(exp(scale(flat, share)), q)
            left = _depth_at(model, objects, j, limb, goal, turned) - depth + rise
            if left > 0.0:
                low, deep, free = share, left, 0.5 * free
            else:
                high, free, deep = share, left, 0.5 * deep
        q = multiply(exp(scale(flat, lies * high)), q)
    return q


@kernel
def note_turns(objects: ObjectArrays, rows: Floats, frame: Frame) -> None:
    """Note how hands and feet turn with counterparts that stand otherwise, by importance."""
    for i in range(4):
        j, turn = int(rows[i, OBJECT]), IDENTITY
        if 0 <= j < objects.n_objects and objects.segments[j] < 0:
            turn = multiply(objects.puppet_orientations[j], conjugate(objects.orientations[j]))
            turn = exp(scale(log(align_sign(IDENTITY, turn)), rows[i, IMPORTANCE]))
        copy(turn, frame.turns[i])


@kernel
def level_ends(
    model: PuppetModel,
    tuning: Tuning,
    objects: ObjectArrays,
    goals: Goals,
    dt: float,
    frame: Frame,
) -> None:
    """
    Turn hands and feet about palms and soles, where these should be.

    They go with what they are at (`note_turns`), and what of them would dip in turns out.
    """
    for limb in range(4):
        sole, goal = model.interaction_points[limb], goals.positions[limb]
        q = quat(frame.q_ends[limb])
        lies = multiply(frame.turns[limb], q)
        level = _levelled(model, objects, limb, goal, tuning.world_scale, lies)
        held = goals.importances[limb] ** LEVEL_POWER
        bandwidth = FREE_BANDWIDTH + held * (TILT_BANDWIDTH - FREE_BANDWIDTH)
        turn = follow_turn(frame.tilts[limb], multiply(level, conjugate(q)), bandwidth, dt)
        copy(multiply(turn, q), frame.q_ends[limb])
        copy(sub(goal, rotate(frame.q_ends[limb], sole)), frame.wrist_goals[limb])


@kernel
def _out_on_own_side(
    model: PuppetModel, objects: ObjectArrays, j: int, segment: int, frame: Frame
) -> tuple[float, Vec3, Vec3]:
    """
    Return what `deepest_in_object` does, for part of an arm or leg that leaves on its palm's side.

    Or its sole's: what is on this side of the plane that touches the object there is outside of
    it. The nearest way out would change at an edge.
    """
    q, p = quat(frame.q_world[segment]), vec3(frame.p_world[segment])
    depth, way, out = deepest_in_object(model.body.shape, objects, j, segment, q, p)
    if depth <= 0.0:
        return depth, way, out
    palm = vec3(frame.end_effectors[(segment - STARTS[0]) // 3])
    gap, _, normal = puppet_distance(objects, j, palm)
    out = rotate(objects.puppet_orientations[j], normal)
    height = dot(sub(palm, add(p, way)), out) - gap + depth
    return min(STEEPEST * depth, max(height, depth)), way, out


@kernel
def _way_aside(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, limb: int, frame: Frame
) -> Vec3:
    """Return how far an elbow has to move so that its arm leaves objects [m]."""
    way, dip = (0.0, 0.0, 0.0), tuning.world_scale * DIP_M
    lengths = model.upper_lengths[limb], model.lower_lengths[limb]
    for j in range(objects.n_objects):
        if objects.shapes[j] == PLANE:
            continue
        for part in range(2):
            depth, place, out = _out_on_own_side(model, objects, j, STARTS[limb] + part, frame)
            share = norm(place) / lengths[part]
            lever = max(share if part == 0 else 1.0 - share, LEAST_LEVER)
            rise = smooth_ramp(depth, dip) / lever - max(dot(way, out), 0.0)
            way = add(way, scale(out, max(rise, 0.0)))
    return way


@kernel
def arms_out_of_objects(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, goals: Goals, frame: Frame
) -> None:
    """Swing arms that hold on with their palms, but are in objects, out about their ends."""
    has_moved = False
    for limb in range(2):
        held = ease(goals.importances[limb])
        if held == 0.0:
            continue
        way = scale(_way_aside(model, tuning, objects, limb, frame), held)
        if norm(way) > 0.0:
            take_elbow_to(model, limb, add(frame.end_effectors[limb + 4], way), held, frame)
            has_moved = True
    if has_moved:
        update_kinematics(model, frame)


@kernel
def way_out_of_planes(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, limb: int, free: float, frame: Frame
) -> Vec3:
    """
    Return how far a limb's hand or foot has to move out of planes [m], or for -1 all the rest.

    Shanks and forearms count less towards their ends, which stay where they are. What is `free`,
    in [0, 1], slows down before it touches: a straight arm whose hand stops dead would snap.
    """
    out, dip = (0.0, 0.0, 0.0), tuning.world_scale * DIP_M
    for j in range(objects.n_objects):
        if objects.shapes[j] != PLANE:
            continue
        deepest, up = -math.inf, (0.0, 0.0, 0.0)
        for segment in range(16):
            own, part = divmod(segment - STARTS[0], 3)
            is_end = own >= 0 and part == 2
            if own != limb if is_end else limb >= 0:
                continue
            q, p = quat(frame.q_world[segment]), vec3(frame.p_world[segment])
            depth, way, normal = deepest_in_object(model.body.shape, objects, j, segment, q, p)
            if own >= 0 and part == 1:
                depth *= max(1.0 - norm(way) / model.lower_lengths[own], 0.0)
            if depth > deepest:
                deepest, up = depth, normal
        deepest -= max(dot(out, up), 0.0)  # done already, for another plane
        width = dip
        if limb >= 0:  # hands and feet may be in as far as `level_ends` leaves them
            width += 2.0 * free * tuning.world_scale * CUSHION_M
            deepest += 0.5 * width - dip
        out = add(out, scale(up, smooth_ramp(deepest, width)))
    return out


@kernel
def lift_ends(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, goals: Goals, frame: Frame
) -> None:
    """
    Take the surfaces of hands and feet out of planes, unless these hold them where they are.

    A robot's soles are hard: what of them `level_ends` has not turned out yet, and is deeper in,
    leaves.
    """
    has_moved, dip = False, tuning.world_scale * DIP_M
    is_robot = model.sizes[0] > 0.0
    for limb in range(4):
        free = 1.0 - goals.importances[limb] if limb < 2 else 0.0
        out = way_out_of_planes(model, tuning, objects, limb, free, frame)
        way = norm(out)
        if way > 0.0:
            held = goals.importances[limb] ** LEVEL_POWER
            if is_robot and limb >= 2:
                held *= 1.0 - smooth_ramp(way, dip) / way
            out = scale(out, 1.0 - held)
            take_end_to(model, tuning, limb, add(frame.end_effectors[limb], out), frame)
            has_moved = True
    if has_moved:
        update_kinematics(model, frame)


@kernel
def note_push(model: PuppetModel, objects: ObjectArrays, goals: Goals, frame: Frame) -> None:
    """Note how far to push the root so that torso, head and standing legs leave objects."""
    push = frame.push[0, 0], frame.push[1, 0], frame.push[2, 0]
    gap = math.inf
    for j in range(objects.n_objects):
        weight = 1.0 - objects.looseness[j]  # what hangs in the air gives way itself
        if objects.shapes[j] == PLANE or weight == 0.0:
            continue
        deepest, out = -math.inf, (0.0, 0.0, 0.0)
        for segment in range(16):
            limb, part = divmod(segment - STARTS[0], 3)
            if limb >= 0 and (limb < 2 or part == 2 or objects.rests[j, 0] > 0.0):
                continue  # nor do legs slide a body off its seat
            if limb >= 2:
                depth, _, normal = _out_on_own_side(model, objects, j, segment, frame)
                depth = min(depth, depth * ease(goals.importances[limb]))
            else:
                q, p = quat(frame.q_world[segment]), vec3(frame.p_world[segment])
                depth, _, normal = deepest_in_object(model.body.shape, objects, j, segment, q, p)
            if depth > deepest:
                deepest, out = depth, normal
        deepest = deepest * weight if deepest > 0.0 else deepest / weight
        gap = min(gap, -deepest)
        push = add(push, scale(out, max(deepest, 0.0)))
    if gap > 0.0:  # back, as far as there is room
        size = norm(push)
        push = scale(push, max(1.0 - gap / size, 0.0) if size > 0.0 else 0.0)
    most = MOST_PUSH * (model.upper_lengths[2] + model.lower_lengths[2])
    copy(at_most(push, most), frame.wanted_push)
