# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which message of one bag belongs to which of the other.

Messages with a header are joined on its stamp, in the order of their coming where a stamp comes
again; transforms on the stamp and on whose they are. What is left then is joined on frame_index,
or, if all of it is shifted by about the same time, in its order: a difference of the stamps.
Messages without a header are joined by their number.

"""

from collections.abc import Callable
import struct
import tempfile
from typing import NamedTuple

import numpy as np
from puppet_replay.compare_channels import TF_TYPE
from puppet_replay.compare_layout import Definitions, HEADER_BYTES, LayoutCache, LITTLE_ENDIAN

NS_PER_S = 1_000_000_000
MEMORY_BYTES = 128_000_000  # of messages that wait for their counterpart; more wait on disk
HEADER_TYPE = 'std_msgs/msg/Header'
INDEX_FIELD = 'frame_index'
A, B = 0, 1
Key = tuple[int, int]


class Message(NamedTuple):
    """A message that waits for its counterpart, or has found it."""

    stamp_ns: int
    """Of its header; its log time if it has none."""

    frame_index: int
    """Its frame_index; its number if it has none."""

    data: bytes
    """As in the bag."""

    number: int = 0
    """Its place among those of its topic."""


class _Waiting(NamedTuple):
    """A message that may be on disk."""

    stamp_ns: int
    frame_index: int
    data: bytes | None
    offset: int
    length: int
    number: int


class Spool:
    """Keeps messages in memory, and in a temporary file what would be too much."""

    def __init__(self, limit_bytes: int = MEMORY_BYTES) -> None:
        self._limit = limit_bytes
        self._held = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._end = 0

    def keep(self, message: Message) -> _Waiting:
        """Return what `take` makes the message from."""
        stamp, index, data, number = message
        if self._held + len(data) <= self._limit:
            self._held += len(data)
            return _Waiting(stamp, index, data, 0, len(data), number)
        self._file.seek(self._end)
        self._file.write(data)
        offset, self._end = self._end, self._end + len(data)
        return _Waiting(stamp, index, None, offset, len(data), number)

    def take(self, waiting: _Waiting) -> Message:
        """Return the message, once."""
        data = waiting.data
        if data is not None:
            self._held -= waiting.length
        else:
            self._file.seek(waiting.offset)
            data = self._file.read(waiting.length)
        return Message(waiting.stamp_ns, waiting.frame_index, data, waiting.number)

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()


class KeyReader:
    """Reads of one topic's messages what they are joined by."""

    def __init__(self, definitions: Definitions, type_name: str, cache: LayoutCache) -> None:
        fields = definitions[type_name][1] if type_name in definitions else []
        types = [node[1] for _, node in fields]
        self.has_stamp = bool(types) and types[0] == HEADER_TYPE
        self.has_index = self.has_stamp and [name for name, _ in fields[1:2]] == [INDEX_FIELD]
        self.is_transforms = type_name == TF_TYPE
        self.is_stamped = self.has_stamp or self.is_transforms
        self._cache = cache
        self._count = -1

    def read(self, data: bytes) -> tuple[Key, int]:
        """Return the key and the index of a message."""
        self._count += 1
        if not self.is_stamped or len(data) < 20:
            return (self._count, 0), self._count
        order = '<' if data[1] == LITTLE_ENDIAN else '>'
        if self.is_transforms:
            seconds, rest = struct.unpack_from(order + 'iI', data, HEADER_BYTES + 4)
            layout = self._cache.layout(data)
            texts = np.frombuffer(data, np.uint8)[layout.shape_bytes].tobytes()
            return (seconds * NS_PER_S + rest, hash(texts)), self._count
        seconds, rest, length = struct.unpack_from(order + 'iII', data, HEADER_BYTES)
        stamp = seconds * NS_PER_S + rest
        if not self.has_index:
            return (stamp, 0), self._count
        at = HEADER_BYTES + (12 + length + 7) // 8 * 8
        if at + 8 > len(data):
            return (stamp, 0), self._count
        return (stamp, 0), int(struct.unpack_from(order + 'Q', data, at)[0])


class Join:
    """
    The messages of one topic of two bags, two by two.

    Parameters
    ----------
    spool : Spool
        Where messages wait.
    emit : callable
        Takes a message of A and its counterpart of B.

    """

    def __init__(self, spool: Spool, emit: Callable[[Message, Message], None]) -> None:
        self._spool = spool
        self._emit = emit
        self._waiting: dict[Key, tuple[int, list[_Waiting]]] = {}

    def add(self, side: int, key: Key, message: Message) -> None:
        """Take the next message of one bag."""
        found = self._waiting.get(key)
        if found is None:
            self._waiting[key] = (side, [self._spool.keep(message)])
        elif found[0] == side:
            found[1].append(self._spool.keep(message))
        else:
            other = self._spool.take(found[1].pop(0))
            if not found[1]:
                del self._waiting[key]
            self._put(side, message, other)

    def finish(self, has_index: bool) -> tuple[list[Key], list[Key]]:
        """
        Join what is left as well as it can be.

        Returns
        -------
        missing, extra : list of (stamp_ns, index)
            What has no counterpart: messages of A, of B, in the order of their stamps.

        """
        left: tuple[list[_Waiting], list[_Waiting]] = ([], [])
        for side, waiting in self._waiting.values():
            left[side].extend(waiting)
        self._waiting.clear()
        for one in left:
            one.sort(key=lambda waiting: waiting[:2])
        pairs = _by_index(*left) if has_index else _by_stamp_alone(*left)
        pairs = pairs or _by_shift(*left)
        for i, k in pairs:
            self._emit(self._spool.take(left[A][i]), self._spool.take(left[B][k]))
        return _others(left[A], {i for i, _ in pairs}), _others(left[B], {k for _, k in pairs})

    def _put(self, side: int, message: Message, other: Message) -> None:
        if side == A:
            self._emit(message, other)
        else:
            self._emit(other, message)


def _others(left: list[_Waiting], joined: set[int]) -> list[Key]:
    return [(w.stamp_ns, w.frame_index) for i, w in enumerate(left) if i not in joined]


def _by_index(a: list[_Waiting], b: list[_Waiting]) -> list[tuple[int, int]]:
    places = {waiting.frame_index: k for k, waiting in enumerate(b)}
    if len(places) < len(b) or len({waiting.frame_index for waiting in a}) < len(a):
        return []  # a counter that began anew
    return [(i, places[w.frame_index]) for i, w in enumerate(a) if w.frame_index in places]


def _by_stamp_alone(a: list[_Waiting], b: list[_Waiting]) -> list[tuple[int, int]]:
    """Return those of equal stamp, such as transforms of other frames."""
    places: dict[int, list[int]] = {}
    for k, waiting in enumerate(b):
        places.setdefault(waiting.stamp_ns, []).append(k)
    found = [(i, places.get(w.stamp_ns)) for i, w in enumerate(a)]
    return [(i, ks.pop(0)) for i, ks in found if ks]


def _by_shift(a: list[_Waiting], b: list[_Waiting]) -> list[tuple[int, int]]:
    """Return all, in their order, if their stamps differ by less than their distance varies."""
    if len(a) != len(b) or len(a) < 2:
        return []
    stamps = [np.array([waiting.stamp_ns for waiting in side]) for side in (a, b)]
    period = float(np.median(np.diff(stamps[0])))
    if np.ptp(stamps[1] - stamps[0]) > 0.5 * period:
        return []
    return [(i, i) for i in range(len(a))]
