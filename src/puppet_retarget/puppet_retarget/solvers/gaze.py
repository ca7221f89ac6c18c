# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The head turns until the puppet looks at the counterpart of what its performer looks at.

How much an object matters is Shin2002 eq. 4.4 with the angle between it and the line of sight in
place of the distance. What stands between eye and object is not looked for. (Kernels.)
"""

import math

from puppet_core.body import SEGMENT_INDEX
from puppet_core.math import copy, kernel, Quats
from puppet_core.math.values import (
    add,
    angle_between,
    between,
    conjugate,
    exp,
    IDENTITY,
    log,
    multiply,
    norm,
    Quat,
    quat,
    QuatLike,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)
from puppet_retarget.importance import (
    blend_weight,
    counterpart_point,
    from_object,
    importance,
    ObjectArrays,
    signed_distance,
    to_object,
    UNSEEN_Z,
)
from puppet_retarget.solvers.corrections import at_most, follow_turn, NOTHING_RAD
from puppet_retarget.solvers.state import Frame, Tuning

HEAD = SEGMENT_INDEX['head']
AHEAD = (1.0, 0.0, 0.0)  # the line of sight in the head's frame
EYES_M = (0.073, 0.0, 0.12)  # middle of an adult's eyes there
MOST_RAD = 1.2  # that a neck adds, were the counterpart behind
BANDWIDTH = 20.0  # of a head that turns to its target [1/s]
NO_DIRECTION_M = 1e-9
SHRINKS, HALVES, AIMS = 80, 50, 12  # steps of three searches, the first two by 2/3 and 1/2


@kernel
def sight(eye: Vec3Like, target: Vec3Like) -> tuple[Vec3, float]:
    """Return direction (unit) and distance [m] from an eye to a target; zeros where they meet."""
    line = sub(target, eye)
    distance = norm(line)
    if distance < NO_DIRECTION_M:
        return (0.0, 0.0, 0.0), 0.0
    return scale(line, 1.0 / distance), distance


@kernel
def look_turn(q: QuatLike, joint: Vec3Like, eyes: Vec3Like, target: Vec3Like) -> Quat:
    """
    Return the turn in world of a head that brings its line of sight onto a target.

    The head has its orientation q and joint in world [m], the eyes are in its frame [m]. They go
    with it, so it is aimed again from where they come to; a target nearer than they are cannot be.
    """
    turned = quat(q)
    for _ in range(AIMS):
        line, _ = sight(add(joint, rotate(turned, eyes)), target)
        turned = multiply(between(rotate(turned, AHEAD), line), turned)
    return multiply(turned, conjugate(q))


@kernel
def _gap(objects: ObjectArrays, j: int, eye: Vec3Like, way: Vec3Like, t: float) -> float:
    """Return the distance from object j of a point of the line of sight, in its frame [m]."""
    return signed_distance(objects.shapes[j], objects.sizes[j], add(eye, scale(way, t)))[0]


@kernel
def seen_point(
    objects: ObjectArrays, j: int, eye: Vec3Like, ahead: Vec3Like
) -> tuple[float, Vec3]:
    """
    Return the angle between a line of sight and object j [rad], and the point of it seen there.

    The line starts at an eye in world [m]. Where it meets the object, the angle is 0 and the
    point, in the object's frame [m], the first common one, else that of the least angle. The sine
    of that is the least distance over the way to there, which has one minimum, for the solids are
    convex.
    """
    q = quat(objects.orientations[j])
    start, way = to_object(q, objects.positions[j], eye), rotate_inverse(q, ahead)
    low, high = 0.0, 2.0 * (norm(start) + norm(objects.sizes[j]))
    if _gap(objects, j, start, way, 0.0) <= 0.0:  # nobody looks from inside
        return math.pi, start
    for _ in range(SHRINKS):
        a, b = (2.0 * low + high) / 3.0, (low + 2.0 * high) / 3.0
        if _gap(objects, j, start, way, a) / a < _gap(objects, j, start, way, b) / b:
            high = b
        else:
            low = a
    t = 0.5 * (low + high)
    if _gap(objects, j, start, way, t) <= 0.0:
        low, high = 0.0, t
        for _ in range(HALVES):
            t = 0.5 * (low + high)
            if _gap(objects, j, start, way, t) <= 0.0:
                high = t
            else:
                low = t
        return 0.0, add(start, scale(way, t))
    point = add(start, scale(way, t))
    distance, normal = signed_distance(objects.shapes[j], objects.sizes[j], point)
    return math.asin(min(distance / t, 1.0)), sub(point, scale(normal, distance))


@kernel
def turn_head(
    tuning: Tuning, objects: ObjectArrays, captured: Quats, dt: float, frame: Frame
) -> None:
    """
    Turn the head of a puppet whose root and body are in place to what its performer looks at.

    By the performer's joint rotations (16, 4) and the head joint in the frame. The turn follows
    critically damped; an infinite time since the frame before [s] takes it there.
    """
    if frame.head[2] <= UNSEEN_Z:
        return
    q = quat(captured[0])
    for segment in range(1, HEAD + 1):
        q = multiply(q, quat(captured[segment]))
    eye = add(frame.head, rotate(q, scale(EYES_M, tuning.performer_size)))
    own, joint = quat(frame.q_world[HEAD]), vec3(frame.p_world[HEAD])
    w, total, turn = 0.0, 0.0, (0.0, 0.0, 0.0)
    for j in range(objects.n_objects):
        if objects.gazes[j] == 0.0 or objects.positions[j, 2] <= UNSEEN_Z:
            continue
        angle, seen = seen_point(objects, j, eye, rotate(q, AHEAD))
        own_w = importance(angle, 0.0, 0.0, objects.gazes[j])
        if own_w == 0.0:
            continue
        shape, size, other = objects.shapes[j], objects.sizes[j], objects.puppet_sizes[j]
        there = counterpart_point(shape, size, other, seen, 0.0, (0.0, 0.0, 0.0))
        target = from_object(objects.puppet_orientations[j], objects.puppet_positions[j], there)
        wanted = log(look_turn(own, joint, scale(EYES_M, tuning.puppet_size), target))
        weight = blend_weight(own_w, angle / objects.gazes[j])
        w, total, turn = max(w, own_w), total + weight, add(turn, scale(wanted, weight))
    state = frame.corrections[HEAD]
    rests = angle_between(quat(state), IDENTITY) + norm(state[4:]) < NOTHING_RAD
    if total == 0.0 and (rests or not dt < math.inf):
        copy(IDENTITY, state[:4])
        state[4:] = 0.0
        return
    # in the chest's frame, as the joint turns
    q_chest = quat(frame.q_world[HEAD - 1])
    share = w / total if total > 0.0 else 0.0
    target_turn = exp(rotate_inverse(q_chest, at_most(scale(turn, share), MOST_RAD)))
    followed = follow_turn(state, target_turn, BANDWIDTH, dt)
    copy(multiply(followed, quat(frame.rotations[HEAD])), frame.rotations[HEAD])
    copy(multiply(q_chest, quat(frame.rotations[HEAD])), frame.q_world[HEAD])
