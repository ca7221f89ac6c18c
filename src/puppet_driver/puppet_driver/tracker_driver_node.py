# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The tracker driver node: serial ports to /tracker/raw, at the device's rate (SPEC 3.1).

A managed node: configuring checks the parameters and announces world -> transmitter on
/tf_static, activating opens the ports. With `autostart` it does both by itself. Frames are
published from the thread that reads the ports, which saves a change of threads for each; the
sensors' transforms follow on /tf at a lower rate.

"""

import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from puppet_core.errors import PuppetError
from puppet_core.parameter_rows import build_config
from puppet_core.sensor_frames import SensorFrame
from puppet_driver.driver import make_reader, warm_up
from puppet_driver.driver_report import Reporter
from puppet_driver.frame_queue import QueuedFrame
from puppet_driver.line_reader import LineReader
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
from puppet_msgs.msg import TrackerFrame
from puppet_ros import qos
from puppet_ros.diagnostics import Diagnostics
from puppet_ros.parameter_table import NODE_OPTIONS, ParameterTable
from puppet_ros.pose_array import PoseArrayOutput
from puppet_ros.spin import spin_node
from puppet_ros.tf_message import TransformsWriter
from puppet_ros.tracker_frame import TrackerFrameWriter
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from tf2_msgs.msg import TFMessage

NODE_NAME = 'tracker_driver'
OUTPUT_TOPIC = '/tracker/raw'
POSE_ARRAY_TOPIC = '/tracker/raw_poses'
WORLD, TRANSMITTER = 'world', 'transmitter'
SENSOR_FRAME_PREFIX = 'tracker/'
REPORT_PERIOD_S = 1.0
USAGE = """
usage: tracker_driver --ros-args [-p NAME:=VALUE ..] [--params-file FILE]

Publishes the sensors of a tracker on /tracker/raw. Parameters are described by
`ros2 param describe /tracker_driver NAME` and listed in config/tracker_driver.yaml.

