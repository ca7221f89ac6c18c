# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages of a topic of two bags: decoded by the bag's own definitions, and joined to pairs.

They are joined on the header's stamp, transforms on that and their frames; what is left on
frame_index, or in its order if all stamps are shifted alike. Without a header the number counts.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
import heapq
import struct
from typing import Any, NamedTuple

import numpy as np
from puppet_core.io import ConfigError
from puppet_ros.bags import BagReader, definition_of
from puppet_ros.messages import MessageError
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError
from rosbags.typesys.store import Typestore

A, B = 0, 1
TF_TYPE, TF_STATIC = 'tf2_msgs/msg/TFMessage', '/tf_static'
TF_FRAMES = ('transforms[].header.frame_id', 'transforms[].child_frame_id')
TF_STAMPS = 'transforms[].header.stamp'
HEADER_TYPE = 'std_msgs/msg/Header'
UNKNOWN = 'bytes'  # field of a message without a definition
TEXT = 'string'
# Messages that are read as one vector or stamp.
WHOLE = {
    'geometry_msgs/msg/Point': ('x', 'y', 'z'),
    'geometry_msgs/msg/Vector3': ('x', 'y', 'z'),
    'geometry_msgs/msg/Quaternion': ('x', 'y', 'z', 'w'),
    'builtin_interfaces/msg/Time': ('sec', 'nanosec'),
    'builtin_interfaces/msg/Duration': ('sec', 'nanosec'),
}
DTYPES = {'bool': '?', 'byte': 'u1', 'char': 'u1', 'octet': 'u1'}
BLOCK_MESSAGES, BLOCK_BYTES = 256, 4_000_000


class Message(NamedTuple):
    """A message of a bag; those of a side are in the order of their keys, most of the time."""

    key: tuple[int, ...]  # what it is joined on
    side: int  # A or B
    number: int  # its place among those of its topic
    stamp_ns: int  # of its header; its log time if it has none
    data: bytes


Pair = tuple[Message, Message]  # of A and of B


class Field(NamedTuple):
    """The numbers of one field of a message, or of several stacked messages."""

    owner: str  # type of the message that is read as a whole, or ''
    values: np.ndarray  # shape (rows, width), or (n, rows, width) of n messages


class Fields(NamedTuple):
    numbers: dict[str, Field]  # by name, as in transforms[].transform.translation
    texts: dict[str, tuple[str, ...]]  # by name

    def shape(self) -> tuple[Any, ...]:
        """Return what messages must have in common to be compared as one array."""
        return (
            tuple((name, field.values.shape) for name, field in self.numbers.items()),
            tuple(self.texts.items()),
        )


def stacked(messages: Sequence[Fields]) -> Fields:
    """Return messages of one shape as one, with arrays of shape (n, rows, width)."""
    first = messages[0]
    return Fields(
        {
            name: Field(field.owner, np.stack([m.numbers[name].values for m in messages]))
            for name, field in first.numbers.items()
        },
        first.texts,
    )


