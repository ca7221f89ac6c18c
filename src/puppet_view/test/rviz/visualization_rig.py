# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A visualization node and somebody who feeds and watches it; needs ROS 2."""

import time

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.posture import Posture, world_segments
from puppet_msgs.msg import Importance
from puppet_msgs.msg import Posture as PostureMsg
from puppet_retarget.importance.self_interaction import SELF_ROW
from puppet_ros.messages.importance_msg import ImportanceRecord, ImportanceWriter
from puppet_ros.messages.posture_msg import PostureRecord, PostureWriter
from puppet_ros.node import qos
from puppet_ros.node.spin import make_executor
from puppet_view.rviz.visualization_node import VisualizationNode
from rclpy.node import Node
from rclpy.parameter import Parameter
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

DEADLINE_S = 60.0
TICK_NS = 8_333_333


class Rig:
    def __init__(self, context, tmp_path, **parameters):
        scene = tmp_path / 'scene.yaml'
        scene.write_text('format: puppet-environment/1\nobjects:\n- {name: floor, shape: plane}\n')
        values = {'character': str(named_files.character_file('blubby')), **parameters}
        values['environment'] = str(scene)
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = VisualizationNode(context=context, parameter_overrides=overrides)
        self.watcher = Node('watcher', context=context)
        self.executor = make_executor(context)
        for node in (self.node, self.watcher):
            self.executor.add_node(node)
        self.skeleton = load_character(named_files.character_file('performer')).skeleton
        self.transforms, self.fixed = [], []
        self.markers = []
        self.messages = []
        self.limbs = []
        self.importance = 0.6  # of the left foot
        self.frame_index = 0
        self.besides = ()
        self.self_rows = np.zeros((8, SELF_ROW))
        self._publishers = {
            topic: self.watcher.create_publisher(PostureMsg, topic, qos.STREAM)
            for topic in ('/performer/posture', '/puppet/posture', '/puppet_2/posture')
        }
        self._importances = self.watcher.create_publisher(Importance, '/importance', qos.STREAM)
        self._writer = ImportanceWriter()

    def watch(self):
        self.watcher.create_subscription(TFMessage, '/tf', self.transforms.append, qos.TRANSFORMS)
        self.watcher.create_subscription(
            TFMessage, '/tf_static', self.fixed.append, qos.STATIC_TRANSFORMS
        )
        self.watcher.create_subscription(MarkerArray, '/markers', self._on_markers, 10)

    def watch_limbs(self):
        self.watcher.create_subscription(
            MarkerArray, '/puppet/markers', lambda msg: self.limbs.extend(msg.markers), 10
        )

    def _on_markers(self, msg):
        self.messages.append(msg)
        self.markers.extend(m for m in msg.markers if m.action == Marker.ADD)

    def feed(self, topic):
        self.frame_index += 1
        stamp_ns = self.frame_index * TICK_NS
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
        root = np.array([0.0, 0.0, 1.0])
        _, p = world_segments(self.skeleton, root[None], rotations[None])
        posture = Posture(root, rotations, np.zeros((8, 3)), np.zeros((8, 3)))
        status, leg_m = np.zeros(16, dtype=np.uint8), self.skeleton.leg_length
        name = 'performer'
        record = PostureRecord(stamp_ns, self.frame_index, name, posture, p[0], status, leg_m)
        for one in (topic, *self.besides):
            self._publishers[one].publish(PostureWriter().fill(record))
        rows = np.zeros((4, 8))
        rows[2] = [self.importance, 0.02, 0.0, 0.4, 1.0, 2.0, 0.0, 0.0]
        near = ImportanceRecord(stamp_ns, self.frame_index, rows, self.self_rows, ('floor',))
        self._importances.publish(self._writer.fill(near))
        for _ in range(6):  # one event each
            self.executor.spin_once(timeout_sec=0.001)
        return stamp_ns

    def feed_until(self, condition, topic='/puppet/posture'):
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            self.feed(topic)
        return condition()

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.watcher.destroy_node()
