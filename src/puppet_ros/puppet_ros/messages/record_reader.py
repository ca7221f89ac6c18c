# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Records from the bytes of a stream's messages, while their texts and lengths stay as they are.

The numbers are at the same places in every frame. So one look tells stamp, frame index and whether
all texts and lengths are those of the frame before, and a frame is one copy of its bytes and one
of what has to be contiguous, into arrays that are kept. A process that has slept since the frame
before finds none of its code in the caches: what takes 3 us in a loop takes 40 us then.

"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
import struct
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from puppet_ros.messages import raw_header
from puppet_ros.messages.cdr import CdrLayout, decoded, ENCAPSULATION
from puppet_ros.messages.flat_array import STAMP_UNIT_NS
from puppet_ros.messages.kept_message import Arrays, BytesTarget

PLAIN = bytes([0, 1, 0, 0])  # CDR of the little-endian order, without options
NO_HEAD = raw_header.Head(0, 0)
# Bytes that ROS may leave behind, for numbers that empty sequences could have had. The only limit
# to the size of a message of a known form.
MOST_LEFT = 16
Record = TypeVar('Record')


class Form:
    """
    Texts and lengths of messages that begin with a header and a frame index.

    Parameters
    ----------
    layout : CdrLayout
        The places of such a message.
    data : bytes
        Its bytes.

    """

    def __init__(self, layout: CdrLayout, data: bytes) -> None:
        spans = [(start, stop, f'{stop - start}s') for start, stop in _joined(layout.fixed)]
        spans.append((ENCAPSULATION, ENCAPSULATION + 8, 'iI'))
        spans += [(p.start, p.stop, 'Q') for p in layout.numbers if p.path == 'frame_index']
        text, end = '<', 0
        for start, stop, code in sorted(spans):
            text += f'{start - end}x{code}'
            end = stop
        self._unpack = struct.Struct(text).unpack_from
        self._size = layout.size
        _, _, _, self._frame_id, _, *self._texts = self._unpack(data)

    def head(self, data: bytes) -> raw_header.Head | None:
        """Return stamp and frame index of a message of this form, None for any other."""
        if not 0 <= len(data) - self._size < MOST_LEFT:
            return None
        kind, seconds, nanoseconds, frame_id, index, *texts = self._unpack(data)
        if (
            texts != self._texts
            or frame_id != self._frame_id
            or kind != PLAIN
            or seconds < 0
            or nanoseconds >= STAMP_UNIT_NS
        ):
            return None
        return raw_header.Head(seconds * STAMP_UNIT_NS + nanoseconds, index)


class Fields:
    """
    The arrays of messages of one form.

    Parameters
    ----------
    layout : CdrLayout
        Their places.
    target : BytesTarget
        The bytes of the last message.

    """

    def __init__(self, layout: CdrLayout, target: BytesTarget) -> None:
        self.arrays: Arrays = target.views
        """Views on the last message."""
        self.places: dict[str, NDArray[np.intp]] = {
            p.path: (p.start - ENCAPSULATION) // 8 + np.arange((p.stop - p.start) // 8)
            for p in layout.arrays
            if p.code == 'd'
        }
        """Where each number of the arrays of float64 stands, for `kept`."""
        self._target = target
        self._taken = np.empty(0, np.intp)
        self._block = np.empty(0)

    def kept(self, *places: NDArray[np.intp]) -> list[NDArray[np.float64]]:
        """Return contiguous arrays that each `take` fills with these places' numbers; once."""
        assert not len(self._taken)
        self._taken = np.concatenate([rows.ravel() for rows in places])
        self._block = np.empty(len(self._taken))
        ends = np.cumsum([rows.size for rows in places])
        parts = np.split(self._block, ends[:-1])
        return [part.reshape(rows.shape) for part, rows in zip(parts, places)]

    def take(self, data: bytes) -> None:
        """Take the bytes of a message of this form."""
        self._target.load(data)
        if len(self._taken):
            self._target.doubles.take(self._taken, out=self._block, mode='clip')


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of bytes in order, touching ones as one: texts follow their lengths."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if found and found[-1][1] == start:
            start = found.pop()[0]
        found.append((start, stop))
    return found


class _Known(NamedTuple):
    """What a reader knows of messages of one form."""

    form: Form
    fields: Fields
    target: BytesTarget
    parts: tuple[Any, ...]


class RecordReader(ABC, Generic[Record]):
    """The reader of one stream; what it returns is overwritten when the next message is taken."""

    kind: type
    """Class of the messages, which begin with a header and a frame index."""

    def __init__(self) -> None:
        self.frame_id = ''
        """Of the last message that was taken."""
        self._known: _Known | None = None  # of the last message that was read by its fields
        self._looked: tuple[bytes, raw_header.Head, _Known | None] = b'', NO_HEAD, None

    def read(self, data: bytes) -> Record:
        """Return the record of a message; raise as `look` and `take` do."""
        self.look(data)
        return self.take()

    def look(self, data: bytes) -> raw_header.Head:
        """
        Return stamp and frame index of a message, and remember it.

        Raises
        ------
        MessageError : if the bytes have none.

        """
        known = self._known
        head = known.form.head(data) if known is not None else None
        if head is None:
            known, head = None, raw_header.head(data)
        self._looked = data, head, known
        return head

    def take(self) -> Record:
        """
        Return the record of the message that was passed to `look` last.

        Raises
        ------
        MessageError : if the bytes are no such message, or its arrays do not fit each other.

        """
        data, head, known = self._looked
        if known is None:
            return self._begin(data)
        known.fields.take(data)
        return self._record(head, known.target, known.parts)

    def _begin(self, data: bytes) -> Record:
        """Take a message of another form."""
        msg = decoded(data, self.kind)
        record = self._first(msg)
        self.frame_id = msg.header.frame_id
        self._known = None
        layout = CdrLayout(msg)
        if data[:ENCAPSULATION] == PLAIN and layout.holds(msg, data):
            target = BytesTarget(msg, lambda arrays: arrays, data, layout)
            fields = Fields(layout, target)
            parts = self._lay_out(fields, record)
            self._known = _Known(Form(layout, data), fields, target, parts)
        return record

    @abstractmethod
    def _first(self, msg: Any) -> Record:
        """Return the record of a message by its fields; raise as `read` does."""

    @abstractmethod
    def _lay_out(self, fields: Fields, record: Record) -> tuple[Any, ...]:
        """Return what records of messages like that of a record are made of besides the head."""

    @abstractmethod
    def _record(self, head: raw_header.Head, target: BytesTarget, parts: Any) -> Record:
        """Return a record of these parts."""
