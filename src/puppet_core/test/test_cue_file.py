# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Files of cues: what they may say, and what every mistake is told."""

from pathlib import Path

from puppet_core.cue_file import load_cues
from puppet_core.io import InputFileError
import pytest

SHIPPED = Path(__file__).resolve().parents[3] / 'config' / 'cues'
HEAD = 'format: puppet-cues/1\ncues:\n'


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / 'show.yaml'
        path.write_text(HEAD + text)
        return path

    return written


def test_a_short_name_is_of_all_nodes_that_have_it(write):
    text = "  desk: {environment: demo, importance.prediction_s: 0.1}\n  '2': {pose_filter."
    desk, two = load_cues(write(text + 'process.q1: 1}'))
    assert (desk.name, two.name) == ('desk', '2')
    assert desk.settings == {
        'importance': {'environment': 'demo', 'prediction_s': 0.1},
        'retarget*': {'environment': 'demo'},
        'visualization': {'environment': 'demo'},
    }
    assert two.settings == {'pose_filter': {'process.q1': 1}}


def test_a_file_beside_the_cues_is_meant_from_everywhere(write, tmp_path):
    (tmp_path / 'desk.yaml').write_text('')
    (cue,) = load_cues(write('  desk: {environment: desk.yaml, character: sally}'))
    assert cue.settings['importance']['environment'] == str(tmp_path / 'desk.yaml')
    assert cue.settings['retarget']['character'] == 'sally'


@pytest.mark.parametrize('path', sorted(SHIPPED.glob('*.yaml')), ids=lambda path: path.stem)
def test_shipped_cues_load(path):
    assert len(load_cues(path)) > 1


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('  {}', 'show.yaml:2: cues: expected at least one, got none'),
        ('  a: {}', 'show.yaml:3: cues.a: expected parameters, got none'),
        ('  a: {speed: 1}', r'show.yaml:3: cues.a.speed: expected NODE.PARAMETER or one of env'),
        ('  a: {retarget.solver: {x: 1}}', 'show.yaml:3: .*expected a value or a list of them'),
        ('  a: 1', 'show.yaml:3: cues.a: expected named keys'),
    ],
)
def test_a_mistake_is_named_with_its_line(write, text, message):
    with pytest.raises(InputFileError, match=message):
        load_cues(write(text))
