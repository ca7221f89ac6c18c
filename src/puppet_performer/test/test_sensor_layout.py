# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts: those of the suite, what suffices, and what a wrong file is refused with."""

from pathlib import Path
import re

from motion_samples import LAYOUT
import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.io import InputFileError
from puppet_performer.sensor_layout import load_layout, NO_SENSOR
import pytest
from virtual_performer import make_virtual

FILES = sorted((Path(__file__).resolve().parents[3] / 'data/layouts').glob('*.yaml'))
COUNTS = {
    'six_point': 6,
    'enhance11': 11,
    'no_feet12': 12,
    'choi_ko13': 13,
    'default14': 14,
    'carry': 16,
    'head15': 15,
    'girdle17': 17,
}
HEAD = 'format: puppet-layout/1\nsensors:\n- {segment: pelvis}\n- {segment: left_foot}\n'
GOOD = f'{HEAD}- {{segment: right_foot}}\n'


def _write(tmp_path, text):
    path = tmp_path / 'mine.yaml'
    path.write_text(text)
    return path


def test_all_sizes_are_there():
    layouts = [load_layout(path) for path in FILES]
    counts = {k.name: len(k.sensors) + len(k.unused) + len(k.props) for k in layouts}
    assert counts == COUNTS


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_layout_is_symmetric_and_named_as_its_file(path):
    layout = load_layout(path)
    left, right = layout.pairs.T
    mirrored = layout.mountings[left] * [1.0, -1.0, 1.0]
    np.testing.assert_array_equal(mirrored, layout.mountings[right])
    singles = [name for name in layout.segment_names if not name.startswith(('left', 'right'))]
    assert len(singles) + 2 * len(left) == len(layout.sensors)
    assert layout.name == path.stem


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_t_pose_calibrates_every_layout(path):
    virtual = make_virtual(yaw=0.7, layout=load_layout(path))
    estimate = virtual.estimator().step(virtual.frame(*virtual.t_pose()))
    _, p, _ = virtual.truth(*virtual.t_pose())
    for segment in virtual.layout.segments:
        np.testing.assert_allclose(estimate.p_world[segment], p[segment], atol=1e-3)


def test_unmeasured_segments_have_no_sensor():
    sensors = LAYOUT.sensor_of_segment
    assert sensors[SEGMENT_INDEX['spine']] == NO_SENSOR
    assert LAYOUT.sensors[sensors[SEGMENT_INDEX['left_hand']]] == 'left_hand'


def test_pelvis_and_one_pair_suffice_under_any_names(tmp_path):
    text = GOOD.replace('{segment: pelvis}', '{sensor: bird_2, segment: pelvis}')
    layout = load_layout(
        _write(tmp_path, text + 'unused: [left_shoulder, right_shoulder]\nprops: [box]\n')
    )
    assert layout.sensors == ('bird_2', 'left_foot', 'right_foot')
    assert layout.unused == ('left_shoulder', 'right_shoulder') and layout.props == ('box',)


@pytest.mark.parametrize(
    ('text', 'line', 'message'),
    [
        (GOOD + '- {segment: left_foot, sensor: b}\n', 6, 'segment: expected each once'),
        (GOOD + '- {segment: chest, sensor: pelvis}\n', 6, 'sensor: expected each once'),
        (GOOD + '- {segment: tail}\n', 6, 'sensors[3].segment: expected one of pelvis'),
        (GOOD + '- {segment: head, at: 1}\n', 6, 'a known key'),
        (GOOD + '- {segment: head, mounted_at_m: [0, 0, 3]}\n', 6, '-1 .. 1'),
        (GOOD + 'unused: left_shoulder\n', 6, 'unused: expected a list of names'),
        (GOOD + 'unused: [a, 3]\n', 6, 'unused: expected a list of names'),
        (GOOD + 'unused: [pelvis]\n', 6, 'unused: expected other names than'),
        (GOOD + 'props: [box, box]\n', 6, 'props: expected other names than'),
        (GOOD + 'spare: [a]\n', 6, 'spare: expected a known key'),
        (HEAD, 2, 'sensors: expected at least one left-right pair'),
        (HEAD.replace('pelvis', 'chest'), 2, 'one on the pelvis, got chest'),
        ('format: puppet-layout/1\nsensors: []\n', 2, 'on the pelvis, got none'),
        ('format: puppet-layout/2\n', 1, 'puppet-layout/1'),
    ],
)
def test_bad_layout_is_refused_with_file_line_and_reason(tmp_path, text, line, message):
    with pytest.raises(InputFileError, match=rf'mine\.yaml:{line}: .*{re.escape(message)}'):
        load_layout(_write(tmp_path, text))
