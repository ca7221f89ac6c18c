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
from puppet_ros.messages import tracker_frame  # noqa: E402
from puppet_ros.messages.flat_array import MessageError  # noqa: E402
from puppet_ros.messages.tracker_frame import TrackerFrameReader  # noqa: E402
from puppet_ros.node import streams
from puppet_ros.node.exact_time import ExactTimeSynchronizer  # noqa: E402
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
    msg = tracker_frame.to_msg(frame, header)
    for name, value in wrong.items():
        setattr(msg, name, value)
    return bytes(serialize_message(msg))


def test_the_watch_goes_on_behind_the_frame_whatever_becomes_of_it(node: OneReader) -> None:
    causes: list[list[str]] = []

    def fail(framed: Framed) -> None:
        # while a frame is on its way the watch knows only those before it
        causes.append(node.watched.causes(time.monotonic_ns() + 2 * 10**9))
        raise KeyboardInterrupt

    subscribe(node, '/raw', fail, node, TrackerFrameReader)
    for index in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            node.deliver(_data(index))
    assert not causes[0] and causes[1][0].startswith('no input on /raw')


def test_what_cannot_be_read_does_not_move_the_watch(node: OneReader) -> None:
    came: list[int] = []
    subscribe(node, '/raw', lambda f: came.append(f.record.frame_index), node, TrackerFrameReader)
    for index in (1, 2):
        node.deliver(_data(index))
    with pytest.raises(MessageError):
        node.deliver(_data(50, ages_s=[0.0]))
    node.deliver(_data(3))
    assert came == [1, 2, 3] and not node.drops


def test_a_refused_message_leaves_the_arrays(node: OneReader) -> None:
    records: list[SensorFrame] = []
    subscribe(node, '/raw', lambda f: records.append(f.record), node, TrackerFrameReader)
    for index in (1, 2, 9000):
        node.deliver(_data(index))
    assert node.drops == [streams.REFUSED] and records[-1].positions[0, 0] == 2.0


def test_a_frame_that_waits_stays_as_it_is_while_another_comes_again_and_again(
    node: OneReader,
) -> None:
    join: ExactTimeSynchronizer[SensorFrame, int] = ExactTimeSynchronizer()
    subscribe(
        node,
        '/raw',
        lambda f: join.push_left(f.record.stamp_ns, f.record),
        node,
        TrackerFrameReader,
        held=join.capacity,
        is_held=join.has_left,
    )
    for index in range(1, 37):  # until all readers know the form
        node.deliver(_data(index))
        if index < 36:
            join.push_right(index * 10_000_000, index)
    for _ in range(40):
        node.deliver(_data(37))
    pair = join.push_right(36 * 10_000_000, 36)
    assert pair is None or pair[0].positions[0, 0] == 36.0
    pair = join.push_right(37 * 10_000_000, 37)
    assert pair is not None and pair[0].positions[0, 0] == 37.0
