# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How nodes send and receive the graph's streams.

Over the middleware as bytes, made from arrays and read into arrays that are kept: the numbers are
at the same places in every frame, so that takes a few copies (kept_message, record_reader), where
rclpy's own conversion takes several times as long at both ends of every hop. Between nodes of one
process, where an intra-process bus was set up for them, the arrays are passed as they are, and the
bytes for others are made when the frame has come to its end.

"""

from collections.abc import Callable
from functools import wraps
import time
from typing import Any, NamedTuple, Protocol

from puppet_ros.messages import RecordReader
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
    """The arrays of a message, to be read before the callback returns."""

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
    make_reader: Callable[[], RecordReader[Any]],
    profile: QoSProfile = qos.STREAM,
    held: int = 0,
    is_held: Callable[[], bool] = lambda: True,
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
    make_reader : callable
        Makes a reader of the messages.
    profile : QoSProfile
        Its quality of service.
    held : int
        How many records the callback may still hold when the next one comes; with 0 their arrays
        are the last ones filled anew, to be read before the callback returns. Within a process
        records can be held only until the callback of another topic of the same frame.
    is_held : callable
        Whether it may hold any of this topic; while it holds none the same arrays are filled,
        which are in the caches.

    """
    name = node.resolve_topic_name(topic)
    exchange = exchange_of(node.context, name)
    if exchange is not None:
        exchange.subscribe(name, reporter.guarded(callback))
        return None
    readers = [make_reader() for _ in range(held + 1)]
    last = 0
    watch = reporter.watch(name)

    @wraps(callback)
    def on_data(data: bytes) -> None:
        nonlocal last
        chosen = (last + 1) % len(readers) if is_held() else 0
        reader = readers[chosen]
        head, now_ns = reader.look(data), time.monotonic_ns()
        if not watch.takes(*head, now_ns):
            reporter.drop(REFUSED)
            return
        record = reader.take()
        last = chosen
        try:
            callback(Framed(record, reader.frame_id))
        finally:  # what could be read; the frame does not wait for it
            watch.follow(*head, now_ns)

    kind = readers[0].kind
    return node.create_subscription(kind, topic, reporter.guarded(on_data), profile, raw=True)
