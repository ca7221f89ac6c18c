# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Message and service files as tables: what they say of each field in their comments."""

from pathlib import Path
import re
from typing import NamedTuple

from puppet_bringup.reference_markdown import cell, code, table

_FIELD = re.compile(r'(?P<type>[\w/]+(?:\[\d*\])?)\s+(?P<name>\w+)\s*(?:=\s*(?P<value>[^#]+))?')
_COLUMN = re.compile(r'(\S) {2,}(?=\S)')
_ITEM = re.compile(r' {1,7}\S')  # a comment line that is a line of a list
BREAK = '<br>'
RESPONSE = ['**response**', '', '']


class Entry(NamedTuple):
    """A field or constant."""

    type: str  # noqa: A003
    """As in the file."""

    name: str
    """As in the file."""

    value: str
    """Of a constant; '' for a field."""

    comment: list[str]
    """Lines behind it, without the marks."""


class Block(NamedTuple):
    """Lines without an empty one between: comment, then fields or none."""

    comment: list[str]
    """Lines before the entries, without the marks."""

    entries: list[Entry]
    """May be empty: then it is prose."""


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a message file; `---` is a block of its own without anything."""
    found = []
    for part in re.split(r'\n\s*\n|\n?(?=---)|(?<=---)\n', text):
        comment: list[str] = []
        entries: list[Entry] = []
        for line in filter(str.strip, part.splitlines()):
            code_part, _, said = line.partition('#')
            if code_part.strip() in ('', '---'):
                (entries[-1].comment if entries else comment).append(said)
                continue
            match = _FIELD.match(code_part.strip())
            assert match is not None, f'{line!r}: expected a field'
            value = (match['value'] or '').strip()
            behind = [said] if said.strip() else []
            entries.append(Entry(match['type'], match['name'], value, behind))
        found.append(Block(comment, entries))
    return found


def prose(lines: list[str]) -> str:
    """Return comment lines as one cell; lines of a list stay lines."""
    text, was_item = '', False
    for line in lines:
        # a space follows the mark of the comment
        body = line[1:] if line.startswith(' ') else line
        is_item = _ITEM.match(body) is not None
        is_plain = not body.startswith(' ')
        is_new = is_item or not body.strip() or (was_item and is_plain)
        # the first column of a list, and what it means
        words = _COLUMN.sub(r'\1: ', body.strip(), count=1) if is_item else body
        text += (BREAK if is_new else ' ') + cell(words)
        was_item = is_item or (was_item and not is_plain)
    return re.sub(rf'({BREAK}| )+$', '', text.strip().removeprefix(BREAK))


def message_lines(path: Path) -> list[str]:
    """Return the section of a message or service file."""
    package, kind, name = path.parts[-3], path.parts[-2], path.stem
    lines = [f'### {package}/{kind}/{name}', '']
    heads, rows = ['field', 'type', 'meaning'], []
    if path.suffix == '.srv':
        rows.append(['**request**', '', ''])
    for block in blocks_of(path.read_text(encoding='utf-8')):
        if not block.entries:
            text = prose(block.comment)
            if text:
                lines += [text, '']
            elif path.suffix == '.srv' and rows[-1] != RESPONSE:
                rows.append(RESPONSE)
            continue
        rows.append(_row(block))
    return [*lines, *table(heads, rows)]


def _row(block: Block) -> list[str]:
    """Return the row of a block: one field, or several with their common comment."""
    said = [prose(block.comment)] if block.comment else []
    for entry in block.entries:
        text = prose(entry.comment)
        if len(block.entries) == 1:
            said += [text] if text else []
        elif text:
            said.append(f'{code(entry.name)}: {text}')
    names = BREAK.join(
        code(entry.name + (f'={entry.value}' if entry.value else '')) for entry in block.entries
    )
    types = BREAK.join(dict.fromkeys(code(entry.type) for entry in block.entries))
    return [names, types, BREAK.join(said)]
