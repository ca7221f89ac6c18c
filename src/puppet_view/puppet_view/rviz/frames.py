# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The TF frames of a body: its URDF's links under a prefix, the pelvis below the world.

Names and split angles are those of the robot description and /joint_states, so RViz' RobotModel
with that TF prefix shows the body. Transforms carry the stamp of their posture. `RawFrames`
collects the messages of one stamp and leaves them undecoded until they are needed.
"""

import math

from numba import njit
import numpy as np
from puppet_core.body import ContinuousEuler, N_SEGMENTS, PARENTS, SEGMENTS
from puppet_core.math import Floats, multiply, Quats, rotate_inverse, Vec3, Vec3s
from puppet_core.robots import link_chain
from puppet_ros.messages import raw_header
from puppet_ros.node import ExactTimeSynchronizer

_PARENTS = tuple(int(p) for p in PARENTS)
LINKS_PER_SEGMENT = 3  # after the z, the y and the x joint

WORLD = 'world'

PERFORMER_TOPIC, PUPPET_TOPIC = '/performer/posture', '/puppet/posture'


@njit(cache=True)
def link_transforms(
    root: Vec3,
    rotations: Quats,
    segments: Vec3s,
    angles: Floats,
    q_world: Quats,
    positions: Vec3s,
    quaternions: Quats,
) -> None:
    """
    Fill the transform of every link in its parent link.

    Parameters
    ----------
    root : ndarray, shape (3,)
        Pelvis in world [m].
    rotations : ndarray, shape (16, 4)
        Row 0 the pelvis in world, the others relative to the parent segment.
    segments : ndarray, shape (16, 3)
        Joint positions in world; they give the segments' lengths [m].
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
        self._split = ContinuousEuler()
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


class RawFrames:
    """Performer, importance and puppet of one stamp."""

    def __init__(self) -> None:
        self._captured: ExactTimeSynchronizer[bytes, bytes] = ExactTimeSynchronizer()
        self._whole: ExactTimeSynchronizer[tuple[bytes, bytes], bytes] = ExactTimeSynchronizer()

    def push(self, topic: str, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """Take a message; return the frame that it completes."""
        stamp_ns = raw_header.stamp_ns(data)
        if topic == PUPPET_TOPIC:
            found = self._whole.push_right(stamp_ns, data)
        else:
            is_left = topic == PERFORMER_TOPIC
            push = self._captured.push_left if is_left else self._captured.push_right
            pair = push(stamp_ns, data)
            found = None if pair is None else self._whole.push_left(stamp_ns, pair)
        return None if found is None else (*found[0], found[1])
