# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The TF frames of a body: its URDF's links under a prefix, the pelvis below the world.

With the same names and the same split angles as the robot description and /joint_states,
RViz' RobotModel with that TF prefix shows the body.

"""

import numpy as np
from puppet_core.arrays import Quats, Vec3, Vec3s
from puppet_core.joint_split import JointSplit
from puppet_core.skeleton import N_SEGMENTS, PARENTS, SEGMENTS
from puppet_core.urdf import link_chain
from puppet_retarget.link_frame_kernels import link_transforms, LINKS_PER_SEGMENT

WORLD = 'world'


class LinkFrames:
    """The moving frames of one body."""

    def __init__(self, prefix: str) -> None:
        """
        Prepare the frames of a body.

        Parameters
        ----------
        prefix : str
            Put before every link's name, as in 'puppet/'.

        """
        self.frames = _frame_pairs(prefix)
        """Parent and child of each transform, 46 of them."""
        n = 1 + LINKS_PER_SEGMENT * (N_SEGMENTS - 1)
        self._split = JointSplit()
        self._q_world = np.zeros((N_SEGMENTS, 4))
        self._positions = np.zeros((n, 3))
        self._quaternions = np.zeros((n, 4))

    def step(self, root: Vec3, rotations: Quats, segments: Vec3s) -> tuple[Vec3s, Quats]:
        """
        Return the transforms of the next posture.

        Parameters
        ----------
        root : ndarray, shape (3,)
            Pelvis in world [m].
        rotations : ndarray, shape (16, 4)
            Joint rotations.
        segments : ndarray, shape (16, 3)
            Joint positions in world [m].

        Returns
        -------
        positions, quaternions : ndarray, shapes (46, 3) [m] and (46, 4)
            In the order of `frames`; overwritten by the next step.

        """
        angles = self._split.step(rotations)
        link_transforms(
            root, rotations, segments, angles, self._q_world, self._positions, self._quaternions
        )
        return self._positions, self._quaternions


def _frame_pairs(prefix: str) -> tuple[tuple[str, str], ...]:
    pairs = [(WORLD, prefix + SEGMENTS[0])]
    for segment, parent in zip(SEGMENTS[1:], PARENTS[1:]):
        above = SEGMENTS[parent]
        for link in link_chain(segment):
            pairs.append((prefix + above, prefix + link))
            above = link
    return tuple(pairs)
