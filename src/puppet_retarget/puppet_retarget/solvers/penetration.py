# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Resolving penetration, the end of a frame's third step (Shin2002 5.3.3): limbs out of bodies.

First out of the own body (`resolve_self_penetration`), then out of objects
(`resolve_object_penetration`). The blend of captured and solved rotations obeys no constraint, so
this is needed after it. What else of a body is in the world is in `solvers.body_contact`.
(Kernels.)
"""

import math

from puppet_core.body import nearest_capsule_within, ShapeArrays
from puppet_core.math import (
    add,
    copy,
    dot,
    kernel,
    norm,
    normalized,
    rotate,
    rotate_inverse,
    scale,
    sub,
    vec3,
)
from puppet_core.math.values import ease, Vec3, Vec3Like
from puppet_retarget.importance import (
    from_object,
    ObjectArrays,
    RELEVANT,
    SELF_DISTANCE,
    SELF_IMPORTANCE,
    signed_distance,
    to_object,
)
from puppet_retarget.solvers.config import ELBOW_CIRCLE
from puppet_retarget.solvers.limbs import (
    Joints,
    Limb,
    Range,
    settle,
    solve_limb,
    solve_limb_on_circle,
    STARTS,
    turn_limb,
)
from puppet_retarget.solvers.state import (
    Frame,
    Goals,
    limb_at,
    PuppetModel,
    set_joints,
    Tuning,
    update_kinematics,
)

TOUCH_TOL_M = 1e-9
STUCK_TOL_M = 1e-3  # depth at which the nearest surface counts as out of reach
NEWTON_STEPS = 30
MAX_SWEEPS = 8  # over overlapping objects
RAY_FROM, RAY_ONLY = 0.2, 0.5  # fraction of the way along the line that is depth [-]

SELF_TOUCH_TOL_M = 1e-7
ALLOWED_M = 1e-3  # flesh gives way
ROOM_M = 0.02  # that robots keep, whose capsules are not all of their solids
_SWEEPS = 4  # over segments that overlap

PUSH_ATTEMPTS = 6
SELF_PUSH_ATTEMPTS = 7
HELD_ATTEMPTS = 2  # in which hands that touch the body stay while elbows move


# End-effectors out of objects.
#
# The blend of captured and solved rotations obeys no constraint, so an end-effector may end
# inside an object. It is moved to where the line from its shoulder or hip enters the object, and
# the limb is solved once more. Where that is much farther than the nearest surface (a hand behind
# a bottle, a foot sliding along a wall) it takes the nearest surface: entering the far side by a
# micrometre must not move a hand to the near side.


@kernel
def puppet_distance(objects: ObjectArrays, j: int, p: Vec3) -> tuple[float, Vec3, Vec3]:
    """Return distance [m], place and normal of a world point in the frame of puppet's object j."""
    local = to_object(objects.puppet_orientations[j], objects.puppet_positions[j], p)
    distance, normal = signed_distance(objects.shapes[j], objects.puppet_sizes[j], local)
    return distance, local, normal


@kernel
def least_distance(objects: ObjectArrays, p: Vec3) -> float:
    """Return the signed distance of a world point from the nearest or deepest object [m]."""
    distance = 1e9
    for j in range(objects.n_objects):
        distance = min(distance, puppet_distance(objects, j, p)[0])
    return distance


@kernel
def _way_back(shape: int, size: Vec3Like, p: Vec3Like, direction: Vec3Like) -> float:
    """
    Return how far back along a direction a point inside a solid enters it; infinity if never.

    The signed distance of a convex solid is convex along a line, so that Newton steps from
    outside come down to the surface and never pass it. All in the object's frame.
    """
    way = size[0] + size[1] + size[2]  # outside of any bounded shape
    for _ in range(NEWTON_STEPS):
        gap, normal = signed_distance(shape, size, sub(p, scale(direction, way)))
        slope = -dot(normal, direction)
        if slope < 1e-12:
            return math.inf
        way -= gap / slope
        if abs(gap) < 0.1 * TOUCH_TOL_M:
            break
    return way


