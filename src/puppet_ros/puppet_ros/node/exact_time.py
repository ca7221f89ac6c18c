# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Pairs of messages of two topics that carry the same stamp (no ROS in here).

Both topics are ordered in time and the second is computed from the first, so a stamp that
was passed over will not be paired any more: it is dropped and counted. What waits is bounded, by
what came after it: a partner that died costs no memory, and what came last may be kept in a ring.

"""

from typing import Generic, TypeVar

Left = TypeVar('Left')
Right = TypeVar('Right')


class ExactTimeSynchronizer(Generic[Left, Right]):
    """
    Join two streams on equal stamps.

    A message waits for its partner until `capacity` messages of its topic, itself counted, came.
    """

    def __init__(self, capacity: int = 32) -> None:
        if capacity < 1:
            raise ValueError(f'capacity: expected value >= 1, got {capacity}')
        self.capacity = capacity
        """Most messages of one side that wait."""
        # by stamp, in the order in which they came: their numbers, and they
        self._left: dict[int, tuple[int, Left]] = {}
        self._right: dict[int, tuple[int, Right]] = {}
        self._n_left = self._n_right = 0
        self.unmatched_left = 0
        """Messages of the first topic dropped without a partner."""
        self.unmatched_right = 0
        """Messages of the second topic dropped without a partner."""

    def push_left(self, stamp_ns: int, item: Left) -> tuple[Left, Right] | None:
        """Take a message of the first topic; return the pair if its partner was here."""
        self._n_left += 1
        self.unmatched_left += _drop_old(self._left, self._n_left - self.capacity)
        if stamp_ns in self._right:
            _, partner = self._right[stamp_ns]
            self._left.pop(stamp_ns, None)
            self._forget_until(stamp_ns)
            return item, partner
        self.unmatched_left += self._left.pop(stamp_ns, None) is not None
        self._left[stamp_ns] = self._n_left, item
        return None

    def push_right(self, stamp_ns: int, item: Right) -> tuple[Left, Right] | None:
        """Take a message of the second topic; return the pair if its partner was here."""
        self._n_right += 1
        self.unmatched_right += _drop_old(self._right, self._n_right - self.capacity)
        if stamp_ns in self._left:
            _, partner = self._left[stamp_ns]
            self._right.pop(stamp_ns, None)
            self._forget_until(stamp_ns)
            return partner, item
        self.unmatched_right += self._right.pop(stamp_ns, None) is not None
        self._right[stamp_ns] = self._n_right, item
        return None

    @property
    def n_waiting(self) -> int:
        """Messages of both sides that wait."""
        return len(self._left) + len(self._right)

    def reset(self) -> None:
        """Forget what waits, without counting it."""
        self._left.clear()
        self._right.clear()

    def _forget_until(self, stamp_ns: int) -> None:
        self.unmatched_left += _drop_until(self._left, stamp_ns)
        self.unmatched_right += _drop_until(self._right, stamp_ns)


def _drop_old(waiting: dict, last_number: int) -> int:
    """Remove all up to a number, whatever their stamps are; return how many were lost."""
    lost = 0
    while waiting and next(iter(waiting.values()))[0] <= last_number:
        del waiting[next(iter(waiting))]
        lost += 1
    return lost


def _drop_until(waiting: dict, stamp_ns: int) -> int:
    """Remove the pair's own entry and all that came in before it; return how many were lost."""
    if not waiting:
        return 0
    if stamp_ns not in waiting:
        earlier = [stamp for stamp in waiting if stamp < stamp_ns]
        for stamp in earlier:
            del waiting[stamp]
        return len(earlier)
    lost = 0
    for stamp in tuple(waiting):
        del waiting[stamp]
        if stamp == stamp_ns:
            break
        lost += 1
    return lost
