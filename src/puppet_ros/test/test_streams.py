# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Streams over the real middleware, and within one process."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.sensor_frames import SensorFrame  # noqa: E402,I100
from puppet_msgs.msg import TrackerFrame  # noqa: E402
from puppet_ros import qos, tracker_frame  # noqa: E402
from puppet_ros.diagnostics import Diagnostics  # noqa: E402
from puppet_ros.exchange import Exchange, share  # noqa: E402
from puppet_ros.spin import make_executor  # noqa: E402
from puppet_ros.streams import StreamPublisher, subscribe  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from rclpy.context import Context  # noqa: E402

pytestmark = pytest.mark.ros

SENSORS = ('pelvis', 'chest')


@pytest.fixture
def context() -> Iterator[Context]:
    """Return an own domain."""
    with isolated_context() as made:
        yield made


def _frame(rng: np.random.Generator, stamp_ns: int) -> SensorFrame:
    n = len(SENSORS)
    return SensorFrame(
        stamp_ns, stamp_ns, SENSORS, rng.normal(size=(n, 3)), rng.normal(size=(n, 4)),
        rng.uniform(size=n), np.zeros(n, dtype=np.uint8),
    )  # fmt: skip


def _as_row(msg: TrackerFrame) -> tuple:
    return msg.header.stamp.nanosec, msg.frame_index, tuple(msg.sensors), tuple(msg.poses)


def _plain(callback: Any) -> Any:
    return callback


def test_what_arrives_is_what_was_sent_also_at_nodes_that_know_nothing_of_it(
    context: Context, rng: np.random.Generator
) -> None:
    """A kept message is published; both our subscription and rclpy's own read every frame."""
    node, executor = rclpy.create_node('streams', context=context), make_executor(context)
    executor.add_node(node)
    kept, own = [], []
    publisher = StreamPublisher(node, TrackerFrame, '/raw')
    subscribe(node, TrackerFrame, '/raw', lambda m: kept.append(_as_row(m)), _plain)
    node.create_subscription(
        TrackerFrame, '/raw', lambda m: own.append(_as_row(m)), qos.STREAM
    )
    writer = tracker_frame.TrackerFrameWriter(SENSORS, 'transmitter')
    frames = [_frame(rng, stamp) for stamp in range(1, 6)]
    expected = [_as_row(tracker_frame.to_msg(f, _header(f.stamp_ns))) for f in frames]
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 2)
    for frame in frames:
        publisher.publish(writer.fill(frame))
    assert spin_until(executor, lambda: len(kept) >= 5 and len(own) >= 5)
    assert kept == own == expected


def _header(stamp_ns: int) -> Any:
    header = TrackerFrame().header
    header.frame_id = 'transmitter'
    header.stamp.nanosec = stamp_ns
    return header


def test_held_messages_are_not_written_over(context: Context, rng: np.random.Generator) -> None:
    node, executor = rclpy.create_node('streams', context=context), make_executor(context)
    executor.add_node(node)
    held: list[TrackerFrame] = []
    publisher = StreamPublisher(node, TrackerFrame, '/raw')
    subscribe(node, TrackerFrame, '/raw', held.append, _plain, held=4)
    writer = tracker_frame.TrackerFrameWriter(SENSORS, 'transmitter')
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 1)
    for stamp in range(1, 6):
        publisher.publish(writer.fill(_frame(rng, stamp)))
    assert spin_until(executor, lambda: len(held) == 5)
    assert [msg.frame_index for msg in held] == [1, 2, 3, 4, 5]


def test_bytes_that_are_no_message_are_counted(context: Context) -> None:
    node, executor = rclpy.create_node('streams', context=context), make_executor(context)
    executor.add_node(node)
    diagnostics, seen = Diagnostics(node), []
    subscribe(node, TrackerFrame, '/raw', seen.append, diagnostics.guarded)
    publisher = node.create_publisher(TrackerFrame, '/raw', qos.STREAM)
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 1)
    publisher.publish(b'\x00\x01\x00\x00' + 40 * b'\xff')
    assert spin_until(executor, lambda: diagnostics.total_drops == 1)
    publisher.publish(TrackerFrame(frame_index=7))
    assert spin_until(executor, lambda: bool(seen))
    assert seen[0].frame_index == 7


def test_within_a_process_the_message_itself_is_handed_over_and_sent_afterwards(
    context: Context, rng: np.random.Generator
) -> None:
    share(context, Exchange(('/raw',)))
    node, executor = rclpy.create_node('streams', context=context), make_executor(context)
    executor.add_node(node)
    outside, log = [], []
    assert subscribe(node, TrackerFrame, '/raw', log.append, _plain) is None
    node.create_subscription(TrackerFrame, '/raw', outside.append, qos.STREAM)
    publisher = StreamPublisher(node, TrackerFrame, '/raw')
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 1)
    msg = tracker_frame.TrackerFrameWriter(SENSORS, 'transmitter').fill(_frame(rng, 3))
    publisher.publish(msg)
    assert log[0] is msg  # at once, without spinning
    assert spin_until(executor, lambda: bool(outside))
    assert outside[0] == msg and len(log) == 1
