# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The TF frames of a robot: the links of its own URDF under a prefix, below `<prefix>pelvis`.

With /joint_states and its own description RViz' RobotModel with that TF prefix shows the robot.
A robot that has a link named pelvis has that one instead of ours.

"""

from collections.abc import Mapping

import numpy as np
from puppet_core.body import parse_urdf, Robot, SEGMENTS, TURNING, UrdfJoint
from puppet_core.math import Floats, Quat, Quats, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_view.rviz.frames import WORLD

PELVIS = SEGMENTS[0]


class RobotFrames:
    """The moving frames of a robot."""

    def __init__(self, robot: Robot, prefix: str) -> None:
        """
        Prepare the frames of a robot.

        Parameters
        ----------
        robot : Robot
            Its joints, and its URDF.
        prefix : str
            Put before every link's name, as in 'puppet/'.

        """
        urdf = parse_urdf(robot.urdf_path, robot.urdf)
        joints = urdf.joints
        has_pelvis = PELVIS in urdf.links
        tops = [(WORLD, PELVIS)] if not has_pelvis else []
        tops.append((tops[-1][1] if tops else WORLD, urdf.root))
        self.frames = tuple(
            (above if above == WORLD else prefix + above, prefix + link)
            for above, link in (*tops, *((j.parent, j.child) for j in joints))
        )
        """Parent and child of each transform."""
        index = {name: i for i, name in enumerate(robot.published_names)}
        self._n_tops = len(tops)
        rows = [_angle_of(joint, {j.name: j for j in joints}, index) for joint in joints]
        self._source = np.array([row[0] for row in rows], dtype=np.int64)
        self._factor, self._offset = np.array([row[1:] for row in rows]).T
        self._axes = np.array([joint.axis for joint in joints])
        self._facing = robot.facing
        poses = np.array([joint.pose for joint in joints])
        self._turned = qb.from_matrix(poses[:, :3, :3])
        self._positions: Vec3s = np.zeros((len(self.frames), 3))
        self._positions[self._n_tops :] = poses[:, :3, 3]
        self._quaternions: Quats = np.tile([1.0, 0.0, 0.0, 0.0], (len(self.frames), 1))
        self._quaternions[self._n_tops :] = self._at(np.zeros(len(index)))
        self.moves = np.concatenate(([True], [False] * (self._n_tops - 1), self._source >= 0))
        """Which transforms change at all, shape (n,)."""
        if self._n_tops == 2:
            self._quaternions[1] = self._facing

    @property
    def moving_frames(self) -> tuple[tuple[str, str], ...]:
        """Parent and child of the transforms that change."""
        return tuple(pair for pair, moves in zip(self.frames, self.moves) if moves)

    @property
    def fixed_frames(self) -> tuple[tuple[str, str], ...]:
        """Parent and child of the transforms that never change."""
        return tuple(pair for pair, moves in zip(self.frames, self.moves) if not moves)

    def fixed(self) -> tuple[Vec3s, Quats]:
        """Return the transforms that never change, in the order of `fixed_frames`."""
        return self._positions[~self.moves], self._quaternions[~self.moves]

    def step(self, root: Vec3, q_root: Quat, angles: Floats) -> tuple[Vec3s, Quats]:
        """
        Return the transforms of the next posture.

        Parameters
        ----------
        root, q_root : ndarray, shapes (3,) and (4,)
            Pelvis in world [m].
        angles : ndarray, shape (n,)
            In the order of the robot's `published_names` [rad].

        Returns
        -------
        positions, quaternions : ndarray, shapes (n, 3) [m] and (n, 4)
            In the order of `frames`; overwritten by the next step.

        """
        self._positions[0], self._quaternions[0] = root, q_root
        if self._n_tops == 1:
            self._quaternions[0] = qb.multiply(q_root, self._facing)
        self._quaternions[self._n_tops :] = self._at(angles)
        return self._positions, self._quaternions

    def _at(self, angles: Floats) -> Quats:
        """Return the orientation of every link in its parent."""
        known = np.append(angles, 0.0)  # of a joint that has none, index -1
        turns = self._factor * known[self._source] + self._offset
        return qb.multiply(self._turned, qb.exp(turns[:, None] * self._axes))


def _angle_of(
    joint: UrdfJoint, joints: Mapping[str, UrdfJoint], index: Mapping[str, int]
) -> tuple[int, float, float]:
    """Return whose angle a joint has, times what and plus what."""
    factor, offset = 1.0, 0.0
    if joint.mimic is not None:
        # URDF: multiplier * other_joint + offset
        factor, offset = joint.mimic.multiplier, joint.mimic.offset
    leader = joint if joint.mimic is None else joints[joint.mimic.joint]
    if joint.kind not in TURNING or leader.name not in index:
        return -1, 0.0, offset if joint.kind in TURNING else 0.0
    return index[leader.name], factor, offset
