# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Streams over the real middleware and within one process; bare poses of their frames."""

import threading

import numpy as np
from puppet_core.sensor_frames import POSES_ALL, POSES_VALID, SensorFrame
from puppet_msgs.msg import TrackerFrame
from puppet_ros.messages import TrackerFrameWriter
from puppet_ros.messages.sensor_msg import TrackerFrameReader
from puppet_ros.node import qos
from puppet_ros.node.diagnostics import Diagnostics
from puppet_ros.node.spin import make_executor
from puppet_ros.node.stamps import PublisherCheck
from puppet_ros.node.streams import (
    IntraProcessBus,
    pose_array,
    StreamPublisher,
    subscribe,
    use_bus,
)
from puppet_ros.testing import isolated_context, spin_until
import pytest
import rclpy

pytestmark = pytest.mark.ros

SENSORS = ('pelvis', 'chest')
WRITER = TrackerFrameWriter('transmitter')


@pytest.fixture
def context():
    with isolated_context() as made:
        yield made


def _frame(rng, stamp_ns):
    poses = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    ages = rng.uniform(size=2)
    return SensorFrame(stamp_ns, stamp_ns, SENSORS, *poses, ages, np.zeros(2, dtype=np.uint8))


def _spun(context):
    node, executor = rclpy.create_node('streams', context=context), make_executor(context)
    executor.add_node(node)
    return node, executor


def _as_row(msg):
    return msg.header.stamp.nanosec, msg.frame_index, tuple(msg.sensors), tuple(msg.positions)


class _Plain:
    """A reporter that only counts."""

    def __init__(self):
        self.drops = []

    def guarded(self, callback):
        return callback

    def drop(self, reason):
        self.drops.append(reason)

    def watch(self, topic):
        return PublisherCheck(topic)


_plain = _Plain()


def _row_of(frame):
    positions = tuple(frame.positions.ravel())
    return frame.stamp_ns % 10**9, frame.frame_index, frame.sensors, positions


def test_frames_arrive_as_sent_also_at_plain_rclpy_nodes(context, rng):
    """A kept message is published; both our subscription and rclpy's own read every frame."""
    node, executor = _spun(context)
    kept, own = [], []
    publisher = StreamPublisher(node, TrackerFrame, '/raw', WRITER.data)
    subscribe(node, '/raw', kept.append, _plain, TrackerFrameReader())
    node.create_subscription(TrackerFrame, '/raw', lambda m: own.append(_as_row(m)), qos.STREAM)
    frames = [_frame(rng, stamp) for stamp in range(1, 6)]
    expected = [_as_row(WRITER.fill(f)) for f in frames]
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 2)
    for frame in frames:
        publisher.publish(frame)
    assert spin_until(executor, lambda: len(kept) >= 5 and len(own) >= 5)
    assert own == expected
    assert [(f.frame_id, _row_of(f.record)) for f in kept] == [
        ('transmitter', e) for e in expected
    ]


def test_bytes_that_are_no_message_are_counted(context):
    node, executor = _spun(context)
    diagnostics, seen = Diagnostics(node), []
    subscribe(node, '/raw', seen.append, diagnostics, TrackerFrameReader())
    publisher = node.create_publisher(TrackerFrame, '/raw', qos.STREAM)
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 1)
    publisher.publish(b'\x00\x01\x00\x00' + 40 * b'\xff')
    assert spin_until(executor, lambda: diagnostics.total_drops == 1)
    publisher.publish(TrackerFrame(frame_index=7))
    assert spin_until(executor, lambda: bool(seen))
    assert seen[0].record.frame_index == 7


def test_a_malformed_next_frame_does_not_end_a_stream(context, rng):
    """It is counted; the genuine next one is taken, another publisher's not, and none is lost."""
    node, executor = _spun(context)
    diagnostics, held = Diagnostics(node), []
    subscription = subscribe(
        node, '/raw', lambda f: held.append(_row_of(f.record)), diagnostics, TrackerFrameReader()
    )
    assert subscription is not None
    publisher = node.create_publisher(TrackerFrame, '/raw', qos.STREAM)
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 1)

    def message(index):
        return WRITER.fill(_frame(rng, index)._replace(stamp_ns=index * 10_000_000))

    good = [message(index) for index in (11, 12, 13, 14)]
    wrong, other = message(13), message(9000)
    wrong.ages_s = [0.0]
    for msg in (*good[:2], wrong, other, wrong, *good[2:]):
        publisher.publish(msg)
    assert spin_until(executor, lambda: len(held) + diagnostics.total_drops == 7)
    assert held == [_as_row(msg) for msg in good]
    assert diagnostics.total_drops == 3


