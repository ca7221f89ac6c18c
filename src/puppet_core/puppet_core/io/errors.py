# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The exception tree: one class per reaction a caller can have, and how messages are worded."""

from collections.abc import Collection
from itertools import islice
from pathlib import Path


class PuppetError(Exception):
    """Base of all errors of the suite that a user can cause or correct."""

    is_bad_input = True  # of a command, whose exit code tells it from a run that failed


class ConfigError(PuppetError, ValueError):
    """A parameter, argument or array does not have the promised form."""


class CalibrationError(PuppetError):
    """A calibration recording cannot be used; the text says why."""

    is_bad_input = False


class SolverError(PuppetError):
    """A solver was asked for something it does not know."""


class InputFileError(PuppetError, ValueError):
    """A file's content is not what its format promises; `line` from 1, `hint` what to do."""

    def __init__(
        self,
        path: str | Path,
        expected: str,
        got: str,
        line: int | None = None,
        field: str | None = None,
        hint: str = '',
    ) -> None:
        self.path = Path(path)
        self.line = line
        self.field = field
        place = f'{path}:{line}' if line is not None else f'{path}'
        name = f' {field}:' if field else ''
        tail = f'; {hint}' if hint else ''
        super().__init__(f'{place}:{name} expected {expected}, got {got}{tail}')


def how_to_install(part: str, package: str) -> str:
    """Return what brings a package of an optional part of the suite, for an error."""
    return f'./puppet setup --with {part}, or elsewhere pip install {package}'


VALUE_LENGTH = 60  # characters of a value or a key
_SHOWN_KEYS = 60


def brief(value: object) -> str:
    """Return a text of any value of a file, for an error: of a long one only the beginning."""
    if isinstance(value, dict):
        keys = [cut(k, 20) if isinstance(k, str) else brief(k) for k in islice(value, 4)]
        return 'the keys ' + ', '.join(keys)
    if isinstance(value, list):
        items = ['[..]' if isinstance(v, (dict, list)) else brief(v) for v in value[:6]]
        return '[' + ', '.join(items + ['..'] * (len(value) > 6)) + ']'
    if isinstance(value, int) and value.bit_length() > 128:
        return 'a very large integer'
    try:
        return cut(repr(value))
    except ValueError:  # of more digits than Python prints, inside a set or a pair
        return 'a very large integer'


def cut(text: str, length: int = VALUE_LENGTH) -> str:
    """Return a text of at most so many characters, marked where the end is missing."""
    return text if len(text) <= length else text[: length - 3] + '..'


def listed(keys: Collection[str]) -> str:
    """Return the first keys, as many as one can look through."""
    names = [cut(key) for key in islice(keys, _SHOWN_KEYS)]
    return ', '.join(names + ['..'] * (len(keys) > _SHOWN_KEYS))


def printable(text: str) -> str:
    r"""Return a text whose control characters but line ends are escaped, as \x1b."""
    return ''.join(
        c if c.isprintable() or c == '\n' else c.encode('unicode_escape').decode('ascii')
        for c in text
    )
