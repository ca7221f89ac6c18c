# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Edit files: what entries mean, that the writer agrees, and what is refused by its line."""

from dataclasses import fields

from edit_samples import entry, FULL_FILE, plan_of, walk
import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.io import InputFileError
from puppet_core.io.yaml_file import parse_yaml
from puppet_core.math import quaternions as qb
from puppet_edit.edit_file import edit_text, FORMAT
from puppet_edit.editor.constraints import EditConfig
import pytest
from scipy.spatial.transform import Rotation

LEFT_HAND, RIGHT_HAND = 0, 1  # rows of a motion's end-effectors


def only(text):
    (constraint,) = plan_of(entry(text)).constraints
    return constraint


def same(a, b):
    assert len(a.constraints) == len(b.constraints)
    for one, other in zip(a.constraints, b.constraints):
        assert type(one) is type(other)
        for field in fields(one):
            left, right = getattr(one, field.name), getattr(other, field.name)
            if isinstance(left, np.ndarray):
                np.testing.assert_array_equal(left, right)
            else:
                assert repr(left) == repr(right)
    return True


def test_entries_say_line_and_frames():
    texts = {entry.line: entry.text for entry in plan_of(FULL_FILE).entries}
    assert list(texts) == [11, 14, 18, 21, 25, 29, 32]
    assert texts[11] == 'position left_hand, frame 20'
    assert texts[25] == 'on surface left_hand, frames 45 .. 59'


def test_written_file_reads_back_the_same():
    def written(text):
        tree = parse_yaml(text, 'e.yaml', FORMAT)
        return edit_text({key: tree.raw(key) for key in tree.keys()})

    text = written(FULL_FILE)
    assert same(plan_of(FULL_FILE), plan_of(text)) and written(text) == text


@pytest.mark.parametrize(
    ('where', 'frames'),
    [
        ('frame: 7', [7]),
        ('frames: [3, 9]', [3, 9]),
        ('time_s: 0.5', [15]),
        ('times_s: [0.1, 1.0]', [3, 30]),
        ('from_frame: 57', [57, 58, 59]),
        ('to_s: 0.1', [0, 1, 2, 3]),
        ('from_s: 0.1, to_s: 0.2', [3, 4, 5, 6]),
    ],
)
def test_frames_and_times(where, frames):
    goal = only(f'{{position: left_hand, move_m: [0, 0, 0], {where}}}')
    assert goal.frames.tolist() == frames


def test_move_is_from_where_the_point_was():
    goal = only('{position: right_hand, frames: [4, 8], move_m: [0.1, 0, -0.2]}')
    own = walk().end_effectors[[4, 8], RIGHT_HAND]
    np.testing.assert_allclose(goal.goals, own + [0.1, 0.0, -0.2], atol=1e-12)


def test_as_in_frame_is_the_place_of_that_frame():
    goal = only('{position: left_hand, from_frame: 4, to_frame: 6, as_in_frame: 5}')
    np.testing.assert_allclose(goal.goals, np.tile(walk().end_effectors[5, LEFT_HAND], (3, 1)))


def test_rows_are_one_for_each_frame():
    goal = only('{position: pelvis, frames: [4, 8], at_m: [[1, 0, 1], [2, 0, 1]], axes: xy}')
    np.testing.assert_array_equal(goal.goals, [[1, 0, 1], [2, 0, 1]])
    assert goal.axes == (True, True, False)


def test_offset_is_in_the_frame_of_the_segment():
    goal = only('{position: head, frame: 9, offset_m: [0.1, 0, 0.1], move_m: [0, 0, 0]}')
    q_world, p_world = walk().world_segments()
    head = SEGMENT_INDEX['head']
    top = p_world[9, head] + Rotation.from_quat(np.roll(q_world[9, head], -1)).apply([0.1, 0, 0.1])
    np.testing.assert_allclose(goal.goals[0], top, atol=1e-12)


def test_moving_object_is_met_on_its_straight_way():
    """The ball goes one metre in thirty frames; an offset is added to it."""
    goal = plan_of(FULL_FILE).constraints[1]
    np.testing.assert_allclose(goal.goals, [[0.5, 0.2, 1.1], [0.5, 0.5, 1.1]], atol=1e-12)


