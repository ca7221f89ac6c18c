# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where the numbers and texts of a message stand in its CDR bytes.

The places depend on the texts and on the lengths of the sequences only. Plain CDR as of DDS-XTYPES
1.3, 7.4.1: after four bytes of encapsulation, every number is aligned to its own size; texts,
with a zero at the end, and sequences follow their length in four bytes.

"""

from operator import attrgetter
import re
import struct
from typing import Any, NamedTuple

from puppet_ros.plain_cdr import ENCAPSULATION as PLAIN
from puppet_ros.plain_cdr import FORMATS

ENCAPSULATION = 4
_LENGTH = struct.Struct('<I')
_ARRAY = re.compile(r'(?:sequence<(\w+)(?:, \d+)?>|(\w+)\[(\d+)\])')


class Place(NamedTuple):
    """A number, or the numbers of an array or sequence."""

    path: str
    """Name of the field, with those of the messages it is in: header.stamp.sec."""

    code: str
    """Of one number, as in the module struct."""

    start: int
    """First byte."""

    stop: int
    """First byte behind it."""


class CdrLayout:
    """
    The places of a message.

    Parameters
    ----------
    msg : Any
        The message, made of numbers, texts, lists of these and messages of them.

    """

    def __init__(self, msg: Any) -> None:
        self.numbers: list[Place] = []
        """Single numbers."""
        self.arrays: list[Place] = []
        """Arrays and sequences of numbers."""
        self.texts: list[str] = []
        """Paths of texts and lists of texts."""
        self.fixed: list[tuple[int, int]] = [(0, ENCAPSULATION)]
        """First byte and the one behind of texts and lengths."""
        self._wanted = [PLAIN]  # what stands there
        self.size = self._walk(msg, '', ENCAPSULATION)
        """Bytes of the message."""

    def holds(self, msg: Any, data: bytes) -> bool:
        """Return whether bytes have a message's texts, lengths and numbers at these places."""
        # a text that the middleware has cut at a zero within would shift what follows
        return len(data) >= self.size and all(
            data[start:stop] == wanted for (start, stop), wanted in zip(self.fixed, self._wanted)
        ) and all(
            memoryview(attrgetter(p.path)(msg)).cast('B') == data[p.start:p.stop]
            for p in self.arrays
        ) and all(
            struct.pack(f'<{p.code}', attrgetter(p.path)(msg)) == data[p.start:p.stop]
            for p in self.numbers
        )

    def _walk(self, part: Any, path: str, at: int) -> int:
        for name, kind in part.get_fields_and_field_types().items():
            at = self._field(getattr(part, name), kind, path + name, at)
        return at

    def _field(self, value: Any, kind: str, path: str, at: int) -> int:
        if kind in FORMATS:
            size = struct.calcsize(FORMATS[kind])
            at = aligned(at, size)
            self.numbers.append(Place(path, FORMATS[kind], at, at + size))
            return at + size
        if kind == 'string':
            self.texts.append(path)
            return self._text(value, at)
        if kind == 'sequence<string>':
            self.texts.append(path)
            at = self._length(at, len(value))
            for text in value:
                at = self._text(text, at)
            return at
        match = _ARRAY.fullmatch(kind)
        if match is None:
            return self._walk(value, f'{path}.', at)
        if match[1]:
            at = self._length(at, len(value))
        code = FORMATS[match[1] or match[2]]
        size = struct.calcsize(code)
        if len(value):
            at = aligned(at, size)
        end = at + size * len(value)
        self.arrays.append(Place(path, code, at, end))
        return end

    def _length(self, at: int, n: int) -> int:
        at = aligned(at, 4)
        self.fixed.append((at, at + 4))
        self._wanted.append(_LENGTH.pack(n))
        return at + 4

    def _text(self, text: str, at: int) -> int:
        data = text.encode() + b'\0'
        at = self._length(at, len(data))
        self.fixed.append((at, at + len(data)))
        self._wanted.append(data)
        return at + len(data)


def texts_of(msg: Any, paths: list[str]) -> list[Any]:
    """Return the texts at these paths; lists of texts are copies."""
    values = (attrgetter(path)(msg) for path in paths)
    return [value if isinstance(value, str) else list(value) for value in values]


def aligned(at: int, size: int) -> int:
    """Return the place from which on a number of this size can stand."""
    return ENCAPSULATION + (at - ENCAPSULATION + size - 1) // size * size
