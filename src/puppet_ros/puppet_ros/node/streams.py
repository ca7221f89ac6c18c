# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How nodes send and receive the graph's streams.

Over the middleware as bytes, made from arrays and read into arrays (`messages.cdr`). Between nodes
of one process, where an intra-process bus was set up for them, the arrays are passed as they are,
and the bytes for others are made when the frame has come to its end.

"""

from collections.abc import Callable
from functools import wraps
import time
from typing import Any, NamedTuple, Protocol

from puppet_ros.messages import raw_header, StreamReader
from puppet_ros.node import qos
from puppet_ros.node.intra_process_bus import exchange_of
from puppet_ros.node.publisher_check import PublisherCheck
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

REFUSED = 'other_publisher'  # a reason for drops


class Framed(NamedTuple):
    """What comes on a stream."""

    record: Any
    """The arrays of a message."""

    frame_id: str
    """Of its header."""


Callback = Callable[[Framed], None]


class StreamPublisher:
    """
    The publisher of one stream.

    Parameters
    ----------
    node : Node
        Whose publisher it is.
    kind : type
        Class of the messages.
    topic : str
        Its name.
    data : callable
        Returns the bytes of the message for what is published.
    profile : QoSProfile
        Its quality of service.

    """

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
        self._exchange = exchange_of(node.context, self._topic)

    def publish(self, record: Any, frame_id: str = '') -> None:
        """
        Send the message of a record.

        Parameters
        ----------
        record : Any
            Arrays, which must stay as they are until the frame has come to its end.
        frame_id : str
            What subscribers in this process get as that of the header.

        """
        if self._exchange is None:
            self._publisher.publish(self._data(record))
        else:
            self._exchange.publish(self._topic, Framed(record, frame_id), self._send)

    def destroy(self) -> None:
        """Remove the publisher from its node."""
        self._node.destroy_publisher(self._publisher)

    def _send(self, framed: Framed) -> None:
        self._publisher.publish(self._data(framed.record))


class Reporter(Protocol):
    """Where a subscription reports on its input: the diagnostics of its node."""

    def guarded(self, callback: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return the callback such that no exception leaves it."""

    def drop(self, reason: str) -> None:
        """Count a dropped message."""

    def watch(self, topic: str) -> PublisherCheck:
        """Return a watch on a topic whose findings are reported."""


def subscribe(
    node: Node,
    topic: str,
    callback: Callback,
    reporter: Reporter,
    reader: StreamReader[Any],
    profile: QoSProfile = qos.STREAM,
) -> Subscription | None:
    """
    Subscribe to one stream; return the subscription, None for one within the process.

    Of several publishers one is followed as long as it lives, see `PublisherCheck`.

    Parameters
    ----------
    node : Node
        Whose subscription it is.
    topic : str
        Its name.
    callback : callable
        Gets the record of each message.
    reporter : Reporter
        The node's diagnostics.
    reader : StreamReader
        Reads the messages.
    profile : QoSProfile
        Its quality of service.

    """
    name = node.resolve_topic_name(topic)
    exchange = exchange_of(node.context, name)
    if exchange is not None:
        exchange.subscribe(name, reporter.guarded(callback))
        return None
    watch = reporter.watch(name)

    @wraps(callback)
    def on_data(data: bytes) -> None:
        head, now_ns = raw_header.head(data), time.monotonic_ns()
        if not watch.takes(*head, now_ns):
            reporter.drop(REFUSED)
            return
        record = reader.read(data)
        try:
            callback(Framed(record, reader.frame_id))
        finally:  # what could be read; the frame does not wait for it
            watch.follow(*head, now_ns)

    guarded = reporter.guarded(on_data)
    return node.create_subscription(reader.kind, topic, guarded, profile, raw=True)
