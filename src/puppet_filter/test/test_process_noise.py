# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""process_noise: printed and physical Q, and the adaptive density."""

import numpy as np
from puppet_filter.process_noise import (
    ADAPTIVE,
    follow_trend,
    maneuver_distance_sq,
    PHYSICAL,
    PRINTED,
    process_noise,
    raised_density,
)
import pytest
from scipy.integrate import quad
from scipy.stats import chi2


@pytest.mark.parametrize('model', [PHYSICAL, ADAPTIVE])
def test_physical_q_is_the_integral_of_white_acceleration(model):
    dt, density = 0.02, 3.0
    out = process_noise(model, np.array([density, 2.0 * density]), dt, 1.0)
    for k, power in ((0, 2), (1, 1), (2, 0)):
        expected = density * quad(lambda s, n=power: s**n, 0.0, dt)[0]
        assert out[k] == pytest.approx(expected)
        assert out[3 + k] == pytest.approx(2.0 * expected)


@pytest.mark.parametrize(('dt', 'steps'), [(0.001, 1.0), (0.1, 1.0), (0.01, 3.0)])
def test_eq_3_5_adds_its_numbers_a_frame_whatever_the_step(dt, steps):
    values = np.arange(1.0, 7.0)
    np.testing.assert_array_equal(process_noise(PRINTED, values, dt, steps), steps * values)


def test_two_physical_steps_are_one_long_step():
    def block(dt):
        q = process_noise(PHYSICAL, np.array([5.0, 7.0]), dt, 1.0)
        return np.array([[q[0], q[1]], [q[1], q[2]]])

    a = np.array([[1.0, 0.02], [0.0, 1.0]])
    np.testing.assert_allclose(a @ block(0.01) @ a.T + block(0.02), block(0.03))


def test_raised_density_explains_the_residual_up_to_its_ceiling():
    dt, before = 0.01, 3e-7
    raised = raised_density(0.01, 1e9, 30.0, before, dt)
    assert before + (raised - 0.01) * dt**3 / 3.0 == pytest.approx(before * 30.0 / 3.0)
    assert raised_density(0.01, 20.0, 3.0, before, dt) == 0.01
    assert raised_density(0.01, 20.0, 1e9, before, dt) == 20.0
    assert raised_density(20.0, 20.0, 1e9, before, dt) == 20.0


def distances(residuals, keep, limit):
    """Return what maneuver_distance_sq makes of whitened residuals (n, 6), shape (n, 2)."""
    trend, out = np.zeros(6), np.zeros((len(residuals), 2))
    for y, row in zip(residuals, out):
        follow_trend(trend, keep, y, trend)
        row[:] = [
            maneuver_distance_sq(y[i : i + 3], trend[i : i + 3], keep, limit) for i in (0, 3)
        ]
    return out


def test_chance_surprises_as_rarely_as_chi_square_says(rng):
    n, limit = 100_000, 14.0
    found = distances(rng.normal(size=(n, 6)), 0.75, limit) > 0.0
    expected = chi2.sf(limit, 3)
    # by the sample itself, or by the mean, whose surprises come in runs
    assert 0.9 * expected < found.mean() < 2.5 * expected


def test_small_residuals_that_agree_surprise_in_their_own_part(rng):
    residuals = 0.1 * rng.normal(size=(100, 6))
    residuals[:, 1] += 2.0  # no single one is surprising
    found = distances(residuals, 0.75, 14.0)
    assert (found[30:, 0] > 3.0).all() and (found[:, 1] == 0.0).all()


def test_single_outlying_residual_surprises_by_its_square():
    residuals = np.zeros((10, 6))
    residuals[5, 3:] = 4.0
    found = distances(residuals, 0.5, 14.0)
    assert found[5, 1] == 48.0 and found[:, 0].max() == 0.0
