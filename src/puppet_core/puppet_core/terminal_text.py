# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Text of files and messages on a terminal: what would command it is shown, not obeyed."""

LINE_END = '\n'


def printable(text: str) -> str:
    r"""Return a text whose control characters but line ends are escaped, as \x1b."""
    return ''.join(
        c if c.isprintable() or c == LINE_END else c.encode('unicode_escape').decode('ascii')
        for c in text
    )
