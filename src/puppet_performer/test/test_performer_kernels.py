# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performer's kernels one by one, compiled and plain."""

from collections.abc import Callable

import numpy as np
from puppet_core.sensor_frames import FILTER_LOST, FILTER_OK, FILTER_REINITIALISED
from puppet_performer.posture import blend, sensors
from puppet_performer.posture.blend import (
    CHANGED,
    Ease,
    EaseTimes,
    fresh_ease,
    INFERRED,
    KNOWN_SOURCE,
    SAME,
    SWITCHED,
)
from puppet_performer.posture.sensors import ABSENT, MEASURED, Mounting, RESTARTED, Sensed
import pytest

TIMES = EaseTimes(0.2, 1.0, 0.4)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
both = {'ids': ['jit', 'py']}


def _ease() -> Ease:
    return fresh_ease(2, 1)


def _sensed() -> Sensed:
    return Sensed(
        np.zeros(16, dtype=np.int64),
        np.zeros((16, 3)),
        np.tile(IDENTITY, (16, 1)),
        np.zeros((16, 3)),
        np.zeros((16, 3)),
    )


@pytest.mark.parametrize('decay', [blend.decay, blend.decay.py_func], **both)
def test_difference_decays_from_one_to_zero_smoothly(decay: Callable) -> None:
    ages = np.linspace(0.0, 1.5, 301)
    for source, end in ((0, TIMES.back), (INFERRED, TIMES.hold + TIMES.fade)):
        left = np.array([decay(age, source, TIMES) for age in ages])
        assert left[0] == 1.0
        assert np.all(left[ages >= end] == 0.0)
        assert np.max(np.abs(np.diff(left))) < 0.03  # 5 ms of a 0.4 s ease


@pytest.mark.parametrize('decay', [blend.decay, blend.decay.py_func], **both)
def test_times_of_zero_mean_at_once(decay: Callable) -> None:
    assert decay(0.0, INFERRED, EaseTimes(0.0, 0.0, 0.0)) == 0.0
    assert decay(0.0, 3, EaseTimes(0.0, 0.0, 0.0)) == 0.0


@pytest.mark.parametrize('advance', [blend.advance, blend.advance.py_func], **both)
def test_slot_notices_a_change_of_source(advance: Callable) -> None:
    ease = _ease()
    assert not advance(0, 4, True, 0.0, ease)  # the first value is no change
    assert not advance(0, 4, False, 0.1, ease)
    assert advance(0, INFERRED, False, 0.1, ease)
    assert not advance(0, INFERRED, False, 0.1, ease)
    assert ease.ages[0] == pytest.approx(0.1)
    assert advance(0, INFERRED, True, 0.1, ease)
    assert advance(0, 4, False, 0.1, ease) == KNOWN_SOURCE
    assert advance(0, 5, False, 0.1, ease) == SWITCHED


@pytest.mark.parametrize(
    'ease_rotation', [blend.ease_rotation, blend.ease_rotation.py_func], **both
)
def test_rotation_leaves_where_it_was_and_arrives_at_the_target(ease_rotation: Callable) -> None:
    ease, out = _ease(), np.array([0.0, 1.0, 0.0, 0.0])
    target = np.array([-0.6, 0.0, 0.8, 0.0])
    ease.sources[0], ease.ages[0] = 5, 0.0
    ease_rotation(target, 0, SWITCHED, 0.0, ease, TIMES, out)
    np.testing.assert_allclose(np.abs(out), [0.0, 1.0, 0.0, 0.0], atol=1e-12)
    ease.ages[0] = TIMES.back
    ease_rotation(target, 0, SAME, 0.0, ease, TIMES, out)
    assert abs(out @ target) == pytest.approx(1.0)


@pytest.mark.parametrize('ease_point', [blend.ease_point, blend.ease_point.py_func], **both)
def test_point_leaves_where_it_was_and_arrives_at_the_target(ease_point: Callable) -> None:
    ease, out = _ease(), np.array([1.0, 2.0, 3.0])
    ease.sources[2] = CHANGED
    target = np.zeros(3)
    ease_point(target, 2, SWITCHED, 0.0, ease, TIMES, out)
    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])
    ease.ages[2] = 0.5 * TIMES.back
    ease_point(target, 2, SAME, 0.0, ease, TIMES, out)
    np.testing.assert_allclose(out, [0.5, 1.0, 1.5])


@pytest.mark.parametrize(
    'read_sensors', [sensors.read_sensors, sensors.read_sensors.py_func], **both
)
def test_rows_reach_their_segments_with_their_quality(read_sensors: Callable) -> None:
    sensed, rows = _sensed(), np.full(16, -1)
    rows[[0, 6, 9]] = [1, 0, 2]
    mounting = Mounting(np.tile(IDENTITY, (16, 1)), np.zeros((16, 3)), IDENTITY.copy(), np.ones(3))
    status = np.array([FILTER_OK, FILTER_REINITIALISED, FILTER_LOST], dtype=np.uint8)
    positions = np.arange(9.0).reshape(3, 3)
    quaternions = np.tile(IDENTITY, (3, 1))
    read_sensors(
        positions, quaternions, np.zeros((3, 3)), np.zeros((3, 3)), status, rows, mounting, sensed
    )
    assert sensed.quality[[0, 6, 9, 1]].tolist() == [RESTARTED, MEASURED, ABSENT, ABSENT]
    np.testing.assert_array_equal(sensed.positions[0], [4.0, 5.0, 6.0])


@pytest.mark.parametrize(
    'read_sensors', [sensors.read_sensors, sensors.read_sensors.py_func], **both
)
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('which', range(4))
def test_row_that_is_not_finite_is_absent(read_sensors: Callable, bad: float, which: int) -> None:
    sensed, rows = _sensed(), np.full(16, -1)
    rows[0] = 0
    mounting = Mounting(np.tile(IDENTITY, (16, 1)), np.zeros((16, 3)), IDENTITY.copy(), np.ones(3))
    arrays = [np.zeros((1, 3)), IDENTITY.reshape(1, 4).copy(), np.zeros((1, 3)), np.zeros((1, 3))]
    arrays[which][0, 1] = bad
    read_sensors(*arrays, np.zeros(1, dtype=np.uint8), rows, mounting, sensed)
    assert sensed.quality[0] == ABSENT
    assert np.all(np.isfinite(sensed.orientations))


@pytest.mark.parametrize(
    'nearest_carrier',
    [sensors.nearest_carrier, sensors.nearest_carrier.py_func],
    **both,
)
def test_carrier_is_the_nearest_measured_towards_the_root(nearest_carrier: Callable) -> None:
    sensed = _sensed()
    assert nearest_carrier(6, sensed) == -1
    sensed.quality[2] = MEASURED
    assert nearest_carrier(6, sensed) == 2
    sensed.quality[6] = MEASURED
    assert nearest_carrier(6, sensed) == 6
