# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks of an edit file: what they make of a walk, in which order, and what they refuse."""

from edit_samples import CHARACTERS, plan_of, walk
import numpy as np
from puppet_core.body.character import load_character
from puppet_core.io import InputFileError
from puppet_edit.edit_file import parse_edit, Readers
from puppet_edit.editor.constraints import BELOW, OnSurface, PointGoal
from puppet_edit.editor.motion_edit import edit_motion
import pytest


def _character(name):
    return load_character(CHARACTERS / f'{name}.yaml')


def _clip(path, asf):
    assert path.name == 'second.bvh' and asf is None
    return walk()


READERS = Readers(_clip, _character)


def tasks(text, more=''):
    """Return the plan of a file with tasks, given as a YAML flow mapping."""
    return plan_of(f'tasks: {text}\n{more}', READERS)


def edited(plan):
    return edit_motion(plan.motion, plan.constraints, plan.config).motion


def test_transition_is_longer_and_frames_are_its_own():
    plan = tasks(
        '{transition: {clip: second.bvh, fade_s: 0.4}}',
        'constraints: [{position: left_hand, frame: 80, move_m: [0, 0, 0.1]}]',
    )
    assert plan.motion.n_frames > 80
    assert plan.notes[0].startswith('second.bvh joined on in frames ')
    assert len(plan.constraints) > 1


def test_transition_takes_the_windows_that_are_given():
    plan = tasks(
        '{transition: {clip: second.bvh, from_frame: 40, to_frame: 50, second_from_frame: 5, '
        'second_to_frame: 15}}'
    )
    assert plan.notes == ('second.bvh joined on in frames 40 .. 50',)


def test_retargeting_gives_the_other_body_planted_feet():
    plan = tasks('{retarget: {character: sally}}')
    motion = edited(plan)
    np.testing.assert_array_equal(motion.skeleton.offsets, _character('sally').skeleton.offsets)
    places = [c for c in plan.constraints if isinstance(c, PointGoal)]
    assert places and plan.notes == ('given to sally',)


@pytest.mark.parametrize('task', ['{terrain: {surface: hill}}', '{hold_feet: true}'])
def test_feet_that_stand_stay_where_they_have_to(task):
    plan = tasks(task, 'surfaces: {hill: {function: ramp, slope_deg: 8}}')
    assert (plan.ground is not None) == ('terrain' in task)
    motion = edited(plan)
    planted = [c for c in plan.constraints if isinstance(c, PointGoal) and c.contact]
    assert planted
    for goal in planted:
        sole = motion.end_effectors[goal.frames, 2 + (goal.point.segment == 15)]
        np.testing.assert_allclose(sole, goal.goals, atol=1e-3)
    assert tasks('{hold_feet: false}').constraints == ()


def test_retargeting_onto_terrain_is_one_step():
    plan = tasks(
        '{retarget: {character: sally, world_scale: 1}, terrain: {surface: high}}',
        'surfaces: {high: {z_m: 0.5}}',
    )
    heights = [c.goals[:, 2] for c in plan.constraints if isinstance(c, PointGoal)]
    assert np.abs(np.concatenate(heights) - 0.5).max() < 0.1
    soles = edited(plan).end_effectors[:, 2:4, 2]
    assert 0.4 < soles.min() < 0.55


def test_doorway_keeps_the_head_below_the_lintel():
    plan = tasks('{doorways: [{frame: 30, lintel_m: 1.5}]}')
    assert all(isinstance(c, OnSurface) and c.side == BELOW for c in plan.constraints)
    x, y = walk().root_positions[30, :2]
    placed = tasks(
        f'{{doorways: [{{at_m: [{x}, {y}], heading_deg: 0, lintel_m: 1.5, width_m: 5}}]}}'
    )
    assert len(placed.constraints) == len(plan.constraints)


def test_moves_below_a_lintel_are_from_the_upright_body():
    plan = tasks(
        '{doorways: [{frame: 30, lintel_m: 1.5}]}',
        'constraints: [{position: pelvis, frame: 30, move_m: [0, 0, -0.3]}]',
    )
    wanted = walk().root_positions[30] - [0.0, 0.0, 0.3]
    np.testing.assert_allclose(plan.constraints[0].goals[0], wanted)
    assert plan.motion.root_positions[30, 2] < walk().root_positions[30, 2]


def test_heights_are_read_from_beside_the_edit_file(tmp_path):
    (tmp_path / 'hills.csv').write_text('0,0,0,0\n0,1,1,0\n0,1,1,0\n0,0,0,0\n')
    text = (
        'format: puppet-edit/1\nsurfaces: {hills: {heights: hills.csv, cell_m: 1}}\n'
        'constraints: [{on_surface: left_foot, frame: 3, surface: hills}]\n'
    )
    plan = parse_edit(text, tmp_path / 'e.yaml', walk(), READERS)
    assert plan.constraints[0].surface.height(1.0, 1.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ('text', 'line', 'says'),
    [
        ('tasks: {dance: {}}', 2, 'tasks.dance: expected a known key'),
        ('tasks: {transition: {}}', 2, 'tasks.transition.clip: expected this key'),
        ('tasks: {transition: {clip: second.bvh, fade: 1}}', 2, 'fade: expected a known key'),
        ('tasks: {transition: {clip: second.bvh, fade_s: 30}}', 2, 'tasks.transition: expected '),
        ('tasks:\n  transition: {clip: second.bvh, from_frame: 3}', 3, 'to_frame: expected'),
        ('tasks:\n  transition: {clip: second.bvh, alignment: it}', 3, 'expected one of contacts'),
        ('tasks:\n  retarget: {character: 3}', 3, 'character: expected a text'),
        ('tasks:\n  retarget: {character: x}', 3, 'a character by name or file'),
        ('tasks:\n  retarget: {character: sally, world_scale: 0}', 3, 'a number > 0'),
        ('tasks:\n  terrain: {surface: hill}', 3, 'surface: expected one of floor, got'),
        ('tasks:\n  hold_feet: true\n  terrain: {surface: floor}', 3, 'none beside terrain'),
        ('tasks:\n  doorways: [{frame: 3, lintel_m: 0}]', 3, 'lintel_m: expected a number > 0'),
        ('tasks:\n  doorways: [{at_m: [90, 90], lintel_m: 1.5}]', 3, 'on the path of the body'),
        ('surfaces:\n  a: {function: cliff}', 3, 'function: expected one of sine'),
        ('surfaces:\n  a: {function: ramp, slope: 3}', 3, 'slope: expected a known key'),
        ('surfaces:\n  a: {function: ramp, slope_deg: 80}', 3, 'expected -60 <= value <= 60'),
        ('surfaces:\n  a: {function: rough, seed: -1}', 3, 'seed: expected a number in 0'),
        ('surfaces:\n  a: {function: rough, seed: 1.5}', 3, 'seed: expected a whole number'),
        ('surfaces:\n  a: {function: rough, size_m: 9000}', 3, 'size_m: expected a number'),
        ('surfaces:\n  a: {function: steps, tread_m: x}', 3, 'tread_m: expected a number'),
    ],
)
def test_bad_task_is_refused_with_its_line(text, line, says):
    with pytest.raises(InputFileError) as caught:
        plan_of(text, READERS)
    assert caught.value.line == line and says in str(caught.value)
