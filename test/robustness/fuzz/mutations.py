# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Files damaged at random: bytes of any format, and what hurts text, YAML, XML and clips."""

from collections.abc import Callable
import re
import struct

import numpy as np

Damage = Callable[[bytes, np.random.Generator], bytes]

NUMBER = re.compile(rb'(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?')
NUMBERS = (
    b'nan',
    b'inf',
    b'-inf',
    b'1e300',
    b'-1e300',
    b'1e-320',
    b'0',
    b'-1',
    b'999999999',
    b'1e400',
    b'99999999999999999999',
    b'1_000',
    b'0x10',
    b'1.5',
    b'true',
    b'""',
    b'[]',
    b'\xd9\xa1',
    b'-0.0',
    b'1e5',
    b'9' * 5000,
)
DEEP = 3000
TEXTS = (
    b'\0',
    b'\xff\xfe',
    b'\xc3(',
    b'\x1b[31m',
    b'../../../../etc/passwd',
    b'a' * 100_000,
    b'{' * DEEP,
    b'[' * DEEP,
    b'- ' * DEEP,
    b'&a [*a, *a]',
    b'<<: *a',
    b'a: &a [x,x,x,x,x,x,x,x,x]\n'
    + b''.join(
        b'%c: &%c [%s]\n' % (c + 1, c + 1, b','.join([b'*%c' % c] * 9)) for c in range(97, 106)
    ),
    b'!!python/object/apply:os.system ["true"]',
    b'!!binary x',
    b'? [a]: b',
    b'%YAML 9.9\n---\n',
    b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
    b'&b;',
    b'<x>' * DEEP,
    b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    b'<!-- ',
    b'<![CDATA[',
    b'JOINT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n' * DEEP,
    b'Frames: 999999999\n',
    b'Frame Time: 0\n',
    b'CHANNELS 999999999 ',
    b'MOTION\n',
    b'}',
    b'{',
    b'End Site\n{\n',
    b':units\n',
    b':hierarchy\nbegin\n',
    b'root root root\n',
    b'\r',
    b'\x1a',
)
LARGE = (0, 1, 0x7F, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def mutated(data: bytes, is_text: bool, rng: np.random.Generator) -> tuple[str, bytes]:
    """Return what was done, and the bytes of a file damaged one to four times."""
    kinds = (*TEXT_DAMAGE, *DAMAGE) if is_text else DAMAGE
    names = []
    for _ in range(int(rng.integers(1, 5))):
        damage = kinds[int(rng.integers(len(kinds)))]
        data = damage(data, rng)
        names.append(damage.__name__.strip('_'))
    return ', '.join(names), data


def _place(data: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(data) + 1))


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for at in rng.integers(max(len(data), 1), size=int(rng.integers(1, 9))).tolist():
        if at < len(changed):
            changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)]


def _take_out(data: bytes, rng: np.random.Generator) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + int(rng.integers(1, 200)) :]


def _repeat(data: bytes, rng: np.random.Generator) -> bytes:
    at = _place(data, rng)
    piece = data[at : at + int(rng.integers(1, 200))]
    return data[:at] + piece * int(rng.integers(2, 100)) + data[at:]


def _noise(data: bytes, rng: np.random.Generator) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.bytes(int(rng.integers(1, 64))) + data[at:]


def _lie(data: bytes, rng: np.random.Generator) -> bytes:
    """Write a length that is none."""
    changed, width = bytearray(data), int(rng.choice([1, 2, 4, 8]))
    at = int(rng.integers(max(len(data) - width, 1)))
    if at + width <= len(changed):
        value = LARGE[int(rng.integers(len(LARGE)))] & (256**width - 1)
        changed[at : at + width] = struct.pack('<Q', value)[:width]
    return bytes(changed)


def _other_number(data: bytes, rng: np.random.Generator) -> bytes:
    found = [match.span() for match in NUMBER.finditer(data)]
    if not found:
        return data
    start, stop = found[int(rng.integers(len(found)))]
    return data[:start] + NUMBERS[int(rng.integers(len(NUMBERS)))] + data[stop:]


def _insert_text(data: bytes, rng: np.random.Generator) -> bytes:
    at = _place(data, rng)
    return data[:at] + TEXTS[int(rng.integers(len(TEXTS)))] + data[at:]


def _insert_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b'\n')
    lines.insert(int(rng.integers(len(lines) + 1)), TEXTS[int(rng.integers(len(TEXTS)))])
    return b'\n'.join(lines)


def _move_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b'\n')
    line = lines.pop(int(rng.integers(len(lines))))
    lines.insert(int(rng.integers(len(lines) + 1)), line)
    return b'\n'.join(lines)


def _repeat_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b'\n')
    at = int(rng.integers(len(lines)))
    return b'\n'.join(lines[:at] + [lines[at]] * int(rng.integers(2, 2000)) + lines[at + 1 :])


def _remove_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b'\n')
    lines.pop(int(rng.integers(len(lines))))
    return b'\n'.join(lines)


DAMAGE: tuple[Damage, ...] = (_flip, _cut, _take_out, _repeat, _noise, _lie)
TEXT_DAMAGE: tuple[Damage, ...] = (
    _other_number,
    _other_number,
    _insert_text,
    _insert_line,
    _move_line,
    _repeat_line,
    _remove_line,
)
