# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sensor poses <-> geometry_msgs Pose and PoseArray, for programs that know only these."""

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import Pose, PoseArray
import numpy as np
from puppet_core.math import Quats, Vec3s
from puppet_core.sensor_frames import (
    FilteredFrame,
    POSES_ALL,
    POSES_OFF,
    POSES_VALID,
    SensorFrame,
)
from puppet_ros.messages import flat_array
from puppet_ros.node import qos
from rclpy.node import Node


def pose_row(pose: Pose) -> tuple[float, float, float, float, float, float, float]:
    """Return position x y z and quaternion w x y z of a message."""
    p, q = pose.position, pose.orientation
    return p.x, p.y, p.z, q.w, q.x, q.y, q.z


def from_poses(poses: Sequence[Pose]) -> tuple[Vec3s, Quats]:
    """Return positions (n, 3) and quaternions (n, 4) of messages, copies."""
    table = np.array([pose_row(pose) for pose in poses], dtype=float).reshape(len(poses), 7)
    return np.ascontiguousarray(table[:, :3]), np.ascontiguousarray(table[:, 3:])


def to_poses(positions: Vec3s, quaternions: Quats) -> list[Pose]:
    """Return new messages of positions (n, 3) and quaternions (n, 4)."""
    poses = []
    for (px, py, pz), (w, x, y, z) in zip(positions.tolist(), quaternions.tolist()):
        pose = Pose()
        pose.position.x, pose.position.y, pose.position.z = px, py, pz
        rotation = pose.orientation
        rotation.w, rotation.x, rotation.y, rotation.z = w, x, y, z
        poses.append(pose)
    return poses


def to_msg(frame: SensorFrame | FilteredFrame, frame_id: str, mode: str = POSES_ALL) -> PoseArray:
    """Return a frame's poses, all of them or the valid ones, under its stamp."""
    msg = PoseArray()
    flat_array.write_stamp(frame.stamp_ns, msg.header.stamp)
    msg.header.frame_id = frame_id
    positions, quaternions = frame.positions, frame.quaternions
    if mode == POSES_VALID:
        valid = np.isfinite(positions).all(axis=1)
        positions, quaternions = positions[valid], quaternions[valid]
    msg.poses = to_poses(positions, quaternions)
    return msg


class PoseArrayOutput:
    """
    A PoseArray topic that exists once somebody asked for it, and until it is closed.

    One who publishes from another thread than the executor's opens it first.

    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        self._topic = topic
        self._publisher: Any = None

    def open(self, mode: str) -> None:  # noqa: A003
        """Make the topic if one of POSE_ARRAY_MODES needs it."""
        if mode != POSES_OFF and self._publisher is None:
            self._publisher = self._node.create_publisher(PoseArray, self._topic, qos.STREAM)

    def close(self) -> None:
        """Take the topic away."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None

    def publish(self, frame: SensorFrame | FilteredFrame, frame_id: str, mode: str) -> None:
        """Publish a frame in one of POSE_ARRAY_MODES."""
        if mode == POSES_OFF:
            return
        self.open(mode)
        self._publisher.publish(to_msg(frame, frame_id, mode))
