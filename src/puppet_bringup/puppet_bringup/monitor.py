# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The demo's observer: when each frame passes each topic, and how the feet fare.

Subscribes to all streams of the graph as bytes. The arrival is noted before anything else is
done; messages that must be looked into wait until the frame's last topic has been timed.

"""

from collections.abc import Callable, Sequence
import time
from typing import Any

import numpy as np
from puppet_bringup.frame_log import (
    FrameLog,
    IMPORTANCES,
    INDEX,
    PENETRATION,
    PERFORMER_SOLES,
    PUPPET_SOLES,
    TOPICS,
)
from puppet_core.skeleton import END_EFFECTORS
from puppet_msgs.msg import Importance, PoseFrame, Posture, RetargetStatus, TrackerFrame
from puppet_ros import importance_msg, qos, raw_header
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

PUPPET_TOPIC, STATUS_TOPIC = '/puppet/posture', '/retarget/status'
JOINTS_TOPIC = TOPICS[-1]
KINDS = {
    TOPICS[0]: TrackerFrame,
    TOPICS[1]: PoseFrame,
    TOPICS[2]: Posture,
    TOPICS[3]: Importance,
    JOINTS_TOPIC: JointState,
    PUPPET_TOPIC: Posture,
    STATUS_TOPIC: RetargetStatus,
}
# Nodes that must listen before the tracker starts: topic -> who.
READY_WHEN_HEARD = {
    '/tracker/raw': 'pose_filter',
    '/tracker/filtered': 'performer',
    '/performer/posture': 'retarget',
    '/importance': 'retarget',
    '/puppet/posture': 'visualization',
}
FEET = slice(2, 4)
MAX_PENDING = 2000  # messages that wait while no joint states come


class Monitor(Node):
    """
    Fills a frame log.

    Parameters
    ----------
    topics : sequence of str
        What to watch: each of KINDS, or the joint states of a further puppet.

    """

    def __init__(self, topics: Sequence[str] = tuple(KINDS), **kwargs: Any) -> None:
        super().__init__('monitor', **kwargs)
        self.log = FrameLog()
        self.frames_solved = 0
        self.indices_seen = 0
        """How often the index of a frame came: on the first two topics, if they are watched."""
        self.last_joints_s = 0.0
        """Steady time of the last /joint_states."""
        self._pending: list[tuple[str, bytes]] = []
        self._inputs: dict[str, Subscription] = {}
        for topic in topics:
            self.watch(topic)

    def watch(self, topic: str) -> None:
        """Subscribe to a topic: one of KINDS, or the joint states of a further puppet; once."""
        assert topic not in self._inputs
        profile = qos.STREAM if KINDS.get(topic, JointState) != JointState else qos.JOINT_STATES
        self._inputs[topic] = self.create_subscription(
            KINDS.get(topic, JointState), topic, self._callback(topic), profile, raw=True
        )

    def unwatch(self, topic: str) -> None:
        """Listen to a topic no more; its publisher need not send it then."""
        self.destroy_subscription(self._inputs.pop(topic))

    def missing_nodes(self, is_composed: bool = False) -> tuple[str, ...]:
        """
        Return the nodes that do not listen yet.

        Nodes that share a process hear each other from when on they are there.

        """
        missing = []
        if is_composed:
            present = self.get_node_names()
            wanted = dict.fromkeys((*READY_WHEN_HEARD.values(), 'importance'))
            return tuple(name for name in wanted if name not in present)
        for topic, name in READY_WHEN_HEARD.items():
            infos = self.get_subscriptions_info_by_topic(topic)
            if not any(info.node_name == name for info in infos):
                missing.append(name)
        if not self.count_publishers('/importance'):
            missing.append('importance')
        return tuple(dict.fromkeys(missing))

    def _callback(self, topic: str) -> Callable[[bytes], None]:
        place = TOPICS.index(topic) if topic in TOPICS else -1
        is_joints = KINDS.get(topic, JointState) == JointState
        if is_joints:
            place = TOPICS.index(JOINTS_TOPIC)  # of several puppets the last one counts

        def on_message(data: bytes) -> None:
            now_ns = time.time_ns()
            if place >= 0:
                row = self.log.arrived(place, raw_header.stamp_ns(data), now_ns)
                if topic in TOPICS[:2]:
                    row[INDEX] = raw_header.frame_index(data)
                    self.indices_seen += 1
                    return
            if is_joints:
                self.frames_solved += 1
                self.last_joints_s = time.monotonic()
                self._look_into_pending()
            elif len(self._pending) < MAX_PENDING:
                self._pending.append((topic, data))

        return on_message

    def _look_into_pending(self) -> None:
        pending, self._pending = self._pending, []
        for topic, data in pending:
            row = self.log.row(raw_header.stamp_ns(data))
            msg = deserialize_message(data, KINDS[topic])
            if topic == '/importance':
                rows = importance_msg.from_msg(msg).rows
                row[IMPORTANCES] = rows[: len(END_EFFECTORS), Importance.COLUMN_IMPORTANCE]
            elif topic == STATUS_TOPIC:
                depths = [depth for depth in msg.penetrations if np.isfinite(depth)]
                row[PENETRATION] = max(depths, default=np.nan)
            else:
                soles = np.asarray(msg.end_effectors).reshape(8, 3)[FEET].ravel()
                row[PUPPET_SOLES if topic == PUPPET_TOPIC else PERFORMER_SOLES] = soles
