# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rules by topic and field, and what is said of files that are none."""

from puppet_core.io import InputFileError
from puppet_replay.compare import UNITS
from puppet_replay.compare.tolerances import DEFAULT, EXACT, load_tolerances, Tolerances
import pytest

HEAD = 'format: puppet-tolerances/1\n'


def loaded(folder, text):
    path = folder / 't.yaml'
    path.write_text(HEAD + text)
    return load_tolerances(path)


@pytest.mark.parametrize('unit', UNITS)
def test_presets_allow_what_the_table_says_or_nothing(unit):
    assert Tolerances(DEFAULT).field('/t', 'f', unit).max == UNITS[unit].tolerance
    assert Tolerances(EXACT).field('/t', 'f', unit).max == 0.0


def test_later_rules_outweigh_earlier_ones(tmp_path):
    rules = """
rules:
  - {max_mm: 1.0, max_deg: 2.0}
  - {topic: '/puppet/*', field: segment_positions, max_mm: 3.0, p99_mm: 0.5}
"""
    found = loaded(tmp_path, rules)
    assert found.field('/tf', 'translation', 'mm').max == 1.0
    assert found.field('/puppet/posture', 'segment_positions', 'mm').max == 3.0
    assert found.field('/puppet/posture', 'segment_positions', 'mm').p99 == 0.5
    assert found.field('/puppet/posture', 'rotations', 'deg').max == 2.0
    assert found.field('/joint_states', 'position', 'rad').max == UNITS['rad'].tolerance


def test_topics_and_fields_are_left_out_and_taken_in(tmp_path):
    rules = """
preset: exact
rules:
  - {topic: /markers, ignore: true}
  - {topic: /diagnostics, ignore: false, missing_messages: 3}
  - {field: solve_time, ignore: false}
"""
    found = loaded(tmp_path, rules)
    assert found.topic('/markers').ignored and found.topic('/rosout').ignored
    assert not found.topic('/diagnostics').ignored
    assert found.topic('/diagnostics').missing == 3
    assert not found.field('/retarget/status', 'solve_time', 'ms').ignored
    assert found.field('/retarget/status', 'frames_solved', 'count').ignored


def test_rules_that_fit_nothing_are_reported(tmp_path):
    """Importance is no length: the rule fits by its names and still says nothing."""
    found = loaded(
        tmp_path,
        'rules:\n  - {field: importance, max_mm: 2.0}\n'
        '  - {field: importance, mismatches: 2}\n'
        '  - {max_ratio: 2.0, max_mm: 1.0}\n'
        '  - {topic: /pupet/posture, max_mm: 1.0}\n',
    )
    found.field('/importance', 'importance', 'ratio')
    found.topic('/importance')
    assert [line.split(': ', 1)[0] for line in found.unused()] == [
        f'{tmp_path}/t.yaml:3',
        f'{tmp_path}/t.yaml:4',
        f'{tmp_path}/t.yaml:6',
    ]
    assert 'fits nothing: topic *, field importance, max_mm' in found.unused()[0]


@pytest.mark.parametrize(
    ('text', 'line', 'words'),
    [
        ('preset: loose\n', 2, 'preset: expected one of default, exact'),
        ('rules:\n  - {max_mm: -1.0}\n', 3, 'max_mm: expected a number'),
        ('rules:\n  - {max_mm: nan}\n', 3, 'max_mm: expected a number'),
        ('rules:\n  - {max_cm: 1.0}\n', 3, 'max_cm: expected a known key'),
        ('rules:\n  - {topic: /tf}\n', 3, 'expected a limit such as max_mm'),
        ('rules:\n  - {missing_messages: 1.5}\n', 3, 'expected a whole number'),
        ('rules:\n  - {field: x, missing_messages: 1}\n', 3, 'expected a rule without a field'),
        ('rules:\n  - {ignore: maybe}\n', 3, 'ignore: expected true or false'),
        ('rules: 7\n', 2, 'rules: expected a list'),
        ('rule: []\n', 2, 'rule: expected a known key'),
    ],
)
def test_errors_name_file_line_and_key(tmp_path, text, line, words):
    with pytest.raises(InputFileError) as caught:
        loaded(tmp_path, text)
    assert f'{tmp_path}/t.yaml:{line}:' in str(caught.value)
    assert words in str(caught.value)


def test_other_formats_are_refused(tmp_path):
    path = tmp_path / 'c.yaml'
    path.write_text('format: puppet-character/1\n')
    with pytest.raises(InputFileError, match='puppet-tolerances/1'):
        load_tolerances(path)
