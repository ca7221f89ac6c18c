# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How many frames are on their way between the nodes, for a player not to overrun them (no ROS).

Nodes keep 20 messages of a stream; a player that is faster than the slowest of them would lose
frames. Stamps tell which frame a message is of.

"""

from collections.abc import Sequence

WINDOW = 10  # frames on their way; half of what a node keeps
FORGET = 4096  # stamps that are remembered


class Flow:
    """
    The frames between the topics of a chain.

    Parameters
    ----------
    chain : sequence of str
        Topics in the order of the data; the first one is what is sent.

    A node that gives nothing until it is ready, such as a performer that is not calibrated, has to
    be asked now and then how far it is; see `acknowledge`.

    """

    def __init__(self, chain: Sequence[str]) -> None:
        self.counts = dict.fromkeys(chain, 0)
        """Messages of each topic."""
        self._chain = tuple(chain)
        self._numbers: dict[int, int] = {}
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._done: dict[str, int] = {}
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

    def newest(self, topic: str) -> int:
        """Return the number of the newest frame that was seen on a topic, -1 for none."""
        return self._last.get(topic, -1)

    def acknowledge(self, topic: str, number: int) -> None:
        """Take note that the node of a topic is done with all frames up to this number."""
        self._done[topic] = max(number, self._done.get(topic, -1))
        self._given_up.discard(topic)

    def waiting(self, topic: str) -> int:
        """Return how many frames are before the node that publishes a topic."""
        before = self._chain[self._chain.index(topic) - 1]
        if before not in self._last:
            return 0
        done = max(self._last.get(topic, -1), self._done.get(topic, -1))
        return self._last[before] - max(done, self._first[before] - 1)

    def crowded(self, window: int = WINDOW) -> list[str]:
        """
        Return the topics whose nodes are to be waited for, the slowest one first.

        All frames on their way count together: a node that joins two topics keeps those of the
        first one while the second is made.

        """
        waiting = {topic: self.waiting(topic) for topic in self._chain[1:]
                   if topic not in self._given_up}
        if sum(waiting.values()) < window:
            return []
        return sorted((t for t in waiting if waiting[t]), key=lambda t: -waiting[t])

    def give_up(self, topic: str) -> None:
        """No longer wait for a node, until it is heard of again."""
        self._given_up.add(topic)

    def _note(self, topic: str, number: int) -> None:
        self.counts[topic] += 1
        self._first.setdefault(topic, number)
        self._last[topic] = max(number, self._last.get(topic, 0))
