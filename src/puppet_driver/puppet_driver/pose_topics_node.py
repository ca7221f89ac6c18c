# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Node `pose_topics`: other trackers' PoseStamped and PoseArray topics to /tracker/raw."""

from collections.abc import Mapping, Sequence
import sys
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Pose, PoseArray, PoseStamped
import numpy as np
from puppet_core.io import build_config
from puppet_core.math import Quat, Vec3
from puppet_core.sensor_frames import SensorFrame
from puppet_driver.pose_topics import (
    HEADER,
    POSE_TOPICS_ROWS,
    PoseMerger,
    PoseTopicsConfig,
    STATIC_TF,
    TopicPlan,
    transform_poses,
)
from puppet_msgs.msg import TrackerFrame
from puppet_ros import node as ros
from puppet_ros.messages import flat_array, TrackerFrameWriter
from puppet_ros.node import qos
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from std_msgs.msg import Header

Axes = tuple[Vec3, Quat]

NODE_NAME = 'pose_topics'
OUTPUT_TOPIC = 'tracker/raw'
POSE_ARRAY_TOPIC = 'tracker/raw_poses'
REPORT_PERIOD_S = 1.0
MAX_FRAME_IDS = 64
USAGE = """
usage: pose_topics --ros-args [-p NAME:=VALUE ..] [--params-file FILE]

Publishes poses of another tracker on /tracker/raw. Parameters are described by
`ros2 param describe /pose_topics NAME` and listed in config/pose_topics.yaml.

example: pose_topics --ros-args -p topics:="['/vrpn_mocap/{sensor}/pose']"
         pose_topics --ros-args -p topics:="['/poses[*]']" -p source.rpy_deg:="[90.0, 0.0, 0.0]"
"""


class PoseTopicsNode(Node):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **ros.NODE_OPTIONS, **kwargs)
        rows, make = POSE_TOPICS_ROWS, PoseTopicsConfig
        table = ros.ParameterTable(self, rows, lambda values: build_config(make, values))
        config: PoseTopicsConfig = table.config
        self._config, n = config, len(config.sensors)
        self._merger = PoseMerger(config.sensors, round(1e9 * config.wait_s))
        self._transforms = ros.SensorTransforms(self, config)
        self._frame_id = self._transforms.transmitter
        writer = TrackerFrameWriter(self._frame_id)
        self._publisher = ros.StreamPublisher(self, TrackerFrame, OUTPUT_TOPIC, writer.data)
        self._pose_array = ros.PoseArrayOutput(self, POSE_ARRAY_TOPIC)
        self._transforms.announce(self._now_ns(), *config.transmitter)
        self._silent: list[str] = []  # topics without a publisher, as reported last
        self._axes: dict[str, Axes | None] = {}
        self._static = ros.StaticTransforms(self, self._axes.clear)
        self._given_axes = config.source
        self._row_axes: list[Axes] = [self._given_axes] * n
        self._origins, self._turns = (np.tile(axis, (n, 1)) for axis in self._given_axes)
        self._diagnostics = ros.Diagnostics(self, config.rate_hz, 'topics')
        self._topics = [self._listen(plan) for plan in config.plans]
        clock = self._steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._expire_timer = self.create_timer(config.wait_s, self._on_expire, clock=clock)
        self._report_timer = self.create_timer(REPORT_PERIOD_S, self._report, clock=clock)

    def _listen(self, plan: TopicPlan) -> Any:
        def on_array(msg: PoseArray) -> None:
            listed = {row: msg.poses[i] for i, row in plan.rows.items() if i < len(msg.poses)}
            if len(listed) < len(plan.rows):
                self._diagnostics.drop('short_array', len(plan.rows) - len(listed))
            self._take(msg.header, listed)

        def on_pose(msg: PoseStamped) -> None:
            self._take(msg.header, dict.fromkeys(plan.rows.values(), msg.pose))

        callback = self._diagnostics.guarded(on_array if plan.is_array else on_pose)
        # best effort hears reliable publishers too
        kind = PoseArray if plan.is_array else PoseStamped
        return self.create_subscription(kind, plan.topic, callback, qos.STREAM)

    def _take(self, header: Header, poses: Mapping[int, Pose]) -> None:
        """Add the poses by frame row; publish the frames that they complete."""
        axes = self._axes_of(header.frame_id)
        if axes is None:
            self._diagnostics.drop('no_transform', len(poses))
            return
        stamp_ns, now_ns = self._stamp_ns(header), time.monotonic_ns()
        for row, pose in poses.items():
            if self._row_axes[row] is not axes:
                self._row_axes[row] = axes
                self._origins[row], self._turns[row] = axes
            for frame in self._merger.add(row, stamp_ns, now_ns, ros.pose_row(pose)):
                self._publish(frame)

    def _publish(self, frame: SensorFrame) -> None:
        transform_poses(
            self._origins, self._turns, self._config.unit_m, frame.positions, frame.quaternions
        )
        self._publisher.publish(frame, self._frame_id)
        self._pose_array.publish(frame, self._frame_id, self._config.pose_array)
        self._diagnostics.frame(frame.stamp_ns)
        self._transforms.publish(frame)

    def _stamp_ns(self, header: Header) -> int:
        stamp_ns = flat_array.stamp_ns(header.stamp)
        if self._config.stamps != HEADER or stamp_ns == 0:
            stamp_ns = self._now_ns()
        return stamp_ns - round(1e9 * self._config.latency_s)

    def _axes_of(self, frame_id: str) -> Axes | None:
        """Return the source's axes in the transmitter's; None if /tf_static has them not yet."""
        if self._config.axes != STATIC_TF:
            return self._given_axes
        if self._axes.get(frame_id) is None:
            if len(self._axes) >= MAX_FRAME_IDS:
                self._axes.clear()  # somebody makes up a name for each message
            self._axes[frame_id] = self._static.lookup(self._frame_id, frame_id.lstrip('/'))
        return self._axes[frame_id]

    def _on_expire(self) -> None:
        frame = self._merger.expire(time.monotonic_ns())
        if frame is not None:
            self._publish(frame)

    def _report(self) -> None:
        for name, count in self._merger.counters.items():
            self._diagnostics.value(name, count)
        silent = [
            plan.topic for plan in self._config.plans if self.count_publishers(plan.topic) == 0
        ]
        unknown = [name or "''" for name, axes in self._axes.items() if axes is None]
        problems = []
        if silent:
            problems.append(f'nobody publishes {", ".join(silent)}')
        if silent and silent != self._silent:
            self.get_logger().warn(problems[0])
        self._silent = silent
        if unknown:
            problems.append(
                f'/tf_static does not connect {", ".join(unknown)} with {self._frame_id} or world'
            )
        level = DiagnosticStatus.WARN if problems else DiagnosticStatus.OK
        self._diagnostics.condition(level, '; '.join(problems))

    def _now_ns(self) -> int:
        return self.get_clock().now().nanoseconds


def main(argv: Sequence[str] | None = None) -> int:
    return ros.spin_node(PoseTopicsNode, argv, usage=USAGE)


if __name__ == '__main__':
    sys.exit(main())
