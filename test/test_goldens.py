# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The graph does with the golden performance what it did when the goldens were made."""

from pathlib import Path

import pytest
from source_tree import ROOT

pytest.importorskip('rclpy', reason='ROS 2 is not there')

from puppet_replay.compare_table import report_lines  # noqa: E402
from puppet_replay.goldens import (  # noqa: E402
    check_case,
    FOLDER,
    golden_cases,
    GoldenCase,
)

GOLDENS = ROOT / FOLDER
MOST_BYTES = 5_000_000


@pytest.mark.parametrize('case', golden_cases(), ids=lambda case: case.name)
def test_replay_is_as_before(case: GoldenCase, tmp_path: Path) -> None:
    """To what machines differ by; a wanted change is taken by ./puppet goldens --update."""
    found = check_case(case, GOLDENS, tmp_path / 'now.mcap')
    assert found.within, '\n'.join(['', *report_lines(found)])
    assert all(topic.counts[0] > 50 for topic in found)


def test_goldens_are_small_and_none_is_left_over() -> None:
    """Together at most 5 MB, and a file for each case."""
    files = {path.stem: path.stat().st_size for path in GOLDENS.glob('*.mcap')}
    assert sum(files.values()) <= MOST_BYTES
    assert set(files) == {case.name for case in golden_cases()} | {'performance'}
