# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the bench: counted and added up as in the thesis."""

from typing import Any

from benchmarks.command import write_docs
from benchmarks.quality.body_iterations import ClipCounts, Count, iterations_table
from benchmarks.quality.tables import numbers, timing_table
from puppet_core.io import ConfigError
import pytest


def run(clip: str, character: str, frames: int, **changes: Any) -> dict[str, Any]:
    """Return what the thesis' tables need of a run."""
    usual = {
        'clip': clip,
        'character': character,
        'frames': frames,
        'solver': 'importance_based',
        'elapsed_ms': 2.0,
    }
    return usual | changes


ROWS = [
    run('walk', 'blubby', 100),
    run('walk', 'blubby', 100, solver='position', elapsed_ms=999.0),
    run('walk', 'sally', 100, elapsed_ms=4.0),
    run('jump', 'blubby', 300),
    run('jump', 'sally', 300),
]


def cells(text: str) -> list[list[str]]:
    """Return the rows of a table below its head."""
    return [line.strip('| ').split(' | ') for line in text.splitlines()[2:]]


def test_iterations_are_added_up_over_the_clips():
    rows = [
        ClipCounts('walk', 100, [Count(40, 8), Count(0, 0)], [Count(0, 0), Count(0, 0)]),
        ClipCounts('jump', 300, [Count(40, 8), Count(3, 1)], [Count(7, 2), Count(0, 0)]),
    ]
    text = iterations_table(['blubby', 'sally'], rows)
    assert text.splitlines()[0].endswith('| without: sally | with: blubby | with: sally |')
    assert cells(text) == [
        ['walk', '100', '40 (8)', '0', '0', '0'],
        ['jump', '300', '40 (8)', '3 (1)', '7 (2)', '0'],
        ['total (2 clips)', '400', '80 (16)', '3 (1)', '7 (2)', '0'],
    ]


def test_times_are_elapsed_and_per_frame():
    assert cells(timing_table(ROWS)) == [
        ['walk', '100', '2.0', '0.0200', '4.0', '0.0400'],
        ['jump', '300', '2.0', '0.0067', '2.0', '0.0067'],
        ['total (2 clips)', '400', '4.0', '0.0100', '6.0', '0.0150'],
    ]


def test_what_is_not_there_is_a_dash():
    assert numbers(None, 1) == '–'
    assert numbers({'p50': 1.25, 'p99': float('nan')}, 1) == '1.2 / –'


def test_a_table_is_written_between_the_marks_of_its_block(tmp_path):
    """The rest of the page stays; each block is another; none of that name is refused."""
    page = tmp_path / 'page.md'
    marks = [f'<!-- bench {name} -->\nold\n<!-- end bench -->\n' for name in ('edit', 'rate')]
    page.write_text(f'before\n{marks[0]}between\n{marks[1]}after\n')
    write_docs(tmp_path, 'edit', 'puppet bench edit ', '| 1 |')
    text = page.read_text()
    assert text.startswith('before\n<!-- bench edit -->\n\n`./puppet bench edit` (')
    assert text.endswith(f'\n\n| 1 |\n\n<!-- end bench -->\nbetween\n{marks[1]}after\n')
    with pytest.raises(ConfigError, match="got 'speed'"):
        write_docs(tmp_path, 'speed', '', '')
