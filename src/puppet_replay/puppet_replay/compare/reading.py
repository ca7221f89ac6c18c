# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages of two bags: decoded by the bag's own definitions, and joined to pairs.

Messages with a header are joined on its stamp, in order of arrival where a stamp repeats;
transforms on the stamp and on their frames. What is left then is joined on frame_index, or, if
all of it is shifted by about the same time, in its order: a difference of the stamps. Messages
without a header are joined by their number.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
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
TF_TYPE = 'tf2_msgs/msg/TFMessage'
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
Key = tuple[int, int]


class Message(NamedTuple):
    """A message that waits for its counterpart, or has found it."""

    stamp_ns: int  # of its header; its log time if it has none
    number: int  # its place among those of its topic
    data: bytes


class Field(NamedTuple):
    """The numbers of one field of a message, or of several stacked messages."""

    owner: str  # type of the message that is read as a whole, or ''
    values: np.ndarray  # shape (rows, width), or (n, rows, width) of n messages


class Fields(NamedTuple):
    """Everything that a message holds."""

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


class Decoder:
    """Decodes a topic of a bag, `place` in errors; types without a definition are bytes."""

    def __init__(self, store: Typestore, msgtype: str, place: str) -> None:
        self._store = store
        self.msgtype = msgtype
        self._place = place
        self.is_known = msgtype in store.fielddefs
        fields = store.fielddefs[msgtype][1] if self.is_known else []
        self.is_transforms = msgtype == TF_TYPE and self.is_known
        self.has_stamp = bool(fields) and fields[0][1][1] == HEADER_TYPE
        self.has_index = self.has_stamp and [name for name, _ in fields[1:2]] == ['frame_index']
        self.is_stamped = self.has_stamp or self.is_transforms

    def stamp_ns(self, data: bytes, number: int, log_ns: int) -> int:
        """Return the stamp of the message, or of its first transform; else the log time."""
        at = 8 if self.is_transforms else 4
        if not self.is_stamped or (self.is_transforms and data[4:8] == bytes(4)):
            return log_ns
        if len(data) < at + 8:
            raise self._error(number, log_ns, f'expected a stamp, got {len(data)} bytes')
        seconds, rest = struct.unpack_from('<iI' if data[1] else '>iI', data, at)
        return int(seconds) * 1_000_000_000 + int(rest)

    def fields(self, whole: Message) -> Fields:
        """Return what a message holds; raise MessageError naming bag, topic, number and stamp."""
        data = whole.data
        if not self.is_known:
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
        return MessageError(
            f'{self._place}: message {number}, stamp {stamp_text(stamp_ns)}: {reason}'
        )


def _as_bytes(data: bytes) -> Fields:
    return Fields({UNKNOWN: Field('', np.frombuffer(data, np.uint8)[:, None])}, {})


def stamp_text(stamp_ns: int) -> str:
    """Return a stamp in seconds, all nine digits."""
    seconds, rest = divmod(abs(stamp_ns), 1_000_000_000)
    return f'{"-" if stamp_ns < 0 else ""}{seconds}.{rest:09d}'


def definitions_of(reader: BagReader) -> Typestore:
    """
    Return the definitions of a bag's message types: its own, else the installed, else ROS 2's.

    The bag's definition goes first: it may be older or newer than this suite. Of a type without
    any definition the messages are compared as bytes, and the bag's warnings report it.
    """
    known: dict[str, Any] = dict(get_typestore(Stores.ROS2_JAZZY).fielddefs)
    for topic in {info.type: info for info in reader.info.values()}.values():
        try:
            text = topic.definition or definition_of(topic.type)
            types = get_types_from_msg(text, topic.type)
            missing = _parts(topic.type, known | types) - {*known, *types}
            if missing:
                raise ValueError(f'no definition of {", ".join(sorted(missing))}')
            known |= types
        except ConfigError:
            if topic.type not in known:
                reader.warnings.append(f'{topic.type}: no definition; compared as bytes')
        except (TypesysError, ValueError, KeyError) as err:
            reason = ' '.join(str(err).split())[:80]
            known.pop(topic.type, None)
            reader.warnings.append(f'{topic.type}: {reason}; compared as bytes')
    store = get_typestore(Stores.EMPTY)
    used = {name for kind in reader.topics.values() for name in _parts(kind, known)}
    store.register({name: known[name] for name in sorted(used) if name in known})
    return store


def _parts(kind: str, known: dict[str, Any]) -> set[str]:
    """Return a type and all the types that its messages contain."""
    found: set[str] = set()
    waiting = [kind]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for _, node in known[name][1] if name in known else ():
            element = node[1][0] if node[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE) else node
            if element[0] == Nodetype.NAME:
                waiting.append(element[1])
    return found


class Join:
    """The messages of one topic of two bags, two by two: `emit` takes one of A and its of B."""

    def __init__(self, emit: Callable[[Message, Message], None]) -> None:
        self._emit = emit
        self._waiting: dict[Key, tuple[int, deque[Message]]] = {}

    def add(self, side: int, key: Key, message: Message) -> None:
        """Take the next message of one bag."""
        waiting_side, waiting = self._waiting.setdefault(key, (side, deque()))
        if waiting_side == side:
            waiting.append(message)
            return
        other = waiting.popleft()
        if not waiting:
            del self._waiting[key]
        self._emit(*((message, other) if side == A else (other, message)))

    def finish(
        self, index_of: Callable[[int, Message], int] | None
    ) -> tuple[list[Key], list[Key]]:
        """
        Join what is left as well as it can be; return what of A, and of B, has no counterpart.

        Both are in the order of their stamps. `index_of` returns the frame_index of a message, and
        is None if they have none.
        """
        left: tuple[list[Message], list[Message]] = ([], [])
        for side, waiting in self._waiting.values():
            left[side].extend(waiting)
        self._waiting.clear()
        keys: list[list[Key]] = []
        for side, messages in enumerate(left):
            messages.sort(key=lambda message: message[:2])
            indices = [index_of(side, m) if index_of is not None else m.number for m in messages]
            keys.append([(m.stamp_ns, index) for m, index in zip(messages, indices)])
        # transforms of other frames, and a counter that began anew, are joined by their stamps
        is_index = index_of is not None and all(len({i for _, i in k}) == len(k) for k in keys)
        pairs = _matched(*([key[is_index] for key in side] for side in keys)) or _shifted(*keys)
        for i, k in pairs:
            self._emit(left[A][i], left[B][k])
        missing = set(range(len(keys[A]))) - {i for i, _ in pairs}
        extra = set(range(len(keys[B]))) - {k for _, k in pairs}
        return [keys[A][i] for i in sorted(missing)], [keys[B][k] for k in sorted(extra)]


def _matched(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return the places in A and B with equal values, each used once."""
    places: dict[int, deque[int]] = {}
    for k, value in enumerate(b):
        places.setdefault(value, deque()).append(k)
    return [(i, places[value].popleft()) for i, value in enumerate(a) if places.get(value)]


def _shifted(a: list[Key], b: list[Key]) -> list[tuple[int, int]]:
    """Return all, in their order, if their stamps differ by less than their distance varies."""
    if len(a) != len(b) or len(a) < 2:
        return []
    in_a, in_b = (np.array([stamp for stamp, _ in side]) for side in (a, b))
    if np.ptp(in_b - in_a) > 0.5 * float(np.median(np.diff(in_a))):
        return []
    return [(i, i) for i in range(len(a))]
