# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot as solvers see it: its joints follow the segments as far as they can."""

import numpy as np
from puppet_core.body import Character
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.robots import RobotJoints
from puppet_retarget.solvers.solver import SolverOutput


class RobotFollower:
    """The joints of a character that is a robot, from frame to frame."""

    def __init__(self, joints: RobotJoints) -> None:
        self._joints = joints
        self.names = joints.names
        """Of the joints, in the robot's own words."""

    def resume(self, angles: Floats, rotations: Quats, points: Vec3s) -> None:
        """Go on from what was published before, as `RobotJoints.resume`."""
        self._joints.resume(angles, rotations, points)

    def step(self, out: SolverOutput, goals: Vec3s) -> Floats:
        """
        Return the robot's angles, shape (n,) [rad]; the posture becomes the one that it takes.

        Parameters
        ----------
        out : SolverOutput
            In: the posture asked for; out: the robot's, and its distances from the goals.
        goals : ndarray, shape (4, 3)
            Of the end-effectors, in the puppet's world [m].

        """
        angles = self._joints.step(
            out.root_position, out.rotations, out.q_world, out.p_world, out.end_effectors
        )
        out.goal_errors[:] = np.linalg.norm(out.end_effectors[:4] - goals, axis=1)
        return angles


def follower_of(character: Character) -> RobotFollower | None:
    """Return what follows for a character; None if it is no robot."""
    if character.robot is None:
        return None
    return RobotFollower(RobotJoints(character.robot, character.skeleton))
