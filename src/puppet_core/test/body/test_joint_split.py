# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The split into Z, Y, X angles: exact away from gimbal lock, bounded everywhere."""

import math

from numba import njit
import numpy as np
from puppet_core.body import continuous_euler
from puppet_core.body.continuous_euler import (
    ContinuousEuler,
    MAX_ERROR,
    REST_STEP,
    SPEED_RATIO,
    ZONE,
)
from puppet_core.math import angle_between
from puppet_core.math import quaternions as batch
import pytest
from transforms3d import euler

pytestmark = pytest.mark.slow

EXACT_TOL_RAD = 1e-12  # roundings, magnified by at most 1 / ZONE
RATIOS = np.array([SPEED_RATIO, 3.0, SPEED_RATIO + 4.0])  # as the module promises
DISTANCES = [0.0, 1e-6, 1e-3, 0.01, 0.02, 0.034, 0.06, 0.11, 0.3]


@njit
def _split(rotations, angles, errors, turned):
    """Split a sequence of one joint; report angles, orientation errors and steps."""
    own, back = np.empty(3), np.empty(4)
    continuous_euler.principal_angles(rotations[0], own)
    for i in range(len(rotations)):
        turned[i] = angle_between(rotations[max(i - 1, 0)], rotations[i])
        continuous_euler.continuous_euler_of_joint(rotations[i], turned[i], own)
        continuous_euler.compose(own, back)
        angles[i] = own
        errors[i] = angle_between(back, rotations[i])


class Track:
    def __init__(self, rotations):
        rotations = np.ascontiguousarray(rotations)
        self.angles = np.empty((len(rotations), 3))
        self.errors, self.turned = np.empty((2, len(rotations)))
        _split(rotations, self.angles, self.errors, self.turned)
        w, x, y, z = rotations.T
        self.cos_b = np.hypot(w * w + x * x - y * y - z * z, 2 * (x * y + w * z))
        moved = np.abs(np.diff(self.angles, axis=0)) - REST_STEP * np.array([1.0, 1.0, 2.0])
        self.ratio = np.max(moved / np.maximum(self.turned[1:, None], 1e-12), axis=0)

    def assert_keeps_promises(self):
        assert np.all(self.ratio <= RATIOS * (1.0 + 1e-9))
        assert np.max(self.errors) <= MAX_ERROR
        outside = self.errors[self.cos_b > ZONE]
        assert outside.size == 0 or np.max(outside) <= EXACT_TOL_RAD


def _near_lock(across, along, spin, side):
    """Return rotations at (across, along) radians from the gimbal lock b = side * pi / 2."""
    n = len(across)
    away = batch.exp(np.stack([across, along, np.zeros(n)], axis=1))
    about = batch.exp(np.stack([np.zeros(n), np.zeros(n), spin], axis=1))
    lock = batch.exp(np.array([0.0, side * np.pi / 2, 0.0]))
    return batch.multiply(batch.multiply(away, about), lock)


def _smooth(rng, n, terms, amplitude):
    time = np.linspace(0.0, 1.0, n)
    waves = (
        rng.normal() / k * np.cos(2 * np.pi * (k * time + rng.random()))
        for k in range(1, terms + 1)
    )
    return amplitude * sum(waves)


def test_principal_angles_are_those_of_transforms3d(rng):
    for q in batch.normalize(rng.normal(size=(50, 4))):
        angles = np.empty(3)
        continuous_euler.principal_angles(q, angles)
        np.testing.assert_allclose(angles[:2], euler.quat2euler(q, 'rzyx')[:2], atol=1e-11)
        turns = (angles[2] - euler.quat2euler(q, 'rzyx')[2]) / (2.0 * np.pi)
        assert turns == pytest.approx(round(turns), abs=1e-11)


@pytest.mark.parametrize('axis', range(3))
@pytest.mark.parametrize('direction', [-1.0, 1.0])
def test_turning_about_one_axis_is_followed_through_all_turns(axis, direction):
    """Past +-pi, and for the y axis past b = +-pi/2 too."""
    turn = direction * np.linspace(0.0, 7 * np.pi, 2000)
    rotvecs = np.zeros((2000, 3))
    rotvecs[:, axis] = turn
    track = Track(batch.exp(rotvecs))
    expected = np.zeros((2000, 3))
    expected[:, 2 - axis] = turn
    np.testing.assert_allclose(track.angles, expected, atol=1e-9)


@pytest.mark.parametrize('rate_hz', [120, 12_000])
@pytest.mark.parametrize('distance', DISTANCES)
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_passing_the_lock_at_any_distance_keeps_the_promises(distance, side, rate_hz):
    across = np.linspace(-1.0, 1.0, rate_hz)
    away = np.full(rate_hz, distance)
    track = Track(_near_lock(across, away, 0.3 + 0.2 * across, side))
    track.assert_keeps_promises()
    assert np.max(np.abs(np.diff(track.angles, axis=0))) < math.pi / 2


def test_random_smooth_curves_keep_the_promises(rng):
    for _ in range(100):
        n = int(10 ** rng.uniform(1.5, 4.2))
        size = 10 ** rng.uniform(-3.0, 0.3)
        across = _smooth(rng, n, rng.integers(1, 8), size) + rng.normal() * size
        along = _smooth(rng, n, rng.integers(1, 8), size * rng.choice([0.0, 0.01, 0.1, 1.0]))
        spin = _smooth(rng, n, 5, rng.choice([0.0, 0.1, 1.0]))
        Track(_near_lock(across, along, spin, rng.choice([-1.0, 1.0]))).assert_keeps_promises()


def test_a_joint_at_rest_becomes_exact():
    across = np.concatenate((np.linspace(-0.6, 0.04, 30), np.full(1500, 0.04)))
    track = Track(_near_lock(across, np.full(1530, 0.012), 0 * across, 1.0))
    assert np.max(track.errors[-1]) < EXACT_TOL_RAD


def test_after_a_jump_the_y_angle_returns_to_its_own_side(rng):
    """The nearest z angle alone would flip y and x by half a turn, for good."""
    rotvecs = np.zeros((4, 3))
    rotvecs[2:, 2] = math.radians(100.0)
    track = Track(batch.exp(rotvecs))
    np.testing.assert_allclose(track.angles[-1], [math.radians(100.0), 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize('when', [0, 3])
def test_a_joint_that_is_not_finite_keeps_its_angles(rng, when):
    split, rotations = ContinuousEuler(), batch.exp(0.3 * rng.normal(size=(16, 3)))
    for frame in range(5):
        rows = rotations.copy()
        if frame == when:
            rows[5] = math.nan
        angles = split.step(rows).copy()
        assert np.all(np.isfinite(angles))
    whole = ContinuousEuler()
    np.testing.assert_allclose(angles, whole.step(rotations), atol=1e-12)
