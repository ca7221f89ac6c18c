# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The sensors of a tracker on /tf, at a lower rate than they are measured."""

from collections.abc import Iterable

import numpy as np
from puppet_core.math import Quat, Vec3
from puppet_core.sensor_frames import SAMPLE_OK, SensorFrame
from puppet_ros.messages import TransformsWriter
from puppet_ros.node import qos
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

WORLD, TRANSMITTER = 'world', 'transmitter'
SENSOR_FRAME_PREFIX = 'tracker/'


class SensorTransforms:
    """
    Publishes transmitter -> tracker/<sensor>, and world -> transmitter once.

    Parameters
    ----------
    node : Node
        Owner of the publishers.
    sensors : tuple of str
        Names in the order of the frames' rows.
    rate_hz : float
        At most so often on /tf [Hz]; 0 is never.

    """

    def __init__(self, node: Node, sensors: tuple[str, ...], rate_hz: float) -> None:
        self._node = node
        self._sensors = sensors
        self._period_ns = round(1e9 / rate_hz) if rate_hz > 0.0 else 0
        self._next_ns = 0
        self._all = TransformsWriter(self._names(range(len(sensors))))
        self._publisher = node.create_publisher(TFMessage, '/tf', qos.TRANSFORMS)
        self._static = node.create_publisher(TFMessage, '/tf_static', qos.STATIC_TRANSFORMS)

    def announce(self, stamp_ns: int, position: Vec3, quaternion: Quat) -> None:
        """Publish where the transmitter is in the world."""
        writer = TransformsWriter([(WORLD, TRANSMITTER)])
        self._static.publish(writer.fill(stamp_ns, position[None], quaternion[None]))

    def publish(self, frame: SensorFrame) -> None:
        """Publish the measured sensors of a frame if it is time again."""
        due = not 0 <= self._next_ns - frame.stamp_ns <= self._period_ns
        if self._period_ns == 0 or not due:
            return
        self._next_ns = frame.stamp_ns + self._period_ns
        rows = np.flatnonzero(frame.status == SAMPLE_OK)
        writer = self._all
        if len(rows) < len(self._sensors):
            writer = TransformsWriter(self._names(rows))
        message = writer.fill(frame.stamp_ns, frame.positions[rows], frame.quaternions[rows])
        self._publisher.publish(message)

    def close(self) -> None:
        """Take the publishers away."""
        self._node.destroy_publisher(self._publisher)
        self._node.destroy_publisher(self._static)

    def _names(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        return [(TRANSMITTER, SENSOR_FRAME_PREFIX + self._sensors[row]) for row in rows]
