# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Rows of the head, which looks at the counterpart of what its performer looks at (kernels).

How much an object matters is Shin2002 eq. 4.4 with the angle between it and the line of sight in
place of the distance. Occlusion is ignored. The neck does most of
it, for it is the least stiff, the trunk a little.
"""

import math

from puppet_core.body import SEGMENT_INDEX
from puppet_core.math import copy, kernel
from puppet_core.math.values import (
    add,
    between,
    clamp,
    cross,
    dot,
    ease,
    exp,
    log,
    multiply,
    norm,
    quat,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
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
from puppet_retarget.solvers.whole_body.carried import add_thing
from puppet_retarget.solvers.whole_body.frame import add_point, add_turn, Frame
from puppet_retarget.solvers.whole_body.problem import close_row, firmness
from puppet_retarget.solvers.whole_body.tree import above, place

HEAD = SEGMENT_INDEX['head']
AHEAD = (1.0, 0.0, 0.0)  # the line of sight in the head's frame
EYES_M = (0.073, 0.0, 0.12)  # middle of an adult's eyes there
MOST_RAD = 1.2  # that a head turns for it, were the counterpart behind
BEHIND_RAD = 2.6  # from where on it turns less again: straight behind is to neither side
NO_DIRECTION_M = 1e-9
SHRINKS, HALVES = 80, 50  # steps of two searches, by 2/3 and 1/2


@kernel
def sight(eye: Vec3Like, target: Vec3Like) -> tuple[Vec3, float]:
    """Return direction (unit) and distance [m] from an eye to a target; zeros where they meet."""
    line = sub(target, eye)
    distance = norm(line)
    if distance < NO_DIRECTION_M:
        return (0.0, 0.0, 0.0), 0.0
    return scale(line, 1.0 / distance), distance


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
def fill_gaze(frame: Frame, head: Vec3Like) -> None:
    """
    Fill what the performer looks at, with its head joint there in world [m].

    Several objects share as goals do (`blend_weight`).
    """
    objects, gaze = frame.objects, frame.wishes.gaze
    gaze.importance, total = 0.0, 0.0
    gaze.shares[:] = 0.0
    if head[2] <= UNSEEN_Z:
        return
    q = quat(frame.wishes.segments[HEAD])
    eye = add(head, rotate(q, frame.eyes[0]))
    for j in range(objects.n_objects):
        influence = objects.gazes[j]
        if influence == 0.0 or objects.positions[j, 2] <= UNSEEN_Z:
            continue
        angle, seen = seen_point(objects, j, eye, rotate(q, AHEAD))
        w = importance(angle, 0.0, 0.0, influence)
        if w == 0.0:
            continue
        shape, size, other = objects.shapes[j], objects.sizes[j], objects.puppet_sizes[j]
        copy(counterpart_point(shape, size, other, seen, 0.0, (0.0, 0.0, 0.0)), gaze.places[j])
        gaze.shares[j] = blend_weight(w, angle / influence)
        total += gaze.shares[j]
        gaze.importance = max(gaze.importance, w)
    if total > 0.0:
        for j in range(objects.n_objects):
            gaze.shares[j] /= total


@kernel
def add_gaze(frame: Frame) -> None:
    """Add the rows that turn the line of sight onto what is looked at, by its importance."""
    objects, gaze, pose, weights = frame.objects, frame.wishes.gaze, frame.pose, frame.weights
    weight = weights.turn * firmness(gaze.importance, weights.touch_slack)
    if weight <= 0.0:
        return
    q = quat(pose.q[HEAD])
    eye, ahead = place(pose, HEAD, frame.eyes[1]), rotate(q, AHEAD)
    mean = (0.0, 0.0, 0.0)
    for j in range(objects.n_objects):
        if gaze.shares[j] > 0.0:
            mean = add(mean, scale(sight(eye, _target(frame, j))[0], gaze.shares[j]))
    missing = log(between(ahead, _in_sight(frame, mean)))
    for axis in (rotate(q, (0.0, 1.0, 0.0)), rotate(q, (0.0, 0.0, 1.0))):
        add_turn(frame, HEAD, axis)
        for j in range(objects.n_objects):
            if gaze.shares[j] == 0.0:
                continue
            # eye and target move, and with them the line that the head is to turn to
            line, distance = sight(eye, _target(frame, j))
            if distance > NO_DIRECTION_M:
                moves = scale(cross(axis, line), gaze.shares[j] / distance)
                add_point(frame, HEAD, eye, moves)
                add_thing(frame, frame.wishes.thing.shares[j], moves)
        close_row(frame.problem, weight, dot(axis, missing))


@kernel
def _target(frame: Frame, j: int) -> Vec3:
    """Return what the puppet should look at of its object j [m]."""
    objects = frame.objects
    q, origin = objects.puppet_orientations[j], objects.puppet_positions[j]
    return from_object(q, origin, frame.wishes.gaze.places[j])


@kernel
def _in_sight(frame: Frame, line: Vec3) -> Vec3:
    """Return a direction as near to a line as a head turns from where it is held as captured."""
    held = multiply(frame.pose.q[above(HEAD)], frame.wishes.rotations[HEAD])
    ahead = rotate(held, AHEAD)
    turn = log(between(ahead, line))
    angle = norm(turn)
    if angle <= MOST_RAD:
        return line
    beyond = clamp((angle - BEHIND_RAD) / (math.pi - BEHIND_RAD), 0.0, 1.0)
    return rotate(exp(scale(turn, MOST_RAD / angle * (1.0 - ease(beyond)))), ahead)
