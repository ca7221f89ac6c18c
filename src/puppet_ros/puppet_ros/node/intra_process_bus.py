# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages passed from node to node within one process, without the middleware.

A frame runs through all nodes in the thread that brought it, one call inside the other. What
others may want to see of it on the way is sent when the frame has come to its end: the result
does not wait for that. (No ROS in here, but for the context that nodes of a process share.)

"""

from collections.abc import Callable, Iterable
import threading
from typing import Any
from weakref import WeakKeyDictionary

from rclpy.context import Context

Callback = Callable[[Any], None]


class IntraProcessBus:
    """
    The topics whose publisher and subscribers are in this process.

    Parameters
    ----------
    topics : iterable of str
        Full names. Their subscribers here hear no publisher outside the process.

    """

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

        Parameters
        ----------
        topic : str
            One of the exchange's.
        msg : message
            Must stay as it is until its frame has come to its end.
        send : callable
            Sends the message out of the process; called after all that the message leads to,
            in the order in which messages were made.

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


_EXCHANGES: WeakKeyDictionary[Context, IntraProcessBus] = WeakKeyDictionary()


def share(context: Context, exchange: IntraProcessBus) -> None:
    """Let nodes that are made in a context from now on use an exchange."""
    _EXCHANGES[context] = exchange


def exchange_of(context: Context, topic: str) -> IntraProcessBus | None:
    """Return the exchange that keeps a topic within the nodes of a context, if one does."""
    exchange = _EXCHANGES.get(context)
    return exchange if exchange is not None and exchange.has(topic) else None
