# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter rows: types, ranges, refusal texts, config building, ROS parameter files."""

from dataclasses import dataclass

from puppet_core.io.errors import ConfigError, InputFileError
from puppet_core.io.parameter_rows import build_config, check_values, read_parameter_file, Row
import pytest

DISTANCE = Row('influence_distance_m', 0.4, 'm', 0.0, 2.0, True, 'reach', low_open=True)
COUNT = Row('gate.count', 3, '-', 1, None)
SWITCH = Row('enabled', True)
SOLVER = Row('solver', 'ik', choices=('ik', 'position'))
GAINS = Row('gains', (1.0, 2.0), '-', 0.0, 9.0, length=2)
NAMES = Row('names', ('a',))
LIMIT = 'a name of at most 255 bytes, or a path of such and at most 4000'
ROWS = (DISTANCE, COUNT, SWITCH, SOLVER, GAINS, NAMES)


@pytest.mark.parametrize(
    ('row', 'value', 'expected'),
    [
        (DISTANCE, 2, 2.0),
        (DISTANCE, 1e-9, 1e-9),
        (COUNT, 1, 1),
        (SWITCH, False, False),
        (SOLVER, 'position', 'position'),
        (GAINS, [0, 9], (0.0, 9.0)),
        (NAMES, ['x', 'y', 'z'], ('x', 'y', 'z')),
    ],
)
def test_good_values_come_out_as_the_rows_type(row, value, expected):
    got = row.check(value)
    assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize(
    ('row', 'value', 'text'),
    [
        (DISTANCE, 0.0, 'influence_distance_m: expected 0.0 < value <= 2.0, got 0.0'),
        (DISTANCE, -0.1, 'influence_distance_m: expected 0.0 < value <= 2.0, got -0.1'),
        (DISTANCE, 2.1, 'influence_distance_m: expected 0.0 < value <= 2.0, got 2.1'),
        (DISTANCE, '1', "influence_distance_m: expected a number, got '1'"),
        (DISTANCE, True, 'influence_distance_m: expected a number, got True'),
        (DISTANCE, float('nan'), 'influence_distance_m: expected a finite number, got nan'),
        (COUNT, 0, 'gate.count: expected 1 <= value, got 0'),
        (COUNT, 1.0, 'gate.count: expected a whole number, got 1.0'),
        (SWITCH, 1, 'enabled: expected true or false, got 1'),
        (SOLVER, 'x', "solver: expected one of ik, position, got 'x'"),
        (GAINS, 'ab', "gains: expected a list, got 'ab'"),
        (GAINS, 1.0, 'gains: expected a list, got 1.0'),
        (GAINS, [1.0], 'gains: expected 2 element(s), got 1'),
        (NAMES, [], 'names: expected at least one element(s), got 0'),
        (NAMES, None, 'names: expected a list, got None'),
        (NAMES, ['x' * 256], f'names: expected {LIMIT}, got {"x" * 57 + ".."!r}'),
    ],
)
def test_bad_values_are_refused_by_name(row, value, text):
    with pytest.raises(ConfigError) as caught:
        row.check(value)
    assert str(caught.value) == text


@pytest.mark.parametrize(('default', 'low'), [((), None), (-1.0, 0.0)])
def test_row_with_a_bad_default_cannot_be_made(default, low):
    with pytest.raises(ConfigError, match='row: expected'):
        Row('row', default, '-', low)


def test_unknown_name_is_refused_and_the_known_listed():
    with pytest.raises(ConfigError, match='^speed: expected a known parameter.*known: enabled'):
        check_values(ROWS, {'speed': 1})


def test_dots_become_underscores_in_the_config():
    @dataclass(frozen=True)
    class Config:
        gate_count: int
        other: int = 2

    assert build_config(Config, {'gate.count': 5}) == Config(5, 2)


def test_parameter_file_is_read_flat_for_one_node(tmp_path):
    path = tmp_path / 'p.yaml'
    path.write_text(
        '/**:\n  ros__parameters: {a: 1, gate: {count: 2}}\n'
        'pose_filter:\n  ros__parameters:\n    gate:\n      count: 4\n      limit: 2.0\n'
        'other:\n  ros__parameters: {a: 9}\n'
    )
    assert read_parameter_file(path, 'pose_filter') == {'a': 1, 'gate.count': 4, 'gate.limit': 2.0}


@pytest.mark.parametrize(
    ('text', 'match'),
    [
        ('a: [1\nb: 2', r'p\.yaml:\d: expected valid YAML'),
        ('- 1\n', r'expected pose_filter: ros__parameters'),
        ('pose_filter: 3\n', r'pose_filter: expected ros__parameters below it, got 3'),
    ],
)
def test_bad_parameter_file_is_refused(tmp_path, text, match):
    path = tmp_path / 'p.yaml'
    path.write_text(text)
    with pytest.raises(InputFileError, match=match):
        read_parameter_file(path, 'pose_filter')
