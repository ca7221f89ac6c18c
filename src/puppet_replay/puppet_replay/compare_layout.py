# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where the fields of a serialized message are, so that many messages are read as one array.

Messages of a topic mostly have the same lengths and texts. They are stacked to a matrix of
bytes, and a field of all of them is a slice of its columns. The layout is found once, by
walking through one message with its type's definition (CDR, OMG formal/2008-01-15 15.3, as
ROS 2 writes it: XCDR1, aligned to the size of the number, counted after the four bytes of the
encapsulation header).

"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.errors import PuppetError

HEADER_BYTES = 4  # of the encapsulation
BIG_ENDIAN, LITTLE_ENDIAN = 0, 1  # second byte of it
# Node types of rosbags' definitions.
BASE, NAME, ARRAY, SEQUENCE = 1, 2, 3, 4
NUMPY_TYPE = {
    'bool': 'u1', 'byte': 'u1', 'char': 'u1', 'octet': 'u1', 'int8': 'i1', 'uint8': 'u1',
    'int16': 'i2', 'uint16': 'u2', 'int32': 'i4', 'uint32': 'u4', 'int64': 'i8',
    'uint64': 'u8', 'float32': 'f4', 'float64': 'f8',
}  # fmt: skip
# Read as one vector or stamp: their members are numbers of one size without a gap.
WHOLE = {
    'geometry_msgs/msg/Point': ('float64', 3),
    'geometry_msgs/msg/Vector3': ('float64', 3),
    'geometry_msgs/msg/Quaternion': ('float64', 4),
    'builtin_interfaces/msg/Time': ('uint32', 2),
    'builtin_interfaces/msg/Duration': ('uint32', 2),
}
MAX_DEPTH = 32
UNKNOWN = 'bytes'  # field of a message of unknown type

Bytes2 = NDArray[np.uint8]
Definitions = Mapping[str, Any]


class LayoutError(PuppetError, ValueError):
    """A message that is not what its type's definition says."""

    place = 0
    """Of several messages that were given, which."""


class Part(NamedTuple):
    """A run of numbers, or a text, in one message."""

    name: str
    """Field names joined by points, [] after lists of messages: transforms[].child_frame_id."""

    kind: str
    """Type of the numbers, or 'string'."""

    owner: str
    """Type of the message that is read as a whole, or ''."""

    offset: int
    """First byte, from the start of the data."""

    size: int
    """How many numbers, or how many bytes of text."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where all fields of a message are."""

    length: int
    """Bytes of the message."""

    order: str
    """Byte order as numpy writes it."""

    parts: tuple[Part, ...]
    """In the order of the message."""

    shape_bytes: NDArray[np.int64]
    """Offsets of the bytes that must be equal for a message to have the same layout and texts."""

    def fields(self) -> dict[str, list[Part]]:
        """Return the parts by name; several of one name come from a list."""
        found: dict[str, list[Part]] = {}
        for part in self.parts:
            found.setdefault(part.name, []).append(part)
        return found

    def numbers(self, matrix: Bytes2, parts: Sequence[Part]) -> NDArray[Any]:
        """
        Return a field of all messages, shape (n, rows, width).

        Parameters
        ----------
        matrix : ndarray, shape (n, length)
            The messages.
        parts : sequence of Part
            All of one name, with equal counts.

        """
        kind = np.dtype(self.order + NUMPY_TYPE[parts[0].kind])
        size = kind.itemsize * parts[0].size
        if size == 0:
            return np.zeros((len(matrix), len(parts), 0), kind)
        if len(parts) == 1:
            first = parts[0].offset
            columns = np.ascontiguousarray(matrix[:, first: first + size])
        else:
            offsets = np.array([part.offset for part in parts])
            columns = matrix[:, (offsets[:, None] + np.arange(size)).reshape(-1)]
        values = np.ascontiguousarray(columns).view(kind).reshape(len(matrix), len(parts), -1)
        return values.astype(kind.newbyteorder('='), copy=False)

    def text(self, row: NDArray[np.uint8], part: Part) -> str:
        """Return a text of one message, shape (length,)."""
        end = part.offset + part.size
        return row[part.offset: end].tobytes().decode('utf-8', 'backslashreplace')


