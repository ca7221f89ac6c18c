# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Text of a clip file, numbers out of it and into it; knows nothing of any format's grammar.

Numbers go through kernels in bulk, or they would take a batch as long as all the rest. What a
kernel cannot convert exactly it leaves to Python.
"""

from collections.abc import Sequence
from math import copysign, isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from puppet_core.io import InputFileError, require_file
from puppet_core.math import Floats, Ints, kernel

MAX_FILE_BYTES = 512 * 2**20  # hours of motion; bounds what a file that is none can cost
# Integers of so many digits, and powers of ten up to this one, are exact in a float: one rounding
# is all there is to their product or quotient.
MAX_DIGITS, MAX_POWER = 15, 22
POWERS: Floats = np.array([float(f'1e{power}') for power in range(MAX_POWER + 1)])
UNUSUAL = -1
_FEW = 4  # of so many numbers one may be left to Python
_NUMBER_BYTES = 20  # sign, digits before the point, point and space
_MAX_SCALED = 2.0**52  # above it there is no fraction to round
_ZERO, _NINE, _PLUS, _MINUS, _POINT = 48, 57, 43, 45, 46
_LOWER_E, _UPPER_E = 101, 69
# Control characters that no text file has; tab, line ends, form feed and Ctrl-Z (DOS end of file)
# are left out.
_BINARY_BYTES = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0C, 0x0D, 0x1A}) + b'\x7f'
_PROBE_BYTES = 65536

Bytes = NDArray[np.uint8]


def read_bytes(path: Path, kind: str) -> bytes:
    """Return what a file holds; raise InputFileError if it cannot be read or is too large."""
    try:
        if (size := require_file(path, f'{kind} file')) > MAX_FILE_BYTES:
            wanted = f'{kind} file of at most {MAX_FILE_BYTES >> 20} MiB'
            raise InputFileError(path, wanted, f'{size >> 20} MiB')
        return path.read_bytes()
    except OSError as err:
        raise InputFileError(path, f'a readable {kind} file', err.strerror or str(err)) from err


def read_text(path: Path, kind: str) -> str:
    """
    Return the text of a file of a format, its line ends all the same.

    Undecodable bytes (names in an old code page) are replaced; they cannot be keywords.

    Raise InputFileError if the file cannot be read, is empty, too large, or is not text.
    """
    a_kind = f'{"an" if kind[0] in "AEIOU" else "a"} {kind}'
    data = read_bytes(path, kind)
    if not data or data.isspace():
        raise InputFileError(path, f'{a_kind} file', 'an empty file')
    probe = data[:_PROBE_BYTES]
    if b'\0' in data or len(probe.translate(None, _BINARY_BYTES)) != len(probe):
        raise InputFileError(path, f'{a_kind} text file', 'binary data')
    for other, usual in ((b'\x1a', b' '), (b'\r\n', b'\n'), (b'\r', b'\n')):
        if other in data:  # looking takes a tenth of replacing
            data = data.replace(other, usual)
    return data.decode('utf-8-sig', errors='replace')


def parse_float(word: str) -> float | None:
    """Return the finite number a token spells, None if it spells none."""
    try:
        value = float(word)
    except ValueError:
        return None
    # float() also reads '1_000', which no clip writer means.
    return value if isfinite(value) and '_' not in word else None


def parse_int(word: str) -> int | None:
    """Return the integer a token spells in plain decimal digits, None if it spells none."""
    digits = word[1:] if word[:1] in ('+', '-') else word
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def parse_floats(words: Sequence[str]) -> Floats | None:
    """Return the finite numbers that all tokens spell, shape (n,), None if one of them is not."""
    try:
        values = np.array(words, dtype=np.float64).reshape(-1)
    except ValueError:
        return None
    return values if np.isfinite(values).all() and '_' not in ' '.join(words) else None


def first_bad_word(words: Sequence[str]) -> int:
    """Return the index of the first token that is not a finite number, -1 if all are."""
    return next((i for i, word in enumerate(words) if parse_float(word) is None), -1)


def shorten(word: str, limit: int = 40) -> str:
    """Return a token in quotes, cut to a length that fits into an error message."""
    return repr(word if len(word) <= limit else word[:limit] + '…')


def read_floats(text: str, count: int) -> Floats | None:
    """
    Return the numbers of a text in one go, shape (count,).

    None if there are not so many, or if one of them is no number or an unusual one: then
    `parse_floats` finds out.
    """
    # Compared before anything is allocated: the promised count may be absurd.
    if not 2 * count <= len(text) + 1 or not text.isascii():
        return None
    values: Floats = np.empty(count)
    left = np.empty((count // _FEW + 1, 3), dtype=np.int64)
    data = np.frombuffer(bytearray(text, 'ascii'), dtype=np.uint8)
    found, n_left = read_decimals(data, POWERS, values, left)
    if found != count:
        return None
    for index, first, end in left[:n_left].tolist():
        value = parse_float(text[first:end])
        if value is None:
            return None
        values[index] = value
    return values


def format_rows(values: Floats, places: int) -> str:
    """Return rows of numbers (n, m) as lines of text, with 1 to 12 decimals."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    out = np.empty(values.size * (_NUMBER_BYTES + places), dtype=np.uint8)
    size = write_decimals(values, places, out)
    if size != UNUSUAL:
        return out[:size].tobytes().decode('ascii')
    line = ' '.join([f'%.{places}f'] * values.shape[1]) + '\n'
    return ''.join(line % tuple(row) for row in values.tolist())


