# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Angles <-> JointState; commands to controllers of ros2_control."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from puppet_core.math import Floats
from puppet_ros.messages.cdr import Fields, StreamWriter
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

MAX_STEP_S = 0.25  # between messages of which velocities are made


def angles_of(msg: JointState, names: Sequence[str]) -> Floats | None:
    """Return the angles of exactly these joints in this order [rad]; None for other joints."""
    places = {name: i for i, name in enumerate(msg.name)}
    if places.keys() != set(names) or not len(msg.name) == len(msg.position) == len(names):
        return None
    return np.frombuffer(msg.position, dtype=np.float64)[[places[name] for name in names]]


class JointStateWriter(StreamWriter):
    """Messages of a stamp [ns] and angles (n,) of joints [rad], maybe `with_speeds` [rad/s]."""

    def __init__(
        self, names: Sequence[str], frame_id: str = '', with_speeds: bool = False
    ) -> None:
        self._last_ns, self._last = 0, np.zeros(len(names))
        joints = tuple(names)

        def fields(stamp_ns: int, angles: Floats) -> tuple[int, Fields]:
            found: Fields = {'name': joints, 'position': angles}
            if with_speeds:
                step_s = (stamp_ns - self._last_ns) * 1e-9
                is_next = 0.0 < step_s <= MAX_STEP_S
                found['velocity'] = (angles - self._last) / (step_s if is_next else np.inf)
                self._last_ns, self._last = stamp_ns, angles.copy()
            return stamp_ns, found

        super().__init__(JointState, frame_id, fields)


def command_msg(
    is_trajectory: bool, joints: Sequence[str], positions: Floats, ahead_s: float
) -> Any:
    """
    Return a command of positions, shape (n,) [rad], in the order of the joints.

    It is a JointTrajectory of one point, in a time from its arrival [s], or a Float64MultiArray.
    """
    if not is_trajectory:
        return Float64MultiArray(data=positions.tolist())
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    after = Duration(seconds=ahead_s).to_msg()
    point = JointTrajectoryPoint(positions=positions.tolist(), time_from_start=after)
    return JointTrajectory(joint_names=joints, points=[point])
