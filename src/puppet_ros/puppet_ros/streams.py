# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How nodes send and receive the graph's streams.

Over the middleware as bytes, made from and into a message that is kept: its numbers are at the
same places in every frame, so that takes a few copies (kept_cdr), where rclpy's own conversion
takes several times as long at both ends of every hop. Between nodes of one process, where an
exchange was set up for them, the message itself is handed over.

"""

from collections.abc import Callable
from functools import wraps
from itertools import cycle
from typing import Any

from puppet_ros import qos
from puppet_ros.exchange import exchange_of
from puppet_ros.kept_cdr import KeptCdr
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

Callback = Callable[[Any], None]


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
    profile : QoSProfile
        Its quality of service.

    """

    def __init__(
        self, node: Node, kind: type, topic: str, profile: QoSProfile = qos.STREAM
    ) -> None:
        self._node = node
        self._publisher = node.create_publisher(kind, topic, profile)
        self._cdr = KeptCdr(kind)
        self._topic = node.resolve_topic_name(topic)
        self._exchange = exchange_of(node.context, self._topic)

    def publish(self, msg: Any) -> None:
        """Send a message, which may be the last one filled anew."""
        if self._exchange is None:
            self._send(msg)
        else:
            self._exchange.publish(self._topic, msg, self._send)

    def destroy(self) -> None:
        """Remove the publisher from its node."""
        self._node.destroy_publisher(self._publisher)

    def _send(self, msg: Any) -> None:
        self._publisher.publish(self._cdr.write(msg))


def subscribe(
    node: Node, kind: type, topic: str, callback: Callback,
    guarded: Callable[[Callback], Callback], profile: QoSProfile = qos.STREAM, held: int = 0,
) -> Subscription | None:  # fmt: skip
    """
    Subscribe to one stream; return the subscription, None for one within the process.

    Parameters
    ----------
    node : Node
        Whose subscription it is.
    kind : type
        Class of the messages.
    topic : str
        Its name.
    callback : callable
        Gets each message.
    guarded : callable
        Makes a callback such that no exception leaves it: that of the node's diagnostics.
    profile : QoSProfile
        Its quality of service.
    held : int
        How many messages the callback may still hold when the next one comes; with 0 a message
        is the last one filled anew, to be read before the callback returns. Within a process
        messages can be held only until the callback of another topic of the same frame.

    """
    name = node.resolve_topic_name(topic)
    exchange = exchange_of(node.context, name)
    if exchange is not None:
        exchange.subscribe(name, guarded(callback))
        return None
    readers = cycle([KeptCdr(kind) for _ in range(held + 1)])

    @wraps(callback)
    def on_data(data: bytes) -> None:
        callback(next(readers).read(data))

    return node.create_subscription(kind, topic, guarded(on_data), profile, raw=True)
