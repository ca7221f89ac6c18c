# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
End-effectors, elbows and knees out of the rest of the body (kernel, last part of Shin2002 5.3.3).

As `push_out` does for objects: neither the blend nor ranges whose sample points lie apart keep
a palm out of a round belly exactly. What the performer's own body does, an elbow pressed
into the side, is left as deep as it is there.

"""

from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.body_shape_kernels import nearest_capsule_within, ShapeArrays
from puppet_core.kernel import copy, kernel
from puppet_core.quaternion import rotate, rotate_inverse
from puppet_core.work_array import work_array
from puppet_retarget.importance.self_distance import RELEVANT

TOUCH_TOL_M = 1e-7
ALLOWED_M = 1e-3  # flesh gives way
_SWEEPS = 4  # over segments that overlap


@kernel
def bounding_centres(shape: ShapeArrays, q_world: Quats, p_world: Vec3s, out: Vec3s) -> None:
    """Fill the centres of the balls around the segments in world, shape (16, 3) [m]."""
    for segment in range(len(out)):
        rotate(q_world[segment], shape.centres[segment], out[segment])
        for k in range(3):
            out[segment, k] += p_world[segment, k]


@kernel
def leave_segment(
    shape: ShapeArrays, segment: int, q_world: Quats, p_world: Vec3s, allowed: float,
    share: float, point: Vec3, ball: Vec3,
) -> float:  # fmt: skip
    """
    Move a point out of a segment by a share of the way, in place.

    Returns
    -------
    radius : float
        That of the ball about `ball`, which is written, that the point should be outside of;
        0 if the point is outside already and has not moved [m].

    """
    local, normal = work_array(3), work_array(3)
    for k in range(3):
        local[k] = point[k] - p_world[segment, k]
    rotate_inverse(q_world[segment], local, local)
    distance, capsule = nearest_capsule_within(shape, segment, local, -allowed, normal)
    depth = -distance - allowed
    if capsule < 0 or depth <= TOUCH_TOL_M:
        return 0.0
    radius = shape.radii[capsule]
    rotate(q_world[segment], normal, normal)
    for k in range(3):
        ball[k] = point[k] - (distance + radius) * normal[k]
        point[k] += share * depth * normal[k]
    return radius - allowed - (1.0 - share) * depth


@kernel
def leave_body(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, centres: Vec3s, j: int, allowed: float,
    meets_half_way: bool, point: Vec3, ball: Vec3,
) -> float:  # fmt: skip
    """
    Move a general end-effector out of its body, in place.

    Parameters
    ----------
    shape : ShapeArrays
        The puppet's shape.
    q_world, p_world : ndarray, shapes (16, 4), (16, 3)
        Its segments in world [m].
    centres : ndarray, shape (16, 3)
        As `bounding_centres` fills them [m].
    j : int
        Which end-effector.
    allowed : float
        Depth that may stay [m].
    meets_half_way : bool
        Whether the limb across the body moves out of the way by the other half.
    point : ndarray, shape (3,)
        The end-effector in world [m].
    ball : ndarray, shape (3,)
        Out: centre of the ball that it was deepest in [m].

    Returns
    -------
    radius : float
        That ball's radius, 0 if the point has not moved [m].

    """
    largest, deepest, centre = 0.0, 0.0, work_array(3)
    across = (j % 4) ^ 1
    for _ in range(_SWEEPS):
        moves = False
        for segment in range(16):
            if not RELEVANT[j, segment]:
                continue
            dx, dy, dz = (
                point[0] - centres[segment, 0], point[1] - centres[segment, 1],
                point[2] - centres[segment, 2],
            )  # fmt: skip
            bound = shape.bounds[segment] - allowed
            if bound <= 0.0 or dx * dx + dy * dy + dz * dz >= bound * bound:
                continue
            is_across = 4 + 3 * across <= segment < 7 + 3 * across
            share = 0.5 if meets_half_way and is_across else 1.0
            x, y, z = point[0], point[1], point[2]
            radius = leave_segment(
                shape, segment, q_world, p_world, allowed, share, point, centre
            )
            if radius > 0.0:
                moves = True
                way = (point[0] - x) ** 2 + (point[1] - y) ** 2 + (point[2] - z) ** 2
                if way > deepest:
                    deepest, largest = way, radius
                    copy(centre, ball)
        if not moves or meets_half_way:
            break
    return largest


@kernel
def self_depths(
    shape: ShapeArrays, q_world: Quats, p_world: Vec3s, points: Vec3s, centres: Vec3s,
    out: Floats,
) -> None:  # fmt: skip
    """Fill how deep each general end-effector is inside its own body, shape (8,) [m]."""
    local, normal = work_array(3), work_array(3)
    bounding_centres(shape, q_world, p_world, centres)
    for j in range(8):
        out[j] = 0.0
        for segment in range(16):
            if not RELEVANT[j, segment]:
                continue
            dx, dy, dz = (
                points[j, 0] - centres[segment, 0], points[j, 1] - centres[segment, 1],
                points[j, 2] - centres[segment, 2],
            )  # fmt: skip
            bound = shape.bounds[segment]
            if bound <= 0.0 or dx * dx + dy * dy + dz * dz >= bound * bound:
                continue
            for k in range(3):
                local[k] = points[j, k] - p_world[segment, k]
            rotate_inverse(q_world[segment], local, local)
            deepest = nearest_capsule_within(shape, segment, local, -out[j], normal)[0]
            out[j] = max(out[j], -deepest)
