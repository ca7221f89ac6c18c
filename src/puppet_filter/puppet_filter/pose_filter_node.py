# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Node `pose_filter`: Kalman filter of all tracker sensors (Shin2002 ch. 3).

Subscribes to /tracker/raw (TrackerFrame) and publishes /tracker/filtered (PoseFrame) for every
frame, with the frame's own stamp: pose, twist, covariance and status of each sensor. Tuning
parameters may be changed while it runs. The replay uses the same stage without a node.

Example: ros2 run puppet_filter pose_filter --ros-args -p noise.position_mm:=0.8
"""

from collections.abc import Sequence
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_filter.parameters import load_tuning, ROWS, Tuning
from puppet_filter.pose_filter import PoseFilter, warm_up
from puppet_msgs.msg import PoseFrame
from puppet_ros.messages import PoseFrameWriter, TrackerFrameReader
from puppet_ros.node import (
    Diagnostics,
    NODE_OPTIONS,
    ParameterTable,
    PoseArrayOutput,
    spin_node,
    StampedRecord,
    StreamPublisher,
    subscribe,
)
from rclpy.node import Node

NODE_NAME = 'pose_filter'
RAW_TOPIC = 'tracker/raw'
FILTERED_TOPIC = 'tracker/filtered'
POSE_ARRAY_TOPIC = 'tracker/filtered_poses'
COUNTS_PERIOD_S = 1.0


class PoseFilterStage:
    def __init__(self, tuning: Tuning) -> None:
        self.filter = PoseFilter(*tuning)
        self.frame_id = ''
        """Frame of the poses of the last step."""
        self._tuning = tuning
        self._writer = PoseFrameWriter(self.frame_id)

    def configure(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self.filter.configure(*tuning)

    def step(self, frame: SensorFrame, frame_id: str) -> FilteredFrame | None:
        """Return the filtered frame, or None for a stamp that repeats or goes back."""
        frame_id = frame_id or self._tuning.parameters.frame_id
        if frame_id != self.frame_id:
            self.frame_id, self._writer = frame_id, PoseFrameWriter(frame_id)
        return self.filter.step(frame)

    def data(self, filtered: FilteredFrame) -> bytes:
        return self._writer.data(filtered)


class PoseFilterNode(Node):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(self, ROWS, load_tuning, self._on_tuning)
        config = self._table.config.parameters
        self._stage = PoseFilterStage(self._table.config)
        self._filter = self._stage.filter
        self._publisher = StreamPublisher(self, PoseFrame, FILTERED_TOPIC, self._stage.data)
        self._pose_array = PoseArrayOutput(self, POSE_ARRAY_TOPIC)
        self._diagnostics = Diagnostics(self, config.expected_rate_hz)
        self._subscription = subscribe(
            self, RAW_TOPIC, self._on_frame, self._diagnostics, TrackerFrameReader()
        )
        self._counts_timer = self.create_timer(COUNTS_PERIOD_S, self._on_counts)

    def _on_frame(self, stamped: StampedRecord) -> None:
        filtered = self._stage.step(*stamped)
        if filtered is None:
            self._diagnostics.drop('stamp')
            return
        self._publisher.publish(filtered, self._stage.frame_id)
        self._pose_array.publish(
            filtered, self._stage.frame_id, self._table.config.parameters.pose_array
        )
        self._diagnostics.frame(filtered.stamp_ns)

    def _on_tuning(self, tuning: Tuning) -> None:
        self._stage.configure(tuning)
        self._diagnostics.expected_rate_hz = tuning.parameters.expected_rate_hz
        self.get_logger().info('new parameters applied')

    def _on_counts(self) -> None:
        for name, count in self._filter.counts().items():
            self._diagnostics.value(name, count)
        self._diagnostics.value('noise_unused', ', '.join(self._filter.unused_noise()))
        lost = ', '.join(self._filter.lost_sensors())
        self._diagnostics.value('lost_sensors', lost)
        level = DiagnosticStatus.WARN if lost else DiagnosticStatus.OK
        self._diagnostics.condition(level, f'no samples from {lost}')


def main(argv: Sequence[str] | None = None) -> int:
    return spin_node(PoseFilterNode, argv, warm_up, usage=__doc__ or '')


if __name__ == '__main__':
    sys.exit(main())
