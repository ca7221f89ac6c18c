# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a terminal would obey is shown."""

from puppet_core.terminal_text import printable
import pytest


@pytest.mark.parametrize(('text', 'shown'), [
    ('/tracker/raw: 5 mm, 3°\nnext', '/tracker/raw: 5 mm, 3°\nnext'), ('', ''),
    ('\x1b[31m', '\\x1b[31m'), ('a\rb\tc', 'a\\rb\\tc'), ('\x9b2J\x7f', '\\x9b2J\\x7f'),
    ('\u202eabc', '\\u202eabc'), ('\ud800', '\\ud800'),
])  # fmt: skip
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
