# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The frames of one body as messages: those that move, and the fixed ones of a robot."""

import numpy as np
from puppet_core.body import Robot
from puppet_ros.messages import angles_of, PostureRecord, TransformsWriter
from puppet_ros.node import RateLimit
from puppet_view.rviz.frames import LinkFrames
from puppet_view.rviz.robot_frames import RobotFrames
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

IDLE_RATE_HZ = 1.0  # of looking at a stream that nobody wants to see


class BodyView:
    """The frames of one body, and when they are due."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        """Of the frames' names, as in 'puppet/'."""
        self._frames = LinkFrames(prefix)
        self._writer = TransformsWriter(self._frames.frames)
        self._robot_frames: RobotFrames | None = None
        self.robot: Robot | None = None
        """Whose links are shown instead of the segments."""
        self.limit = RateLimit(0.0)
        self.idle_limit = RateLimit(IDLE_RATE_HZ)
        self.leg_length = 0.0
        """Of the last posture [m]; 0 before the first."""
        self.body = ''
        """Whose the last posture was; '' before the first."""

    def become(self, robot: Robot | None) -> None:
        """Show the links of a robot, or the segments."""
        self.robot = robot
        self._robot_frames = None if robot is None else RobotFrames(robot, self.prefix)
        frames = self._frames.frames
        if self._robot_frames is not None:
            frames = self._robot_frames.moving_frames
        self._writer = TransformsWriter(frames)

    def note(self, record: PostureRecord) -> None:
        """Remember whose posture this is, and how large."""
        self.leg_length, self.body = record.leg_length, record.body

    def transforms(self, record: PostureRecord, joints: JointState | None) -> TFMessage | None:
        """Return the moving frames of a posture; None for joints that are not the robot's."""
        posture = record.posture
        if self.robot is None or self._robot_frames is None:
            steps = self._frames.step(posture.root_position, posture.rotations, record.segments)
            return self._writer.fill(record.stamp_ns, *steps)
        names = self.robot.published_names
        angles = None if joints is None else angles_of(joints, names)
        if angles is None:
            return None
        moves = self._robot_frames.moves
        positions, quaternions = self._robot_frames.step(
            posture.root_position, posture.rotations[0], angles
        )
        return self._writer.fill(record.stamp_ns, positions[moves], quaternions[moves])

    def fixed_transforms(self, stamp_ns: int) -> TFMessage | None:
        """Return the frames of a robot that do not move; None if there are none."""
        frames = self._robot_frames
        if frames is None or np.all(frames.moves):
            return None
        writer = TransformsWriter(frames.fixed_frames)
        return writer.fill(stamp_ns, *frames.fixed())