class _Walk:
    """One pass through one message."""

    def __init__(self, definitions: Definitions, data: bytes) -> None:
        self._definitions = definitions
        self._data = data
        if len(data) < HEADER_BYTES or data[1] not in (BIG_ENDIAN, LITTLE_ENDIAN):
            raise LayoutError(f'expected a CDR message, got {data[:HEADER_BYTES].hex() or "none"}')
        self.order = '<' if data[1] == LITTLE_ENDIAN else '>'
        self._at = HEADER_BYTES
        self.fixed: list[tuple[int, int]] = [(0, HEADER_BYTES)]

    def message(self, type_name: str, prefix: str, depth: int = 0) -> Iterator[Part]:
        """Yield the parts of a message that begins here."""
        if type_name in WHOLE:
            kind, count = WHOLE[type_name]
            yield self._run(prefix.rstrip('.'), kind, count, type_name)
            return
        if type_name not in self._definitions or depth > MAX_DEPTH:
            raise LayoutError(f'expected the definition of {type_name}, got none')
        for name, node in self._definitions[type_name][1]:
            if name != 'structure_needs_at_least_one_member':
                yield from self._node(node, prefix + name, depth)

    def _node(self, node: Any, name: str, depth: int) -> Iterator[Part]:
        kind, what = int(node[0]), node[1]
        if kind == BASE:
            yield self._text(name) if what[0] == 'string' else self._run(name, what[0], 1)
        elif kind == NAME:
            yield from self.message(what, name + '.', depth + 1)
        else:
            element, count = what
            if kind == SEQUENCE:
                count = self._word()
            yield from self._list(element, name, count, depth)

    def _list(self, element: Any, name: str, count: int, depth: int) -> Iterator[Part]:
        if int(element[0]) == BASE and element[1][0] != 'string':
            yield self._run(name, element[1][0], count)
            return
        if count > len(self._data):
            raise LayoutError(f'{name}: expected a list, got {count} entries in a short message')
        for _ in range(count):
            if int(element[0]) == BASE:
                yield self._text(name)
            else:
                yield from self.message(element[1], name + '[].', depth + 1)

    def _run(self, name: str, kind: str, count: int, owner: str = '') -> Part:
        if kind not in NUMPY_TYPE:
            raise LayoutError(f'{name}: expected numbers, got {kind}')
        size = int(NUMPY_TYPE[kind][1])
        if count > 0:
            self._align(size)
        part = Part(name, kind, owner, self._at, count)
        self._forward(name, size * count)
        return part

    def _text(self, name: str) -> Part:
        length = self._word()
        start = self._at
        self._forward(name, length)
        self.fixed.append((start, length))
        return Part(name, 'string', '', start, max(length - 1, 0))

    def _word(self) -> int:
        self._align(4)
        start = self._at
        self._forward('length', 4)
        self.fixed.append((start, 4))
        return int(struct.unpack_from(self.order + 'I', self._data, start)[0])

    def _align(self, size: int) -> None:
        self._at += -(self._at - HEADER_BYTES) % size

    def _forward(self, name: str, n_bytes: int) -> None:
        if self._at + n_bytes > len(self._data):
            raise LayoutError(
                f'{name}: expected {n_bytes} bytes from byte {self._at} on, '
                f'got a message of {len(self._data)}'
            )
        self._at += n_bytes


def layout_of(definitions: Definitions, type_name: str, data: bytes) -> Layout:
    """
    Return the layout of a message; one run of bytes if its type is not known.

    Parameters
    ----------
    definitions : mapping
        As `fielddefs` of a typestore of rosbags: type name to (constants, fields).
    type_name : str
        As in puppet_msgs/msg/Posture.
    data : bytes
        The message.

    Raises
    ------
    LayoutError : if the message is not of that type, or a definition of a part is missing.

    """
    if type_name not in definitions:
        bare = (Part(UNKNOWN, 'uint8', '', 0, len(data)),)
        return Layout(len(data), '<', bare, np.zeros(0, np.int64))
    walk = _Walk(definitions, data)
    parts = tuple(walk.message(type_name, ''))
    fixed = np.concatenate([np.arange(start, start + n) for start, n in walk.fixed])
    return Layout(len(data), walk.order, parts, fixed.astype(np.int64))


class Group(NamedTuple):
    """Messages of one layout with equal texts."""

    layout: Layout
    """Of all of them."""

    matrix: Bytes2
    """The messages, shape (n, length)."""

    places: NDArray[np.int64]
    """Where each stands in the sequence that was grouped, shape (n,)."""


class LayoutCache:
    """The layouts that the messages of one topic had so far."""

    KEPT = 64  # more than any stream has; topics of ever new texts forget

    def __init__(self, definitions: Definitions, type_name: str) -> None:
        self._definitions = definitions
        self._type_name = type_name
        self._kept: dict[tuple[int, bytes], Layout] = {}
        self._latest: dict[int, Layout] = {}  # by length of the message

    def layout(self, data: bytes) -> Layout:
        """Return the layout of one message; raise as `layout_of` does."""
        guess = self._latest.get(len(data))
        row = np.frombuffer(data, np.uint8)
        if guess is not None:
            known = self._kept.get((len(data), row[guess.shape_bytes].tobytes()))
            if known is guess:
                return guess
        found = layout_of(self._definitions, self._type_name, data)
        if len(self._kept) >= self.KEPT:
            self._kept.clear()
        key = (len(data), row[found.shape_bytes].tobytes())
        self._latest[len(data)] = self._kept[key] = found
        return found

    def groups(self, messages: Sequence[bytes]) -> list[Group]:
        """Return the messages in groups of equal layout and texts, in their order within each."""
        by_length: dict[int, list[int]] = {}
        for place, data in enumerate(messages):
            by_length.setdefault(len(data), []).append(place)
        groups = []
        for length, places in by_length.items():
            joined = b''.join([messages[place] for place in places])
            matrix = np.frombuffer(joined, np.uint8).reshape(len(places), length)
            rest = np.array(places)
            while len(rest):
                try:
                    layout = self.layout(matrix[0].tobytes())
                except LayoutError as err:
                    err.place = int(rest[0])
                    raise
                fixed = matrix[:, layout.shape_bytes]
                same = np.all(fixed == fixed[0], axis=1)
                if np.all(same):
                    groups.append(Group(layout, matrix, rest))
                    break
                groups.append(Group(layout, matrix[same], rest[same]))
                matrix, rest = matrix[~same], rest[~same]
        return groups