@kernel
def leave_object(
    objects: ObjectArrays, j: int, start: Vec3Like, p: Vec3, ray_only: bool
) -> tuple[bool, Vec3]:
    """
    Return whether a point is inside the puppet's object j, and the one of its surface, else p.

    `start` is the shoulder or hip, in world [m], from which the ray enters, however far that is if
    `ray_only`.
    """
    shape, size = objects.shapes[j], objects.puppet_sizes[j]
    distance, local, normal = puppet_distance(objects, j, p)
    depth = -distance
    if depth <= (STUCK_TOL_M if ray_only else TOUCH_TOL_M):
        return False, p
    q, origin = objects.puppet_orientations[j], objects.puppet_positions[j]
    line, way = sub(local, to_object(q, origin, start)), math.inf
    direction = normalized(line)
    if norm(line) > TOUCH_TOL_M:
        way = _way_back(shape, size, local, direction)
    share = min(max((depth / way - RAY_FROM) / (RAY_ONLY - RAY_FROM), 0.0), 1.0)
    share *= share * (3.0 - 2.0 * share)
    if ray_only and way < math.inf:
        share = 1.0
    along = scale(direction, way) if share > 0.0 else (0.0, 0.0, 0.0)
    nearest = scale(normal, (1.0 - share) * depth)
    place = add(sub(local, scale(along, share)), nearest)
    # a point between two of the surface is inside
    distance, normal = signed_distance(shape, size, place)
    return True, from_object(q, origin, add(place, scale(normal, max(-distance, 0.0))))


@kernel
def leave_objects(
    objects: ObjectArrays, start: Vec3Like, p: Vec3Like, ray_only: bool
) -> tuple[bool, Vec3]:
    """Return whether a point is inside of objects, and one outside of all, p itself if not."""
    has_moved, point = False, vec3(p)
    for _ in range(MAX_SWEEPS):
        moves = False
        for j in range(objects.n_objects):
            inside, point = leave_object(objects, j, start, point, ray_only)
            moves = moves or inside
        if not moves:
            break
        has_moved = True
    return has_moved, point


# End-effectors, elbows and knees out of the rest of the body.
#
# As for objects: neither the blend nor ranges whose sample points lie apart keep a palm out of a
# round belly exactly. A penetration of the performer's own body, such as an elbow pressed into
# the side, is left as deep as it is there.


@kernel
def bounding_centres(shape: ShapeArrays, frame: Frame) -> None:
    """Fill the centres of the balls around the segments in world."""
    for segment in range(16):
        centre = rotate(frame.q_world[segment], shape.centres[segment])
        copy(add(centre, frame.p_world[segment]), frame.bounding_centres[segment])


@kernel
def _is_far(shape: ShapeArrays, frame: Frame, segment: int, allowed: float, p: Vec3Like) -> bool:
    """Return whether a point is certainly not deeper in a segment than allowed [m]."""
    bound, way = shape.bounds[segment] - allowed, sub(p, frame.bounding_centres[segment])
    return bound <= 0.0 or dot(way, way) >= bound * bound


@kernel
def leave_body(
    shape: ShapeArrays, frame: Frame, j: int, allowed: float, p: Vec3Like
) -> tuple[bool, Vec3]:
    """
    Return whether general end-effector j is deeper in its body than allowed [m], and where not.

    Segments are left one by one, p itself comes back if it is in none. The frame's bounding
    centres are filled.
    """
    has_moved, point = False, vec3(p)
    for _ in range(_SWEEPS):
        moves = False
        for segment in range(16):
            if not RELEVANT[j, segment] or _is_far(shape, frame, segment, allowed, point):
                continue
            q = frame.q_world[segment]
            local = rotate_inverse(q, sub(point, frame.p_world[segment]))
            distance, capsule, normal = nearest_capsule_within(shape, segment, local, -allowed)
            depth = -distance - allowed
            if capsule >= 0 and depth > SELF_TOUCH_TOL_M:
                point = add(point, scale(rotate(q, normal), depth))
                moves = True
        has_moved = has_moved or moves
        if not moves:
            break
    return has_moved, point


@kernel
def self_depths(shape: ShapeArrays, frame: Frame) -> None:
    """Fill how deep each general end-effector is inside its own body [m]."""
    depths = frame.self_depths
    bounding_centres(shape, frame)
    for j in range(8):
        point = frame.end_effectors[j]
        depths[j] = 0.0
        for segment in range(16):
            if not RELEVANT[j, segment] or _is_far(shape, frame, segment, 0.0, point):
                continue
            way = sub(point, frame.p_world[segment])
            local = rotate_inverse(frame.q_world[segment], way)
            deepest = nearest_capsule_within(shape, segment, local, -depths[j])[0]
            depths[j] = max(depths[j], -deepest)


# The limbs follow their points.


@kernel
def _wrist_distance(frame: Frame, start: int) -> float:
    return norm(sub(frame.p_world[start + 2], frame.p_world[start]))


@kernel
def solve_one_limb(
    tuning: Tuning, limb: Limb, goal: Vec3Like, current: float, weight: float
) -> Joints:
    """Bring the wrist of a limb to a goal, by the solver's form of a limb; see `solve_limb`."""
    if tuning.limb_form == ELBOW_CIRCLE:
        return solve_limb_on_circle(limb, goal, current, weight)
    return solve_limb(limb, goal, current, weight)


