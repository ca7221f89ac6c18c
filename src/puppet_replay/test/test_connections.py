# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether nodes have found each other: told by themselves, and waited for if not."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_replay.play import Connections, fits  # noqa: E402,I100
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.diagnostics import Diagnostics  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from std_msgs.msg import String  # noqa: E402

pytestmark = pytest.mark.ros

TOPIC = '/frames'


class Graph:
    """A node that gives, one that takes, and one that looks on."""

    def __init__(self, context: Any) -> None:
        self.giver, self.taker, self.player = (
            Node(name, context=context) for name in ('giver', 'taker', 'player')
        )
        self.publisher = self.giver.create_publisher(String, TOPIC, qos.STREAM)
        self.subscription = self.taker.create_subscription(String, TOPIC, print, qos.STREAM)
        self.connections = Connections(self.player)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.giver)
        self.executor.add_node(self.taker)

    def missing(self) -> str:
        """Return what is missing."""
        return self.connections.missing([TOPIC])

    def is_silent(self) -> bool:
        """Return whether what was missing is something that nobody has spoken of."""
        return self.connections.are_silent

    def until(self, condition: Callable[[], Any]) -> None:
        """Spin giver and taker until a condition holds."""
        assert spin_until(self.executor, condition)


@pytest.fixture
def graph() -> Iterator[Graph]:
    """Yield the nodes."""
    with isolated_context() as context:
        yield Graph(context)


def test_nodes_that_say_how_they_are_connected_are_waited_for(graph: Graph) -> None:
    graph.until(lambda: graph.missing() == f'{TOPIC} of giver')
    assert graph.is_silent()
    diagnostics = [Diagnostics(graph.giver), Diagnostics(graph.taker)]
    graph.until(lambda: not graph.missing())
    assert not graph.is_silent() and diagnostics


def test_a_subscriber_that_comes_later_is_waited_for_too(graph: Graph) -> None:
    """Until its publisher says that it has found it."""
    diagnostics = Diagnostics(graph.giver)
    graph.until(lambda: not graph.missing())
    late = graph.taker.create_subscription(String, TOPIC, print, qos.STREAM)
    graph.until(lambda: graph.missing() == f'all subscribers of {TOPIC} at giver')
    graph.until(lambda: not graph.missing())
    assert late and diagnostics


def test_a_subscriber_that_cannot_hear_is_not_waited_for(graph: Graph) -> None:
    """A reliable one hears no publisher that is not."""
    deaf = graph.taker.create_subscription(String, TOPIC, print, 10)
    assert not fits(graph.publisher.qos_profile, deaf.qos_profile)
    diagnostics = Diagnostics(graph.giver)
    graph.until(lambda: len(graph.player.get_subscriptions_info_by_topic(TOPIC)) == 2)
    graph.until(lambda: not graph.missing())
    assert diagnostics and graph.publisher.get_subscription_count() == 1
