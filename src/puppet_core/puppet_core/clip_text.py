# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Text of a clip file, and numbers out of it.

Shared by the BVH, ASF and AMC readers: reads the bytes once, refuses what is not text, keeps line
numbers for errors, and turns tokens into finite floats. Knows nothing of any format's grammar.

"""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.clip_text_kernels import (
    POWERS,
    read_decimals,
    UNUSUAL,
    write_decimals,
)
from puppet_core.errors import InputFileError
from puppet_core.io.files import require_file

# Control characters that no text file has; tab, line ends, form feed and Ctrl-Z (DOS end of file)
# are left out.
_BINARY_BYTES = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0C, 0x0D, 0x1A}) + b'\x7f'
_OTHER_BYTES = ((b'\x1a', b' '), (b'\r\n', b'\n'), (b'\r', b'\n'))
_PROBE_BYTES = 65536
_FEW = 4  # of so many numbers one may have to be read alone
_NUMBER_BYTES = 20  # sign, digits before the point, point and space
MAX_FILE_BYTES = 512 * 2**20  # hours of motion; bounds what a file that is none can cost


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
