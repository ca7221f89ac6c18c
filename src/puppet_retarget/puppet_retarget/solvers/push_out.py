# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
End-effectors out of objects (kernel, last part of Shin2002 5.3.3).

The blend of captured and solved rotations obeys no constraint, so an end-effector may end
inside an object. It is moved to where the line from its shoulder or hip enters the object, and
the limb is solved once more. Where that is much farther than the nearest surface (a hand
behind a bottle, a foot sliding along a wall) it takes the nearest surface: entering the far
side by a micrometre must not move a hand to the near side.

"""

import math

from puppet_core.arrays import Vec3
from puppet_core.kernel import kernel
from puppet_core.work_array import work_array
from puppet_retarget.importance.environment import ObjectArrays
from puppet_retarget.importance.object_distance import from_object, signed_distance, to_object

TOUCH_TOL_M = 1e-9
STUCK_TOL_M = 1e-3  # depth at which the nearest surface counts as out of reach
NEWTON_STEPS = 30
MAX_SWEEPS = 8  # over overlapping objects
RAY_FROM, RAY_ONLY = 0.2, 0.5  # share of the way along the line that is depth [-]


@kernel
def puppet_distance(objects: ObjectArrays, j: int, p: Vec3, local: Vec3, normal: Vec3) -> float:
    """Return the signed distance of a world point from the puppet's object j [m]."""
    to_object(objects.puppet_orientations[j], objects.puppet_positions[j], p, local)
    return signed_distance(objects.shapes[j], objects.puppet_sizes[j], local, normal)


@kernel
def deepest(objects: ObjectArrays, p: Vec3) -> float:
    """Return the smallest signed distance of a world point from all objects [m]."""
    local, normal = work_array(3), work_array(3)
    depth = 1e9
    for j in range(len(objects.shapes)):
        depth = min(depth, puppet_distance(objects, j, p, local, normal))
    return depth


@kernel
def _way_back(shape: int, size: Vec3, p: Vec3, direction: Vec3, work: Vec3) -> float:
    """
    Return how far back along a direction a point inside a solid enters it; infinity if never.

    The signed distance of a convex solid is convex along a line, so that Newton steps from
    outside come down to the surface and never pass it. All in the object's frame.

    """
    normal = work_array(3)
    way = size[0] + size[1] + size[2]  # outside of any bounded shape
    for _ in range(NEWTON_STEPS):
        for k in range(3):
            work[k] = p[k] - way * direction[k]
        gap = signed_distance(shape, size, work, normal)
        slope = -normal[0] * direction[0] - normal[1] * direction[1] - normal[2] * direction[2]
        if slope < 1e-12:
            return math.inf
        way -= gap / slope
        if abs(gap) < 0.1 * TOUCH_TOL_M:
            break
    return way


@kernel
def leave_object(
    objects: ObjectArrays, j: int, start: Vec3, p: Vec3, ray_only: bool, out: Vec3
) -> bool:
    """
    Write a point on the surface of the puppet's object j for a point inside; True if it was.

    Parameters
    ----------
    objects : ObjectArrays
        The environment.
    j : int
        Which object.
    start, p : ndarray, shape (3,)
        Shoulder or hip, and the end-effector, in world [m].
    ray_only : bool
        Whether to enter from `start` however far that is.
    out : ndarray, shape (3,)
        The point in world [m]; p where that is outside already. May be p itself.

    """
    shape, size = objects.shapes[j], objects.puppet_sizes[j]
    local, origin, normal, work = work_array(3), work_array(3), work_array(3), work_array(3)
    depth = -puppet_distance(objects, j, p, local, normal)
    out[0], out[1], out[2] = p[0], p[1], p[2]
    if depth <= (STUCK_TOL_M if ray_only else TOUCH_TOL_M):
        return False
    to_object(objects.puppet_orientations[j], objects.puppet_positions[j], start, origin)
    length = math.sqrt(
        (local[0] - origin[0]) ** 2 + (local[1] - origin[1]) ** 2 + (local[2] - origin[2]) ** 2
    )
    way = math.inf
    if length > TOUCH_TOL_M:
        for k in range(3):
            origin[k] = (local[k] - origin[k]) / length
        way = _way_back(shape, size, local, origin, work)
    share = min(max((depth / way - RAY_FROM) / (RAY_ONLY - RAY_FROM), 0.0), 1.0)
    share *= share * (3.0 - 2.0 * share)
    if ray_only and way < math.inf:
        share = 1.0
    for k in range(3):
        along = way * origin[k] if share > 0.0 else 0.0
        work[k] = local[k] - share * along + (1.0 - share) * depth * normal[k]
    # a point between two of the surface is inside
    inside = -signed_distance(shape, size, work, normal)
    for k in range(3):
        work[k] += max(inside, 0.0) * normal[k]
    from_object(objects.puppet_orientations[j], objects.puppet_positions[j], work, out)
    return True


@kernel
def leave_objects(
    objects: ObjectArrays, start: Vec3, p: Vec3, ray_only: bool, out: Vec3
) -> bool:
    """Write a point outside of all objects, p itself if it is; return whether p moved."""
    out[0], out[1], out[2] = p[0], p[1], p[2]
    has_moved = False
    for _ in range(MAX_SWEEPS):
        moves = False
        for j in range(len(objects.shapes)):
            moves = leave_object(objects, j, start, out, ray_only, out) or moves
        if not moves:
            break
        has_moved = True
    return has_moved