@pytest.mark.parametrize('angles', [(10, 20, 30), (0, 0, 90), (-170, 40, 5)])
def test_rpy_is_about_x_then_y_then_z(angles):
    goal = only(f'{{orientation: chest, frame: 3, rpy_deg: {list(angles)}}}')
    wanted = Rotation.from_euler('xyz', angles, degrees=True).as_matrix()
    np.testing.assert_allclose(qb.to_matrix(goal.orientations[0]), wanted, atol=1e-12)


def test_turn_is_in_world_on_top_of_its_own_orientation():
    goal = only('{orientation: left_foot, frame: 3, turn_rpy_deg: [0, 0, 90]}')
    own = walk().world_segments()[0][3, SEGMENT_INDEX['left_foot']]
    wanted = Rotation.from_euler('z', 90, degrees=True).as_matrix() @ qb.to_matrix(own)
    np.testing.assert_allclose(qb.to_matrix(goal.orientations[0]), wanted, atol=1e-12)


def test_kept_relation_is_the_one_of_each_frame():
    goal = only('{relative: [left_hand, right_hand], frames: [3, 9], keep: vector}')
    palms = walk().end_effectors[[3, 9]]
    np.testing.assert_allclose(goal.vectors, palms[:, RIGHT_HAND] - palms[:, LEFT_HAND])


def test_touching_is_a_distance_of_zero():
    goal = only('{relative: [left_hand, right_hand], frame: 3, distance_m: 0}')
    np.testing.assert_array_equal(goal.vectors, np.zeros((1, 3)))


def test_looked_at_point_is_where_it_was():
    goal = only('{look_at: head, frame: 3, target_point: left_hand}')
    np.testing.assert_allclose(goal.targets[0], walk().end_effectors[3, LEFT_HAND])
    np.testing.assert_array_equal(goal.axis, [1, 0, 0])


def test_options_reach_the_editor():
    config = plan_of(
        'options: {levels: 2, frames_per_knot: 5, exact: false, tolerance_percent: 1, '
        'solver: full, root_rigidity: 7, joint_rigidity: {spine: 3}}'
    ).config
    assert (config.levels, config.frames_per_knot, config.exact) == (2, 5.0, False)
    assert (config.tolerance_percent, config.solver, config.root_rigidity) == (1.0, 'full', 7.0)
    usual = np.array(EditConfig().joint_rigidity)
    usual[SEGMENT_INDEX['spine']] = 3.0
    np.testing.assert_array_equal(config.joint_rigidity, usual)


def test_joint_limits_are_those_of_a_character_file():
    limits = plan_of(
        'joint_limits:\n  left_shank: {swing_deg: [80, 10], twist_deg: [-10, 10]}\n'
    ).config.joint_limits
    assert [limit.segment for limit in limits] == [
        SEGMENT_INDEX['left_shank'],
        SEGMENT_INDEX['right_shank'],
    ]


def test_file_without_constraints_asks_for_nothing():
    assert plan_of('options: {levels: 2}').constraints == ()


HAND = 'position: left_hand, frame: 3'
TWO_HANDS = 'relative: [left_hand, right_hand], frame: 3'


