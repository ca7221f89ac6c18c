# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Targets: what meets is moved by half, samples are interpolated; files, errors by line."""

import numpy as np
from puppet_core.io import ConfigError, InputFileError
from puppet_edit.enhancement.targets import Meeting, read_targets, resampled, Targets
import pytest


def hands(n=4):
    """Return positions of both palms, 0.1 m apart in the first frame, further in each next."""
    positions = np.full((n, 8, 3), np.nan)
    positions[:, 0] = [0.3, 0.05, 1.2]
    positions[:, 1] = [0.3, -0.05, 1.2]
    positions[:, 0, 1] += 0.1 * np.arange(n)
    return positions


def test_names_are_those_with_a_position():
    assert Targets(hands()).names == ('left_hand', 'right_hand')
    assert Targets(hands()).only(['right_hand']).names == ('right_hand',)


def test_two_coordinates_are_no_position():
    positions = hands()
    positions[1, 0, 2] = np.inf
    assert Targets(positions).measured[:, 0].tolist() == [True, False, True, True]


def test_two_that_meet_move_by_half_each():
    """Only where it is nearly met: in the first frame here."""
    targets = Targets(hands(), (Meeting((0, 1), 0.06),))
    goals = targets.goals(range(4))
    middle = targets.positions[:, :2].mean(axis=1)
    assert np.allclose(goals[:, :2].mean(axis=1), middle, atol=1e-15)
    assert np.allclose(np.linalg.norm(goals[0, 0] - goals[0, 1]), 0.06, atol=1e-15)
    assert np.array_equal(goals[1:, :2], targets.positions[1:, :2])


def test_fists_on_each_other_stay_finite():
    positions = hands()
    positions[:, 1] = positions[:, 0]
    goals = Targets(positions, (Meeting((0, 1), 0.05),)).goals([0, 1])
    assert np.array_equal(goals[:, :2], positions[:2, :2])


@pytest.mark.parametrize(
    ('make', 'says'),
    [
        (lambda: Meeting((1, 1)), 'meet: expected two different end-effectors, got right_hand'),
        (lambda: Meeting((0, 1), -0.1), 'meet: expected a distance of 0 .. 1 m, got -0.1'),
        (lambda: Targets(hands(), (Meeting((0, 2)),)), 'with targets, got left_foot'),
        (lambda: Targets(np.full((3, 8, 3), np.nan)), 'expected measured positions, got none'),
        (lambda: Targets(hands()).only(['left_foot']), "left_hand, right_hand, got 'left_foot'"),
        (lambda: Targets(hands()).only(['tail']), "left_knee, right_knee, got 'tail'"),
    ],
)
def test_bad_targets_are_refused(make, says):
    with pytest.raises(ConfigError, match=says):
        make()


def test_samples_at_other_times_are_interpolated_where_near():
    times = np.array([0.0, 0.05, 0.1, 0.5, 0.55])
    positions = np.full((5, 8, 3), np.nan)
    positions[:, 0] = times[:, None]
    at = np.array([-0.1, 0.0, 0.02, 0.1, 0.3, 0.5, 0.55, 0.6])
    out = resampled(times, positions, at)[:, 0, 0]
    assert np.allclose(out, [np.nan, 0.0, 0.02, 0.1, np.nan, 0.5, 0.55, np.nan], equal_nan=True)


def test_a_single_sample_counts_at_its_own_time_only():
    positions = np.full((1, 8, 3), np.nan)
    positions[:, 2] = 1.0
    out = resampled(np.array([0.1]), positions, np.array([0.0, 0.1, 0.2]))
    assert np.isfinite(out[:, 2, 0]).tolist() == [False, True, False]
    assert np.isnan(out[:, 0]).all()


HEAD = 'frame,left_hand_x_m,left_hand_y_cm,left_hand_z_mm'
YAML = """\
format: puppet-targets/1
keyframes: [0, 3]
meet:
  - {pair: [left_hand, right_hand], distance_m: 0.09}
positions:
  - {frame: 0, left_hand: [0.1, 0.2, 1.0], right_hand: [0.1, -0.2, 1.0]}
  - {frame: 3, left_hand: [0.3, 0.2, 1.0]}
"""


def read(folder, name, text, n_frames=6):
    """Write a file and read it as targets of a clip at 10 Hz."""
    path = folder / name
    path.write_text(text)
    return read_targets(path, n_frames, 10.0)


def test_csv_has_units_and_gaps(tmp_path):
    text = f'{HEAD}\n0,0.1,20,1000\n2,,20,1000\n\n3,0.3,nan,1000\n5,0.5,-20,1100\n'
    targets = read(tmp_path, 't.csv', text).targets
    assert targets.names == ('left_hand',)
    assert np.flatnonzero(targets.measured[:, 0]).tolist() == [0, 5]
    assert np.allclose(targets.positions[[0, 5], 0], [[0.1, 0.2, 1.0], [0.5, -0.2, 1.1]])


