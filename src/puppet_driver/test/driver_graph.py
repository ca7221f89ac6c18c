# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A driver node, a listener and an executor for both; for several tests, which need ROS 2."""

from collections.abc import Callable
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray
from puppet_driver.emulator.server import EmulatorServer
from puppet_driver.tracker_driver_node import OUTPUT_TOPIC, POSE_ARRAY_TOPIC, TrackerDriverNode
from puppet_msgs.msg import TrackerFrame
from puppet_ros.node import qos
from puppet_ros.node.spin import make_executor
from puppet_ros.testing import spin_until
import rclpy
from rclpy.parameter import Parameter
from tf2_msgs.msg import TFMessage


class Graph:
    """A driver node, a listener, and an executor for both."""

    def __init__(self, context: rclpy.Context, server: EmulatorServer, **options: object) -> None:
        ports = [str(line.pty.link) for line in server.lines]
        overrides = {'ports': ports, 'auto_configure_pause_s': 0.3, **options}
        self.node = TrackerDriverNode(
            context=context,
            parameter_overrides=[Parameter(k, value=v) for k, v in overrides.items()],
        )
        self.frames: list[tuple[int, TrackerFrame]] = []
        self.arrays: list[PoseArray] = []
        self.diagnostics: list[DiagnosticArray] = []
        self.transforms: dict[str, list[TFMessage]] = {'/tf': [], '/tf_static': []}
        self.listener = rclpy.create_node('listener', context=context)
        self.listener.create_subscription(
            TrackerFrame,
            OUTPUT_TOPIC,
            lambda m: self.frames.append((time.time_ns(), m)),
            qos.STREAM,
        )
        self.listener.create_subscription(
            PoseArray, POSE_ARRAY_TOPIC, self.arrays.append, qos.STREAM
        )
        self.listener.create_subscription(
            DiagnosticArray, '/diagnostics', self.diagnostics.append, 10
        )
        for topic, profile in (('/tf', qos.TRANSFORMS), ('/tf_static', qos.STATIC_TRANSFORMS)):
            self.listener.create_subscription(
                TFMessage, topic, self.transforms[topic].append, profile
            )
        self._executor = make_executor(context)
        self._executor.add_node(self.node)
        self._executor.add_node(self.listener)

    def spin_until(self, condition: Callable[[], bool]) -> bool:
        return spin_until(self._executor, condition)

    def has(self, n_frames: int) -> Callable[[], bool]:
        wanted = len(self.frames) + n_frames
        return lambda: len(self.frames) >= wanted

    def level(self) -> bytes:
        return self.diagnostics[-1].status[0].level if self.diagnostics else b''

    def message(self) -> str:
        return self.diagnostics[-1].status[0].message if self.diagnostics else ''

    def state(self) -> int:
        return self.node._state_machine.current_state[0]

    def values(self) -> dict[str, str]:
        if not self.diagnostics:
            return {}
        return {v.key: v.value for v in self.diagnostics[-1].status[0].values}

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self.listener.destroy_node()
