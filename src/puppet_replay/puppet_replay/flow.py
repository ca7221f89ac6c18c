# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How many frames are on their way between the nodes, so that a player does not overrun them (no ROS).

Nodes keep 20 messages of a stream; a player that is faster than the slowest of them would lose
frames. Stamps tell which frame a message is of.

"""

from collections.abc import Sequence

WINDOW = 10  # frames between two nodes; half of what they keep
FORGET = 4096  # stamps that are remembered


class Flow:
    """
    The frames between the topics of a chain.

    Parameters
    ----------
    chain : sequence of str
        Topics in the order of the data; the first one is what is sent.
    may_swallow : collection of str
        Topics whose node gives nothing until it is ready, such as a performer that is not
        calibrated: what is before it may come to nothing as long as nothing has come out.

    """

    def __init__(self, chain: Sequence[str], may_swallow: Sequence[str] = ()) -> None:
        self.counts = dict.fromkeys(chain, 0)
        """Messages of each topic."""
        self._chain = tuple(chain)
        self._may_swallow = frozenset(may_swallow)
        self._numbers: dict[int, int] = {}
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._given_up: set[str] = set()

    def sent(self, stamp_ns: int) -> None:
        """Take note of a frame that is sent."""
        number = self.counts[self._chain[0]]
        self._numbers[stamp_ns] = number
        if len(self._numbers) > FORGET:
            del self._numbers[next(iter(self._numbers))]
        self._note(self._chain[0], number)

    def seen(self, topic: str, stamp_ns: int) -> None:
        """Take note of a message of a later topic."""
        number = self._numbers.get(stamp_ns)
        if number is not None:
            self._note(topic, number)
            self._given_up.discard(topic)

    def waiting(self, topic: str) -> int:
        """Return how many frames are before the node that publishes a topic."""
        before = self._chain[self._chain.index(topic) - 1]
        if before not in self._last:
            return 0
        if topic not in self._last:
            if topic in self._may_swallow:
                return 0
            return self._last[before] - self._first[before] + 1
        return self._last[before] - self._last[topic]

    def crowded(self, window: int = WINDOW) -> list[str]:
        """Return the topics whose node has too many frames before it."""
        return [topic for topic in self._chain[1:]
                if topic not in self._given_up and self.waiting(topic) >= window]

    def give_up(self, topic: str) -> None:
        """No longer wait for a node, until it is heard of again."""
        self._given_up.add(topic)

    def _note(self, topic: str, number: int) -> None:
        self.counts[topic] += 1
        self._first.setdefault(topic, number)
        self._last[topic] = max(number, self._last.get(topic, 0))
