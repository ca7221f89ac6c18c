# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The tracker driver node: a tracker's ports to /tracker/raw, from the thread that reads them."""

import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from puppet_core.io import build_config, PuppetError
from puppet_core.sensor_frames import SensorFrame
from puppet_driver.driver import make_reader, Reporter
from puppet_driver.frames import LineReader, RawFrame
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
from puppet_msgs.msg import TrackerFrame
from puppet_ros import node as ros
from puppet_ros.messages import TrackerFrameWriter
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

NODE_NAME = 'tracker_driver'
OUTPUT_TOPIC = 'tracker/raw'
POSE_ARRAY_TOPIC = 'tracker/raw_poses'
REPORT_PERIOD_S = 1.0
USAGE = """
usage: tracker_driver --ros-args [-p NAME:=VALUE ..] [--params-file FILE]

Publishes the sensors of a tracker on /tracker/raw. Parameters are described by
`ros2 param describe /tracker_driver NAME` and listed in config/tracker_driver.yaml.

example: tracker_driver --ros-args -p ports:="['/dev/ttyUSB0', '/dev/ttyUSB1', '/dev/ttyUSB2']"
"""


class TrackerDriverNode(LifecycleNode):
    def __init__(self, **kwargs: Any) -> None:
        self._reader: LineReader | None = None  # also of a node that parameters refuse
        super().__init__(NODE_NAME, **ros.NODE_OPTIONS, **kwargs)
        self._table = ros.ParameterTable(
            self, DRIVER_ROWS, lambda values: build_config(DriverConfig, values)
        )
        self._arrival_jitter, self._latency_ns = ros.FrameStatistics(), 0
        self._publisher: Any = None
        self._transforms: ros.SensorTransforms | None = None
        self._reporter = Reporter(self.config)
        self._is_active = False
        self._refusal = ''
        self._diagnostics = ros.Diagnostics(self, self.config.rate_hz, self.config.device)
        self._diagnostics.condition(DiagnosticStatus.WARN, 'not active')
        self._pose_array = ros.PoseArrayOutput(self, POSE_ARRAY_TOPIC)
        clock = self._steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._report_timer = self.create_timer(REPORT_PERIOD_S, self._report, clock=clock)
        if self.config.autostart:
            self._start_timer = self.create_timer(0.0, self._autostart, clock=clock)

    @property
    def config(self) -> DriverConfig:
        return self._table.config

    @property
    def reader(self) -> LineReader | None:
        """Return the running reader, for inspection; None unless configured."""
        return self._reader

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make everything but open ports; a device that cannot work is refused by name."""
        config = self.config
        try:
            self._reader = make_reader(config, self._on_frame, self._on_news, self._now_ns)
        except PuppetError as err:
            return self._refuse(err)
        self._refusal = ''
        self._latency_ns = round(1e9 * config.device_latency_s)
        names = ', '.join(config.ignored)
        self._diagnostics.value('ignored_parameters', names)
        if names:
            self.get_logger().warning(f'{names}: set, but ignored by a {config.device}')
        self._reporter = Reporter(config)
        self._pose_array.open(config.pose_array)
        self._transforms = ros.SensorTransforms(self, config)
        self._frame_id = self._transforms.transmitter
        writer = TrackerFrameWriter(self._frame_id)
        self._publisher = ros.StreamPublisher(self, TrackerFrame, OUTPUT_TOPIC, writer.data)
        self._transforms.announce(self._now_ns(), *config.transmitter)
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start reading; ports that are not there yet are tried again and again."""
        assert self._reader is not None
        self._refusal = ''
        try:
            self._reader.start()
        except PuppetError as err:
            return self._refuse(err)
        self._is_active = True
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._is_active = False
        self._stop_reader()
        if not self._refusal:
            self._diagnostics.condition(DiagnosticStatus.WARN, 'not active')
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._is_active = False
        self._stop_reader()
        self._reader = None
        self._pose_array.close()
        if self._publisher is not None:
            self._publisher.destroy()
        if self._transforms is not None:
            self._transforms.close()
        self._publisher = self._transforms = None
        return TransitionCallbackReturn.SUCCESS

    on_shutdown = on_error = on_cleanup

    def destroy_node(self) -> None:
        self._stop_reader()
        super().destroy_node()
        # holds the node, which rclpy leaves to the garbage collector
        self._state_machine.destroy_when_not_in_use()

    def _autostart(self) -> None:
        # once, from the executor: the ports open when everything else is ready
        self._start_timer.cancel()
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != TransitionCallbackReturn.SUCCESS:
                self.get_logger().error(
                    f'{NODE_NAME}: expected to start, but activation was refused'
                )
                return

    def _on_frame(self, raw: RawFrame) -> None:
        try:
            self._publish(raw)
        except Exception as err:  # the reader must outlive whatever one frame does to it
            if not self.context.ok():
                return  # shutting down, the publisher has gone before the reader
            text = f'frame not published: {type(err).__name__}: {err}'
            text = str(err) if isinstance(err, PuppetError) else text
            self._reporter.record_error(text)
            self._diagnostics.error(text)

    def _publish(self, raw: RawFrame) -> None:
        assert self._transforms is not None
        frame = SensorFrame(
            raw.stamp_ns,
            raw.frame_index,
            self.config.sensors,
            np.ascontiguousarray(raw.poses[:, :3]),
            np.ascontiguousarray(raw.poses[:, 3:]),
            raw.ages_s,
            raw.missing,
        )
        self._publisher.publish(frame, self._frame_id)
        self._pose_array.publish(frame, self._frame_id, self.config.pose_array)
        self._diagnostics.frame(raw.stamp_ns)
        self._arrival_jitter.frame(raw.arrival_ns - self._latency_ns, raw.stamp_ns)
        self._transforms.publish(frame)

    def _on_news(self, is_error: bool, text: str) -> None:
        if is_error:
            self.get_logger().warning(text)  # what it goes on from by itself
        else:
            self.get_logger().info(text)

    def _now_ns(self) -> int:
        return self.get_clock().now().nanoseconds

    def _report(self) -> None:
        p50, p99, _ = self._arrival_jitter.close_period(self._now_ns()).latency_ms
        self._diagnostics.value('arrival_jitter_ms_p50', f'{p50:.3f}')
        self._diagnostics.value('arrival_jitter_ms_p99', f'{p99:.3f}')
        failure = self._reader.failure if self._reader is not None else None
        if failure is not None:
            self._refusal = f'reading ended: {type(failure).__name__}: {failure}'
            if self._is_active:
                self.get_logger().error(self._refusal)
                self.trigger_deactivate()
        report = self._reporter.poll(self._reader) if self._reader is not None else None
        if report is not None:
            for reason, count in report.drops.items():
                self._diagnostics.drop(reason, count)
            for key, value in report.values.items():
                self._diagnostics.value(key, value)
        if report is None or not self._is_active:
            level = DiagnosticStatus.ERROR if self._refusal else DiagnosticStatus.WARN
            self._diagnostics.condition(level, self._refusal or 'not active')
            return
        level = DiagnosticStatus.WARN if report.warnings else DiagnosticStatus.OK
        level = DiagnosticStatus.ERROR if report.errors else level
        self._diagnostics.condition(level, '; '.join(report.errors + report.warnings))

    def _refuse(self, err: PuppetError) -> TransitionCallbackReturn:
        self._refusal = str(err)
        self.get_logger().error(self._refusal)
        self._diagnostics.condition(DiagnosticStatus.ERROR, self._refusal)
        return TransitionCallbackReturn.FAILURE

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.stop()


def main() -> int:
    return ros.spin_node(TrackerDriverNode, usage=USAGE)


if __name__ == '__main__':
    sys.exit(main())
