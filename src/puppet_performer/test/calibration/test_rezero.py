# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Re-zeroing one sensor: its mounting is found again, and nothing else changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from puppet_core.io import CalibrationError
from puppet_core.math import quaternions
from puppet_performer.calibration.calibration import Calibration
from puppet_performer.calibration.pose import CalibrationLimits, PoseRecording, rezero_sensor
import pytest

EXACT_TOL = 1e-9


def _recording(virtual: Any, bend: Callable[[Any], Any] = lambda rotations: rotations) -> Any:
    root, rotations = virtual.t_pose()
    recorder = virtual.recorder()
    while not recorder.add(virtual.frame(root, bend(rotations))):
        pass
    return recorder.recording()


def _move(virtual: Any, row: int, rng: np.random.Generator) -> None:
    virtual.mount_q[row] = quaternions.normalize(rng.normal(size=4))
    virtual.mount_p[row] = virtual.mount_p[row] + rng.normal(size=3) * 0.03


def _rezero(
    virtual: Any, calibration: Calibration, recording: PoseRecording, sensor: str
) -> Calibration:
    return rezero_sensor(
        calibration,
        recording,
        virtual.layout,
        sensor,
        virtual.character.skeleton,
        CalibrationLimits(),
        'later',
    )


@pytest.mark.parametrize('sensor', ['pelvis', 'chest', 'left_forearm', 'right_foot'])
def test_moved_sensor_is_found_and_the_others_stay(
    virtual: Any, rng: np.random.Generator, angles_between: Callable, sensor: str
) -> None:
    before = virtual.calibrate()
    row = virtual.layout.sensors.index(sensor)
    _move(virtual, row, rng)
    virtual.place = virtual.place + [0.5, -0.7, 0.0]
    after = _rezero(virtual, before, _recording(virtual), sensor)
    assert np.max(angles_between(after.rotations, virtual.mount_q)) < EXACT_TOL
    np.testing.assert_allclose(after.positions, virtual.mount_p, atol=EXACT_TOL)
    others = np.arange(len(before.sensors)) != row
    # quaternions are normalised once more
    np.testing.assert_allclose(after.rotations[others], before.rotations[others], atol=1e-15)
    np.testing.assert_array_equal(after.positions[others], before.positions[others])
    assert after.date == 'later'


def test_two_bad_sensors_are_not_blamed_on_one(virtual: Any, rng: np.random.Generator) -> None:
    before = virtual.calibrate()
    _move(virtual, virtual.layout.sensors.index('left_hand'), rng)
    _move(virtual, virtual.layout.sensors.index('chest'), rng)
    with pytest.raises(CalibrationError, match='T-pose: chest: expected within 20 deg'):
        _rezero(virtual, before, _recording(virtual), 'left_hand')


def test_another_pose_is_refused(virtual: Any) -> None:
    before = virtual.calibrate()

    def lower_an_arm(rotations: Any) -> Any:
        rotations = rotations.copy()
        rotations[7] = quaternions.exp(np.array([1.2, 0.0, 0.0]))
        return rotations

    with pytest.raises(CalibrationError, match='stand in the T-pose'):
        _rezero(virtual, before, _recording(virtual, lower_an_arm), 'left_hand')


def test_sensor_on_another_segment_is_refused(virtual: Any) -> None:
    before = virtual.calibrate()
    row = virtual.layout.sensors.index('left_hand')
    virtual.mount_p[row] = virtual.mount_p[row] + [0.0, -0.4, 0.0]
    with pytest.raises(CalibrationError, match='is it on the right segment'):
        _rezero(virtual, before, _recording(virtual), 'left_hand')


def test_unknown_sensor_is_refused_with_those_there_are(virtual: Any) -> None:
    with pytest.raises(CalibrationError, match="expected one of pelvis, .* got 'tail'"):
        _rezero(virtual, virtual.calibrate(), _recording(virtual), 'tail')


def test_calibration_for_other_segments_is_refused(virtual: Any) -> None:
    before = virtual.calibrate()
    changed = replace(before, segments=before.segments[::-1])
    with pytest.raises(CalibrationError, match='expected pelvis on the pelvis .* right_foot'):
        _rezero(virtual, changed, _recording(virtual), 'left_hand')
