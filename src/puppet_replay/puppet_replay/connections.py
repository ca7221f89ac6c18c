# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether the nodes of the graph are connected to each other, as their diagnostics say.

The graph tells which publishers and subscriptions there are; that each of two has found the other
is known to these two alone. A message that is sent before is lost. A node that says nothing about
its connections, as one of another project, is judged by what the others say.

"""

from collections.abc import Collection

from diagnostic_msgs.msg import DiagnosticArray
from puppet_ros.diagnostics import DIAGNOSTICS_TOPIC, READERS, WRITERS
from rclpy.node import Node
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile


class Connections:
    """
    What the nodes say about their connections.

    Parameters
    ----------
    node : Node
        Which listens; it is polled, not spun.

    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._said: dict[str, dict[str, int]] = {}  # node -> key -> connections
        self._subscription = node.create_subscription(
            DiagnosticArray, DIAGNOSTICS_TOPIC, _ignore, 10
        )
        self.are_silent = False
        """Whether what was missing last is something that a node has not spoken of at all."""

    def missing(self, topics: Collection[str]) -> str:
        """Return a connection of the publishers of these topics that is missing, '' if none is."""
        self._listen()
        unseen = ''
        for topic in topics:
            offers = self._node.get_publishers_info_by_topic(topic)
            wishes = self._node.get_subscriptions_info_by_topic(topic)
            for offer in offers:
                heard_by = sum(fits(offer.qos_profile, wish.qos_profile) for wish in wishes)
                said = self._said.get(offer.node_name, {}).get(READERS + topic)
                if said is None:
                    unseen = unseen or f'{topic} of {offer.node_name}'
                elif said < heard_by:
                    self.are_silent = False
                    return f'all subscribers of {topic} at {offer.node_name}'
            for wish in wishes:
                hears = sum(fits(offer.qos_profile, wish.qos_profile) for offer in offers)
                if self._said.get(wish.node_name, {}).get(WRITERS + topic, hears) < hears:
                    self.are_silent = False
                    return f'{topic} at {wish.node_name}'
        self.are_silent = bool(unseen)
        return unseen

    def _listen(self) -> None:
        handle, kind = self._subscription.handle, self._subscription.msg_type
        with handle:
            while (taken := handle.take_message(kind, False)) is not None:
                for status in taken[0].status:
                    counts = {item.key: int(item.value) for item in status.values
                              if item.key.startswith((READERS, WRITERS))}  # fmt: skip
                    if counts:
                        self._said[status.name.partition(':')[0].rpartition('/')[2]] = counts


def fits(offer: QoSProfile, wish: QoSProfile) -> bool:
    """Return whether a subscription can hear a publisher."""
    return qos_check_compatible(offer, wish)[0] != QoSCompatibility.ERROR


def _ignore(message: DiagnosticArray) -> None:
    """Stand where a callback must."""
