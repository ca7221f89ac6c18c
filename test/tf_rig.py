# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes that publish frames, real, with an emulated tracker and postures made by the test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.posture import Motion, world_segments
from puppet_core.math import quaternions
from puppet_core.procedural.motion_loop import LoopedMotion
from puppet_core.procedural.performer import procedural_motion
from puppet_driver.emulator.emulator import build_server, EmulatorConfig
from puppet_driver.emulator.performer import NoiseLevels
from puppet_driver.tracker_driver_node import TrackerDriverNode
from puppet_msgs.msg import Posture as PostureMsg
from puppet_msgs.msg import TrackerFrame
from puppet_performer.performer_node import PerformerNode
from puppet_retarget.importance_node import ImportanceNode
from puppet_retarget.retarget_node import RetargetNode
from puppet_ros.messages import posture_msg
from puppet_ros.node import qos
from puppet_ros.node.spin import make_executor
from puppet_ros.testing import spin_until
from puppet_view.rviz.visualization_node import VisualizationNode
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from source_tree import ROOT
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

CHARACTERS = ROOT / 'data' / 'characters'
FLOOR = ROOT / 'data' / 'environments' / 'floor.yaml'
TICK_NS = 8_333_333
PATIENCE = 50  # events without an answer, as while nodes do not hear each other yet
TRANSMITTER_M = (0.3, -0.2, 1.1)
HEARD = QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT)  # loses nothing
TOPICS = {
    '/tf': (TFMessage, qos.TRANSFORMS),
    '/tf_static': (TFMessage, qos.STATIC_TRANSFORMS),
    '/joint_states': (JointState, qos.JOINT_STATES),
    '/puppet/posture': (PostureMsg, HEARD),
    '/performer/posture': (PostureMsg, HEARD),
    '/tracker/raw': (TrackerFrame, HEARD),
    '/robot_description': (String, qos.LATCHED),
    '/puppet/robot_description': (String, qos.LATCHED),
    '/performer/robot_description': (String, qos.LATCHED),
}


def stamp_of(header: Header) -> int:
    """Return the stamp [ns]."""
    return header.stamp.sec * 10**9 + header.stamp.nanosec


class TfRig:
    """A graph of real nodes and somebody who feeds, watches and keeps everything."""

    def __init__(self, context: Any, character: Path, seed: int = 0) -> None:
        values = {'character': str(character), 'environment': str(FLOOR)}
        self.puppet = load_character(character)
        self.performer = load_character(CHARACTERS / 'performer.yaml')
        self._rng = np.random.default_rng(seed)
        made = {
            PerformerNode: {
                'performer': str(CHARACTERS / 'performer.yaml'),
                'layout': str(ROOT / 'data/layouts/default14.yaml'),
            },
            ImportanceNode: {'environment': str(FLOOR)},
            RetargetNode: values,
            VisualizationNode: {**values, 'tf_rate_hz': 240.0},
        }
        self._context = context
        self.nodes = [self._make(kind, given) for kind, given in made.items()]
        self.other = Node('other', context=context)
        self.executor = make_executor(context)
        for node in (*self.nodes, self.other):
            self.executor.add_node(node)
        self.got: dict[str, list[Any]] = {topic: [] for topic in TOPICS}
        self.edges: dict[str, set[tuple[str, str]]] = {topic: set() for topic in TOPICS}
        """(child, parent) of all transforms heard on a topic."""
        for topic, (kind, profile) in TOPICS.items():
            self.other.create_subscription(kind, topic, self._keep(topic), profile)
        self._publisher = self.other.create_publisher(PostureMsg, '/performer/posture', qos.STREAM)
        self._server: Any = None
        self._index = self._waited = 0
        self._motion = procedural_motion(self.performer, 120.0)

    def add_tracker(self, folder: Path) -> TrackerDriverNode:
        """Start an emulated tracker with three lines, and the driver on it."""
        links = tuple(folder / f'line{i}' for i in range(3))
        config = EmulatorConfig(links=links, noise=NoiseLevels(0.0, 0.0, 0.0, 0.0))
        motion = LoopedMotion(procedural_motion(self.performer, 120.0, t_pose_s=0.5), 0)
        self._server = build_server(config, motion)
        self._server.start()
        driver = self._make(
            TrackerDriverNode,
            {
                'ports': [str(link) for link in links],
                'auto_configure_pause_s': 0.3,
                'transmitter.position_m': list(TRANSMITTER_M),
                'transforms_rate_hz': 60.0,
            },
        )
        self.nodes.append(driver)
        self.executor.add_node(driver)
        return driver

    def feed_until(self, condition: Callable[[], bool], wild: bool = False) -> bool:
        """Publish postures, of the performance or at random, until the condition holds."""
        return spin_until(self.executor, condition, before=lambda: self._feed(wild))

    def close(self) -> None:
        """Destroy everything."""
        self.executor.shutdown()
        for node in (*self.nodes, self.other):
            node.destroy_node()
        if self._server is not None:
            self._server.stop()
            self._server.close()

    def _keep(self, topic: str) -> Callable[[Any], None]:
        def keep(msg: Any) -> None:
            self.got[topic].append(msg)
            if isinstance(msg, TFMessage):
                self.edges[topic] |= {
                    (t.child_frame_id, t.header.frame_id) for t in msg.transforms
                }

        return keep

    def _make(self, kind: Any, given: dict[str, Any]) -> Any:
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        return kind(context=self._context, parameter_overrides=overrides)

    def _feed(self, wild: bool) -> None:
        """Publish the next posture once the last one's puppet has come, or is given up."""
        solved = self.got['/puppet/posture']
        self._waited += 1
        is_due = self._waited > PATIENCE or not self._index
        if not is_due and (not solved or stamp_of(solved[-1].header) < self._index * TICK_NS):
            return
        self._waited = 0
        self._index += 1
        motion, frame = self._motion, 700 + self._index % 1000
        if wild:
            motion, frame = self._random_motion(), 0
        _, segments = world_segments(
            motion.skeleton,
            motion.root_positions[frame : frame + 1],
            motion.rotations[frame : frame + 1],
        )
        record = posture_msg.PostureRecord(
            self._index * TICK_NS,
            self._index,
            'performer',
            motion.posture(frame),
            segments[0],
            np.zeros(16, dtype=np.uint8),
            self.performer.skeleton.leg_length,
        )
        self._publisher.publish(posture_msg.PostureWriter().fill(record))

    def _random_motion(self) -> Motion:
        """Return two frames with every joint turned anyhow."""
        turns = quaternions.exp(0.5 * self._rng.normal(size=(1, 16, 3)))
        root = np.array([0.0, 0.0, 1.2]) + 0.2 * self._rng.normal(size=(1, 3))
        rotations, roots = np.repeat(turns, 2, axis=0), np.repeat(root, 2, axis=0)
        return Motion.from_rotations(self.performer.skeleton, 120.0, roots, rotations)
