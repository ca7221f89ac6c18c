# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Calibration from a T-pose: exact without noise, refused when it cannot be trusted."""

from collections.abc import Callable
from typing import Any

import numpy as np
from puppet_core.io import CalibrationError
from puppet_core.sensor_frames import FILTER_LOST, FilteredFrame
from puppet_performer.calibration.pose import CalibrationLimits
import pytest

EXACT_TOL = 1e-9  # issue of the performer: the truth is recovered
NOISE = (0.002, np.radians(0.5))  # a good tracker, after the filter


def test_mountings_of_a_random_performer_are_recovered(
    virtual: Any, angles_between: Callable
) -> None:
    calibration = virtual.calibrate()
    assert np.max(angles_between(calibration.rotations, virtual.mount_q)) < EXACT_TOL
    np.testing.assert_allclose(calibration.positions, virtual.mount_p, atol=EXACT_TOL)
    assert abs(np.angle(np.exp(1j * (calibration.heading - virtual.yaw)))) < EXACT_TOL


def test_flipped_quaternions_change_nothing(virtual: Any, rng: np.random.Generator) -> None:
    exact = virtual.calibrate()

    def flip(frame: FilteredFrame) -> FilteredFrame:
        signs = rng.choice([-1.0, 1.0], size=(len(frame.sensors), 1))
        return frame._replace(quaternions=frame.quaternions * signs)

    flipped = virtual.calibrate(change=flip)
    products = np.abs(np.sum(flipped.rotations * exact.rotations, axis=1))
    np.testing.assert_allclose(products, 1.0, atol=1e-12)


def test_noise_is_averaged_out(
    virtual: Any, rng: np.random.Generator, angles_between: Callable
) -> None:
    """A second at 120 Hz divides the noise by about eleven; the fit shares the rest out."""
    calibration = virtual.calibrate(NOISE, rng, duration_s=1.0)
    assert np.max(angles_between(calibration.rotations, virtual.mount_q)) < np.radians(0.3)
    assert np.max(np.abs(calibration.positions - virtual.mount_p)) < 0.002


def test_residuals_are_the_noise(virtual: Any, rng: np.random.Generator) -> None:
    calibration = virtual.calibrate(NOISE, rng, duration_s=1.0)
    assert calibration.residual_m == pytest.approx(np.sqrt(3.0) * 0.002, rel=0.2)
    assert calibration.residual_deg == pytest.approx(np.sqrt(3.0) * 0.5, rel=0.2)


def test_outliers_do_not_count(virtual: Any, rng: np.random.Generator) -> None:
    def spoil(frame: FilteredFrame) -> FilteredFrame:
        if rng.random() < 0.05:
            frame.positions[3] += 2.0
            frame.quaternions[3] = [0.0, 1.0, 0.0, 0.0]
        return frame

    calibration = virtual.calibrate(change=spoil, duration_s=1.0)
    np.testing.assert_allclose(calibration.positions, virtual.mount_p, atol=EXACT_TOL)


def test_moving_performer_is_refused_by_sensor_and_amount(virtual: Any) -> None:
    """Calibration while the performer moves."""
    row = virtual.layout.sensors.index('right_hand')

    def drift(frame: FilteredFrame) -> FilteredFrame:
        frame.positions[row] += [0.0, 0.0, 0.004 * frame.frame_index]
        return frame

    with pytest.raises(CalibrationError, match=r'right_hand: expected .* 0\.02 m .* got 0\.0'):
        virtual.calibrate(change=drift)


def test_turning_sensor_is_refused(virtual: Any) -> None:
    def turn(frame: FilteredFrame) -> FilteredFrame:
        half = np.radians(0.4 * frame.frame_index)
        frame.quaternions[0] = [np.cos(half), 0.0, 0.0, np.sin(half)]
        return frame

    with pytest.raises(CalibrationError, match=r'pelvis: .* 3 deg, got .* \d+\.\d deg'):
        virtual.calibrate(change=turn)


def test_limits_are_configurable(virtual: Any, rng: np.random.Generator) -> None:
    with pytest.raises(CalibrationError, match='within 0.001 m'):
        virtual.calibrate(NOISE, rng, limits=CalibrationLimits(max_movement_m=0.001))


@pytest.mark.parametrize('how', ['lost', 'nan', 'absent'])
def test_missing_sensor_is_named(virtual: Any, how: str) -> None:
    row = virtual.layout.sensors.index('left_shank')

    def lose(frame: FilteredFrame) -> FilteredFrame:
        if how == 'lost':
            frame.status[row] = FILTER_LOST
        elif how == 'nan':
            frame.positions[row, 1] = np.nan
        else:
            names = tuple('other' if n == 'left_shank' else n for n in frame.sensors)
            return frame._replace(sensors=names)
        return frame

    with pytest.raises(CalibrationError, match=r'got left_shank \(0%\)'):
        virtual.calibrate(change=lose)


def test_short_drop_outs_are_no_hindrance(virtual: Any) -> None:
    def blink(frame: FilteredFrame) -> FilteredFrame:
        if frame.frame_index % 3 == 0:
            frame.status[5] = FILTER_LOST
            frame.positions[5] = np.nan
        return frame

    calibration = virtual.calibrate(change=blink)
    np.testing.assert_allclose(calibration.positions, virtual.mount_p, atol=EXACT_TOL)
