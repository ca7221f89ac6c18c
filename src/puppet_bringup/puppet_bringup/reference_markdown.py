# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and cells of Markdown, as the reference has them."""

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Return a text on one line in which nothing is taken for a tag or the end of a cell."""
    parts = ' '.join(text.split()).replace('|', '\\|').split('`')
    # what stands between backquotes is shown as it is
    return '`'.join(
        part if i % 2 else part.replace('<', '&lt;').replace('*', '\\*')
        for i, part in enumerate(parts)
    )


def code(text: str) -> str:
    """Return a text as code; nothing for an empty one."""
    return f'`{text}`' if text else ''


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose cells are Markdown already, and an empty one."""
    lines = [list(heads), ['---'] * len(heads), *map(list, rows)]
    return [f'| {" | ".join(line)} |' for line in lines] + ['']
