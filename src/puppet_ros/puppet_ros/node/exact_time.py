# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of messages of two topics that carry the same stamp (no ROS in here)."""

from typing import Any, Generic, TypeVar

Left = TypeVar('Left')
Right = TypeVar('Right')


class ExactTimeSynchronizer(Generic[Left, Right]):
    """Join two streams on equal stamps; of each, up to `capacity` messages wait for partners."""

    def __init__(self, capacity: int = 32) -> None:
        self.unmatched = [0, 0]
        """Messages of each topic dropped without a partner."""
        self._capacity = capacity
        # of both sides, by stamp, in the order in which they came
        self._waiting: tuple[dict[int, Any], dict[int, Any]] = ({}, {})

    def push_left(self, stamp_ns: int, item: Left) -> tuple[Left, Right] | None:
        """Take a message of the first topic; return the pair if its partner was here."""
        found = self._push(0, stamp_ns, item)
        return None if found is None else (item, found[0])

    def push_right(self, stamp_ns: int, item: Right) -> tuple[Left, Right] | None:
        """Take a message of the second topic; return the pair if its partner was here."""
        found = self._push(1, stamp_ns, item)
        return None if found is None else (found[0], item)

    def _push(self, side: int, stamp_ns: int, item: Any) -> tuple[Any] | None:
        """Return the partner if it was here; else the message waits."""
        own, other = self._waiting[side], self._waiting[1 - side]
        if stamp_ns in other:
            partner = other.pop(stamp_ns)
            for k, waiting in enumerate(self._waiting):
                for passed in [stamp for stamp in waiting if stamp <= stamp_ns]:
                    del waiting[passed]
                    self.unmatched[k] += 1
            return (partner,)
        self.unmatched[side] += own.pop(stamp_ns, None) is not None
        own[stamp_ns] = item
        if len(own) > self._capacity:
            del own[next(iter(own))]
            self.unmatched[side] += 1
        return None
