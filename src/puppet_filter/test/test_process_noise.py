# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""process_noise: printed and physical Q, and the adaptive density."""

import numpy as np
from puppet_filter.process_noise import (
    ADAPTIVE,
    find_surprise,
    follow_trend,
    PHYSICAL,
    PRINTED,
    process_noise,
    raise_density,
)
import pytest
from scipy.integrate import quad
from scipy.stats import chi2


def test_physical_q_is_the_integral_of_white_acceleration() -> None:
    out, dt, density = np.zeros(6), 0.02, 3.0
    process_noise(PHYSICAL, np.array([density, 2.0 * density]), dt, 1.0, out)
    for k, power in ((0, 2), (1, 1), (2, 0)):
        expected = density * quad(lambda s, n=power: s**n, 0.0, dt)[0]
        assert out[k] == pytest.approx(expected)
        assert out[3 + k] == pytest.approx(2.0 * expected)


def test_eq_3_5_adds_its_numbers_whatever_the_step() -> None:
    values, short, long = np.arange(1.0, 7.0), np.zeros(6), np.zeros(6)
    process_noise(PRINTED, values, 0.001, 1.0, short)
    process_noise(PRINTED, values, 0.1, 1.0, long)
    np.testing.assert_array_equal(short, values)
    np.testing.assert_array_equal(long, values)


def test_printed_q_counts_the_frames_that_were_missed() -> None:
    out = np.zeros(6)
    process_noise(PRINTED, np.ones(6), 0.01, 3.0, out)
    np.testing.assert_array_equal(out, np.full(6, 3.0))


def test_two_physical_steps_are_one_long_step() -> None:
    values, whole = np.array([5.0, 7.0]), np.zeros(6)
    process_noise(PHYSICAL, values, 0.03, 1.0, whole)
    parts = np.zeros((2, 6))
    process_noise(PHYSICAL, values, 0.01, 1.0, parts[0])
    process_noise(PHYSICAL, values, 0.02, 1.0, parts[1])

    def block(q: np.ndarray) -> np.ndarray:
        return np.array([[q[0], q[1]], [q[1], q[2]]])

    a = np.array([[1.0, 0.02], [0.0, 1.0]])
    np.testing.assert_allclose(a @ block(parts[0]) @ a.T + block(parts[1]), block(whole))


def test_raised_density_explains_the_residual() -> None:
    density, ceiling = np.array([0.01, 0.02]), np.array([1e9, 1e9])
    p, noise, dt = 1e-7 * np.eye(12), 2e-7 * np.eye(6), 0.01
    assert raise_density(density, ceiling, np.array([30.0, 2.0]), p, noise, dt)
    variance = 3e-7 + (density[0] - 0.01) * dt**3 / 3.0
    assert variance == pytest.approx(3e-7 * 30.0 / 3.0)
    assert density[1] == 0.02


def test_density_never_passes_its_ceiling_nor_moves_for_an_average_one() -> None:
    density, ceiling = np.array([0.01, 0.02]), np.array([20.0, 20.0])
    p, noise = 1e-7 * np.eye(12), 2e-7 * np.eye(6)
    assert not raise_density(density, ceiling, np.array([3.0, 0.0]), p, noise, 0.01)
    assert raise_density(density, ceiling, np.array([1e9, 1e9]), p, noise, 0.01)
    np.testing.assert_array_equal(density, ceiling)
    assert not raise_density(density, ceiling, np.array([1e9, 1e9]), p, noise, 0.01)


def surprises(residuals: np.ndarray, keep: float, limit: float) -> np.ndarray:
    """Return what find_surprise makes of whitened residuals (n, 6), shape (n, 2)."""
    trend, out = np.zeros(6), np.zeros((len(residuals), 2))
    for y, row in zip(residuals, out):
        follow_trend(trend, keep, y, trend)
        find_surprise(y, trend, keep, limit, row)
    return out


def test_chance_surprises_as_rarely_as_chi_square_says(rng: np.random.Generator) -> None:
    n, limit = 100_000, 14.0
    found = surprises(rng.normal(size=(n, 6)), 0.75, limit) > 0.0
    expected = chi2.sf(limit, 3)
    # by the sample itself, or by the mean, whose surprises come in runs
    assert 0.9 * expected < found.mean() < 2.5 * expected


def test_small_residuals_that_agree_surprise_in_their_own_part(rng: np.random.Generator) -> None:
    residuals = 0.1 * rng.normal(size=(100, 6))
    residuals[:, 1] += 2.0  # no single one is surprising
    found = surprises(residuals, 0.75, 14.0)
    assert (found[30:, 0] > 3.0).all() and (found[:, 1] == 0.0).all()


def test_single_outlying_residual_surprises_by_its_square() -> None:
    residuals = np.zeros((10, 6))
    residuals[5, 3:] = 4.0
    found = surprises(residuals, 0.5, 14.0)
    assert found[5, 1] == 48.0 and found[:, 0].max() == 0.0


def test_adaptive_and_physical_share_the_formula() -> None:
    a, b, values = np.zeros(6), np.zeros(6), np.array([5.0, 7.0])
    process_noise(ADAPTIVE, values, 0.01, 1.0, a)
    process_noise(PHYSICAL, values, 0.01, 1.0, b)
    np.testing.assert_array_equal(a, b)
