# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Text of a clip file, and numbers out of it and into it.

Shared by the BVH, ASF and AMC readers: reads the bytes once, refuses what is not text, keeps line
numbers for errors, and turns tokens into finite floats. The kernels convert decimals exactly as
Python's float() and '%.nf'. Knows nothing of any format's grammar.
"""

from collections.abc import Sequence
import math
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from puppet_core.io import InputFileError, require_file
from puppet_core.math import Floats, Ints, kernel

MAX_POWER = 22  # powers of ten up to here are exact in a float
MAX_DIVISOR = 2 * MAX_POWER  # and up to here in two, one the other's rounding error
POWERS: Floats = np.array([float(f'1e{power}') for power in range(MAX_POWER + 1)])
MAX_DIGITS = 15
UNUSUAL = -1
_SPLIT = 134217729.0  # 2^27 + 1, halves a float's digits
_UNSURE = 2.0**-48  # of the rest of a quotient, above its own rounding
_MAX_SCALED = 4503599627370496.0  # 2^52: above it there is no fraction to round
_ZERO, _NINE, _PLUS, _MINUS, _POINT = 48, 57, 43, 45, 46
_LOWER_E, _UPPER_E = 101, 69

Bytes = NDArray[np.uint8]

# Control characters that no text file has; tab, line ends, form feed and Ctrl-Z (DOS end of file)
# are left out.
_BINARY_BYTES = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0C, 0x0D, 0x1A}) + b'\x7f'
_OTHER_BYTES = ((b'\x1a', b' '), (b'\r\n', b'\n'), (b'\r', b'\n'))
_PROBE_BYTES = 65536
_FEW = 4  # of so many numbers one may have to be read alone
_NUMBER_BYTES = 20  # sign, digits before the point, point and space
MAX_FILE_BYTES = 512 * 2**20  # hours of motion; bounds what a file that is none can cost


# Decimal numbers from text and to text (kernels).
#
# Both take only what they can do exactly and report where they cannot; the caller then does it
# the general way. A decimal of at most fifteen digits is an integer that a float holds, divided
# or multiplied by a power of ten that it holds too, so that one rounding is all there is.


@kernel
def is_space(byte: int) -> bool:
    """Return whether a byte is one at which str.split() splits ASCII text."""
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31


@kernel
def read_exponent(text: Bytes, start: int) -> tuple[int, int]:
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
def product_error(a: float, b: float, product: float) -> float:
    """Return a b less its rounded product, exactly (Dekker1971)."""
    a_high = a * _SPLIT
    a_high = a_high - (a_high - a)
    a_low = a - a_high
    b_high = b * _SPLIT
    b_high = b_high - (b_high - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def scaled(mantissa: float, power: int, powers: Floats) -> float:
    """
    Return mantissa 10^power as if it were rounded once, NaN where that is not sure.

    Parameters
    ----------
    mantissa : float
        A whole number, not negative.
    power : int
        Of ten.
    powers : ndarray, shape (23,)
        POWERS.

    """
    if 0 <= power <= MAX_POWER:
        return mantissa * powers[power]
    if -MAX_POWER <= power < 0:
        return mantissa / powers[-power]
    if power > 0 or power < -MAX_DIVISOR:
        return math.nan
    # 10^44 has 103 binary digits without its factors of two, so two floats hold it
    divisor = powers[MAX_POWER] * powers[-power - MAX_POWER]
    divisor_low = product_error(powers[MAX_POWER], powers[-power - MAX_POWER], divisor)
    quotient = mantissa / divisor
    product = quotient * divisor
    rest = (mantissa - product) - product_error(quotient, divisor, product)
    rest = (rest - quotient * divisor_low) / divisor
    least, most = quotient + rest * (1.0 - _UNSURE), quotient + rest * (1.0 + _UNSURE)
    return least if least == most else math.nan


@kernel
def read_decimals(text: Bytes, powers: Floats, out: Floats, left: Ints) -> tuple[int, int]:
    """
    Read numbers with white space between.

    Parameters
    ----------
    text : ndarray of uint8, shape (n,)
        ASCII text.
    powers : ndarray, shape (23,)
        POWERS.
    out : ndarray, shape (m,)
        Out.
    left : ndarray of int, shape (k, 3)
        Out: index, first byte and end of each number that cannot be made exactly here.

    Returns
    -------
    count, n_left : int, int
        How many there were, and how many of them are left; UNUSUAL and 0 if there are more
        than m, if one is no number, or if more than k are left.

    """
    at, count, n_left = 0, 0, 0
    while True:
        while at < len(text) and is_space(text[at]):
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
            exponent, end = read_exponent(text, at + 1)
            if end == at + 1:
                return UNUSUAL, 0
            power, at = power + exponent, end
        if at < len(text) and not is_space(text[at]):
            return UNUSUAL, 0
        value = math.nan
        if digits <= MAX_DIGITS:
            value = scaled(float(mantissa), power, powers)
        if math.isnan(value):
            if n_left == len(left):
                return UNUSUAL, 0
            left[n_left, 0], left[n_left, 1], left[n_left, 2] = count, begin, at
            n_left += 1
        else:
            out[count] = -value if is_negative else value
        count += 1


@kernel
def scaled_integer(value: float, scale: float) -> float:
    """
    Return |value| scale rounded to an integer, halves to even, as if without rounding before.

    The product's own rounding error is known exactly, so the decision between two integers is
    that of the true product. NaN if it is too large for that.

    """
    value = abs(value)
    product = value * scale
    if not product < _MAX_SCALED:
        return math.nan
    error = product_error(value, scale, product)
    whole = math.floor(product)
    above = (product - whole) - 0.5  # exact, as both are near each other
    if above == 0.0:
        if error == 0.0:
            return whole + whole % 2.0
        return whole + 1.0 if error > 0.0 else whole
    return whole + 1.0 if above > 0.0 else whole


@kernel
def write_decimals(values: Floats, places: int, scale: float, out: Bytes) -> int:
    """
    Write rows of numbers with so many decimals: spaces between numbers, line ends between rows.

    Parameters
    ----------
    values : ndarray, shape (n, m)
        Numbers.
    places : int
        Decimals, at least one.
    scale : float
        Ten to that power.
    out : ndarray of uint8
        Out; room for 20 + places bytes a number.

    Returns
    -------
    size : int
        Bytes written; UNUSUAL if a number is not finite, or too large.

    """
    at = 0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            rounded = scaled_integer(values[i, j], scale)
            if not rounded < _MAX_SCALED:
                return UNUSUAL
            if math.copysign(1.0, values[i, j]) < 0.0:
                out[at] = _MINUS
                at += 1
            left, size = int(rounded), places + 1
            rest = left
            for _ in range(places + 1):
                rest //= 10
            while rest > 0:
                size, rest = size + 1, rest // 10
            for k in range(size, -1, -1):  # the point is one character more
                if k == size - places:
                    out[at + k] = _POINT
                else:
                    out[at + k] = _ZERO + left % 10
                    left //= 10
            at += size + 1
            out[at] = 10 if j == values.shape[1] - 1 else 32
            at += 1
    return at


# Files and tokens.


def read_text(path: Path, kind: str) -> str:
    """
    Return the file's text, its line ends all the same.

    Parameters
    ----------
    path : Path
        File to read.
    kind : str
        Name of the format, for the error's text.

    Returns
    -------
    text : str
        Undecodable bytes (names in an old code page) are replaced; they cannot be keywords.

    Raises
    ------
    InputFileError : if the file cannot be read, is empty, too large, or is not text.

    """
    try:
        size = require_file(path, f'{kind} file')
        if size > MAX_FILE_BYTES:
            wanted = f'a {kind} file of at most {MAX_FILE_BYTES >> 20} MiB'
            raise InputFileError(path, wanted, f'{size >> 20} MiB')
        data = path.read_bytes()
    except OSError as err:
        raise InputFileError(path, f'a readable {kind} file', err.strerror or str(err)) from err
    if not data or data.isspace():
        raise InputFileError(path, f'a {kind} file', 'an empty file')
    probe = data[:_PROBE_BYTES]
    if b'\0' in data or len(probe.translate(None, _BINARY_BYTES)) != len(probe):
        raise InputFileError(path, f'a {kind} text file', 'binary data')
    for other, usual in _OTHER_BYTES:
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
        values = np.array(words, dtype=np.float64)
    except ValueError:
        return None
    if not np.isfinite(values).all() or '_' in ' '.join(words):
        return None
    return values.reshape(-1)


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
    data = np.frombuffer(bytearray(text, 'ascii'), dtype=np.uint8)
    left = np.empty((count // _FEW + 1, 3), dtype=np.int64)
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
    """
    Return rows of numbers as lines of text, each number as '%.{places}f' writes it.

    Parameters
    ----------
    values : ndarray, shape (n, m)
        Numbers.
    places : int
        Decimals, 1 to 12.

    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    out = np.empty(values.size * (_NUMBER_BYTES + places), dtype=np.uint8)
    size = write_decimals(values, places, float(POWERS[places]), out)
    if size != UNUSUAL:
        return out[:size].tobytes().decode('ascii')
    line = ' '.join([f'%.{places}f'] * values.shape[1]) + '\n'
    return ''.join(line % tuple(row) for row in values.tolist())


def first_bad_word(words: Sequence[str]) -> int:
    """Return the index of the first token that is not a finite number, -1 if all are."""
    return next((i for i, word in enumerate(words) if parse_float(word) is None), -1)


def shorten(word: str, limit: int = 40) -> str:
    """Return a token in quotes, cut to a length that fits into an error message."""
    return repr(word if len(word) <= limit else word[:limit] + '…')
