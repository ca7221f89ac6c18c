# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages that no well-meaning publisher sends, made from a good one of any type (no ROS node).

Fields are changed by their type: numbers that are no numbers or far too large, texts of every
kind, lists too short, too long or repeated, stamps from nowhere. Then the bytes: cut off, with
lengths that lie, flipped, none. They are handed out as bytes, to be published as they are: what
says that it has four billion numbers cannot be made a message of.
"""

from array import array
from collections.abc import Callable, Iterator
from copy import deepcopy
import re
import struct
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import serialize_message

Change = Callable[[Any], None]

FLOATS = (float('nan'), float('inf'), float('-inf'), 1e300, -1e300, 5e-324, 0.0, -0.0, 1e9)
TEXTS = (
    '',
    ' ',
    '/',
    'world',
    'a' * 100_000,
    '../../../../etc/passwd',
    '/tmp/x',
    'two\nlines',
    '\x1b[2J\x1b[31m',
    '{"$ref": 1}',
    '%s%n',
    "'; DROP TABLE",
    '名前',
    '\u202eevil',
    'tracker//x',
)
MANY = 10_000  # names
LARGE_BYTES = 10_000_000
STAMPS = (
    (0, 0),
    (-1, 0),
    (-(2**31), 0),
    (2**31 - 1, 0),
    (2**31 - 1, 2**32 - 1),
    (1, 2**32 - 1),
    (1, 1),
)
LENGTHS = (0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x10000000, 0x00FFFFFF)
_INTEGER = re.compile(r'(u?)int(\d+)')
_SEQUENCE = re.compile(r'sequence<(.+?)(?:, \d+)?>')
_FIXED = re.compile(r'(double|uint8)\[\d+\]')


class Hostile(NamedTuple):
    """One hostile message."""

    what: str  # What is wrong with it
    data: bytes  # CDR, or what passes for it


def hostile_messages(good: Any, rng: np.random.Generator) -> Iterator[Hostile]:
    """
    Yield hostile messages without end: every kind of change, in an order drawn anew each round.

    Parameters
    ----------
    good : message
        A filled message of any type; it is not changed.
    rng : Generator
        Draws the order and the places in the bytes.

    """
    changes = list(changes_of(good))
    data = bytes(serialize_message(good))
    while True:
        for i in rng.permutation(len(changes)):
            what, change = changes[i]
            changed = deepcopy(good)
            change(changed)
            yield Hostile(what, bytes(serialize_message(changed)))
        yield from damaged(data, rng)


def damaged(data: bytes, rng: np.random.Generator) -> Iterator[Hostile]:
    """Yield the bytes of a message cut, with other lengths and encapsulations, and flipped."""
    yield Hostile('no bytes but the encapsulation', data[:4])
    for end in sorted(rng.integers(4, max(len(data), 5), 6).tolist()):
        yield Hostile(f'cut after {end} bytes', data[:end])
    for head in (b'\0\0\0\0', b'\0\3\0\0', b'\xff\xff\xff\xff'):
        yield Hostile(f'encapsulation {head.hex()}', head + data[4:])
    places = rng.integers(1, max(len(data) // 4, 2), 12).tolist()
    # the first ones are likely to be the lengths of the frame's name and of lists
    for place in (*range(3, 12), *places):
        length = int(rng.choice(LENGTHS))
        yield Hostile(f'{length} at byte {4 * place}', _with(data, 4 * place, length))
    for _ in range(6):
        flipped = bytearray(data)
        for at in rng.integers(4, max(len(data), 5), 8).tolist():
            if at < len(flipped):
                flipped[at] ^= 1 << int(rng.integers(8))
        yield Hostile('bits flipped', bytes(flipped))
    yield Hostile('bytes behind the end', data + rng.bytes(64))
    yield Hostile('noise', data[:4] + rng.bytes(len(data)))


def changes_of(good: Any, large_bytes: int = LARGE_BYTES) -> Iterator[tuple[str, Change]]:
    """
    Yield every change of a field, with its name.

    Parameters
    ----------
    good : message
        What is to be changed.
    large_bytes : int, optional
        Size of the largest arrays.

    """
    for name, kind in good.get_fields_and_field_types().items():
        yield from _field_changes(name, kind, getattr(good, name), large_bytes)


def _field_changes(
    name: str, kind: str, value: Any, large_bytes: int
) -> Iterator[tuple[str, Change]]:
    found = _SEQUENCE.fullmatch(kind)
    integer, fixed = _INTEGER.fullmatch(kind), _FIXED.fullmatch(kind)
    if fixed is not None:
        yield f'{name}: reversed', _set(name, list(value)[::-1])
        yield from _number_changes(name, fixed[1], list(value))
    elif found is not None:
        yield from _list_changes(name, found[1], value, large_bytes)
    elif kind == 'builtin_interfaces/Time':
        for seconds, nanoseconds in STAMPS:
            yield f'{name} = {seconds} s {nanoseconds} ns', _stamp(name, seconds, nanoseconds)
    elif kind in ('double', 'float'):
        for number in FLOATS if kind == 'double' else FLOATS[:3]:
            yield f'{name} = {number}', _set(name, number)
    elif kind.startswith('string'):
        for text in TEXTS:
            yield f'{name} = {text[:20]!r}', _set(name, text)
    elif integer is not None:
        bits = int(integer[2]) - (not integer[1])
        for number in (0, 2**bits - 1, 0 if integer[1] else -(2**bits)):
            yield f'{name} = {number}', _set(name, number)
    elif hasattr(value, 'get_fields_and_field_types'):
        for what, change in changes_of(value, large_bytes):
            yield f'{name}.{what}', _inside(name, change)


def _list_changes(
    name: str, element: str, value: Any, large_bytes: int
) -> Iterator[tuple[str, Change]]:
    """Yield changes of the length, and of single elements."""
    kept = list(value)
    for what, other in (
        ('empty', []),
        ('one too few', kept[:-1]),
        ('one too many', kept + kept[-1:]),
        ('twice', kept + kept),
        ('reversed', kept[::-1]),
        ('all the same', kept[:1] * len(kept)),
    ):
        yield f'{name}: {what}', _set(name, other)
    if element == 'double':
        yield f'{name}: {large_bytes} bytes', _set(name, array('d', bytes(large_bytes // 8 * 8)))
        yield from _number_changes(name, element, kept)
    elif element in ('uint8', 'octet'):
        yield f'{name}: {large_bytes} bytes', _set(name, array('B', bytes(large_bytes)))
        yield from _number_changes(name, element, kept)
    elif element.startswith('string'):
        yield f'{name}: {MANY} names', _set(name, [f's{i}' for i in range(MANY)])
        for text in TEXTS:
            yield f'{name}[0] = {text[:20]!r}', _set(name, [text] + kept[1:])
    elif kept and hasattr(kept[0], 'get_fields_and_field_types'):
        yield f'{name}: {MANY} elements', _set(name, kept[:1] * MANY)
        for what, change in changes_of(kept[0], large_bytes):
            yield f'{name}[0].{what}', _first(name, change)


def _number_changes(name: str, element: str, kept: list[Any]) -> Iterator[tuple[str, Change]]:
    """Yield changes of numbers that leave the length."""
    if element != 'double':
        yield f'{name}: all 255', _set(name, [255] * len(kept))
        return
    for number in FLOATS:
        yield f'{name}: all {number}', _set(name, [number] * len(kept))
        for at in {0, len(kept) // 2, len(kept) - 1} if kept else ():
            yield f'{name}[{at}] = {number}', _set(name, _replaced(kept, at, number))


def _set(name: str, value: Any) -> Change:
    return lambda msg: setattr(msg, name, value)


def _stamp(name: str, seconds: int, nanoseconds: int) -> Change:
    def change(msg: Any) -> None:
        stamp = getattr(msg, name)
        stamp.sec, stamp.nanosec = seconds, nanoseconds

    return change


def _inside(name: str, change: Change) -> Change:
    return lambda msg: change(getattr(msg, name))


def _first(name: str, change: Change) -> Change:
    return lambda msg: change(getattr(msg, name)[0])


def _replaced(values: list, at: int, value: Any) -> list:
    return values[:at] + [value] + values[at + 1 :]


def _with(data: bytes, at: int, length: int) -> bytes:
    changed = bytearray(data)
    if at + 4 <= len(changed):
        struct.pack_into('<I', changed, at, length)
    return bytes(changed)
