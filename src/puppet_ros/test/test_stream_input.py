# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a subscription does with a message, one after the other, without the middleware."""

import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.sensor_frames import SensorFrame  # noqa: E402,I100
from puppet_msgs.msg import TrackerFrame  # noqa: E402
from puppet_ros.messages import to_tracker_frame  # noqa: E402
from puppet_ros.messages.flat_array import MessageError  # noqa: E402
from puppet_ros.messages.sensor_msg import TrackerFrameReader  # noqa: E402
from puppet_ros.node import streams
from puppet_ros.node.publisher_check import PublisherCheck  # noqa: E402
from puppet_ros.node.streams import Framed, subscribe  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402

pytestmark = pytest.mark.ros

SENSORS = ('pelvis', 'chest')


class OneReader:
    """A node whose only subscription is called by the test, and what is told of its input."""

    context = None

    def __init__(self) -> None:
        self.drops: list[str] = []
        self.watched = PublisherCheck('/raw')
        self.deliver: Any = None

    def resolve_topic_name(self, topic: str) -> str:
        """Return the name."""
        return topic

    def create_subscription(
        self, kind: type, topic: str, callback: Any, *_: Any, **__: Any
    ) -> None:
        """Keep the callback."""
        self.deliver = callback

    def guarded(self, callback: Any) -> Any:
        """Return the callback."""
        return callback

    def drop(self, reason: str) -> None:
        """Count."""
        self.drops.append(reason)

    def watch(self, topic: str) -> PublisherCheck:
        """Return the watch."""
        return self.watched


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> OneReader:
    """Return a node without exchange."""
    monkeypatch.setattr(streams, 'exchange_of', lambda context, topic: None)
    return OneReader()


def _data(index: int, **wrong: Any) -> bytes:
    """Return the bytes of a frame at 100 Hz; its positions are its index."""
    n = len(SENSORS)
    frame = SensorFrame(
        index * 10_000_000,
        index,
        SENSORS,
        np.full((n, 3), float(index)),
        np.ones((n, 4)),
        np.zeros(n),
        np.zeros(n, np.uint8),
    )
    header = TrackerFrame().header
    header.stamp.sec, header.stamp.nanosec = divmod(frame.stamp_ns, 10**9)
    msg = to_tracker_frame(frame, header)
    for name, value in wrong.items():
        setattr(msg, name, value)
    return bytes(serialize_message(msg))


def test_the_watch_goes_on_behind_the_frame_whatever_becomes_of_it(node: OneReader) -> None:
    causes: list[list[str]] = []

    def fail(framed: Framed) -> None:
        # while a frame is on its way the watch knows only those before it
        causes.append(node.watched.causes(time.monotonic_ns() + 2 * 10**9))
        raise KeyboardInterrupt

    subscribe(node, '/raw', fail, node, TrackerFrameReader())
    for index in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            node.deliver(_data(index))
    assert not causes[0] and causes[1][0].startswith('no input on /raw')


def test_what_cannot_be_read_does_not_move_the_watch(node: OneReader) -> None:
    came: list[int] = []
    subscribe(
        node, '/raw', lambda f: came.append(f.record.frame_index), node, TrackerFrameReader()
    )
    for index in (1, 2):
        node.deliver(_data(index))
    with pytest.raises(MessageError):
        node.deliver(_data(50, ages_s=[0.0]))
    node.deliver(_data(3))
    assert came == [1, 2, 3] and not node.drops