@kernel
def take_end_to(model: PuppetModel, tuning: Tuning, limb: int, point: Vec3, frame: Frame) -> None:
    """Bring a palm or sole to a point, with the orientation it has."""
    start = STARTS[limb]
    own = limb_at(model, frame, limb, frame.rotations, frame.q_world[start + 2])
    goal = sub(point, rotate(own.q_end, model.interaction_points[limb]))
    current = _wrist_distance(frame, start)
    set_joints(frame.rotations, limb, solve_one_limb(tuning, own, goal, current, 1.0))


@kernel
def take_elbow_to(model: PuppetModel, limb: int, point: Vec3, held: float, frame: Frame) -> None:
    """Bring an elbow or knee towards a point; by the weight `held` the hand stays."""
    own = limb_at(model, frame, limb, frame.rotations, frame.q_world[STARTS[limb] + 2])
    target = Range(point, 0.0, 1.0)
    elbow, wrist = settle(own, own.elbow, own.wrist, target, held, 1.0)
    set_joints(frame.rotations, limb, turn_limb(own, elbow, wrist, 1.0))


@kernel
def _find_inside(
    model: PuppetModel, tuning: Tuning, goals: Goals, first: int, frame: Frame
) -> int:
    """Fill where four end-effectors, from `first` on, are free; return a bit for each inside."""
    shape = model.body.shape
    bounding_centres(shape, frame)
    inside = 0
    for j in range(first, first + 4):
        is_robot = model.sizes[j % 4] > 0.0
        depth = max(-goals.self_rows[j, SELF_DISTANCE], 0.0)
        allowed = tuning.world_scale * (-ROOM_M if is_robot else ALLOWED_M + depth)
        before = vec3(frame.end_effectors[j])
        moves, point = leave_body(shape, frame, j, allowed - model.sizes[j], before)
        for k in range(2 if j < 2 and is_robot else 0):
            from_palm = rotate(frame.q_world[STARTS[j] + 2], model.fingers[j, k])
            size = model.finger_sizes[j, k]
            has_moved, tip = leave_body(shape, frame, j, allowed - size, add(point, from_palm))
            if has_moved:
                point = sub(tip, from_palm)
                moves = True
        if 2 <= j < 4:
            # a foot that stands is not pushed away by the other
            held = goals.importances[j] * goals.importances[j]
            point = sub(point, scale(sub(point, before), held))
            moves = moves and goals.importances[j] < 1.0
        copy(point, frame.clear_points[j])
        if moves:
            inside |= 1 << (j - first)
    return inside


@kernel
def resolve_self_penetration(
    model: PuppetModel, tuning: Tuning, goals: Goals, frame: Frame
) -> None:
    """
    Move hands, soles, elbows and knees that ended inside the puppet to its surface.

    Hands first, then elbows with the hands in place if those matter; where that fails only
    what holds on to the environment still holds.
    """
    for attempt in range(SELF_PUSH_ATTEMPTS):
        hands = _find_inside(model, tuning, goals, 0, frame)
        for limb in range(4):
            if hands & (1 << limb):
                take_end_to(model, tuning, limb, vec3(frame.clear_points[limb]), frame)
        if hands:
            update_kinematics(model, frame)
        elbows = _find_inside(model, tuning, goals, 4, frame)
        for limb in range(4):
            if elbows & (1 << limb):
                held = goals.importances[limb]
                if attempt < HELD_ATTEMPTS:
                    held = max(held, goals.self_rows[limb, SELF_IMPORTANCE])
                point = vec3(frame.clear_points[limb + 4])
                take_elbow_to(model, limb, point, ease(held), frame)
        if elbows:
            update_kinematics(model, frame)
        elif not hands:
            break


@kernel
def resolve_object_penetration(
    model: PuppetModel, tuning: Tuning, objects: ObjectArrays, frame: Frame
) -> None:
    """Move end-effectors that ended inside objects to their surface."""
    for attempt in range(PUSH_ATTEMPTS):
        # a straight limb turns out of an object in a few attempts, or the surface is out of
        # reach; the way back to the shoulder is not
        ray_only = attempt == PUSH_ATTEMPTS - 1
        has_moved = False
        for limb in range(4):
            start, end = frame.p_world[STARTS[limb]], vec3(frame.end_effectors[limb])
            inside, point = leave_objects(objects, start, end, ray_only)
            if inside:
                take_end_to(model, tuning, limb, point, frame)
                has_moved = True
        if not has_moved:
            break
        update_kinematics(model, frame)
