# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet bench filter: the command, its file and pictures, and what it should show."""

from functools import partial
import json

from benchmarks.filter import bench as bench_filter
from benchmarks.filter.baselines import make_filter
from benchmarks.filter.bench import bench, main
from benchmarks.filter.data_sets import DATA_SETS, make_data_set
from benchmarks.filter.scores import run_filter
import numpy as np
from PIL import Image
from puppet_core.math import quaternions
from puppet_filter.parameters import PoseFilterConfig
import pytest

COLUMNS = {'rms_mm', 'rms_deg', 'lag_ms', 'overshoot', 'us_per_frame'}
LAG_TOLERANCE_MS = 0.5  # a seventeenth of a frame: what the fit of a delay can tell


def test_ours_has_the_least_error_without_lag_wherever_bodies_move():
    moving = ('slow', 'fast', 'walk', 'slow_hum_50', 'walk_hum_60')
    disturbed = ('fast_outliers', 'slow_dropouts', 'fast_dropouts')
    chosen = ('static', *moving, *disturbed)
    for name, filters in bench(8.0, 4, data_sets=chosen).items():
        ours = filters['kalman']
        for other in ('none', 'euler', 'low_pass'):
            assert ours.rms_mm < filters[other].rms_mm, name
            assert ours.rms_deg < filters[other].rms_deg, name
            if name != 'static':
                assert ours.lag_ms < max(filters[other].lag_ms, 0.0) + LAG_TOLERANCE_MS, name


@pytest.mark.parametrize('count', [2, 3])
def test_gate_costs_a_frame_less_a_jump_than_it_waits_for_and_pays_with_outliers(count):
    chosen = ('jumps', 'jumps_outliers', 'fast_outliers', 'fast_outlier_pairs')
    config = PoseFilterConfig(gate_jump_count=count)
    results = bench(8.0, 4, ('kalman', 'none'), config=config, data_sets=chosen)
    late_ms = 1e3 * (count - 1) / 120.0
    assert results['jumps']['kalman'].lag_ms == pytest.approx(late_ms, abs=2.0)
    jumps = results['jumps_outliers']
    assert jumps['kalman'].rms_mm < 0.8 * jumps['none'].rms_mm
    outliers = results['fast_outliers']
    assert outliers['kalman'].rms_mm < 0.01 * outliers['none'].rms_mm
    pairs = results['fast_outlier_pairs']
    assert (pairs['kalman'].rms_mm < 0.01 * pairs['none'].rms_mm) == (count == 3)


@pytest.mark.parametrize('size_m', [0.02, 0.1, 0.7])
def test_a_sensor_that_is_put_on_anew_is_followed_within_50_ms(size_m, rng):
    rate_hz, step, n = 120.0, 120, 40
    ways = rng.normal(size=(2, n, 3))
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    truth, turns = np.zeros((2 * step, n, 3)), np.zeros((2 * step, n, 3))
    truth[step:], turns[step:] = size_m * ways[0], 2.0 * size_m * ways[1]
    noise = rng.normal(size=(2, *truth.shape)) * [[[[5e-4]]], [[[np.radians(0.05)]]]]
    q = quaternions.multiply(quaternions.exp(turns), quaternions.exp(noise[1]))
    filters = partial(make_filter, 'kalman', PoseFilterConfig())
    out = run_filter(filters, truth + noise[0], q, rate_hz)
    late = slice(step + round(0.05 * rate_hz), None)
    missed = np.linalg.norm(out.positions - truth, axis=2)[late]
    left = quaternions.multiply(quaternions.conjugate(quaternions.exp(turns)), out.quaternions)
    turned = np.linalg.norm(quaternions.log(left), axis=2)[late]
    assert missed.max() < 0.1 * size_m + 4.0 * 5e-4
    assert turned.max() < 0.2 * size_m + 4.0 * np.radians(0.05)


def test_noise_is_measured_as_the_command_would():
    expected = {
        'static': 0.5,
        'static_outliers': 0.5,
        'static_dropouts': 0.5,
        'static_hum_50': np.sqrt(0.25 + 0.5 + 0.125),
    }
    for name, deviation_mm in expected.items():
        noise = make_data_set(name, 4.0, 1, 1).noise
        assert 1e3 * np.sqrt(np.trace(noise[:3, :3]) / 3.0) == pytest.approx(
            deviation_mm, rel=0.05
        )


def test_every_motion_comes_with_every_disturbance():
    for motion in ('static', 'slow', 'fast', 'jumps'):
        endings = ('', '_hum_50', '_hum_60', '_dropouts', '_outliers')
        assert {motion + ending for ending in endings} <= set(DATA_SETS)


def test_command_prints_a_table_and_writes_json_and_pictures(tmp_path, capsys):
    path, folder = tmp_path / 'f.json', tmp_path / 'figures'
    words = ['--duration', '4', '--sensors', '2', '--data-sets', 'static,walk']
    assert main([*words, '--json', str(path), '--figures', str(folder)]) == 0
    printed = capsys.readouterr().out
    assert '| kalman | none | euler | low_pass |' in printed
    assert printed.count('| walk |') == 1 and 'us a frame' in printed
    data = json.loads(path.read_text())['data_sets']
    assert [one['name'] for one in data] == ['static', 'walk']
    for one in data:
        assert set(one) == {'name', 'filters'}
        assert set(one['filters']) == {'kalman', 'none', 'euler', 'low_pass'}
        assert all(set(scores) == COLUMNS for scores in one['filters'].values())
    assert data[0]['filters']['kalman']['lag_ms'] is None
    with Image.open(folder / 'filter_walk.png') as picture:
        assert np.ptp(np.asarray(picture)) > 200
    assert sorted(file.name for file in folder.iterdir()) == [
        'filter_static.png',
        'filter_walk.png',
    ]


@pytest.mark.parametrize('option', ['--json', '--figures'])
def test_place_that_cannot_be_written_is_refused_at_once(option, tmp_path, capsys):
    place = tmp_path
    if option == '--figures':
        place = tmp_path / 'a file'
        place.write_text('')
    assert main([option, str(place)]) == 2
    assert f'{option}: expected a' in capsys.readouterr().err


@pytest.mark.parametrize(
    'arguments',
    [
        ['--duration', '0'],
        ['--sensors', '0'],
        ['--jump-count', '0'],
        ['--filters', 'none,best'],
        ['--nonsense'],
    ],
)
def test_bad_arguments_exit_2(arguments):
    assert main(arguments) == 2


def test_help_ends_with_an_example(capsys):
    with pytest.raises(SystemExit):
        main(['--help'])
    assert capsys.readouterr().out.rstrip().endswith(bench_filter.EXAMPLE)
