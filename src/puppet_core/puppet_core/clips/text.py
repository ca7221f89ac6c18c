# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Text of a clip file and numbers out of it; knows nothing of any format's grammar."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import numpy as np
from puppet_core.io import InputFileError, require_file
from puppet_core.math import Floats

MAX_FILE_BYTES = 512 * 2**20  # hours of motion; bounds what a file that is none can cost
# Control characters that no text file has; tab, line ends, form feed and Ctrl-Z (DOS end of file)
# are left out.
_BINARY_BYTES = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0C, 0x0D, 0x1A}) + b'\x7f'
_PROBE_BYTES = 65536


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
    """Return a file's text with one kind of line ends; InputFileError if that is impossible."""
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
