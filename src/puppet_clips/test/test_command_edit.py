# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""puppet_clip edit: clips that meet their edit file, reports, pictures, bad input, its page."""

from dataclasses import fields
import json
from pathlib import Path
import re
import shlex
import shutil

from edit_samples import walk as sample_walk
import numpy as np
from PIL import Image
from puppet_core.clips.bvh import write_bvh
from puppet_core.clips.load import load_clip
from puppet_core.clips.options import ClipOptions
from puppet_edit import command_edit
from puppet_edit.edit_file import FRAME_KEYS, KINDS, STEPS
from puppet_edit.editor.constraints import EditConfig
from puppet_view.browser import view_command
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


SAMPLE = Path(__file__).resolve().parents[3] / 'config/clips/walk.bvh'
PAGE = (Path(__file__).resolve().parents[3] / 'doc/edit.md').read_text()
FILES = re.findall(r'```yaml\n(format: puppet-edit/.*?)```', PAGE, re.DOTALL)
VIEWS = re.findall(r'^\./puppet view ([^#\n]*)', PAGE, re.MULTILINE)


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


def test_preview_marks_the_goal(run, folder):
    done = run('edit', 'walk.bvh', 'reach.yaml', 'out.bvh', '--preview', 'p.png')
    assert done.code == 0, done.err
    pixels = np.asarray(Image.open(folder / 'p.png')).astype(int)
    # two rows of pictures, and bands for their labels
    assert pixels.shape[1] == 320 and 0 < pixels.shape[0] - (2 * 360 + 4) < 100
    red = (pixels[..., 0] > 120) & (pixels[..., 1] < 60) & (pixels[..., 2] < 60)
    middle = len(pixels) // 2
    # the ball stands free before, and is in the hand after
    assert red[:middle].sum() > 1.2 * red[middle:].sum() > 0


def test_preview_draws_the_terrain(run, folder, monkeypatch):
    monkeypatch.setattr('puppet_clips.edit_pictures.CELL_PX', (160, 180))
    (folder / 'hill.yaml').write_text(
        'format: puppet-edit/1\nsurfaces: {step: {z_m: 0.3}}\ntasks: {terrain: {surface: step}}\n'
    )
    done = run('edit', 'walk.bvh', 'hill.yaml', 'out.bvh', '--preview', 'p.png')
    assert done.code == 0 and 'feet brought onto step' in done.out
    walked = load_clip(folder / 'out.bvh', options=AS_WRITTEN).end_effectors[:, 2:4, 2]
    assert 0.25 < walked.min() and (folder / 'p.png').is_file()


def test_example_of_the_help_runs(run, folder):
    words = shlex.split(command_edit.EXAMPLE.removeprefix('example: ./puppet '))
    assert run(*words).code == 0
    assert all((folder / name).is_file() for name in ('out.bvh', 'report.json', 'strip.png'))


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
        (('walk.bvh', 'reach.yaml', 'walk.bvh'), 'OUT: expected another file than CLIP'),
        (('walk.bvh', 'reach.yaml', 'o.bvh', '--preview', 'p.jpg'), '--preview: expected a .png'),
        (('walk.bvh', 'reach.yaml'), 'the following arguments are required: OUT'),
    ],
)
def test_bad_argument_is_named(run, folder, words, says):
    names = {path.name for path in folder.iterdir()}
    done = run('edit', *words)
    assert done.code == 2 and says in done.err and len(done.err.splitlines()) == 1
    assert {path.name for path in folder.iterdir()} == names


def test_the_example_is_the_file_that_ships():
    assert (SAMPLE.parent / 'reach.yaml').read_text().endswith(FILES[0])


@pytest.mark.parametrize('text', FILES, ids=['example', 'names', 'tasks'])
def test_files_of_the_page_are_met_on_the_sample(run, folder, text):
    (folder / 'e.yaml').write_text(text)
    shutil.copy(SAMPLE, 'second.bvh')
    done = run('edit', SAMPLE, 'e.yaml', 'out.bvh')
    assert done.code == 0, done.err
    assert (folder / 'out.bvh').is_file()


@pytest.mark.parametrize('line', VIEWS)
def test_view_commands_of_the_page_open_a_session(monkeypatch, line):
    monkeypatch.chdir(SAMPLE.parents[2])
    arguments = view_command.parser().parse_args(shlex.split(line))
    session, clips = view_command.open_session(arguments)
    assert len(clips) == len(arguments.clips)
    assert session.path.name in ('walk_edit.yaml', 'reach.yaml')


def test_tables_of_the_page_name_all_there_is():
    options = {field.name for field in fields(EditConfig)} - {'joint_limits', 'body_height_m'}
    for name in (*options, *KINDS, *FRAME_KEYS, *STEPS):
        assert f'`{name}`' in PAGE or f'`{name}: ' in PAGE, name
    assert command_edit.EXAMPLE.removeprefix('example: ') in PAGE.replace('config/clips/', '')
