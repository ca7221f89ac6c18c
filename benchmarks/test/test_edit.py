# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet bench edit: the limits of the issue, its file, its pictures and its errors."""

import json

from benchmarks.edit import bench as command_bench_edit
from benchmarks.edit import experiments as edit_experiments
from benchmarks.edit import figures as edit_figures
from benchmarks.edit import results as edit_bench
import numpy as np
from PIL import Image
from puppet_core.body import load_character, Motion
from puppet_core.math import quaternions
import pytest

FRAMES = {'rough_terrain': 464, 'rope': 275, 'morph': 62, 'transition': 119}
SPACINGS = [16.0, 8.0, 4.0, 2.0]


@pytest.fixture(scope='module')
def told(data_dir):
    """Return the figures of the four experiments on walks of our own."""
    skeleton = load_character(data_dir / 'characters/performer.yaml').skeleton
    return edit_bench.as_tree(edit_bench.run(edit_experiments.experiments(skeleton)))[
        'experiments'
    ]


def test_frames_and_knots_are_the_paper_s(told):
    """LeeShin1999 table 1."""
    assert {one['name']: one['frames'] for one in told} == FRAMES
    for one in told:
        assert [level['frames_per_knot'] for level in one['levels']] == SPACINGS
        assert one['constraints'] > 6 * one['frames']


def test_errors_fall_and_end_below_the_limits(told):
    for one in told:
        errors = [level['max_error_percent'] for level in one['levels']]
        assert all(a > b for a, b in zip(errors, errors[1:])), one['name']
        assert errors[-1] <= 1.1 and one['exact_max_error_percent'] <= 0.1


def test_fast_detail_is_kept(told):
    for one in told:
        assert one['detail_above_hz'] == 7.5
        assert one['detail_change_percent_free_joints'] <= 1.0
        assert one['detail_change_percent_median_joint'] <= 1.0


def test_detail_would_show_a_loss(data_dir):
    """Means of neighbouring frames halve the detail just above a quarter cycle, and more above."""
    skeleton = load_character(data_dir / 'characters/performer.yaml').skeleton
    walk = edit_experiments.built_in_sources(skeleton).stride
    shaken = edit_bench.with_tremor(walk, 7.5)
    means = quaternions.slerp(shaken.rotations[:-1], shaken.rotations[1:], 0.5)
    dull = Motion.from_rotations(skeleton, 30.0, shaken.root_positions[:-1], means)
    calm, full, lost = (edit_bench.fast_amplitudes(one, 7.5) for one in (walk, shaken, dull))
    arms = slice(4, 10)
    assert np.all(calm[:10] < 0.1 * full[:10])
    assert np.all(lost[arms] < 0.75 * full[arms])


def test_command_writes_file_and_pictures(tmp_path, run, monkeypatch):
    monkeypatch.setattr(edit_bench, 'REPEATS', 1)
    monkeypatch.setattr(edit_figures, 'INSTANTS', 3)
    monkeypatch.setattr(edit_figures, 'CELL_PX', (90, 110))
    short = ['morph', 'transition']
    every = edit_experiments.experiments
    monkeypatch.setattr(
        command_bench_edit,
        'experiments',
        lambda *given: [one for one in every(*given) if one.name in short],
    )
    done = run('edit', '--json', tmp_path / 'e.json', '--figures', tmp_path / 'f')
    assert done.code == 0 and '| morph | 62 |' in done.out
    told = json.loads((tmp_path / 'e.json').read_text())
    assert [one['name'] for one in told['experiments']] == short
    for one in told['experiments']:
        assert set(one) >= {
            'name',
            'frames',
            'constraints',
            'levels',
            'exact_max_error_percent',
            'total_time_s',
        }
    for name in short:
        assert Image.open(tmp_path / 'f' / f'edit_{name}.png').width == 3 * 90 + 2 * 4
    assert Image.open(tmp_path / 'f' / 'edit_knots.png').width == 7 * 90 + 6 * 4


@pytest.mark.mocap
def test_captured_walks_end_below_the_limits(mocap_dir, data_dir):
    skeleton = load_character(data_dir / 'characters/performer.yaml').skeleton
    found = edit_experiments.experiments(skeleton, mocap_dir)
    for one in edit_bench.as_tree(edit_bench.run(found))['experiments']:
        errors = [level['max_error_percent'] for level in one['levels']]
        assert all(a > b for a, b in zip(errors, errors[1:])), one['name']
        assert errors[-1] <= 1.1 and one['exact_max_error_percent'] <= 0.1


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['nowhere'], "CLIPS: expected a folder, got 'nowhere'"),
        (['.', '--json', '/proc/e.json'], '--json'),
        (['--figures', '/proc/f'], '--figures'),
    ],
)
def test_bad_arguments_are_told_in_one_line(words, text, capsys):
    assert command_bench_edit.main(words) == 2
    error = capsys.readouterr().err
    assert text in error and error.count('\n') == 1


def test_folder_without_the_clips_is_told(tmp_path, run):
    done = run('edit', tmp_path)
    assert done.code == 2 and 'CLIPS: expected 02_01.amc in' in done.err