class TopicReader:
    """Reads and decodes one topic of a bag; types without a definition are bytes."""

    def __init__(self, bag: BagReader, store: Typestore, topic: str, side: int) -> None:
        self.topic = topic
        self.msgtype, self.count = bag.topics[topic], bag.counts[topic]
        self.stamps_ns: list[int] = []  # of what was read
        self._bag, self._store, self._side = bag, store, side
        self._is_known = self.msgtype in store.fielddefs
        fields = store.fielddefs[self.msgtype][1] if self._is_known else []
        self._is_transforms = self.msgtype == TF_TYPE and self._is_known
        self.is_static = self._is_transforms and topic == TF_STATIC
        self.has_stamp = bool(fields) and fields[0][1][1] == HEADER_TYPE
        self.is_stamped = (self.has_stamp or self._is_transforms) and not self.is_static
        self.has_index = self.has_stamp and [name for name, _ in fields[1:2]] == ['frame_index']

    def __iter__(self) -> Iterator[Message]:
        """Read the messages; raise MessageError if one has no stamp where it should."""
        for number, (_, _, log_ns, data) in enumerate(self._bag.messages([self.topic])):
            stamp_ns = self._stamp_ns(data, number, log_ns) if self.is_stamped else log_ns
            self.stamps_ns.append(stamp_ns)
            key = (stamp_ns if self.is_stamped else number,)
            message = Message(key, self._side, number, stamp_ns, data)
            if self.is_stamped and self._is_transforms:
                frames = hash(tuple(self.fields(message).texts.items()))
                message = message._replace(key=(stamp_ns, frames))
            yield message

    def _stamp_ns(self, data: bytes, number: int, log_ns: int) -> int:
        """Return the stamp of a message, or of its first transform; of none the log time."""
        at = 8 if self._is_transforms else 4
        if self._is_transforms and data[4:8] == bytes(4):
            return log_ns
        if len(data) < at + 8:
            raise self._error(number, log_ns, f'expected a stamp, got {len(data)} bytes')
        seconds, rest = struct.unpack_from('<iI' if data[1] else '>iI', data, at)
        return int(seconds) * 1_000_000_000 + int(rest)

    def latest_transforms(self) -> Fields:
        """Return the last transform of each pair of frames, by name, as of one message."""
        latest: dict[str, tuple[int, Fields]] = {}
        for message in self:
            fields = self.fields(message)
            if UNKNOWN in fields.numbers:  # names that are no UTF-8
                return fields
            latest |= {frames: (row, fields) for row, frames in enumerate(frame_pairs(fields))}
        rows = [latest[frames] for frames in sorted(latest)]
        numbers = {
            name: Field(field.owner, np.stack([of.numbers[name].values[row] for row, of in rows]))
            for name, field in (rows[0][1].numbers if rows else {}).items()
            if name != TF_STAMPS  # when it was published is of the run
        }
        texts = {name: tuple(of.texts[name][row] for row, of in rows) for name in TF_FRAMES}
        return Fields(numbers, texts)

    def fields(self, whole: Message) -> Fields:
        """Return what a message holds; raise MessageError naming bag, topic, number and stamp."""
        data = whole.data
        if not self._is_known:
            return _as_bytes(data)
        try:
            if len(data) < 4:
                raise ValueError(f'expected a CDR message, got {len(data)} bytes')
            # not store.deserialize_cdr, for rmw implementations pad messages at their ends
            definition = self._store.get_msgdef(self.msgtype)
            read = definition.deserialize_cdr_le if data[1] else definition.deserialize_cdr_be
            message, _ = read(memoryview(data)[4:], 0, definition.cls, self._store)
        except UnicodeDecodeError:
            return _as_bytes(data)
        except Exception as err:  # rosbags raises several kinds of errors
            reason = ' '.join(str(err).split()) or 'expected a whole message'
            raise self._error(whole.number, whole.stamp_ns, reason) from err
        numbers: dict[str, list[np.ndarray]] = {}
        owners: dict[str, str] = {}
        texts: dict[str, list[str]] = {}
        for name, owner, values in self._walk(self.msgtype, message, ''):
            if owner == TEXT:
                texts.setdefault(name, []).extend(values)
            else:
                numbers.setdefault(name, []).append(values)
                owners[name] = owner
        return Fields(
            {name: Field(owners[name], np.concatenate(rows)) for name, rows in numbers.items()},
            {name: tuple(words) for name, words in texts.items()},
        )

    def _walk(self, kind: str, message: Any, name: str) -> Iterator[tuple[str, str, Any]]:
        """Yield the parts of a message: name, owner as of a Field or TEXT, rows or texts."""
        if kind in WHOLE:
            row = [getattr(message, part) for part in WHOLE[kind]]
            yield name, kind, np.array([row], np.float64)
            return
        for field, node in self._store.fielddefs[kind][1]:
            inner = f'{name}.{field}' if name else field
            value = getattr(message, field, None)
            if value is None:  # the member of an empty message
                continue
            is_list = node[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE)
            element: Any = node[1][0] if is_list else node
            values = value if is_list else (value,)
            if element[0] == Nodetype.NAME:
                for part in values:
                    yield from self._walk(element[1], part, inner + '[]' * is_list)
            elif element[1][0] == TEXT:
                yield inner, TEXT, values
            else:
                dtype = DTYPES.get(element[1][0], element[1][0])
                yield inner, '', np.asarray(values, dtype).reshape(-1, 1)

    def _error(self, number: int, stamp_ns: int, reason: str) -> MessageError:
        place = f'{self._bag.path}: {self.topic}: message {number}'
        return MessageError(f'{place}, stamp {stamp_text(stamp_ns)}: {reason}')


