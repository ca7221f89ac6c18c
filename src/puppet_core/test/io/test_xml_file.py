# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""XML is read with its lines, and nothing in it expands or opens another file."""

from pathlib import Path

from puppet_core.io.errors import InputFileError
from puppet_core.io.xml_file import MAX_DEPTH, read_xml
import pytest

BOMB = (
    '<!DOCTYPE r [<!ENTITY a "ha">'
    + ''.join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip('abcdefgh', 'bcdefghi'))
    + ']><r>&i;</r>'
)


def test_elements_know_their_lines():
    """And what is inside, by name."""
    root = read_xml(Path('a.xml'), '<r>\n<link name="x"/>\n<joint/><link name="y"/></r>')
    assert [(link.values['name'], link.line) for link in root.named('link')] == [
        ('x', 2),
        ('y', 3),
    ]
    assert root.first('joint').line == 3 and root.first('none') is None


@pytest.mark.parametrize(
    ('text', 'line'),
    [
        (BOMB, 1),
        ('\n<!DOCTYPE r SYSTEM "file:///etc/passwd"><r/>', 2),
        ('<r>\n<a></r>', 2),
        ('<a>' * (MAX_DEPTH + 1), 1),
        ('', 1),
        ('<r>&undefined;</r>', 1),
    ],
    ids=['entities', 'doctype', 'open tag', 'deep', 'empty', 'unknown entity'],
)
def test_bad_text_is_refused_in_a_line(text, line):
    """With the file and the line."""
    with pytest.raises(InputFileError) as failure:
        read_xml(Path('a.xml'), text)
    assert failure.value.line == line
    assert '\n' not in str(failure.value)