@kernel
def _is_space(byte: int) -> bool:
    """Return whether str.split() splits ASCII text at a byte."""
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31


@kernel
def _read_exponent(text: Bytes, start: int) -> tuple[int, int]:
    """Return the exponent after an E, and where it ends; the start itself if it is none."""
    at, sign = start, 1
    if at < len(text) and (text[at] == _PLUS or text[at] == _MINUS):
        sign = -1 if text[at] == _MINUS else 1
        at += 1
    first, value = at, 0
    while at < len(text) and _ZERO <= text[at] <= _NINE and at - first < 4:
        value = 10 * value + int(text[at]) - _ZERO
        at += 1
    return (sign * value, at) if at > first else (0, start)


@kernel
def read_decimals(text: Bytes, powers: Floats, out: Floats, left: Ints) -> tuple[int, int]:
    """
    Read numbers with white space between; return how many there are, and how many are left.

    `left` (k, 3) gets index, first byte and end of each number that cannot be made exactly here.
    UNUSUAL and 0 if `out` or `left` is too short, or if one is no number.
    """
    at, count, n_left = 0, 0, 0
    while True:
        while at < len(text) and _is_space(text[at]):
            at += 1
        if at == len(text):
            return count, n_left
        if count == len(out):
            return UNUSUAL, 0
        begin = at
        is_negative = text[at] == _MINUS
        if is_negative or text[at] == _PLUS:
            at += 1
        mantissa, digits, places, has_point, first = 0, 0, 0, False, at
        while at < len(text):
            byte = text[at]
            if _ZERO <= byte <= _NINE:
                if digits <= MAX_DIGITS:
                    mantissa = 10 * mantissa + int(byte) - _ZERO
                digits += mantissa > 0
                places += has_point
            elif byte == _POINT and not has_point:
                has_point = True
            else:
                break
            at += 1
        if at - first == int(has_point):  # no digit
            return UNUSUAL, 0
        power = -places
        if at < len(text) and (text[at] == _LOWER_E or text[at] == _UPPER_E):
            exponent, end = _read_exponent(text, at + 1)
            if end == at + 1:
                return UNUSUAL, 0
            power, at = power + exponent, end
        if at < len(text) and not _is_space(text[at]):
            return UNUSUAL, 0
        if digits <= MAX_DIGITS and -MAX_POWER <= power <= MAX_POWER:
            value = mantissa * powers[power] if power >= 0 else mantissa / powers[-power]
            out[count] = -value if is_negative else value
        elif n_left < len(left):
            left[n_left, 0], left[n_left, 1], left[n_left, 2] = count, begin, at
            n_left += 1
        else:
            return UNUSUAL, 0
        count += 1


@kernel
def write_decimals(values: Floats, places: int, out: Bytes) -> int:
    """
    Write rows (n, m) of numbers: spaces between numbers, line ends between rows.

    `out` has room for 20 + places bytes a number. Returns how many bytes were written, UNUSUAL
    if a number is not finite or too large.
    """
    at = 0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            rounded = np.rint(abs(values[i, j]) * 10.0**places)
            if not rounded < _MAX_SCALED:
                return UNUSUAL
            if copysign(1.0, values[i, j]) < 0.0:
                out[at] = _MINUS
                at += 1
            left, size = int(rounded), places + 1
            while left >= 10**size:
                size += 1
            for k in range(size, -1, -1):  # the point is one character more
                if k == size - places:
                    out[at + k] = _POINT
                else:
                    out[at + k] = _ZERO + left % 10
                    left //= 10
            at += size + 2
            out[at - 1] = 10 if j == values.shape[1] - 1 else 32
    return at
