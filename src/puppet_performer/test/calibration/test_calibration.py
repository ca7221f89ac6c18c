# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Calibration files: round trip, and what broken ones are told."""

from dataclasses import replace

import numpy as np
from puppet_core.io import dump_yaml, InputFileError
from puppet_performer.calibration.calibration import (
    Evaluation,
    Finding,
    JointReport,
    LengthReport,
    load_calibration,
    RANGE,
    save_calibration,
)
import pytest

EVALUATION = Evaluation(
    (JointReport('left_forearm', 0.004, 0.0021, (120.0, 80.5, 10.0)),),
    (LengthReport('left_upper_arm', 0.31, 0.003),),
    (Finding(RANGE, ('left_foot',), 'left_foot: moved through 3 deg, expected 30; more'),),
)


def _with_motion(virtual):
    plain = virtual.calibrate()
    n = len(plain.sensors)
    return replace(
        plain,
        sds_m=np.linspace(0.0, 0.01, n),
        sds_rad=np.linspace(0.0, 0.02, n),
        skeleton=virtual.character.skeleton,
        evaluation=EVALUATION.tree(),
    )


@pytest.mark.parametrize('has_motion', [False, True])
def test_saved_calibration_loads_back_to_the_same_values(tmp_path, virtual, has_motion):
    calibration = _with_motion(virtual) if has_motion else virtual.calibrate()
    save_calibration(calibration, tmp_path / 'c.yaml')
    loaded = load_calibration(tmp_path / 'c.yaml')
    assert loaded.sensors == calibration.sensors
    texts = {dump_yaml({'evaluation': made.evaluation}) for made in (loaded, calibration)}
    assert len(texts) == 1
    assert (loaded.performer, loaded.layout, loaded.date) == ('random', 'default14', '2026-11-20')
    names = ['segments', 'rotations', 'positions', 'spreads_m', 'spreads_rad', 'heading']
    if has_motion:
        names += ['sds_m', 'sds_rad']
        for name in ('offsets', 'interaction_points'):
            bodies = (loaded.skeleton, calibration.skeleton)
            np.testing.assert_array_equal(*(getattr(body, name) for body in bodies))
    else:
        assert (loaded.skeleton, loaded.sds_m, loaded.sds_rad) == (None,) * 3
    for name in names:
        values = getattr(loaded, name), getattr(calibration, name)
        np.testing.assert_allclose(*values, atol=1e-15, err_msg=name)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('sensor: left_hand', 'sensor: pelvis', "each sensor once, got 'pelvis'"),
        ('segment: left_hand', 'segment: pelvis', 'each segment once, got pelvis'),
        ('segment: left_hand', 'segment: tail', 'one of pelvis'),
        ('rotation_wxyz: [', 'rotation_wxyz: [9.0, ', '4 finite numbers'),
        ('spread_m: ', 'spread: ', 'a known key'),
        ('performer: random', 'who: random', 'performer: expected this key'),
        ('    left_shank: [', '    left_shin: [', r'skeleton\.joints_m\.left_shank'),
    ],
)
def test_broken_file_is_refused_with_its_line(tmp_path, virtual, old, new, message):
    path = tmp_path / 'c.yaml'
    save_calibration(_with_motion(virtual), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputFileError, match=rf'c\.yaml:\d+: .*{message}'):
        load_calibration(path)


@pytest.mark.parametrize(
    ('key', 'numbers', 'message'),
    [
        ('rotation_wxyz', '1.0, 1.0, 0.0, 0.0', 'a unit quaternion'),
        ('position_m', '-105.0, 12.0, 25.0', '3 numbers in -1 .. 1'),
    ],
    ids=['no unit quaternion', 'millimetres'],
)
def test_mounting_that_cannot_be_is_refused(tmp_path, virtual, key, numbers, message):
    path = tmp_path / 'c.yaml'
    save_calibration(virtual.calibrate(), path)
    lines = path.read_text().split(f'{key}: [')
    lines[1] = numbers + lines[1][lines[1].index(']') :]
    path.write_text(f'{key}: ['.join(lines))
    with pytest.raises(InputFileError, match=message):
        load_calibration(path)
