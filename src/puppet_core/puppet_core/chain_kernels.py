# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics of whole clips, for any tree of joints (kernel layer)."""

from puppet_core.arrays import Ints, Quats, Vec3s
from puppet_core.kernel import kernel
from puppet_core.quaternion import multiply, rotate


@kernel
def follow_chains(
    parents: Ints, rotations: Quats, translations: Vec3s, q_world: Quats, p_world: Vec3s
) -> None:
    """
    Fill orientation and position of every joint in every frame.

    Parameters
    ----------
    parents : ndarray of int, shape (j,)
        Index of each joint's parent, which comes before it; -1 for one in the world.
    rotations : ndarray, shape (n, j, 4)
        Each joint relative to its parent.
    translations : ndarray, shape (n, j, 3)
        Each joint in its parent's axes [m].
    q_world : ndarray, shape (n, j, 4)
        Out: orientations.
    p_world : ndarray, shape (n, j, 3)
        Out: positions [m].

    """
    for i in range(rotations.shape[0]):
        q, p = q_world[i], p_world[i]
        for joint in range(len(parents)):
            parent = parents[joint]
            own, step = rotations[i, joint], translations[i, joint]
            if parent < 0:
                for k in range(4):
                    q[joint, k] = own[k]
                for k in range(3):
                    p[joint, k] = step[k]
                continue
            multiply(q[parent], own, q[joint])
            rotate(q[parent], step, p[joint])
            for k in range(3):
                p[joint, k] += p[parent, k]
