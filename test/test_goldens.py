# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The graph does with the golden performance what it did when the goldens were made."""

import shutil

import pytest
from source_tree import ROOT

pytest.importorskip('rclpy', reason='ROS 2 is not there')

from puppet_replay.compare import report_lines  # noqa: E402
from robustness.goldens import (  # noqa: E402
    check_case,
    FOLDER,
    golden_cases,
    main,  # noqa: E402
    PERFORMANCE,
    TOLERANCES,
)

GOLDENS = ROOT / FOLDER
MOST_BYTES = 6_000_000


@pytest.mark.parametrize('case', golden_cases(), ids=lambda case: case.name)
def test_replay_is_as_before(case, tmp_path):
    """To what machines differ by; a wanted change is taken by ./puppet dev goldens --update."""
    found = check_case(case, GOLDENS, tmp_path / 'now.mcap')
    assert found.within, '\n'.join(['', *report_lines(found)])
    assert all(topic.counts[0] > 50 for topic in found.topics)


def test_goldens_are_small_and_none_is_left_over():
    """Together at most 6 MB, and a file for each case."""
    files = {path.stem: path.stat().st_size for path in GOLDENS.glob('*.mcap')}
    assert sum(files.values()) <= MOST_BYTES
    assert set(files) == {case.name for case in golden_cases()} | {'performance'}


def test_all_goldens_that_are_missing_are_named(tmp_path, capsys):
    for name in (PERFORMANCE, TOLERANCES, 'sally_position.mcap'):
        shutil.copy(GOLDENS / name, tmp_path)
    assert main(['--folder', str(tmp_path), 'sally']) == 2
    told = capsys.readouterr().err
    missing = [c.name for c in golden_cases() if 'sally' in c.name and c.name != 'sally_position']
    assert len(missing) > 2 and f'none for {len(missing)}: {", ".join(missing)}' in told


def test_goldens_are_checked_and_made_anew_by_command(tmp_path, capsys):
    """Missing, new, as before, another one that is named, and taken."""
    for name in (PERFORMANCE, TOLERANCES):
        shutil.copy(GOLDENS / name, tmp_path)
    case = 'sally_joint_angles'
    golden = tmp_path / f'{case}.mcap'
    words = ['--folder', str(tmp_path), case]
    assert main(words) == 2
    assert f'{golden}: expected a golden, got nothing' in capsys.readouterr().err
    assert main([*words, '--update']) == 0
    assert f'{case}: new' in capsys.readouterr().out
    assert main(words) == 0 and main([*words, '--update']) == 0
    assert f'{case}: not changed' in capsys.readouterr().out

    made = golden.read_bytes()
    shutil.copy(GOLDENS / 'blubby_joint_angles.mcap', golden)
    assert main([*words, '--html', str(tmp_path / 'pages')]) == 1
    told = capsys.readouterr().out
    assert '0 of 1 as before' in told and '/puppet/posture' in told
    assert (tmp_path / 'pages' / f'{case}.html').is_file()
    assert main([*words, '--update']) == 0
    told = capsys.readouterr().out
    assert f'{case}: changed; A is as it was, B as it is now' in told and 'worst: ' in told
    assert golden.read_bytes() == made


@pytest.mark.parametrize(
    'words',
    [
        ['--folder', '/nowhere'],
        ['--folder', str(GOLDENS), 'nobody'],
        ['--folder', str(GOLDENS), '--performance', 'x.mcap'],
    ],
)
def test_bad_arguments_are_named(words, capsys):
    """Exit code 2, nothing done."""
    assert main(words) == 2
    assert 'expected' in capsys.readouterr().err


def test_another_performance_is_for_all_goldens(tmp_path, capsys):
    """Part of them would no longer be of the performance beside them."""
    folder = tmp_path / 'goldens'
    folder.mkdir()
    words = [
        'sally_position',
        '--update',
        '--performance',
        str(GOLDENS / PERFORMANCE),
        '--folder',
        str(folder),
    ]
    assert main(words) == 2
    assert '--performance: expected no NAME beside it' in capsys.readouterr().err
    assert not list(folder.iterdir())
