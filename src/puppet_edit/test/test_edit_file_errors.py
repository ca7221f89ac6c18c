# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Edit files that are refused: each error names the line, the key and what was expected."""

from edit_samples import entry, FULL_FILE, plan_of
from puppet_core.io import InputFileError
from puppet_edit.edit_file import MAX_ENTRIES
import pytest

HAND = 'position: left_hand, frame: 3'
TWO_HANDS = 'relative: [left_hand, right_hand], frame: 3'


@pytest.mark.parametrize(
    ('good', 'bad', 'line', 'says'),
    [
        ('format: puppet-edit/1', 'format: puppet-edit/2', 1, 'one of puppet-edit/1, got'),
        ('levels: 3', 'lvels: 3', 2, 'options.lvels: expected a known key, got an unknown one'),
        ('levels: 3', 'levels: 2.5', 2, 'options.levels: expected a whole number, got 2.5'),
        ('levels: 3', 'levels: 99', 2, 'options.levels: expected 0 .. 12, got 99'),
        ('levels: 3', 'levels: 9', 2, 'options.levels: expected a last level of at least 0.1'),
        ('levels: 3', 'exact: maybe', 2, 'options.exact: expected true or false'),
        ('levels: 3', 'solver: ik', 2, 'options.solver: expected one of hybrid, full'),
        ('levels: 3', 'joint_rigidity: {neck: 1}', 2, 'options.joint_rigidity.neck: expected one'),
        ('table: {z_m: 0.7}', 'table: {z_cm: 70}', 4, 'surfaces.table.table: expected one of z_m'),
        ('  table: {z_m: 0.7}', '  floor: {z_m: 1}', 4, 'surfaces.floor: expected another name'),
        ('{frame: 0, at', '{frame: 50, at', 9, 'path[1].time_s: expected a frame after 50'),
        ('position: left_hand', 'position: left_palm', 11, 'position: expected one of left_hand'),
        ('position: left_hand', 'postion: left_hand', 11, 'kind: expected one of position'),
        ('frame: 20', 'frame: 60', 12, 'frame: expected a frame 0 .. 59, got 60'),
        ('frame: 20', 'frame: 1.5', 12, 'frame: expected a frame 0 .. 59, got 1.5'),
        ('frame: 20', 'time_s: 2', 12, 'time_s: expected a time 0 .. 1.96667 s, got 2'),
        ('    frame: 20\n', '', 11, 'frame: expected one of frame, frames, time_s'),
        ('frame: 20', 'frame: 20\n    time_s: 1', 12, 'got frame and time_s'),
        ('[0.1, 0.0, 0.2]', '[0.1, .nan, 0.2]', 13, 'move_m: expected 3 finite numbers'),
        ('[0.1, 0.0, 0.2]', '[0.1, 0.0]', 13, 'move_m: expected 3 finite numbers'),
        ('move_m: [0.1, 0.0, 0.2]', 'move_cm: [10, 0, 20]', 13, "as_in_frame, object, got 'move_"),
        ('move_m: [0.1, 0.0, 0.2]', 'at_m: [40, 110, 90]', 13, 'at_m: expected a place in metres'),
        ('[0.2, 0.5]', '[0.5, 0.2]', 15, 'times_s: expected rising values'),
        ('[0.2, 0.5]', '[0.2, 0.21]', 15, 'times_s: expected rising values, each in another'),
        ('object: ball', 'object: bal', 16, 'object: expected one of ball'),
        ('[0, 10, 0]', '[0, 400, 0]', 20, 'turn_rpy_deg: expected angles in degrees, -360'),
        ('to_frame: 20', 'to_frame: 5', 23, 'to_frame: expected at least from_frame (10), got 5'),
        ('surface: table', 'surface: tabl', 27, 'surface: expected one of floor, table'),
        ('side: above', 'side: over', 28, 'side: expected one of on, above, below'),
        ('[left_hand, right_hand]', '[left_hand]', 29, 'a list of two different points'),
        ('keep: distance', 'distance_m: -1', 31, 'distance_m: expected a number in 0'),
        ('to_frame: 39', 'to_frame: 30', 32, 'plant: expected an interval of two frames'),
        ('surface: floor', 'surfac: floor', 35, 'surfac: expected a known key'),
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
        (f'{{{HAND}, at_m: [0, 0, 1], orientation: chest}}', 'got position and orientation'),
        ('{orientation: left_elbow, frame: 3, rpy_deg: [0, 0, 0]}', 'expected one of pelvis'),
        ('{orientation: chest, frame: 3, quaternion_wxyz: [0, 0, 0, 0]}', 'a unit quaternion'),
        ('{look_at: head, frame: 3, target_m: [1, 0, 1], axis: [0, 0, 0]}', 'axis: expected a d'),
        (f'{{{TWO_HANDS}}}', 'expected one of vector_m, distance_m, keep, got none'),
        (f'{{{TWO_HANDS}, keep: it}}', 'keep: expected one of vector, distance'),
        ('{relative: [left_hand, left_hand], frame: 3, keep: vector}', 'two different points'),
        ('{plant: [], from_frame: 3}', 'plant: expected at least one point'),
        ('{plant: left_foot, from_frame: 3, clearance_m: 0.1}', 'expected a surface with it'),
        ('{plant: left_foot, frames: [1, 3]}', 'plant: expected an interval'),
    ],
)
def test_bad_entry_is_refused(text, says):
    with pytest.raises(InputFileError) as caught:
        plan_of(entry(text))
    assert says in str(caught.value) and caught.value.line == 3