example: tracker_driver --ros-args -p ports:="['/dev/ttyUSB0', '/dev/ttyUSB1', '/dev/ttyUSB2']"
"""


class TrackerDriverNode(LifecycleNode):
    """Ports to frames."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(
            self, DRIVER_ROWS, lambda values: build_config(DriverConfig, values)
        )
        self._reader: LineReader | None = None
        self._publisher: Any = None
        self._transforms_publisher: Any = None
        self._static_publisher: Any = None
        self._writer: TrackerFrameWriter | None = None
        self._transforms: TransformsWriter | None = None
        self._next_transforms_ns = 0
        self._reporter = Reporter(self.config)
        self._is_active = False
        self._refusal = ''
        self._diagnostics = Diagnostics(self, self.config.rate_hz, self.config.device)
        self._diagnostics.condition(DiagnosticStatus.WARN, 'not active')
        self._pose_array = PoseArrayOutput(self, POSE_ARRAY_TOPIC)
        self._steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._report_timer = self.create_timer(
            REPORT_PERIOD_S, self._report, clock=self._steady_clock
        )
        if self.config.autostart:
            self._start_timer = self.create_timer(0.0, self._autostart, clock=self._steady_clock)

    @property
    def config(self) -> DriverConfig:
        """Return the parameters in force."""
        return self._table.config

    @property
    def reader(self) -> LineReader | None:
        """Return the running reader, for inspection; None unless configured."""
        return self._reader

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make everything but open ports; a device that cannot work is refused by name."""
        config = self.config
        try:
            warm_up(config)
            self._reader = make_reader(config, self._on_frame, self._on_news, self._now_ns)
        except PuppetError as err:
            self._refusal = str(err)
            self.get_logger().error(self._refusal)
            self._diagnostics.condition(DiagnosticStatus.ERROR, self._refusal)
            return TransitionCallbackReturn.FAILURE
        self._refusal = ''
        self._reporter = Reporter(config)
        self._publisher = self.create_publisher(TrackerFrame, OUTPUT_TOPIC, qos.STREAM)
        self._transforms_publisher = self.create_publisher(TFMessage, '/tf', qos.TRANSFORMS)
        self._static_publisher = self.create_publisher(
            TFMessage, '/tf_static', qos.STATIC_TRANSFORMS
        )
        self._writer = TrackerFrameWriter(config.sensors, TRANSMITTER)
        self._transforms = TransformsWriter(self._sensor_frames(range(len(config.sensors))))
        self._static_publisher.publish(
            TransformsWriter([(WORLD, TRANSMITTER)]).fill(
                self._now_ns(),
                config.transmitter_position[None],
                config.transmitter_rotation[None],
            )
        )
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start reading; ports that are not there yet are tried again and again."""
        assert self._reader is not None
        self._refusal = ''
        self._is_active = True
        self._reader.start()
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the devices and close the ports."""
        self._is_active = False
        self._stop_reader()
        if not self._refusal:
            self._diagnostics.condition(DiagnosticStatus.WARN, 'not active')
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the configuration."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop from any state."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Return to the beginning after a failed transition."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def destroy_node(self) -> None:
        """Stop reading before the publishers go."""
        self._stop_reader()
        super().destroy_node()

    def _autostart(self) -> None:
        # once, from the executor: the ports open when everything else is ready
        self._start_timer.cancel()
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != TransitionCallbackReturn.SUCCESS:
                self.get_logger().error(f'{NODE_NAME}: expected to start, got a refusal')
                return

    def _on_frame(self, queued: QueuedFrame) -> None:
        try:
            self._publish(queued)
        except PuppetError as err:
            self._diagnostics.error(str(err))
        except Exception as err:  # the reader must outlive whatever one frame does to it
            if not self.context.ok():
                return  # shutting down, the publisher has gone before the reader
            self._diagnostics.error(f'frame not published: {type(err).__name__}: {err}')

    def _publish(self, queued: QueuedFrame) -> None:
        assert self._writer is not None
        frame = SensorFrame(
            queued.stamp_ns,
            queued.frame_index,
            self.config.sensors,
            queued.poses[:, :3],
            queued.poses[:, 3:],
            queued.ages_s,
            queued.missing,
        )
        self._publisher.publish(self._writer.fill(frame))
        self._pose_array.publish(frame, TRANSMITTER, self.config.pose_array)
        self._diagnostics.frame(queued.stamp_ns)
        rate_hz = self.config.transforms_rate_hz
        if rate_hz > 0.0 and not 0 <= self._next_transforms_ns - frame.stamp_ns <= 1e9 / rate_hz:
            self._next_transforms_ns = frame.stamp_ns + round(1e9 / rate_hz)
            self._publish_transforms(frame)

    def _publish_transforms(self, frame: SensorFrame) -> None:
        assert self._transforms is not None
        rows = np.flatnonzero(frame.status == 0)
        writer = self._transforms
        if len(rows) < len(frame.sensors):
            writer = TransformsWriter(self._sensor_frames(rows))
        message = writer.fill(frame.stamp_ns, frame.positions[rows], frame.quaternions[rows])
        self._transforms_publisher.publish(message)

    def _sensor_frames(self, rows: Any) -> list[tuple[str, str]]:
        sensors = self.config.sensors
        return [(TRANSMITTER, SENSOR_FRAME_PREFIX + sensors[row]) for row in rows]

    def _on_news(self, is_error: bool, text: str) -> None:
        if is_error:
            self.get_logger().error(text)
            self._diagnostics.value('last_error', text)
        else:
            self.get_logger().info(text)

    def _report(self) -> None:
        failure = self._reader.failure if self._reader is not None else None
        if failure is not None:
            self._refusal = f'reading ended: {type(failure).__name__}: {failure}'
            if self._is_active:
                self.get_logger().error(self._refusal)
                self.trigger_deactivate()
        report = self._reporter.look(self._reader) if self._reader is not None else None
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

    def _now_ns(self) -> int:
        return self.get_clock().now().nanoseconds

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.stop()

    def _release(self) -> None:
        self._is_active = False
        self._stop_reader()
        self._reader = None
        for publisher in (self._publisher, self._transforms_publisher, self._static_publisher):
            if publisher is not None:
                self.destroy_publisher(publisher)
        self._publisher = self._transforms_publisher = self._static_publisher = None


def main() -> int:
    """Run the node; return the exit code."""
    return spin_node(TrackerDriverNode, warm_up=warm_up, usage=USAGE)


if __name__ == '__main__':
    sys.exit(main())
