# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Pairs of messages of two topics that carry the same stamp (no ROS in here).

Both topics are ordered in time and the second is computed from the first, so a stamp that
was passed over will not be paired any more: it is dropped and counted. What waits is bounded, by
what came after it: a partner that died costs no memory, and what came last may be kept in a ring.
"""

from itertools import takewhile
from typing import Any, Generic, TypeVar

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
        self.capacity = capacity  # most messages of one side that wait
        # of both sides: by stamp, in the order in which they came, their numbers, and they
        self._waiting: tuple[dict[int, tuple[int, Any]], ...] = ({}, {})
        self._n_came = [0, 0]
        self._unmatched = [0, 0]

    def push_left(self, stamp_ns: int, item: Left) -> tuple[Left, Right] | None:
        """Take a message of the first topic; return the pair if its partner was here."""
        found = self._push(0, stamp_ns, item)
        return None if found is None else (item, found[1])

    def push_right(self, stamp_ns: int, item: Right) -> tuple[Left, Right] | None:
        """Take a message of the second topic; return the pair if its partner was here."""
        found = self._push(1, stamp_ns, item)
        return None if found is None else (found[1], item)

    @property
    def unmatched_left(self) -> int:
        """Messages of the first topic dropped without a partner."""
        return self._unmatched[0]

    @property
    def unmatched_right(self) -> int:
        """Messages of the second topic dropped without a partner."""
        return self._unmatched[1]

    @property
    def n_waiting(self) -> int:
        """Messages of both sides that wait."""
        return sum(map(len, self._waiting))

    def reset(self) -> None:
        """Forget what waits, without counting it."""
        for waiting in self._waiting:
            waiting.clear()

    def _push(self, side: int, stamp_ns: int, item: Any) -> tuple[int, Any] | None:
        """Return number and message of the partner if it was here; else the message waits."""
        own, other = self._waiting[side], self._waiting[1 - side]
        self._n_came[side] += 1
        self._unmatched[side] += _drop_old(own, self._n_came[side] - self.capacity)
        partner = other.get(stamp_ns)
        repeated = own.pop(stamp_ns, None) is not None
        if partner is None:
            self._unmatched[side] += repeated
            own[stamp_ns] = self._n_came[side], item
        else:
            for k, waiting in enumerate(self._waiting):
                self._unmatched[k] += _drop_until(waiting, stamp_ns)
        return partner


def _drop_old(waiting: dict, last_number: int) -> int:
    """Remove all up to a number, whatever their stamps are; return how many were lost."""
    lost = [stamp for stamp, (number, _) in waiting.items() if number <= last_number]
    for stamp in lost:
        del waiting[stamp]
    return len(lost)


def _drop_until(waiting: dict, stamp_ns: int) -> int:
    """Remove the pair's own entry and all that came in before it; return how many were lost."""
    if stamp_ns in waiting:
        lost = list(takewhile(lambda stamp: stamp != stamp_ns, waiting))
        del waiting[stamp_ns]
    else:
        lost = [stamp for stamp in waiting if stamp < stamp_ns]
    for stamp in lost:
        del waiting[stamp]
    return len(lost)
