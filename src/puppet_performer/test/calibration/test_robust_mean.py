# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Robust means: exact without noise, unmoved by outliers, blind to quaternion signs."""

import numpy as np
from puppet_core.math import quaternions
from puppet_performer.calibration.pose import (
    robust_mean,
    robust_mean_rotation,
)
from scipy.spatial.transform import Rotation

FLOOR_M = 1e-3
FLOOR_RAD = 1e-3
EXACT_TOL = 1e-12


def test_mean_of_gaussian_samples_is_near_the_plain_mean(rng: np.random.Generator) -> None:
    points = rng.normal(size=(400, 3)) * 0.01
    difference = robust_mean(points, FLOOR_M) - points.mean(axis=0)
    assert np.linalg.norm(difference) < 0.3 * 0.01 / np.sqrt(400) * 3


def test_third_of_wild_samples_leaves_the_mean_exact(rng: np.random.Generator) -> None:
    points = np.tile([1.0, 2.0, 3.0], (90, 1))
    points[::3] += rng.normal(size=(30, 3)) * 10.0
    np.testing.assert_allclose(robust_mean(points, FLOOR_M), [1.0, 2.0, 3.0], atol=EXACT_TOL)


def test_prior_weights_count() -> None:
    points = np.array([[0.0], [1e-3]])
    mean = robust_mean(points, 1.0, np.array([3.0, 1.0]))
    np.testing.assert_allclose(mean, [0.25e-3], atol=1e-9)


def test_rotation_mean_agrees_with_scipy(rng: np.random.Generator) -> None:
    """Independent computation: scipy's mean is the chordal one, equal to second order."""
    centre = quaternions.normalize(rng.normal(size=4))
    turns = quaternions.exp(rng.normal(size=(300, 3)) * 0.01)
    samples = quaternions.multiply(centre, turns)
    mean = robust_mean_rotation(samples, 1.0)
    expected = Rotation.from_quat(samples[:, [1, 2, 3, 0]]).mean().as_quat()[[3, 0, 1, 2]]
    assert abs(abs(mean @ expected) - 1.0) < 1e-8


def test_rotation_mean_ignores_signs_and_outliers(rng: np.random.Generator) -> None:
    centre = quaternions.normalize(np.array([0.3, -0.4, 0.5, 0.7]))
    samples = np.tile(centre, (60, 1)) * rng.choice([-1.0, 1.0], size=(60, 1))
    samples[:20] = quaternions.normalize(rng.normal(size=(20, 4)))
    np.testing.assert_allclose(robust_mean_rotation(samples, FLOOR_RAD), centre, atol=EXACT_TOL)
