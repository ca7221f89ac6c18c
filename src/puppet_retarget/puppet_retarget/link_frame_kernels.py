# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Transforms of a body's URDF links from a published posture (kernel layer)."""

import math

from numba import njit
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.quaternion import multiply, rotate_inverse
from puppet_core.skeleton import N_SEGMENTS, PARENTS

_PARENTS = tuple(int(p) for p in PARENTS)
LINKS_PER_SEGMENT = 3  # after the z, the y and the x joint


@njit(cache=True)
def link_transforms(
    root: Vec3, rotations: Quats, segments: Vec3s, angles: Floats,
    q_world: Quats, positions: Vec3s, quaternions: Quats,
) -> None:  # fmt: skip
    """
    Fill the transform of every link in its parent link.

    Parameters
    ----------
    root : ndarray, shape (3,)
        Pelvis in world [m].
    rotations : ndarray, shape (16, 4)
        Row 0 the pelvis in world, the others relative to the parent segment.
    segments : ndarray, shape (16, 3)
        Joint positions in world; they tell the segments' lengths [m].
    angles : ndarray, shape (45,)
        Revolute joints, z, y, x of each segment after the pelvis [rad].
    q_world : ndarray, shape (16, 4)
        Working space: segment orientations in world.
    positions, quaternions : ndarray, shapes (46, 3) and (46, 4)
        Out: the pelvis in world, then three links for each segment.

    """
    q_world[0, :] = rotations[0]
    positions[0, :] = root
    quaternions[0, :] = rotations[0]
    for segment in range(1, N_SEGMENTS):
        parent = _PARENTS[segment]
        multiply(q_world[parent], rotations[segment], q_world[segment])
        first = 1 + LINKS_PER_SEGMENT * (segment - 1)
        for k in range(3):
            positions[first, k] = segments[segment, k] - segments[parent, k]
            positions[first + 1, k] = 0.0
            positions[first + 2, k] = 0.0
        rotate_inverse(q_world[parent], positions[first], positions[first])
        for link in range(LINKS_PER_SEGMENT):
            half = 0.5 * angles[3 * (segment - 1) + link]
            q = quaternions[first + link]
            q[0], q[1], q[2], q[3] = math.cos(half), 0.0, 0.0, 0.0
            q[3 - link] = math.sin(half)
