# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet bench rate: its file, its figures, its peer and its errors."""

import json

from benchmarks.rate import bench
from benchmarks.rate import experiments as rate_bench
from benchmarks.rate import walk as rate_walk
from PIL import Image
import pytest

KEYS = {'max_error_cm_paper_settings', 'max_error_cm', 'frames_per_s', 'joint_correlation_min'}
MAX_BYTES = 300_000


def test_bench_writes_what_the_issue_asks_for(tmp_path, capsys):
    path = tmp_path / 'r.json'
    arguments = [
        '--json',
        str(path),
        '--figures',
        str(tmp_path / 'f'),
        '--seconds',
        '0',
        '--no-peer',
    ]
    assert bench.main(arguments) == 0
    told = json.loads(path.read_text())
    assert set(told) == {'walk', 'walk_without_pelvis', 'bat_swing', 'bat_swing_hits', 'peer'}
    assert set(told['walk']) == set(told['bat_swing']) == KEYS
    assert told['peer'] == {'name': 'mink', 'frames_per_s': None}
    assert told['walk']['max_error_cm_paper_settings'] <= 1.05
    assert told['walk']['max_error_cm'] <= 0.1
    assert told['walk']['joint_correlation_min'] >= 0.98
    table = capsys.readouterr().out
    assert '| bat swing, C |' in table and '| bat swing, hit at +0, +0, -25 cm |' in table
    drawn = sorted((tmp_path / 'f').iterdir())
    assert [one.stem for one in drawn] == [
        'rate_figure_7',
        'rate_figure_8',
        'rate_figure_9',
        'rate_hits',
        'rate_swing',
        'rate_walk',
    ]
    for one in drawn:
        assert one.stat().st_size < MAX_BYTES and Image.open(one).width == 1000


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['--seconds', '-1'], '--seconds: expected 0 <= value <= 600, got -1.0'),
        (['--seconds', 'nan'], '--seconds: expected 0 <= value <= 600, got nan'),
        (['--json', '/proc/r.json'], '--json'),
        (['--json', '.'], '--json'),
        (['--figures', '/proc/f'], '--figures'),
        (['--hit', '1,2'], "--hit: expected three numbers from -0.5 to 0.5, got '1,2'"),
        (['--hit', '0,0,nan'], "--hit: expected three numbers from -0.5 to 0.5, got '0,0,nan'"),
        (['--what'], '--what'),
    ],
)
def test_bad_arguments_are_told_in_one_line(arguments, text, capsys):
    assert bench.main(arguments) == 2
    error = capsys.readouterr().err
    assert text in error and error.count('\n') == 1


def test_missing_peer_is_no_error(monkeypatch):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(rate_bench, 'import_module', missing)
    assert rate_bench.bench_peer() is None
    row = rate_bench.Row('walk', 0.5, 0.1, 10.0, 20.0, 0.99)
    assert 'mink is not installed' in rate_bench.markdown([row], [0.01, 0.01, 0.2], None)


def test_peer_meets_the_same_tasks():
    pytest.importorskip('mink', reason='mink is not installed')
    from benchmarks.rate.peer import GOOD_ENOUGH_M, run_mink

    run = run_mink(rate_walk.walk(), rate_walk.lower_body(rate_walk.DESTINATION_LEG_M))
    assert run.max_error_m <= GOOD_ENOUGH_M
