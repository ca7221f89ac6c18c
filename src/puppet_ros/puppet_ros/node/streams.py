# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How nodes send and receive the graph's streams: as bytes, or in one process as arrays.

In one process a frame runs through all nodes in the thread that brought it; the bytes for others
are made when it has come to its end.
"""

from collections.abc import Callable, Iterable
from functools import wraps
import threading
import time
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from geometry_msgs.msg import Pose, PoseArray
import numpy as np
from puppet_core.math import Quats, Vec3s
from puppet_core.sensor_frames import FilteredFrame, POSES_ALL, POSES_OFF, POSES_VALID, SensorFrame
from puppet_ros.messages import flat_array, raw_header, StreamReader
from puppet_ros.node import qos
from puppet_ros.node.diagnostics import Diagnostics
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

REFUSED = 'other_publisher'  # a reason for drops


class StampedRecord(NamedTuple):
    record: Any  # the arrays of a message
    frame_id: str  # of its header


Callback = Callable[[Any], None]


class IntraProcessBus:
    """The topics, by full name, that stay in this process: subscribers hear no other publisher."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.lock = threading.RLock()
        """Held while a frame is on its way; for whatever else touches the nodes meanwhile."""
        self._callbacks: dict[str, list[Callback]] = {topic: [] for topic in topics}
        self._waiting: list[tuple[Callback, Any]] = []
        self._depth = 0

    def has(self, topic: str) -> bool:
        """Return whether a topic stays in the process."""
        return topic in self._callbacks

    def subscribe(self, topic: str, callback: Callback) -> None:
        """Call back with every message of a topic; the callback must not raise."""
        self._callbacks[topic].append(callback)

    def publish(self, topic: str, msg: Any, send: Callback) -> None:
        """
        Give a message to all subscribers of a topic, and later to the world.

        It must stay as it is until its frame has come to its end: `send` is called after all that
        the message leads to, in the order in which messages were made.
        """
        with self.lock:
            self._waiting.append((send, msg))
            self._depth += 1
            try:
                for callback in self._callbacks[topic]:
                    callback(msg)
            finally:
                self._depth -= 1
                if not self._depth:
                    self._send_waiting()

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for send, msg in waiting:
            send(msg)


_BUSES: WeakKeyDictionary[Context, IntraProcessBus] = WeakKeyDictionary()


def use_bus(context: Context, bus: IntraProcessBus) -> None:
    """Let nodes that are made in a context from now on use a bus."""
    _BUSES[context] = bus


def bus_of(context: Context, topic: str) -> IntraProcessBus | None:
    """Return the bus that keeps a topic within the nodes of a context, if one does."""
    bus = _BUSES.get(context)
    return bus if bus is not None and bus.has(topic) else None


class StreamPublisher:
    """The publisher of one stream; `data` returns the bytes of the message of a record."""

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        data: Callable[..., bytes],
        profile: QoSProfile = qos.STREAM,
    ) -> None:
        self._node = node
        self._publisher = node.create_publisher(kind, topic, profile)
        self._data = data
        self._topic = node.resolve_topic_name(topic)
        self._bus = bus_of(node.context, self._topic)

    def publish(self, record: Any, frame_id: str = '') -> None:
        """
        Send the message of a record, whose arrays must stay until the frame has come to its end.

        Subscribers in this process get `frame_id` as that of the header.
        """
        if self._bus is None:
            self._publisher.publish(self._data(record))
        else:
            self._bus.publish(self._topic, StampedRecord(record, frame_id), self._send)

    def destroy(self) -> None:
        self._node.destroy_publisher(self._publisher)

    def _send(self, stamped: StampedRecord) -> None:
        self._publisher.publish(self._data(stamped.record))


def subscribe(
    node: Node, topic: str, callback: Callback, diagnostics: Diagnostics, reader: StreamReader[Any]
) -> Subscription | None:
    """
    Subscribe to one stream; return the subscription, None for one within the process.

    `reader` reads the messages; `diagnostics`, the node's own, counts what is refused. Of
    several publishers one is followed as long as it lives, see `PublisherCheck`.
    """
    name = node.resolve_topic_name(topic)
    bus = bus_of(node.context, name)
    if bus is not None:
        bus.subscribe(name, diagnostics.guarded(callback))
        return None
    watch = diagnostics.watch(name)

    @wraps(callback)
    def on_data(data: bytes) -> None:
        head, now_ns = raw_header.head(data), time.monotonic_ns()
        if not watch.takes(*head, now_ns):
            diagnostics.drop(REFUSED)
            return
        record = reader.read(data)
        try:
            callback(StampedRecord(record, reader.frame_id))
        finally:  # what could be read; the frame does not wait for it
            watch.follow(*head, now_ns)

    guarded = diagnostics.guarded(on_data)
    return node.create_subscription(reader.kind, topic, guarded, qos.STREAM, raw=True)


def pose_row(pose: Pose) -> tuple[float, float, float, float, float, float, float]:
    """Return position x y z and quaternion w x y z of a message."""
    p, q = pose.position, pose.orientation
    return p.x, p.y, p.z, q.w, q.x, q.y, q.z


def to_poses(positions: Vec3s, quaternions: Quats) -> list[Pose]:
    """Return new messages of positions (n, 3) and quaternions (n, 4)."""
    poses = []
    for (px, py, pz), (w, x, y, z) in zip(positions.tolist(), quaternions.tolist()):
        pose = Pose()
        pose.position.x, pose.position.y, pose.position.z = px, py, pz
        rotation = pose.orientation
        rotation.w, rotation.x, rotation.y, rotation.z = w, x, y, z
        poses.append(pose)
    return poses


def pose_array(
    frame: SensorFrame | FilteredFrame, frame_id: str, mode: str = POSES_ALL
) -> PoseArray:
    """Return a frame's poses, all of them or the valid ones, under its stamp."""
    msg = PoseArray()
    flat_array.write_stamp(frame.stamp_ns, msg.header.stamp)
    msg.header.frame_id = frame_id
    positions, quaternions = frame.positions, frame.quaternions
    if mode == POSES_VALID:
        valid = np.isfinite(positions).all(axis=1)
        positions, quaternions = positions[valid], quaternions[valid]
    msg.poses = to_poses(positions, quaternions)
    return msg


class PoseArrayOutput:
    """A PoseArray topic from the first need on until it is closed; other threads open it first."""

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        self._topic = topic
        self._publisher: Any = None

    def open(self, mode: str) -> None:  # noqa: A003
        """Make the topic if one of POSE_ARRAY_MODES needs it."""
        if mode != POSES_OFF and self._publisher is None:
            self._publisher = self._node.create_publisher(PoseArray, self._topic, qos.STREAM)

    def close(self) -> None:
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None

    def publish(self, frame: SensorFrame | FilteredFrame, frame_id: str, mode: str) -> None:
        """Publish a frame in one of POSE_ARRAY_MODES."""
        if mode == POSES_OFF:
            return
        self.open(mode)
        self._publisher.publish(pose_array(frame, frame_id, mode))
