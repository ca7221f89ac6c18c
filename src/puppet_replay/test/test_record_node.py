# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Recording a graph of real publishers: what was latched, what appears later, what was lost."""

import time

from bag_samples import messages_of
from puppet_msgs.msg import PoseFrame
from puppet_replay import record as record_command
from puppet_replay.play import profile_of
from puppet_replay.record import RecordNode
from puppet_ros.bags import BagReader, BagWriter
from puppet_ros.messages.raw_header import frame_index
from puppet_ros.node import qos
from puppet_ros.testing import DEADLINE_S, isolated_context
import pytest
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

pytestmark = pytest.mark.ros

N = 300


@pytest.fixture
def lab():
    with isolated_context() as context:
        yield Node('lab', context=context)


def poll_until(node, condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        node.poll()


def publish_frames(node, publisher, first, count):
    for i in range(first, first + count):
        publisher.publish(PoseFrame(frame_index=i))
        if i % 10 == 0:
            node.poll()


def test_latched_and_later_topics_are_recorded_whole(lab, tmp_path):
    latched = lab.create_publisher(String, '/description', qos.LATCHED)
    latched.publish(String(data='said before'))
    hidden = lab.create_publisher(String, '/_hidden', 10)
    with BagWriter(tmp_path / 'a.mcap', growing=True) as writer:
        node = RecordNode(writer, context=lab.context)
        poll_until(node, lambda: node.counts.get('/description'))
        later = lab.create_publisher(PoseFrame, '/frames', qos.STREAM)
        poll_until(node, lambda: later.get_subscription_count())
        publish_frames(node, later, 0, N)
        poll_until(node, lambda: node.counts['/frames'] == N)
    assert node.lost == {} and '/_hidden' not in node.counts and hidden.topic == '/_hidden'
    frames = messages_of(tmp_path / 'a.mcap', ['/frames'])
    assert [frame_index(m.data) for m in frames] == list(range(N))
    assert all(abs(m.log_ns - time.time_ns()) < 600e9 for m in frames)
    with BagReader(tmp_path / 'a.mcap') as reader:
        said = profile_of(reader.info['/description'].qos)
        assert said.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert profile_of(reader.info['/frames'].qos).reliability == qos.STREAM.reliability


def test_messages_that_overran_the_queue_are_counted_as_lost(lab, tmp_path, monkeypatch):
    monkeypatch.setattr('puppet_replay.record.DEPTH', 5)
    publisher = lab.create_publisher(PoseFrame, '/frames', qos.STREAM)
    with BagWriter(tmp_path / 'a.mcap', growing=True) as writer:
        node = RecordNode(writer, ['/frames'], context=lab.context)
        poll_until(node, lambda: publisher.get_subscription_count())
        publish_frames(node, publisher, 0, 1)
        poll_until(node, lambda: node.counts['/frames'] == 1)
        for i in range(1, 31):
            publisher.publish(PoseFrame(frame_index=i))
        poll_until(node, lambda: node.counts['/frames'] + node.lost.get('/frames', 0) == 31)
    assert node.lost['/frames'] >= 20


def test_a_later_publisher_that_offers_less_is_heard(lab, tmp_path):
    first = lab.create_publisher(String, '/said', 10)
    with BagWriter(tmp_path / 'a.mcap', growing=True) as writer:
        node = RecordNode(writer, ['/said'], context=lab.context)
        poll_until(node, lambda: first.get_subscription_count())
        first.publish(String(data='reliable'))
        poll_until(node, lambda: node.counts['/said'] == 1)
        later = lab.create_publisher(String, '/said', qos.STREAM)
        poll_until(node, lambda: later.get_subscription_count())
        later.publish(String(data='as good as it goes'))
        poll_until(node, lambda: node.counts['/said'] == 2)
        poll_until(node, lambda: first.get_subscription_count())
        first.publish(String(data='reliable'))
        poll_until(node, lambda: node.counts['/said'] == 3)
    assert len(messages_of(tmp_path / 'a.mcap', ['/said'])) == 3


@pytest.mark.parametrize('is_late', [True, False], ids=['late', 'first'])
def test_latched_and_other_publishers_of_a_topic_are_both_heard(lab, tmp_path, is_late):
    """Also what was latched before, and each message once; the bag has the QoS of both."""
    latched = lab.create_publisher(String, '/said', qos.LATCHED)
    latched.publish(String(data='before'))
    with BagWriter(tmp_path / 'bag', growing=True) as writer:
        node = RecordNode(writer, ['/said'], context=lab.context)
        if not is_late:
            other = lab.create_publisher(String, '/said', 10)
            deadline_s = time.monotonic() + DEADLINE_S
            while node.count_publishers('/said') < 2:  # before its first look
                assert time.monotonic() < deadline_s
        poll_until(node, lambda: node.counts.get('/said') == 1)
        if is_late:
            other = lab.create_publisher(String, '/said', 10)
        poll_until(
            node, lambda: other.get_subscription_count() and latched.get_subscription_count() == 2
        )
        for i in range(20):
            latched.publish(String(data=f'latched {i}'))
            other.publish(String(data=f'other {i}'))
            node.poll()
        poll_until(node, lambda: node.counts['/said'] >= 41)
        for _ in range(20):  # what would come twice
            node.poll()
    said = [deserialize_message(m.data, String).data for m in messages_of(tmp_path / 'bag')]
    both = [f'{name} {i}' for name in ('latched', 'other') for i in range(20)]
    assert sorted(said) == sorted(['before', *both])
    with BagReader(tmp_path / 'bag') as reader:
        text = reader.info['/said'].qos
        assert profile_of(text).durability == DurabilityPolicy.TRANSIENT_LOCAL
        if not is_late:
            assert text.count('durability: volatile') == text.count('durability: tr') == 1


def test_a_later_latched_publisher_is_heard_from_its_beginning(lab, tmp_path):
    other = lab.create_publisher(String, '/said', 10)
    with BagWriter(tmp_path / 'a.mcap', growing=True) as writer:
        node = RecordNode(writer, ['/said'], context=lab.context)
        poll_until(node, lambda: other.get_subscription_count())
        latched = lab.create_publisher(String, '/said', qos.LATCHED)
        latched.publish(String(data='at once'))
        poll_until(node, lambda: latched.get_subscription_count() == 2)
        poll_until(node, lambda: node.counts['/said'])
        for _ in range(20):
            node.poll()
    assert len(messages_of(tmp_path / 'a.mcap', ['/said'])) == 1


def test_messages_before_the_recording_are_counted(lab, tmp_path):
    """A recorder that comes late, or is late to be connected, says how much it missed."""
    publisher = lab.create_publisher(PoseFrame, '/frames', qos.STREAM)
    for i in range(7):
        publisher.publish(PoseFrame(frame_index=i))
    with BagWriter(tmp_path / 'a.mcap', growing=True) as writer:
        node = RecordNode(writer, context=lab.context)
        poll_until(node, lambda: publisher.get_subscription_count())
        publish_frames(node, publisher, 7, 3)
        poll_until(node, lambda: node.counts['/frames'])
    first = frame_index(messages_of(tmp_path / 'a.mcap', ['/frames'])[0].data)
    assert first >= 7 and node.before == {'/frames': first} and node.lost == {}


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (['--duration', '0'], '--duration: expected seconds > 0'),
        (['--topics', 'a'], '--topics: expected names that begin with /'),
        (['--topics', '/a b'], "--topics: expected names of topics, got '/a b'"),
        (['--compression', 'zip'], 'invalid choice'),
    ],
)
def test_bad_arguments_are_one_line(tmp_path, words, says, capsys):
    assert record_command.main([str(tmp_path / 'a.mcap'), *words]) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
