# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A driver node, a listener and an executor for both; for several tests, which need ROS 2."""

import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray
from puppet_driver.tracker_driver_node import OUTPUT_TOPIC, POSE_ARRAY_TOPIC, TrackerDriverNode
from puppet_msgs.msg import TrackerFrame
from puppet_ros.node import qos
from puppet_ros.node.spin import make_executor
from puppet_ros.testing import spin_until
import rclpy
from rclpy.parameter import Parameter
from tf2_msgs.msg import TFMessage


class NodeGraph:
    def __init__(self, context, node):
        self.node = node
        self.frames = []  # and when they came [ns]
        self.arrays = []
        self.diagnostics = []
        self.transforms = {'/tf': [], '/tf_static': []}
        self.listener = rclpy.create_node('listener', context=context)
        listen = self.listener.create_subscription

        def keep(frame):
            self.frames.append((time.time_ns(), frame))

        listen(TrackerFrame, OUTPUT_TOPIC, keep, qos.STREAM)
        listen(PoseArray, POSE_ARRAY_TOPIC, self.arrays.append, qos.STREAM)
        listen(DiagnosticArray, '/diagnostics', self.diagnostics.append, 10)
        for topic, profile in (('/tf', qos.TRANSFORMS), ('/tf_static', qos.STATIC_TRANSFORMS)):
            listen(TFMessage, topic, self.transforms[topic].append, profile)
        self.executor = make_executor(context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.listener)

    def spin_until(self, condition):
        return spin_until(self.executor, condition)

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.listener.destroy_node()


def overrides(**values):
    """Return parameters by their names, with `__` for a dot."""
    return [Parameter(name.replace('__', '.'), value=value) for name, value in values.items()]


class Graph(NodeGraph):
    def __init__(self, context, server, **options):
        ports = [str(line.pty.link) for line in server.lines]
        given = overrides(**{'ports': ports, 'auto_configure_pause_s': 0.3, **options})
        super().__init__(context, TrackerDriverNode(context=context, parameter_overrides=given))

    def has(self, n_frames):
        wanted = len(self.frames) + n_frames
        return lambda: len(self.frames) >= wanted

    def level(self):
        return self.diagnostics[-1].status[0].level if self.diagnostics else b''

    def message(self):
        return self.diagnostics[-1].status[0].message if self.diagnostics else ''

    def state(self):
        return self.node._state_machine.current_state[0]

    def values(self):
        if not self.diagnostics:
            return {}
        return {v.key: v.value for v in self.diagnostics[-1].status[0].values}
