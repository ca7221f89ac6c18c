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
from puppet_core.body import MAX_COORDINATE_M, N_SEGMENTS, ShapeArrays
from puppet_core.math import Floats, kernel, Quats, Vec3s
from puppet_core.math.values import add, cross, lerp, Quat, quat, rotate, scale, sub, Vec3, vec3
from puppet_retarget.importance.environment import ObjectArrays, real_solid, UNSEEN
from puppet_retarget.importance.estimator import importance
from puppet_retarget.importance.objects import distance_from, PLANE, Solid

MAX_RESTS = 64
REST_OBJECT, REST_SEGMENT, REST_IMPORTANCE, REST_GAP = range(4)
REST_WIDTH = 4
REST_MARGIN_M = 0.03  # gap that counts as contact
REST_SOFT_M = 0.01  # places of a segment so much farther than the nearest count e times less
_LEAST_EXPONENT = -600.0  # of a share; below it shares vanish
_PARTS = 10  # of a core line beside a solid; beside a plane one, for the nearest place is an end
_UNSEEN_Z = float(UNSEEN[2])


@kernel
def gap_between(
    shape: ShapeArrays,
    s: int,
    capsules: tuple[int, int],
    pose: tuple[Quat, Vec3],
    solid: Solid,
    softness: float,
) -> tuple[float, Vec3, Vec3]:
    """
    Return how far a range of a segment's capsules is from a solid [m], and how that changes.

    As the segment moves by v and turns by w about the world's origin: by the first vector times v
    and the second times w. The gap is a mean over places of the core lines that count e times less
    for each `softness` [m] that they are farther, with its exact derivative: the nearest place
    alone jumps as a body rolls.
    """
    q, p = pose
    low = distance_from(solid, add(p, rotate(q, shape.centres[s])))[0] - shape.bounds[s]
    nowhere = (0.0, 0.0, 0.0)
    total, mean = 0.0, 0.0
    force, moment, far_force, far_moment = nowhere, nowhere, nowhere, nowhere
    last = 1 if solid.shape == PLANE else _PARTS
    for m in range(capsules[0], capsules[1]):
        start, end = add(p, rotate(q, shape.starts[m])), add(p, rotate(q, shape.ends[m]))
        for i in range(last + 1):
            core = lerp(start, end, i / last)
            distance, out = distance_from(solid, core)
            gap = distance - shape.radii[m]
            share = math.exp(max((low - gap) / softness, _LEAST_EXPONENT))
            total, mean = total + share, mean + share * gap
            out = scale(out, share)
            turn = cross(core, out)
            force, far_force = add(force, out), add(far_force, scale(out, gap))
            moment, far_moment = add(moment, turn), add(far_moment, scale(turn, gap))
    mean /= total
    own, far = (1.0 + mean / softness) / total, 1.0 / (softness * total)
    force = sub(scale(force, own), scale(far_force, far))
    return mean, force, sub(scale(moment, own), scale(far_moment, far))


@kernel
def estimate_rests(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, objects: ObjectArrays, rests: Floats
) -> None:
    """Fill `rests`, (MAX_RESTS, REST_WIDTH), of the performer; the object of the others is -1."""
    count = 0
    for j in range(objects.n_objects):
        if objects.segments[j] >= 0 or objects.positions[j, 2] <= _UNSEEN_Z:
            continue
        solid = real_solid(objects, j)
        for s in range(N_SEGMENTS):
            if shape.first[s] == shape.first[s + 1] or count == MAX_RESTS:
                continue
            q, p = quat(q_world[s]), vec3(p_world[s])
            influence = objects.rests[j, s]
            distance, _ = distance_from(solid, add(p, rotate(q, shape.centres[s])))
            reach = influence + REST_MARGIN_M if influence > 0.0 else 0.0
            if distance - shape.bounds[s] > reach:
                continue
            capsules = shape.first[s], shape.first[s + 1]
            gap, _, _ = gap_between(shape, s, capsules, (q, p), solid, REST_SOFT_M)
            w = 0.0
            if influence > 0.0:
                w = importance(max(gap - REST_MARGIN_M, 0.0), 0.0, 0.0, influence)
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
