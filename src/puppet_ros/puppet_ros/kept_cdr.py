# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A kept message to its CDR bytes, while its texts and lengths stay as they are.

The streams of the suite are flat numbers whose places in the bytes are the same in every frame.
They are found once; then a frame is a few copies, 3 us instead of the 20 us that serialising a
message takes. Another text or length is seen, and the places are found anew. The bytes
between, which pad the numbers and which ROS leaves as they happen to be, are zeros here.

"""

from collections.abc import Callable
from operator import attrgetter
import struct
from typing import Any, NamedTuple

from puppet_ros.cdr_layout import CdrLayout, texts_of
from puppet_ros.flat_array import MessageError
from rclpy.serialization import deserialize_message, serialize_message


class _Number(NamedTuple):
    """A single number."""

    get: Callable[[Any], Any]
    layout: struct.Struct
    at: int


class _Numbers(NamedTuple):
    """The numbers of an array or sequence."""

    get: Callable[[Any], Any]
    start: int
    stop: int


class KeptCdr:
    """
    The bytes of one message that is filled again and again.

    Parameters
    ----------
    kind : type
        Class of the message, made of numbers, texts, lists of these and messages of them.

    """

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._data = bytearray()
        self._msg: Any = None
        self._numbers: list[_Number] = []
        self._arrays: list[_Numbers] = []
        self._texts: list[tuple[Callable[[Any], Any], Any]] = []
        self._size = 0
        # the arrays of the last message, and their bytes: a kept message keeps its arrays
        self._views: list[tuple[Any, memoryview]] = []

    def write(self, msg: Any) -> bytes:
        """Return the bytes of a message."""
        if self._msg is None or not self._has_same_texts(msg):
            self._learn(msg, serialize_message(msg))
        data = self._data
        for i, (get, start, stop) in enumerate(self._arrays):
            values = get(msg)
            known, view = self._views[i]
            if values is not known:
                view = memoryview(values).cast('B')
                if view.nbytes != stop - start:
                    return self._anew(msg)
                self._views[i] = values, view
            data[start:stop] = view
        for get, layout, at in self._numbers:
            layout.pack_into(data, at, get(msg))
        return bytes(data) if self._size == len(data) else bytes(data[:self._size])

    def _anew(self, msg: Any) -> bytes:
        self._msg = None
        return self.write(msg)

    def _has_same_texts(self, msg: Any) -> bool:
        for get, value in self._texts:  # all() costs as much as the rest
            if get(msg) != value:
                return False
        return True

    def _learn(self, msg: Any, data: bytes) -> None:
        """Find where everything stands in the bytes of a message."""
        layout = CdrLayout(msg)
        self._numbers = [
            _Number(attrgetter(p.path), struct.Struct(f'<{p.code}'), p.start)
            for p in layout.numbers
        ]
        self._arrays = [_Numbers(attrgetter(p.path), p.start, p.stop) for p in layout.arrays]
        paths = layout.texts
        self._texts = list(zip(map(attrgetter, paths), texts_of(msg, paths)))
        if not layout.holds(msg, data):
            self._msg, self._data = None, bytearray()
            raise MessageError(f'{self._kind.__name__}: expected plain CDR, got {len(data)} bytes')
        # ROS may leave bytes after the end, for numbers that empty sequences could have had
        self._msg, self._size = msg, layout.size
        self._views = [(None, memoryview(b''))] * len(self._arrays)
        self._data = bytearray(len(data))
        for start, stop in layout.fixed:  # texts and lengths
            self._data[start:stop] = data[start:stop]


def decoded(data: bytes, kind: type) -> Any:
    """
    Return a new message of these bytes.

    Raises
    ------
    MessageError : if they are not one.

    """
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, ValueError, MemoryError, OverflowError, SystemError) as err:
        problem = ' '.join(str(err).split()) or type(err).__name__
        raise MessageError(
            f'{kind.__name__}: expected its bytes, got {len(data)} others ({problem:.80})'
        ) from err