@pytest.mark.parametrize(
    ('good', 'bad', 'line', 'says'),
    [
        ('format: puppet-edit/1', 'format: puppet-edit/2', 1, 'one of puppet-edit/1, got'),
        ('levels: 3', 'lvels: 3', 2, 'options.lvels: expected a known key, got an unknown one'),
        ('levels: 3', 'levels: 2.5', 2, 'options.levels: expected a whole number, got 2.5'),
        ('levels: 3', 'levels: 9', 2, 'options.levels: expected a last level of at least 0.1'),
        ('levels: 3', 'exact: maybe', 2, 'options.exact: expected true or false'),
        ('levels: 3', 'joint_rigidity: {neck: 1}', 2, 'options.joint_rigidity.neck: expected one'),
        ('table: {z_m: 0.7}', 'table: {z_cm: 70}', 4, 'surfaces.table.table: expected one of z_m'),
        ('  table: {z_m: 0.7}', '  floor: {z_m: 1}', 4, 'surfaces.floor: expected another name'),
        ('{frame: 0, at', '{frame: 50, at', 9, 'path[1].time_s: expected a frame after 50'),
        ('position: left_hand', 'position: left_palm', 11, 'position: expected one of left_hand'),
        ('position: left_hand', 'postion: left_hand', 11, 'kind: expected one of position'),
        ('frame: 20', 'frame: 60', 12, 'frame: expected a frame 0 .. 59, got 60'),
        ('frame: 20', 'time_s: 2', 12, 'time_s: expected a time 0 .. 1.96667 s, got 2'),
        ('    frame: 20\n', '', 11, 'frame: expected one of frame, frames, time_s'),
        ('frame: 20', 'frame: 20\n    time_s: 1', 12, 'got frame and time_s'),
        ('[0.1, 0.0, 0.2]', '[0.1, .nan, 0.2]', 13, 'move_m: expected 3 finite numbers'),
        ('move_m: [0.1, 0.0, 0.2]', 'move_cm: [10, 0, 20]', 13, "as_in_frame, object, got 'move_"),
        ('move_m: [0.1, 0.0, 0.2]', 'at_m: [40, 110, 90]', 13, 'at_m: expected a place in metres'),
        ('[0.2, 0.5]', '[0.2, 0.21]', 15, 'times_s: expected rising values, each in another'),
        ('object: ball', 'object: bal', 16, 'object: expected one of ball'),
        ('[0, 10, 0]', '[0, 400, 0]', 20, 'turn_rpy_deg: expected angles in degrees, -360'),
        ('to_frame: 20', 'to_frame: 5', 23, 'to_frame: expected at least from_frame (10), got 5'),
        ('[left_hand, right_hand]', '[left_hand]', 29, 'a list of two different points'),
        ('to_frame: 39', 'to_frame: 30', 32, 'plant: expected an interval of two frames'),
        ('constraints:\n', 'constraints: 3\nx:\n', 10, 'constraints: expected a list of entries'),
    ],
    ids=lambda value: str(value).strip()[:32] if isinstance(value, str) else '',
)
def test_bad_file_is_refused_with_its_line(good, bad, line, says):
    assert good in FULL_FILE
    with pytest.raises(InputFileError) as caught:
        plan_of(FULL_FILE.replace(good, bad, 1))
    assert says in str(caught.value)
    assert caught.value.line == line and str(caught.value).startswith(f'e.yaml:{line}: ')


@pytest.mark.parametrize(
    ('text', 'says'),
    [
        (f'{{{HAND}, at_m: [0, 0, 1], move_m: [0, 0, 1]}}', 'got at_m and move_m'),
        (f'{{{HAND}, object: ball}}', 'object: expected an object of the section objects'),
        (f'{{{HAND}, at_m: [0, 0, 1], axes: xw}}', 'axes: expected some of xyz'),
        (f'{{{HAND}, at_m: [0, 0, 1], weight: 0}}', 'weight: expected a number > 0'),
        (f'{{{HAND}, at_m: [[0, 0, 1], [0, 0, 2]]}}', 'or a row of 3 for each of 1 frames'),
        ('{orientation: left_elbow, frame: 3, rpy_deg: [0, 0, 0]}', 'expected one of pelvis'),
        ('{orientation: chest, frame: 3, quaternion_wxyz: [0, 0, 0, 0]}', 'a unit quaternion'),
        ('{look_at: head, frame: 3, target_m: [1, 0, 1], axis: [0, 0, 0]}', 'axis: expected a d'),
        (f'{{{TWO_HANDS}}}', 'expected one of vector_m, distance_m, keep, got none'),
        (f'{{{TWO_HANDS}, keep: it}}', 'keep: expected one of vector, distance'),
        ('{plant: [], from_frame: 3}', 'plant: expected at least one point'),
        ('{plant: left_foot, from_frame: 3, clearance_m: 0.1}', 'expected a surface with it'),
    ],
)
def test_bad_entry_is_refused(text, says):
    with pytest.raises(InputFileError) as caught:
        plan_of(entry(text))
    assert says in str(caught.value) and caught.value.line == 3
