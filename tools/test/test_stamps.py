# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps are whole or absent."""

from pathlib import Path

from puppet_setup.stamps import fingerprint, read_stamp, write_stamp
import pytest


def test_stamp_is_read_as_written(tmp_path: Path) -> None:
    """And nothing else is left in the folder."""
    path = tmp_path / 'new' / 'stamp.json'
    write_stamp(path, {'a': 'b'})
    assert read_stamp(path) == {'a': 'b'}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize('text', ['', '{"a": ', '[]', '\x00'], ids=['empty', 'cut', 'list', 'nul'])
def test_damaged_stamp_counts_as_none(tmp_path: Path, text: str) -> None:
    """Then the step is done again."""
    (tmp_path / 'stamp.json').write_text(text)
    assert read_stamp(tmp_path / 'stamp.json') == {}


def test_fingerprint_separates_its_parts() -> None:
    """Moving a letter from one part to the next is a change."""
    assert fingerprint(['ab', 'c']) != fingerprint(['a', 'bc'])
    assert fingerprint(['ab', b'c']) == fingerprint([b'ab', 'c'])