def test_csv_at_times_is_brought_to_the_frames(tmp_path):
    rows = '\n'.join(f'{t:.3f},{t},0,1000' for t in np.arange(0.0, 0.31, 0.04))
    targets = read(tmp_path, 't.csv', f'{HEAD.replace("frame", "time_s")}\n{rows}\n').targets
    assert np.allclose(targets.positions[:3, 0, 0], [0.0, 0.1, 0.2])
    assert not targets.measured[3:].any()


def test_yaml_has_keyframes_and_meetings(tmp_path):
    found = read(tmp_path, 't.yaml', YAML)
    assert found.keyframes == (0, 3)
    assert found.targets.meetings == (Meeting((0, 1), 0.09),)
    assert found.targets.measured[:, :2].tolist() == [
        [True, True],
        [False] * 2,
        [False] * 2,
        [True, False],
        [False] * 2,
        [False] * 2,
    ]


def test_yaml_may_hold_positions_alone(tmp_path):
    text = 'format: puppet-targets/1\npositions:\n  - {frame: 2, left_knee: [0, 0, 0.5]}\n'
    found = read(tmp_path, 't.yml', text)
    assert found.keyframes is None and found.targets.names == ('left_knee',)


@pytest.mark.parametrize(
    ('text', 'says'),
    [
        ('', 'expected a CSV file, got an empty file'),
        ('time,left_hand_x_m\n', 't.csv:1: expected frame or time_s as the first column'),
        ('\nframe\n', "t.csv:1: expected frame or time_s as the first column, got ''"),
        ('frame,left_hand_x\n', "t.csv:1: expected a column such as left_hand_x_m, got 'left_han"),
        ('frame,tail_x_m\n', "got 'tail_x_m'; end-effectors: left_hand"),
        ('frame,left_hand_x_m,left_hand_x_mm\n', 'expected each column once'),
        (f'{HEAD}\n', 'expected a line of positions, got none'),
        (f'{HEAD}\n0,1,2\n', 't.csv:2: expected 4 cells, got 3'),
        (f'{HEAD}\n0,1,2,inf\n', "left_hand_z_mm: expected a number or nothing, got 'inf'"),
        (f'{HEAD}\n1,1,2,3\n1,1,2,3\n', "t.csv:3: frame: expected a number above 1, got '1'"),
        (f'{HEAD}\n,1,2,3\n', "t.csv:2: frame: expected a number, got ''"),
        (f'{HEAD}\n0.5,1,2,3\n', 'frame: expected whole frames 0 .. 5, got 0.5'),
        (f'{HEAD}\n1,1e9,2,3\n', 't.csv: expected positions within 10000 m, got 1e+09 m'),
        (f'{HEAD}\n{"1" * 200000},1,2,3\n', 'expected lines of cells with commas between'),
        (f'{HEAD}\n0,,2,3\n', 'got none with all of x, y and z'),
    ],
)
def test_broken_csv_is_named_with_its_line(tmp_path, text, says):
    with pytest.raises(InputFileError) as caught:
        read(tmp_path, 't.csv', text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ('old', 'new', 'says'),
    [
        ('frame: 3', 'frame: 6', 't.yaml:7: positions[1].frame: expected a frame 0 .. 5, got 6'),
        ('[0, 3]', '[0, 3.5]', 't.yaml:2: keyframes: expected a frame 0 .. 5, got 3.5'),
        ('[0, 3]', '[]', 'keyframes: expected a list of frames, got []'),
        ('[0.3, 0.2, 1.0]', '[0.3, 0.2]', 't.yaml:7: positions[1].left_hand: expected 3 finite'),
        ('frame: 3, left_hand', 'frame: 3, tail', 'expected frame or one of left_hand'),
        ('frame: 3', 'frame: 0', 'expected each end-effector once per frame'),
        ('0.09', '9', 't.yaml:4: meet[0]: expected a distance of 0 .. 1 m, got 9'),
        ('pair: [left_hand, right_hand]', 'pair: [left_hand]', 'expected two end-effectors'),
        ('pair: [left_hand, right_hand]', 'pair: [left_hand, tail]', 'meet[0]: expected some of'),
        ('pair: [left_hand, right_hand]', 'pair: [left_hand, left_foot]', 'got left_foot'),
        ('keyframes', 'keyframe', 'keyframe: expected a known key'),
        ('puppet-targets/1', 'puppet-target/1', 'format: expected one of puppet-targets/1'),
    ],
)
def test_broken_yaml_is_named_with_its_line(tmp_path, old, new, says):
    with pytest.raises(InputFileError) as caught:
        read(tmp_path, 't.yaml', YAML.replace(old, new))
    assert says in str(caught.value)