def test_within_a_process_the_arrays_are_handed_over_and_sent_as_bytes_afterwards(context, rng):
    use_bus(context, IntraProcessBus(('/raw',)))
    node, executor = _spun(context)
    outside, log = [], []
    assert subscribe(node, '/raw', log.append, _plain, TrackerFrameReader()) is None
    node.create_subscription(TrackerFrame, '/raw', outside.append, qos.STREAM)
    publisher = StreamPublisher(node, TrackerFrame, '/raw', WRITER.data)
    assert spin_until(executor, lambda: node.count_subscribers('/raw') == 1)
    frame = _frame(rng, 3)
    publisher.publish(frame, 'transmitter')
    # at once, without spinning
    assert log[0].record is frame and log[0].frame_id == 'transmitter'
    assert spin_until(executor, lambda: bool(outside))
    assert _as_row(outside[0]) == _as_row(WRITER.fill(frame))
    assert len(log) == 1


def _chain(log):
    exchange = IntraProcessBus(('/a', '/b'))
    send = {topic: (lambda msg, t=topic: log.append(f'send {t} {msg}')) for topic in ('/a', '/b')}

    def on_a(msg):
        log.append(f'a {msg}')
        exchange.publish('/b', 10 * msg, send['/b'])

    exchange.subscribe('/a', on_a)
    exchange.subscribe('/b', lambda msg: log.append(f'b {msg}'))
    exchange.subscribe('/a', lambda msg: log.append(f'also a {msg}'))
    return exchange


def test_a_frame_runs_to_its_end_before_anything_is_sent_in_the_order_of_making():
    log = []
    _chain(log).publish('/a', 1, lambda msg: log.append(f'send /a {msg}'))
    assert log == ['a 1', 'b 10', 'also a 1', 'send /a 1', 'send /b 10']


def test_a_failure_on_the_way_still_sends_and_leaves_nothing_behind():
    exchange, sent = IntraProcessBus(('/a',)), []
    failing = True

    def fail(msg):
        if failing:
            raise ValueError(msg)

    exchange.subscribe('/a', fail)
    with pytest.raises(ValueError, match='1'):
        exchange.publish('/a', 1, sent.append)
    failing = False
    exchange.publish('/a', 2, sent.append)
    assert sent == [1, 2]


def test_frames_of_two_threads_do_not_mix():
    exchange, seen = IntraProcessBus(('/a', '/b')), []
    barrier = threading.Barrier(2)

    def on_a(msg):
        seen.append(('a', msg))
        exchange.publish('/b', msg, lambda sent: None)

    exchange.subscribe('/a', on_a)
    exchange.subscribe('/b', lambda msg: seen.append(('b', msg)))

    def work(who):
        barrier.wait()
        for i in range(500):
            exchange.publish('/a', (who, i), lambda sent: None)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2000
    for first, second in zip(seen[::2], seen[1::2]):
        assert (first[0], second[0]) == ('a', 'b') and first[1] == second[1]


STAMP_NS = 1_790_000_000_123_456_789


@pytest.fixture
def frame():
    rng = np.random.default_rng(1)
    positions, quaternions = rng.normal(size=(3, 3)), rng.normal(size=(3, 4))
    positions[1] = quaternions[1] = np.nan
    status = np.array([0, 1, 0], dtype=np.uint8)
    return SensorFrame(STAMP_NS, 7, ('a', 'b', 'c'), positions, quaternions, np.zeros(3), status)


def test_quaternion_w_is_last_in_the_message(frame):
    pose = pose_array(frame, 'transmitter').poses[2]
    rotation = pose.orientation
    assert [rotation.w, rotation.x, rotation.y, rotation.z] == list(frame.quaternions[2])
    assert [pose.position.x, pose.position.y, pose.position.z] == list(frame.positions[2])


def test_missing_sensors_are_nan_or_left_out(frame):
    whole, valid = (pose_array(frame, 'transmitter', mode) for mode in (POSES_ALL, POSES_VALID))
    assert len(whole.poses) == 3 and np.isnan(whole.poses[1].position.x)
    assert len(valid.poses) == 2 and valid.poses[1] == whole.poses[2]
    assert whole.header == valid.header and whole.header.frame_id == 'transmitter'
    assert whole.header.stamp.sec * 10**9 + whole.header.stamp.nanosec == STAMP_NS
