# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
End-effectors out of objects: the end of the third step (kernels, Shin2002 5.3.3).

The blend obeys no constraint. A palm or sole that ends in an object goes to where the ray from its
shoulder or hip enters it.
"""

from puppet_core.math import kernel
from puppet_core.math.values import lerp, Vec3, Vec3Like
from puppet_retarget.importance import ObjectArrays, signed_distance, to_object, UNSEEN_Z

HALVINGS = 48  # of the ray
TOUCH_TOL_M = 1e-7  # what is less deep than that touches


@kernel
def least_distance(objects: ObjectArrays, point: Vec3Like) -> float:
    """Return the signed distance from the nearest, or deepest, of the puppet's objects [m]."""
    least = 1e9
    for j in range(objects.n_objects):
        # what is fixed to a segment is in nobody's way, nor is what was not seen yet
        if objects.segments[j] < 0 and objects.puppet_positions[j, 2] > UNSEEN_Z:
            q, place = objects.puppet_orientations[j], objects.puppet_positions[j]
            local = to_object(q, place, point)
            distance = signed_distance(objects.shapes[j], objects.puppet_sizes[j], local)[0]
            least = min(least, distance)
    return least


@kernel
def entry(objects: ObjectArrays, shoulder: Vec3, point: Vec3) -> Vec3:
    """
    Return where the ray from a shoulder to a point enters the objects; the point if it is outside.

    Where the shoulder is inside as well the ray enters nowhere, and the point stays.
    """
    if least_distance(objects, point) >= -TOUCH_TOL_M or least_distance(objects, shoulder) < 0.0:
        return point
    outside, inside = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (outside + inside)
        if least_distance(objects, lerp(shoulder, point, middle)) < 0.0:
            inside = middle
        else:
            outside = middle
    return lerp(shoulder, point, outside)
