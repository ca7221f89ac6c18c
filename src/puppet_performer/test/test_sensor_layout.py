# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts: what suffices, and what a file is told that does not."""

from pathlib import Path

import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.io import ConfigError, InputFileError
from puppet_performer.sensor_layout import load_layout, NO_SENSOR, SensorLayout
import pytest

HEAD = 'format: puppet-layout/1\nsensors:\n'
SUFFICIENT = HEAD + '- {segment: pelvis}\n- {segment: left_foot}\n- {segment: right_foot}\n'


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / 'layout.yaml'
    path.write_text(text)
    return path


def test_default_layout_has_fourteen_sensors_in_six_pairs(layout14: SensorLayout) -> None:
    assert len(layout14.sensors) == 14
    assert layout14.pairs.shape == (6, 2)


def test_default_layout_is_symmetric(layout14: SensorLayout) -> None:
    left, right = layout14.pairs.T
    mirrored = layout14.mountings[left] * [1.0, -1.0, 1.0]
    np.testing.assert_array_equal(mirrored, layout14.mountings[right])


def test_unmeasured_segments_have_no_sensor(layout14: SensorLayout) -> None:
    sensors = layout14.sensor_of_segment
    assert sensors[SEGMENT_INDEX['spine']] == NO_SENSOR
    assert layout14.sensors[sensors[SEGMENT_INDEX['left_hand']]] == 'left_hand'


def test_pelvis_and_one_pair_suffice(tmp_path: Path) -> None:
    layout = load_layout(_write(tmp_path, SUFFICIENT))
    assert layout.sensors == ('pelvis', 'left_foot', 'right_foot')


def test_sensor_names_may_differ_from_segments(tmp_path: Path) -> None:
    text = SUFFICIENT.replace('{segment: pelvis}', '{sensor: bird_2, segment: pelvis}')
    assert load_layout(_write(tmp_path, text)).sensors[0] == 'bird_2'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (HEAD + '- {segment: chest}\n', 'one on the pelvis, got chest'),
        (HEAD + '- {segment: pelvis}\n- {segment: left_foot}\n', 'left-right pair'),
        (SUFFICIENT + '- {segment: pelvis, sensor: b}\n', 'segment|each once'),
        (SUFFICIENT + '- {segment: chest, sensor: pelvis}\n', 'each once, got pelvis'),
        (SUFFICIENT + '- {segment: tail}\n', r'layout.yaml:6: sensors\[3\].segment: expected one'),
        (SUFFICIENT + '- {segment: head, at: 1}\n', 'a known key'),
        (SUFFICIENT + '- {segment: head, mounted_at_m: [0, 0, 3]}\n', '-1 .. 1'),
        ('format: puppet-layout/1\nsensors: []\n', 'on the pelvis, got none'),
        ('format: puppet-layout/2\n', 'puppet-layout/1'),
    ],
    ids=[
        'no pelvis',
        'no pair',
        'segment twice',
        'sensor twice',
        'unknown segment',
        'unknown key',
        'far away',
        'empty',
        'other format',
    ],
)
def test_bad_layout_is_refused_with_its_reason(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputFileError, match=message):
        load_layout(_write(tmp_path, text))


def test_layout_in_code_is_checked_too() -> None:
    with pytest.raises(ConfigError, match='mountings: expected shape'):
        SensorLayout('x', ('a', 'b'), np.array([0, 1]), np.zeros((3, 3)))
