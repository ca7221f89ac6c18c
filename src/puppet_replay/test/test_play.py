# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The player: which topics, with which QoS, to whom it is connected, how far it runs ahead."""

from puppet_replay.play import Connections, DEFAULT_DEPTH, fits, Flow, profile_of, WINDOW
from puppet_replay.topics import ENTRIES, live_topics, played_topics
from puppet_ros.bags import BagTopic, metadata_file_of, qos_text
from puppet_ros.interface_table import TF, TF_STATIC, TYPES
from puppet_ros.node import qos
from puppet_ros.node.diagnostics import Diagnostics
from puppet_ros.testing import isolated_context, spin_until
import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

pytestmark = pytest.mark.ros

CHAIN = ('/a', '/b', '/c')
TOPIC = '/frames'


@pytest.mark.parametrize('entry', ENTRIES)
def test_the_place_of_the_tracker_is_played_and_what_is_live_is_not(entry):
    recorded = sorted({*TYPES, TF, TF_STATIC, '/clock', '/camera/image'})
    played = played_topics(recorded, entry)
    assert {TF_STATIC, entry, '/camera/image'} <= set(played)
    assert set(played) & (live_topics(entry) | {TF, '/clock'}) <= {TF_STATIC}


@pytest.mark.parametrize('profile', [qos.STREAM, qos.LATCHED, qos.JOINT_STATES])
def test_qos_survives_the_text(profile):
    assert profile_of(qos_text([profile])) == profile


def test_old_numbers_are_qos_too():
    text = '- {history: 3, depth: 0, reliability: 1, durability: 1}'
    found = profile_of(text)
    assert (found.durability, found.depth) == (qos.LATCHED.durability, DEFAULT_DEPTH)


@pytest.mark.parametrize(
    'text',
    ['2001-99-99', '[' * 9999, '- {depth: true}', '- 5', '%', '!!int ""', '"\\UFFFFFFFF"'],
    ids=['date', 'deep', 'truth', 'number', 'directive', 'tag', 'escape'],
)
def test_a_damaged_text_of_qos_gives_the_default(text):
    assert profile_of(text) == profile_of('')


@pytest.mark.parametrize('level', ['[{}]', '{{<<: [{}]}}'], ids=['lists', 'merge keys'])
def test_qos_with_nested_aliases_costs_nothing(level):
    """Nine levels of nine stand for 400 million values, and no writer of bags has any."""
    lines = ['- &a0 {depth: 7}']
    lines += [f'- &a{i} ' + level.format(', '.join([f'*a{i - 1}'] * 9)) for i in range(1, 10)]
    text = '\n'.join(lines)
    assert profile_of(text) == profile_of('')
    found = metadata_file_of([BagTopic('/a', 'a_msgs/msg/A', text, '', 1)], 0, 1, 'a.mcap')
    assert 'offered_qos_profiles: []' in found


def test_frames_between_all_nodes_count_together():
    flow = Flow(CHAIN)
    for i in range(WINDOW - 1):
        flow.sent(i)
    assert not flow.crowded()
    flow.sent(WINDOW)
    assert flow.crowded() == ['/b']
    flow.seen('/b', 3)
    assert flow.waiting('/b') == WINDOW - 4 and flow.waiting('/c') == 1
    flow.seen('/c', 3)
    assert not flow.crowded()


def test_a_node_that_gives_nothing_yet_can_say_how_far_it_is():
    flow = Flow(CHAIN)
    for i in range(WINDOW):
        flow.sent(i)
        flow.seen('/b', i)
    assert flow.crowded() == ['/c']
    flow.acknowledge('/c', flow.newest('/b'))
    assert not flow.crowded() and flow.waiting('/c') == 0


def test_lost_frames_are_not_waited_for_once_a_later_one_came():
    flow = Flow(CHAIN)
    for i in range(WINDOW):
        flow.sent(i)
    flow.seen('/b', WINDOW - 1)
    flow.seen('/c', WINDOW - 1)
    assert not flow.crowded(1)


def test_a_dead_node_is_given_up_until_it_is_heard_of():
    flow = Flow(CHAIN)
    for i in range(WINDOW):
        flow.sent(i)
    flow.give_up('/b')
    assert not flow.crowded()
    flow.seen('/b', 0)
    flow.sent(WINDOW)
    assert '/b' in flow.crowded()


class Graph:
    """A node that gives, one that takes, and one that looks on."""

    def __init__(self, context):
        self.giver, self.taker, self.player = (
            Node(name, context=context) for name in ('giver', 'taker', 'player')
        )
        self.publisher = self.giver.create_publisher(String, TOPIC, qos.STREAM)
        self.subscription = self.taker.create_subscription(String, TOPIC, print, qos.STREAM)
        self.connections = Connections(self.player)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.giver)
        self.executor.add_node(self.taker)

    def missing(self):
        return self.connections.missing([TOPIC])

    def is_silent(self):
        return self.connections.are_silent

    def until(self, condition):
        assert spin_until(self.executor, condition)


@pytest.fixture
def graph():
    with isolated_context() as context:
        yield Graph(context)


def test_nodes_that_say_how_they_are_connected_are_waited_for(graph):
    graph.until(lambda: graph.missing() == f'{TOPIC} of giver')
    assert graph.is_silent()
    diagnostics = [Diagnostics(graph.giver), Diagnostics(graph.taker)]
    graph.until(lambda: not graph.missing())
    assert not graph.is_silent() and diagnostics


def test_a_subscriber_that_comes_later_is_waited_for_too(graph):
    """Until its publisher says that it has found it."""
    diagnostics = Diagnostics(graph.giver)
    graph.until(lambda: not graph.missing())
    late = graph.taker.create_subscription(String, TOPIC, print, qos.STREAM)
    graph.until(lambda: graph.missing() == f'all subscribers of {TOPIC} at giver')
    graph.until(lambda: not graph.missing())
    assert late and diagnostics


def test_a_subscriber_that_cannot_hear_is_not_waited_for(graph):
    """A reliable one hears no publisher that is not."""
    deaf = graph.taker.create_subscription(String, TOPIC, print, 10)
    assert not fits(graph.publisher.qos_profile, deaf.qos_profile)
    diagnostics = Diagnostics(graph.giver)
    graph.until(lambda: len(graph.player.get_subscriptions_info_by_topic(TOPIC)) == 2)
    graph.until(lambda: not graph.missing())
    assert diagnostics and graph.publisher.get_subscription_count() == 1
