# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What else of the body is at objects: hips, back, head, thighs and upper arms (kernels).

Shin2002 ch. 4 knows end-effectors only. Who lies, sits, kneels or rolls touches the world with
other parts, and how far these are from it matters in the same way. A rest is a pair of a segment
and an object: its importance (Shin2002 eqs. 4.3 and 4.4 without prediction) and the gap between
their surfaces. Only pairs that matter are listed, and of all segments those that the performer has
in a solid: what he has there, which is where it was measured, the puppet may have as well.
"""

from collections.abc import Sequence
import math

import numpy as np
from puppet_core.body import MAX_COORDINATE_M, N_SEGMENTS, SEGMENT_INDEX, ShapeArrays
from puppet_core.math import Floats, kernel, Quats, Vec3s
from puppet_core.math.values import (
    add,
    dot,
    QuatLike,
    rotate,
    rotate_inverse,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3Like,
)
from puppet_retarget.importance.environment import ObjectArrays, UNSEEN
from puppet_retarget.importance.estimator import importance
from puppet_retarget.importance.objects import distance_from, nearest_on_line, PLANE

RESTING = tuple(
    SEGMENT_INDEX[name]
    for name in (
        *('pelvis', 'spine', 'chest', 'head'),
        *('left_upper_arm', 'right_upper_arm', 'left_thigh', 'right_thigh'),
    )
)
MAX_RESTS = 64
REST_OBJECT, REST_SEGMENT, REST_IMPORTANCE, REST_GAP = range(4)
REST_WIDTH = 4
REST_INFLUENCE_M = 0.3  # D of a segment's surface
REST_MARGIN_M = 0.03  # gap that counts as contact
_SOFT_M = 0.01  # ends of capsules so much higher than the lowest count e times less
_UNSEEN_Z = float(UNSEEN[2])


@kernel
def lowest_place(shape: ShapeArrays, s: int, up: Vec3Like, q: QuatLike) -> tuple[float, Vec3]:
    """
    Return how high a segment's lowest surface is above its joint [m], and that place in its frame.

    Along a direction in world, over both ends of its capsules. It is a soft minimum, or it would
    jump from one capsule to the next as a body rolls.
    """
    along = rotate_inverse(q, up)
    low, total, mean = math.inf, 0.0, 0.0
    for m in range(shape.first[s], shape.first[s + 1]):
        low = min(low, dot(along, shape.starts[m]) - shape.radii[m])
        low = min(low, dot(along, shape.ends[m]) - shape.radii[m])
    for m in range(shape.first[s], shape.first[s + 1]):
        for side in range(2):
            height = dot(along, shape.starts[m] if side == 0 else shape.ends[m]) - shape.radii[m]
            share = math.exp((low - height) / _SOFT_M)
            total += share
            mean += share * height
    mean /= total
    where = (0.0, 0.0, 0.0)
    for m in range(shape.first[s], shape.first[s + 1]):
        for side in range(2):
            place = vec3(shape.starts[m] if side == 0 else shape.ends[m])
            height = dot(along, place) - shape.radii[m]
            # how the mean changes with each height
            share = math.exp((low - height) / _SOFT_M) / total * (1.0 - (height - mean) / _SOFT_M)
            where = add(where, scale(place, share))
    return mean, where


@kernel
def _depth(
    shape: ShapeArrays, s: int, pose: tuple[QuatLike, Vec3], objects: ObjectArrays, j: int
) -> float:
    """Return how deep the performer's segment is in a solid, 0 outside and in planes [m]."""
    kind, size, depth = objects.shapes[j], objects.sizes[j], 0.0
    if kind == PLANE:
        return depth
    q, p = pose
    there = objects.orientations[j], vec3(objects.positions[j])
    for m in range(shape.first[s], shape.first[s + 1]):
        start, end = add(p, rotate(q, shape.starts[m])), add(p, rotate(q, shape.ends[m]))
        nearest = nearest_on_line(kind, size, there, start, end)
        core = add(start, scale(sub(end, start), nearest))
        depth = max(depth, shape.radii[m] - distance_from(kind, size, there[0], there[1], core)[0])
    return depth


@kernel
def estimate_rests(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, objects: ObjectArrays, rests: Floats
) -> None:
    """Fill `rests`, (MAX_RESTS, REST_WIDTH), of the performer; the object of the others is -1."""
    count = 0
    for j in range(objects.n_objects):
        if objects.segments[j] >= 0 or objects.positions[j, 2] <= _UNSEEN_Z:
            continue
        q_object, origin = objects.orientations[j], objects.positions[j]
        for s in range(N_SEGMENTS):
            if shape.first[s] == shape.first[s + 1] or count == MAX_RESTS:
                continue
            q, p = q_world[s], vec3(p_world[s])
            centre = add(p, rotate(q, shape.centres[s]))
            kind, size = objects.shapes[j], objects.sizes[j]
            distance, up = distance_from(kind, size, q_object, origin, centre)
            beyond = distance - shape.bounds[s]
            if beyond > (REST_INFLUENCE_M + REST_MARGIN_M if s in RESTING else 0.0):
                continue
            gap, w = -_depth(shape, s, (q, p), objects, j), 0.0
            if s in RESTING:
                clear = dot(up, p) + lowest_place(shape, s, up, q)[0] - dot(up, centre) + distance
                gap = clear if clear > 0.0 or kind == PLANE else min(gap, 0.0)
                w = importance(max(gap - REST_MARGIN_M, 0.0), 0.0, 0.0, REST_INFLUENCE_M)
                w *= 1.0 - objects.looseness[j]  # what hands carry is no support
            if w > 0.0 or gap < 0.0:
                rests[count, REST_OBJECT], rests[count, REST_SEGMENT] = j, s
                rests[count, REST_IMPORTANCE], rests[count, REST_GAP] = w, gap
                count += 1
    rests[count:, REST_OBJECT] = -1.0


@kernel
def rests_packed(own: np.ndarray, environment: np.ndarray, p_world: Vec3s, rests: Floats) -> None:
    """Fill the rests after both estimators' steps; these hold SelfArrays and EstimatorArrays."""
    body = own[0]
    estimate_rests(body.body.shape, body.q_world[:], p_world, environment[0].objects, rests)


def no_rests() -> Floats:
    """Return the rests of nobody."""
    rests = np.zeros((MAX_RESTS, REST_WIDTH))
    rests[:, REST_OBJECT] = -1.0
    return rests


@kernel
def are_rests(rests: Floats, n_objects: int) -> bool:
    """Return whether rests are in range, of segments and so many objects: these are indices."""
    for i in range(MAX_RESTS):
        j, s = rests[i, REST_OBJECT], rests[i, REST_SEGMENT]
        if j == -1.0:
            return True
        # every comparison is false for NaN
        if not 0.0 <= j < n_objects or not 0.0 <= s < N_SEGMENTS or j != int(j) or s != int(s):
            return False
        if not 0.0 <= rests[i, REST_IMPORTANCE] <= 1.0:
            return False
        if not abs(rests[i, REST_GAP]) <= MAX_COORDINATE_M:
            return False
    return True


def rests_of_objects(rests: Floats, names: Sequence[str], others: Sequence[str]) -> Floats:
    """Return rests of named objects as of other names; without those of objects not in there."""
    found, count = no_rests(), 0
    for row in rests[rests[:, REST_OBJECT] >= 0.0]:
        name = names[int(row[REST_OBJECT])]
        if name in others:
            found[count] = row
            found[count, REST_OBJECT] = others.index(name)
            count += 1
    return found
