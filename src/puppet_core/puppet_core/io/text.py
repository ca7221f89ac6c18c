# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Text from files quoted in messages: always one line, without control characters."""

from collections.abc import Collection
from itertools import islice

VALUE_LENGTH = 60  # characters of a value or a key
_SHOWN_KEYS = 60


def brief(value: object) -> str:
    """Return a text of any value of a file, for an error: of a long one only the beginning."""
    if isinstance(value, dict):
        return 'the keys ' + ', '.join(_key_text(key) for key in islice(value, 4))
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


def _key_text(key: object) -> str:
    return cut(key, 20) if isinstance(key, str) else brief(key)
