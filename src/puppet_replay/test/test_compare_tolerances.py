# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rules by topic and field, and what is said of files that are none."""

from puppet_core.io import InputFileError
from puppet_replay.compare import UNITS
from puppet_replay.compare.tolerances import DEFAULT, EXACT, load_tolerances, Tolerances
import pytest


def loaded(folder, text, head='format: puppet-tolerances/1\n'):
    path = folder / 't.yaml'
    path.write_text(head + text)
    return load_tolerances(path)


@pytest.mark.parametrize('unit', UNITS)
def test_presets_allow_what_the_table_says_or_nothing(unit):
    assert Tolerances(DEFAULT).field('/t', 'f', unit).max == UNITS[unit].tolerance
    assert Tolerances(EXACT).field('/t', 'f', unit).max == 0.0


def test_later_rules_outweigh_earlier_ones(tmp_path):
    rules = """
preset: exact
rules:
  - {max_mm: 1.0, max_deg: 2.0}
  - {topic: '/puppet/*', field: segment_positions, max_mm: 3.0, p99_mm: 0.5}
  - {topic: /markers, ignore: true}
  - {topic: /diagnostics, ignore: false, missing_messages: 3}
  - {field: solve_time, ignore: false}
"""
    found = loaded(tmp_path, rules)
    assert found.field('/tf', 'translation', 'mm').max == 1.0
    assert found.field('/puppet/posture', 'segment_positions', 'mm')[:2] == (3.0, 0.5)
    assert found.field('/puppet/posture', 'rotations', 'deg').max == 2.0
    assert found.field('/joint_states', 'position', 'rad').max == 0.0
    assert found.topic('/markers').ignore and found.topic('/rosout').ignore
    allowed = found.topic('/diagnostics')
    assert (allowed.ignore, allowed.missing_messages) == (False, 3)
    assert not found.field('/retarget/status', 'solve_time', 'ms').ignore
    assert found.field('/retarget/status', 'frames_solved', 'count').ignore


def test_rules_that_fit_nothing_are_reported(tmp_path):
    """Importance is no length, and a topic has messages, not its fields."""
    rules = """\
rules:
  - {field: importance, max_mm: 2.0}
  - {field: importance, mismatches: 2}
  - {max_ratio: 2.0, max_mm: 1.0}
  - {topic: /pupet/posture, max_mm: 1.0}
"""
    found = loaded(tmp_path, rules)
    found.field('/importance', 'importance', 'ratio')
    found.topic('/importance')
    path = tmp_path / 't.yaml'
    assert [line.split(': ', 1)[0] for line in found.unused()] == [
        f'{path}:{line}' for line in (3, 4, 6)
    ]
    assert 'fits nothing: topic *, field importance, max_mm' in found.unused()[0]


@pytest.mark.parametrize(
    ('text', 'line', 'words'),
    [
        ('preset: loose\n', 2, 'preset: expected one of default, exact'),
        ('rules:\n  - {max_mm: -1.0}\n', 3, 'max_mm: expected a number'),
        ('rules:\n  - {mismatches: nan}\n', 3, 'mismatches: expected a number'),
        ('rules:\n  - {max_cm: 1.0}\n', 3, 'max_cm: expected a known key'),
        ('rules:\n  - {missing_messages: 1.5}\n', 3, 'expected a whole number, got 1.5'),
        ('rules:\n  - {field: f, extra_messages: 2}\n', 3, 'a rule without a field'),
        ('rules:\n  - {topic: /tf}\n', 3, 'expected a tolerance such as max_mm'),
        ('rules: 7\n', 2, 'rules: expected a list'),
        ('rule: []\n', 2, 'rule: expected a known key'),
    ],
)
def test_errors_name_file_line_and_key(tmp_path, text, line, words):
    with pytest.raises(InputFileError) as caught:
        loaded(tmp_path, text)
    assert f'{tmp_path}/t.yaml:{line}:' in str(caught.value) and words in str(caught.value)


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(InputFileError, match='puppet-tolerances/1'):
        loaded(tmp_path, '', 'format: puppet-character/1\n')
