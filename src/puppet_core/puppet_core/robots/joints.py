# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Our posture as a robot's joint angles: within limits, continuous in time, feet where asked."""

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, N_SEGMENTS, Robot, Skeleton
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_core.robots.follow import follow_segments, read_posture, RobotArrays, RobotState
from puppet_core.robots.reach import reach


def robot_arrays(robot: Robot, skeleton: Skeleton) -> RobotArrays:
    """Return a robot as kernels need it, with the skeleton of its character."""
    segments = np.arange(N_SEGMENTS)
    first = np.searchsorted(robot.segments, segments)
    centres = robot.centres(skeleton)
    ends = LIMB_SEGMENTS[:, 2]
    back = qb.conjugate(robot.rest[ends])
    return RobotArrays(
        first,
        np.searchsorted(robot.segments, segments, side='right') - first,
        robot.axes.copy(),
        robot.origins.copy(),
        robot.lower.copy(),
        robot.upper.copy(),
        robot.rest.copy(),
        centres,
        centres[ends] + qb.rotate(back, skeleton.interaction_points),
    )


class RobotJoints:
    """
    The joint angles of a robot that follows postures of its character.

    Every angle is within its limits and moves at a bounded ratio of what is asked of it. The
    posture that the robot cannot take is replaced by the one that it takes.

    """

    def __init__(self, robot: Robot, skeleton: Skeleton) -> None:
        self.names = robot.published_names
        """Names of the angles that `step` returns."""
        self._robot = robot_arrays(robot, skeleton)
        n = len(robot.names)
        self._angles = np.concatenate((np.zeros(n), [angle for _, angle in robot.held]))
        self._state = RobotState(
            self._angles[:n],
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.zeros((N_SEGMENTS, 4)),
            np.zeros(N_SEGMENTS),
            np.zeros((4, 3)),
            np.zeros((N_SEGMENTS, 4)),
            np.zeros((N_SEGMENTS, 3)),
        )
        self.reset()

    def reset(self) -> None:
        """Forget the past: the next step takes the angles nearest to the zero pose."""
        self._is_first = True
        self._state.angles[:] = np.clip(0.0, self._robot.lower, self._robot.upper)

    def resume(self, angles: Floats, rotations: Quats, points: Vec3s) -> None:
        """
        Go on from what was published before.

        Parameters
        ----------
        angles : ndarray, shape (n,)
            In the order of `names` [rad].
        rotations : ndarray, shape (16, 4)
            Joint rotations that the robot had.
        points : ndarray, shape (4, 3)
            Its palms and soles, from the pelvis and in its axes [m].

        """
        state = self._state
        state.angles[:] = np.clip(
            angles[: len(state.angles)], self._robot.lower, self._robot.upper
        )
        state.asked[:] = rotations
        state.points[:] = points
        self._is_first = False

    def step(
        self,
        root: Vec3,
        rotations: Quats,
        q_world: Quats,
        p_world: Vec3s,
        ends: Vec3s,
        is_reaching: bool = True,
    ) -> Floats:
        """
        Return the angles of the next posture, and make the posture that of the robot.

        Parameters
        ----------
        root : ndarray, shape (3,)
            Pelvis joint in world [m].
        rotations : ndarray, shape (16, 4)
            Out: joint rotations that the robot has.
        q_world : ndarray, shape (16, 4)
            In: orientations asked for, in world; out: those that the robot has.
        p_world : ndarray, shape (16, 3)
            Out: joint centres in world [m].
        ends : ndarray, shape (8, 3)
            In: general end-effectors asked for; out: the robot's [m].
        is_reaching : bool, optional
            Whether palms and soles count; if not, segments turn as asked as far as they can.

        Returns
        -------
        angles : ndarray, shape (n,)
            In the order of `names` [rad]; overwritten by the next step. Those of the last step
            if what is asked for is not finite.

        """
        if not all(np.isfinite(values).all() for values in (root, q_world, ends)):
            return self._angles
        follow_segments(self._robot, self._state, root, q_world, ends, self._is_first)
        for limb in range(4 if is_reaching else 0):
            reach(self._robot, self._state, limb, ends, q_world, self._is_first)
        self._is_first = False
        read_posture(self._robot, self._state, rotations, q_world, p_world, ends)
        return self._angles
