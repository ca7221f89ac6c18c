# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""When each frame passes each topic, how feet stand, what processes use [s from first stamp]."""

from collections.abc import Callable, Sequence
from contextlib import suppress
import time
from typing import Any, NamedTuple

import numpy as np
import psutil
from puppet_bringup.supervisor import Child
from puppet_core.math import Floats
from puppet_msgs.msg import Importance, PoseFrame, Posture, RetargetStatus, TrackerFrame
from puppet_ros.messages import raw_header
from puppet_ros.node import qos
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

# Where a frame is seen, in the order of the data; each is what the node before it publishes.
STAGES = {
    '/tracker/raw': 'driver',
    '/tracker/filtered': 'filter',
    '/performer/posture': 'performer',
    '/importance': 'importance',
    '/joint_states': 'retarget',
}
TOPICS = tuple(STAGES)

STAMP, INDEX = 0, 1
ARRIVALS = slice(2, 2 + len(STAGES))
PERFORMER_SOLES = slice(ARRIVALS.stop, ARRIVALS.stop + 6)
PUPPET_SOLES = slice(PERFORMER_SOLES.stop, PERFORMER_SOLES.stop + 6)
PENETRATION = PUPPET_SOLES.stop
IMPORTANCES = slice(PENETRATION + 1, PENETRATION + 5)
N_JOINTS = IMPORTANCES.stop  # joint states, one of each puppet; not finite without any
WIDTH = N_JOINTS + 1

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


class FrameLog:
    """A row for each frame, by its stamp; what was not seen is NaN."""

    def __init__(self) -> None:
        self.rows: dict[int, Floats] = {}
        self._first_ns: int | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, stamp_ns: int) -> Floats:
        """Return the row of a frame, to write into; a new one if the stamp is new."""
        if stamp_ns not in self.rows:
            if self._first_ns is None:
                self._first_ns = stamp_ns
            row = self.rows[stamp_ns] = np.full(WIDTH, np.nan)
            row[STAMP] = self.seconds(stamp_ns)
        return self.rows[stamp_ns]

    def seconds(self, time_ns: int) -> float:
        """Return a time in seconds since the first stamp."""
        assert self._first_ns is not None
        return (time_ns - self._first_ns) * 1e-9

    def arrived(self, topic_index: int, stamp_ns: int, now_ns: int) -> Floats:
        """Note when a frame came on a topic, by its place in TOPICS; return its row."""
        row = self.row(stamp_ns)
        place = ARRIVALS.start + topic_index
        row[place] = self.seconds(now_ns)
        if place == ARRIVALS.stop - 1:
            n = row[N_JOINTS]
            row[N_JOINTS] = n + 1.0 if n > 0.0 else 1.0
        return row

    def table(self) -> Floats:
        """Return all rows, sorted by stamp, shape (n, WIDTH); a copy."""
        rows = [self.rows[stamp_ns] for stamp_ns in sorted(self.rows)]
        return np.array(rows).reshape(-1, WIDTH)


class Monitor(Node):
    """Fills a frame log from topics: each of KINDS, or the joint states of further puppets."""

    def __init__(self, topics: Sequence[str] = tuple(KINDS), **kwargs: Any) -> None:
        super().__init__('monitor', **kwargs)
        self.log = FrameLog()
        self.frames_solved = 0
        self.indices_seen = 0
        """How often the index of a frame came: on the first two topics, if they are watched."""
        self.last_joints_s = 0.0  # steady time of the last /joint_states
        self._pending: list[tuple[str, bytes]] = []
        self._inputs: dict[str, Subscription] = {}
        for topic in topics:
            self.watch(topic)

    def watch(self, topic: str) -> None:
        """Subscribe to a topic: one of KINDS, or the joint states of a further puppet; once."""
        assert topic not in self._inputs
        kind = KINDS.get(topic, JointState)
        profile = qos.STREAM if kind != JointState else qos.JOINT_STATES
        callback = self._callback(topic)
        self._inputs[topic] = self.create_subscription(kind, topic, callback, profile, raw=True)

    def unwatch(self, topic: str) -> None:
        """Listen to a topic no more; its publisher need not send it then."""
        self.destroy_subscription(self._inputs.pop(topic))

    def missing_nodes(self) -> tuple[str, ...]:
        """Return the nodes that do not listen yet."""
        missing = [
            name
            for topic, name in READY_WHEN_HEARD.items()
            if name not in [i.node_name for i in self.get_subscriptions_info_by_topic(topic)]
        ]
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
                row[IMPORTANCES] = msg.importance
            elif topic == STATUS_TOPIC:
                depths = [depth for depth in msg.penetrations if np.isfinite(depth)]
                row[PENETRATION] = max(depths, default=np.nan)
            else:
                soles = msg.end_effector_positions.reshape(8, 3)[FEET].ravel()
                row[PUPPET_SOLES if topic == PUPPET_TOPIC else PERFORMER_SOLES] = soles


MONITOR = 'monitor'
MB = 1e6


class Usage(NamedTuple):
    cpu_percent: float  # fraction of a core since the last poll
    rss_mb: float  # resident memory, memory shared with others included


class UsageMeter:
    """CPU load and memory of running children, and of this process, from poll to poll."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.processes = {MONITOR: psutil.Process()}  # by name, in the order of their start
        for child in children:
            with suppress(psutil.Error):
                self.processes[child.name] = psutil.Process(child.popen.pid)
        for process in self.processes.values():
            process.cpu_percent()

    def read(self) -> dict[str, Usage]:
        """Return name -> use since the last poll of what runs."""
        usage = {}
        for name, process in self.processes.items():
            with suppress(psutil.Error):
                usage[name] = Usage(process.cpu_percent(), process.memory_info().rss / MB)
        return usage
