# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""bench_filter: its measures on outputs made by hand, the command, and what it should show."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from puppet_filter import bench_filter
from puppet_filter.bench_filter import bench, main, measure_lag, measure_overshoot, score
from puppet_filter.synthetic_motion import make_motion
import pytest

RATE_HZ = 120.0


@pytest.mark.parametrize('delay_frames', [0, 1, 3])
def test_lag_of_a_delayed_copy_is_its_delay(
    delay_frames: int, rng: np.random.Generator
) -> None:
    motion = make_motion('fast', 2, 5.0, RATE_HZ, rng)
    delayed = np.roll(motion.positions, delay_frames, axis=0)
    expected = delay_frames * 1e3 / RATE_HZ
    assert measure_lag(motion, delayed) == pytest.approx(expected, abs=0.1)


def test_lag_without_motion_is_not_a_number(rng: np.random.Generator) -> None:
    motion = make_motion('static', 2, 2.0, RATE_HZ, rng)
    assert np.isnan(measure_lag(motion, motion.positions))


def test_overshoot_of_an_output_that_goes_too_far_is_found(rng: np.random.Generator) -> None:
    motion = make_motion('walk', 3, 8.0, RATE_HZ, rng)
    assert measure_overshoot(motion, motion.positions) == pytest.approx(0.0, abs=0.02)
    ahead = motion.positions + 0.005 * np.array([1.0, 0.0, 0.0])
    assert measure_overshoot(motion, ahead) == pytest.approx(5.0, abs=0.1)


def test_score_of_a_known_error(rng: np.random.Generator) -> None:
    motion = make_motion('slow', 2, 3.0, RATE_HZ, rng)
    off = motion.positions + np.array([0.003, 0.0, 0.004])
    one = score(motion, off, -motion.quaternions, 7.0)
    assert one.rms_mm == pytest.approx(5.0) and one.rms_deg == pytest.approx(0.0, abs=1e-6)
    assert one.us_per_frame == 7.0


def test_ours_is_better_than_euler_and_none_wherever_bodies_move(monkeypatch: Any) -> None:
    names = ('static', 'slow', 'fast', 'walk', 'fast_outliers')
    sets = {name: bench_filter.DATA_SETS[name] for name in names}
    monkeypatch.setattr(bench_filter, 'DATA_SETS', sets)
    for filters in bench(4.0, 4).values():
        for other in ('none', 'euler'):
            assert filters['kalman'].rms_mm < filters[other].rms_mm
            assert filters['kalman'].rms_deg < filters[other].rms_deg


def test_command_prints_a_table_and_writes_json(
    tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    sets = {name: bench_filter.DATA_SETS[name] for name in ('static', 'walk')}
    monkeypatch.setattr(bench_filter, 'DATA_SETS', sets)
    path = tmp_path / 'f.json'
    assert main(['--duration', '2', '--sensors', '2', '--json', str(path)]) == 0
    assert '| walk | kalman |' in capsys.readouterr().out
    data = json.loads(path.read_text())['data_sets']
    assert [one['name'] for one in data] == ['static', 'walk']
    assert set(data[1]['filters']) == {'kalman', 'none', 'euler', 'low_pass', 'one_euro'}
    assert data[0]['filters']['kalman']['lag_ms'] is None


@pytest.mark.parametrize('arguments', [['--duration', '0'], ['--sensors', '0'], ['--nonsense']])
def test_bad_arguments_exit_2(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_help_ends_with_an_example(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(['--help'])
    assert bench_filter.EXAMPLE in capsys.readouterr().out