@pytest.mark.parametrize(
    ('first', 'second', 'says'),
    [
        (f'{HAND}, at_m: [0, 0, 1]', f'{HAND}, at_m: [0, 0.2, 1]', 'goals 0.2 m apart in frame 3'),
        (
            f'{HAND}, at_m: [0, 0, 1]',
            'position: left_hand, to_frame: 5, at_m: [0, 0, 2], axes: z',
            'goals 1 m apart',
        ),
        (
            'orientation: chest, frame: 3, rpy_deg: [0, 0, 0]',
            'orientation: chest, frame: 3, rpy_deg: [0, 0, 90]',
            'goals 1.57 rad apart',
        ),
        (
            f'{TWO_HANDS}, distance_m: 0.5',
            'relative: [right_hand, left_hand], frame: 3, distance_m: 0.4',
            'goals 0.1 m apart',
        ),
        (
            f'{TWO_HANDS}, vector_m: [1, 0, 0]',
            'relative: [right_hand, left_hand], frame: 3, vector_m: [1, 0, 0]',
            'goals 2 m apart',
        ),
        (f'{TWO_HANDS}, vector_m: [1, 0, 0]', f'{TWO_HANDS}, distance_m: 0.5', 'goals 0.5 m'),
    ],
)
def test_contradicting_entries_are_refused(first, second, says):
    with pytest.raises(InputFileError) as caught:
        plan_of(f'constraints:\n  - {{{first}}}\n  - {{{second}}}\n')
    text = str(caught.value)
    assert caught.value.line == 4 and 'agrees with line 3 (' in text and says in text


def test_plant_refuses_two_places_within_it():
    with pytest.raises(InputFileError) as caught:
        plan_of(
            'constraints:\n'
            '  - {position: left_foot, frame: 3, at_m: [0, 0, 0]}\n'
            '  - {position: left_foot, frame: 5, at_m: [0.1, 0, 0]}\n'
            '  - {plant: left_foot, from_frame: 3, to_frame: 5}\n'
        )
    assert caught.value.line == 4
    assert 'one place while line 5 (plant left_foot, frames 3 .. 5) holds' in str(caught.value)
    assert 'places 0.1 m apart in frames 3 and 5' in str(caught.value)


def test_so_many_entries_that_comparing_them_takes_minutes_are_refused():
    lines = f'  - {{{HAND}, move_m: [0, 0, 0]}}\n' * (MAX_ENTRIES + 1)
    with pytest.raises(InputFileError, match=f'at most {MAX_ENTRIES} entries, got 1001'):
        plan_of(f'constraints:\n{lines}')
