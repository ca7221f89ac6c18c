# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip edit: clips that meet their edit file, reports, pictures, bad input."""

import json

from edit_samples import walk as sample_walk
import numpy as np
from puppet_core.clips.bvh import write_bvh
from puppet_core.clips.load import load_clip
from puppet_core.clips.options import ClipOptions
import pytest

pytestmark = pytest.mark.ros

AS_WRITTEN = ClipOptions(correct=False)
BVH_TOL_M = 2e-4  # what the digits of a BVH file leave of a place
REACH = """\
format: puppet-edit/1
options: {levels: 3, frames_per_knot: 12}
constraints:
  - position: left_hand
    frame: 30
    move_m: [0.1, 0.0, 0.2]
  - plant: right_foot
    from_frame: 40
    to_frame: 45
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_bvh(sample_walk(), tmp_path / 'walk.bvh')
    (tmp_path / 'reach.yaml').write_text(REACH)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr('puppet_clips.edit_pictures.INSTANTS', 1)
    return tmp_path


def test_written_clip_meets_the_file_and_is_reported_as_in_the_paper(run, folder):
    """LeeShin1999 table 1: knots, time and error of each level; the lines of the entries."""
    done = run('edit', 'walk.bvh', 'reach.yaml', 'out.bvh', '--as-is', '--report', 'r.json')
    assert done.code == 0, done.err
    before, after = (
        load_clip(folder / name, options=AS_WRITTEN).end_effectors
        for name in ('walk.bvh', 'out.bvh')
    )
    np.testing.assert_allclose(after[30, 0], before[30, 0] + [0.1, 0.0, 0.2], atol=BVH_TOL_M)
    assert np.ptp(after[40:46, 3], axis=0).max() < BVH_TOL_M
    np.testing.assert_allclose(after[:, 1], before[:, 1], atol=0.2)  # the rest is as it was
    figures = json.loads((folder / 'r.json').read_text())
    assert [level['frames_per_knot'] for level in figures['levels']] == [12, 6, 3]
    assert [level['knots'] for level in figures['levels']] == [8, 13, 23]
    assert all(level['time_s'] > 0.0 for level in figures['levels'])
    errors = [level['max_error_percent'] for level in figures['levels']]
    assert figures['initial_max_error_percent'] > errors[0] >= errors[-1]
    assert figures['exact_max_error_percent'] < 0.1
    assert [entry['line'] for entry in figures['entries']] == [4, 7]
    assert all(entry['is_met'] and entry['error_mm'] < 1.0 for entry in figures['entries'])
    assert figures['frames'] == 60 and figures['frames_constrained'] == 7
    assert '| level | frames per knot | knots | time, ms | max. error, % of height |' in done.out
    assert '| 4 | position left_hand | 30 |' in done.out
    assert done.out.splitlines()[-1].startswith('out.bvh: 60 frames, 7 of them constrained; ')


def test_goal_out_of_reach_is_reported(run, folder):
    text = REACH.replace('move_m: [0.1, 0.0, 0.2]', 'move_m: [0.0, 0.0, 5.0]\n    weight: 0.001')
    text = text.replace('plant: right_foot', 'position: right_foot\n    move_m: [0, 0, 0]')
    text = text.replace('from_frame: 40\n    to_frame: 45', 'frame: 30')
    (folder / 'far.yaml').write_text(text)
    done = run('edit', 'walk.bvh', 'far.yaml', 'out.bvh')
    assert done.code == 1 and '; not met: ' in done.err and ' (line 4' in done.err
    allowed = run('edit', 'walk.bvh', 'far.yaml', 'out.bvh', '--allow-unmet')
    assert allowed.code == 0 and '; not met: ' in allowed.out


def test_preview_draws_the_terrain(run, folder, monkeypatch):
    monkeypatch.setattr('puppet_clips.edit_pictures.CELL_PX', (160, 180))
    (folder / 'hill.yaml').write_text(
        'format: puppet-edit/1\nsurfaces: {step: {z_m: 0.3}}\ntasks: {terrain: {surface: step}}\n'
    )
    done = run('edit', 'walk.bvh', 'hill.yaml', 'out.bvh', '--preview', 'p.png')
    assert done.code == 0 and 'feet brought onto step' in done.out
    walked = load_clip(folder / 'out.bvh', options=AS_WRITTEN).end_effectors[:, 2:4, 2]
    assert 0.25 < walked.min() and (folder / 'p.png').is_file()


def test_bad_file_is_named_with_its_line_and_nothing_is_written(run, folder):
    (folder / 'bad.yaml').write_text(REACH.replace('frame: 30', 'frame: 300'))
    names = {path.name for path in folder.iterdir()}
    done = run('edit', 'walk.bvh', 'bad.yaml', 'out.bvh', '--report', 'r.json')
    assert done.code == 2 and done.out == '' and len(done.err.splitlines()) == 1
    assert done.err.startswith('puppet edit: bad.yaml:5: ')
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (('no.bvh', 'reach.yaml', 'o.bvh'), 'no.bvh: expected a readable'),
        (('walk.bvh', 'no.yaml', 'o.bvh'), 'no.yaml: expected a readable file, got No such file'),
        (('walk.bvh', 'reach.yaml', 'o.fbx'), 'OUT: expected a .bvh file'),
        (('walk.bvh', 'reach.yaml', 'walk.bvh'), 'OUT: expected a file other than CLIP'),
        (('walk.bvh', 'reach.yaml', 'o.bvh', '--preview', 'p.jpg'), '--preview: expected a .png'),
        (('walk.bvh', 'reach.yaml'), 'the following arguments are required: OUT'),
    ],
)
def test_bad_argument_is_named(run, folder, words, says):
    names = {path.name for path in folder.iterdir()}
    done = run('edit', *words)
    assert done.code == 2 and says in done.err and len(done.err.splitlines()) == 1
    assert {path.name for path in folder.iterdir()} == names