def _as_bytes(data: bytes) -> Fields:
    return Fields({UNKNOWN: Field('', np.frombuffer(data, np.uint8)[:, None])}, {})


def index_of(fields: Fields, message: Message) -> int:
    """Return the frame_index of a message; its number if it has none."""
    field = fields.numbers.get('frame_index')
    return message.number if field is None else int(field.values[0, 0])


def frame_pairs(fields: Fields) -> tuple[str, ...]:
    """Return the parent and child of each transform of a message."""
    names = (fields.texts.get(name, ()) for name in TF_FRAMES)
    return tuple(f'{parent} -> {child}' for parent, child in zip(*names))


def stamp_text(stamp_ns: int) -> str:
    """Return a stamp in seconds, all nine digits."""
    seconds, rest = divmod(abs(stamp_ns), 1_000_000_000)
    return f'{"-" if stamp_ns < 0 else ""}{seconds}.{rest:09d}'


def definitions_of(bag: BagReader) -> Typestore:
    """Return definitions of a bag's types: its own, else the installed, else ROS 2's, if any."""
    store = get_typestore(Stores.ROS2_JAZZY)
    known: set[str] = set()
    for topic in {info.type: info for info in bag.info.values()}.values():
        try:
            types = get_types_from_msg(topic.definition or definition_of(topic.type), topic.type)
            for name in set(types) - known:
                store.fielddefs.pop(name, None)
            store.register({name: types[name] for name in types if name not in known})
            store.get_msgdef(topic.type)
            known |= set(types)
        except ConfigError:
            if topic.type not in store.fielddefs:
                bag.warnings.append(f'{bag.path}: {topic.type}: no definition; compared as bytes')
        except (TypesysError, ValueError, KeyError) as err:
            reason = ' '.join(str(err).split())[:80]
            store.fielddefs.pop(topic.type, None)
            bag.warnings.append(f'{bag.path}: {topic.type}: {reason}; compared as bytes')
    return store


def joined(a: TopicReader, b: TopicReader, left: list[Message]) -> Iterator[Pair]:
    """Yield the messages of A with their counterparts in B; add to `left` what has none."""
    yield from _pairs(heapq.merge(a, b), left)
    left.sort(key=lambda message: (message.stamp_ns, message.number))
    indices = (
        [index_of((a, b)[m.side].fields(m), m) for m in left]
        if a.has_index and b.has_index
        else []
    )
    # transforms of other frames, and a counter that began anew, are joined by their stamps
    is_index = len({(m.side, i) for m, i in zip(left, indices)}) == len(left)
    keys = indices if is_index else [message.stamp_ns for message in left]
    others = [message._replace(key=(key,)) for message, key in zip(left, keys)]
    left.clear()
    pairs = list(_pairs(others, left))
    if not pairs:
        mine, other = ([m for m in left if m.side == side] for side in (A, B))
        if _is_shifted([m.stamp_ns for m in mine], [m.stamp_ns for m in other]):
            pairs = list(zip(mine, other))
            left.clear()
    yield from pairs


def _pairs(messages: Iterable[Message], left: list[Message]) -> Iterator[Pair]:
    """Yield the messages of equal keys two by two; add to `left` what remains."""
    waiting: dict[tuple[int, ...], deque[Message]] = {}
    for message in messages:
        others = waiting.setdefault(message.key, deque())
        if not others or others[0].side == message.side:
            others.append(message)
            continue
        other = others.popleft()
        if not others:
            del waiting[message.key]
        yield (other, message) if message.side == B else (message, other)
    left.extend(message for messages in waiting.values() for message in messages)


def _is_shifted(a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether the stamps differ by less than their distance varies."""
    if len(a) != len(b) or len(a) < 2:
        return False
    return bool(np.ptp(np.subtract(b, a)) <= 0.5 * float(np.median(np.diff(a))))


def blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Yield them in lists, each small enough to be decoded at once."""
    block: list[Pair] = []
    size = 0
    for pair in pairs:
        block.append(pair)
        size += len(pair[A].data) + len(pair[B].data)
        if len(block) >= BLOCK_MESSAGES or size >= BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block
