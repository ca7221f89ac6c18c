# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The kernels against a textbook filter in plain numpy, and against scipy's steady state."""

from typing import NamedTuple

import numpy as np
from puppet_filter import kalman as k
from puppet_filter.kalman import (
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
from scipy.linalg import block_diag, solve_discrete_are
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

TOL = 1e-12  # rounding of covariances near one over some hundred products
DT = 1.0 / 120.0
# the textbook's order p, p', r, r' of Shin2002 eq. 3.1, from ours p, r, p', r'
ORDER = np.r_[0:3, 6:9, 3:6, 9:12]


def random_covariance(rng, n):
    a = rng.normal(size=(n, n))
    a = a @ a.T / n + np.eye(n)
    return 0.5 * (a + a.T)


def textbook_matrices(dt, q):
    """Return A (eq. 3.3), Q (eq. 3.5) and H (eq. 3.6) in the thesis' order."""
    one = np.eye(3)
    a = np.kron([[1.0, dt], [0.0, 1.0]], one)
    noises = (np.kron([q[i : i + 2], q[i + 1 : i + 3]], one) for i in (0, 3))
    h = np.kron([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]], one)
    return block_diag(a, a), block_diag(*noises), h


class Textbook:
    """Shin2002 eqs. 3.1-3.10 word by word: inverses, full matrices, scipy's rotations."""

    def __init__(self, noise, q, p):
        self.x = np.zeros(12)
        self.p = p[np.ix_(ORDER, ORDER)]
        self.q_e = Rotation.identity()
        self.noise, self.q = noise, q

    def step(self, dt, position, rotation):
        a, q, h = textbook_matrices(dt, self.q)
        z = np.concatenate((position, (self.q_e.inv() * rotation).as_rotvec()))
        x = a @ self.x
        p = a @ self.p @ a.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + self.noise)
        self.x = x + gain @ (z - h @ x)
        self.p = (np.eye(12) - gain @ h) @ p
        self.q_e = self.q_e * Rotation.from_rotvec(self.x[6:9])
        self.x[6:9] = 0.0


class State(NamedTuple):
    position: np.ndarray
    velocity: np.ndarray
    orientation: np.ndarray


def state_of(velocity=(0.0,) * 6, orientation=(1.0, 0.0, 0.0, 0.0)):
    return State(np.zeros(3), np.array(velocity), np.array(orientation))


def wxyz(rotation):
    return rotation.as_quat()[[3, 0, 1, 2]]


class Filter:
    def __init__(self, p, noise, q):
        self.p, self.noise, self.q = p, noise, q
        self.predicted, self.change = np.zeros((12, 12)), np.zeros(12)
        self.lower, self.w = np.zeros((6, 6)), np.zeros((6, 12))

    def step(self, dt, dz):
        y = np.zeros(6)
        k.predict_covariance(self.p, dt, self.q, self.predicted)
        k.factor_innovation(self.predicted, self.noise, dz, self.lower, y)
        k.correct(self.predicted, self.lower, y, self.w, self.p, self.change)


def test_random_sequence_equals_the_textbook_filter(rng):
    noise, q = 1e-2 * random_covariance(rng, 6), (1e-3, 1e-4, 1e-2, 2e-3, 2e-4, 3e-2)
    ours = Filter(random_covariance(rng, 12), noise, q)
    book = Textbook(noise, q, ours.p)
    state, dz, rotation = state_of(), np.zeros(6), Rotation.identity()
    for _ in range(200):
        dt = rng.uniform(0.5, 2.0) * DT
        z = rng.normal(size=3) * 0.1
        rotation = rotation * Rotation.from_rotvec(0.1 * rng.normal(size=3))
        book.step(dt, z, rotation)
        z_q = rng.choice([-1.0, 1.0]) * wxyz(rotation)
        k.residual(state, dt, k.Sample(tuple(z), tuple(z_q), 0), dz)
        ours.step(dt, dz)
        k.advance(state, dt, ours.change)
    np.testing.assert_allclose(state.position, book.x[:3], atol=TOL)
    np.testing.assert_allclose(state.velocity, book.x[np.r_[3:6, 9:12]], atol=1e2 * TOL)
    np.testing.assert_allclose(ours.p[np.ix_(ORDER, ORDER)], book.p, atol=TOL)
    found = Rotation.from_quat(state.orientation[[1, 2, 3, 0]])
    assert (found.inv() * book.q_e).magnitude() < 1e2 * TOL
    assert np.linalg.norm(state.orientation) == pytest.approx(1.0, abs=TOL)


def test_steady_covariance_solves_the_riccati_equation():
    q = process_noise(PHYSICAL, np.array([20.0, 300.0]), DT, 1.0)
    noise = np.diag([2.5e-7] * 3 + [7.6e-7] * 3)
    a, q_full, h = textbook_matrices(DT, q)
    expected = solve_discrete_are(a.T, h.T, q_full, noise)
    ours = Filter(np.eye(12), noise, q)
    for _ in range(300):
        ours.step(DT, np.zeros(6))
    found = ours.predicted[np.ix_(ORDER, ORDER)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def test_distance_is_mahalanobis_and_nan_if_indefinite(rng):
    p, noise, dz = random_covariance(rng, 12), random_covariance(rng, 6), rng.normal(size=6)
    got = k.factor_innovation(p, noise, dz, np.zeros((6, 6)), np.zeros(6))
    assert got == pytest.approx(dz @ np.linalg.solve(p[:6, :6] + noise, dz))
    assert np.isnan(k.factor_innovation(-p, 0.0 * noise, dz, np.zeros((6, 6)), np.zeros(6)))


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    'turn', [(0.3, -0.2, 0.1), (0.0, 0.0, 0.0), (1e-12, 0.0, 0.0), (1e-6, 0.0, 0.0)]
)
def test_residual_is_log_of_the_turn_for_either_sign(turn, sign):
    q_e, out = Rotation.random(random_state=1), np.zeros(6)
    z_q = sign * wxyz(q_e * Rotation.from_rotvec(turn))
    sample = k.Sample((1.0, 1.0, 1.0), tuple(z_q), 0)
    k.residual(state_of(orientation=wxyz(q_e)), DT, sample, out)
    np.testing.assert_allclose(out, [1, 1, 1, *turn], atol=1e-15)


def test_spec_5_11_residual_goes_the_short_way_past_half_a_turn():
    # predicted 175 deg ahead, measured 190 deg ahead: 15 deg to go, not -345
    half, out = np.radians(95.0), np.zeros(6)
    sample = k.Sample((0.0, 0.0, 0.0), (np.cos(half), 0.0, 0.0, np.sin(half)), 0)
    k.residual(state_of([0.0] * 5 + [np.radians(175.0)]), 1.0, sample, out)
    np.testing.assert_allclose(out[3:], [0.0, 0.0, np.radians(15.0)], atol=TOL)


def test_advance_turns_by_the_rate_in_the_sensors_own_axes():
    quarter = Rotation.from_euler('z', 90.0, degrees=True)
    state = state_of([1.0, 0, 0, 2.0, 0, 0], wxyz(quarter))
    k.advance(state, 0.1, np.zeros(12))
    np.testing.assert_allclose(state.position, [0.1, 0, 0], atol=TOL)
    expected = wxyz(quarter * Rotation.from_rotvec([0.2, 0, 0]))
    assert abs(np.dot(state.orientation, expected)) == pytest.approx(1.0)
    np.testing.assert_array_equal(state.velocity, [1.0, 0, 0, 2.0, 0, 0])


def test_covariances_turn_into_the_transmitters_axes(rng):
    """That of the twist by differences of R exp(r) (w + e), independent of the kernel."""
    p, rotation = random_covariance(rng, 12), Rotation.random(random_state=2)
    rate, matrix = rng.normal(size=3), np.zeros((3, 3))
    own, out = np.zeros((6, 6)), np.zeros((6, 6))
    k.rotation_matrix(wxyz(rotation), matrix)
    np.testing.assert_allclose(matrix, rotation.as_matrix(), atol=TOL)
    k.rotate_covariance(p, matrix, out)
    turn = np.eye(6)
    turn[3:, 3:] = matrix
    np.testing.assert_allclose(out, turn @ p[:6, :6] @ turn.T, atol=TOL)
    assert np.array_equal(out, out.T)

    def twist(error):
        turned = rotation * Rotation.from_rotvec(error[3:6])
        return np.hstack((error[6:9], turned.apply(rate + error[9:])))

    step = 1e-6
    jacobian = np.array([(twist(e) - twist(-e)) / (2.0 * step) for e in step * np.eye(12)]).T
    k.twist_covariance(p, rate, own)
    k.rotate_covariance(own, matrix, out)
    np.testing.assert_allclose(out, jacobian @ p @ jacobian.T, atol=1e-8)
    assert np.array_equal(out, out.T)


@pytest.mark.parametrize('noise', [1.0, 1e-6, 1e-20, 0.0])
def test_a_covariance_keeps_its_digits_with_the_smallest_noise(noise, rng):
    p, r = 12.0 * random_covariance(rng, 12), 6.0 * noise * random_covariance(rng, 6)
    lower, w, out = np.zeros((6, 6)), np.zeros((6, 12)), np.zeros((12, 12))
    k.factor_innovation(p, r, np.zeros(6), lower, np.zeros(6))
    k.correct(p, lower, np.zeros(6), w, out, np.zeros(12))
    exact = np.diag(out).copy()
    k.keep_digits(p, out)
    assert np.array_equal(exact, np.diag(out)) == (noise > 1e-8)
    assert np.linalg.eigvalsh(out)[0] > 0.0 and np.all(np.diag(out) >= 0.99e-8 * np.diag(p))
    assert np.array_equal(out, out.T)


@pytest.mark.parametrize('model', [PHYSICAL, ADAPTIVE])
def test_physical_q_is_the_integral_of_white_acceleration(model):
    dt, density = 0.02, 3.0
    out = process_noise(model, np.array([density, 2.0 * density]), dt, 1.0)
    for row, power in ((0, 2), (1, 1), (2, 0)):
        expected = density * quad(lambda s, n=power: s**n, 0.0, dt)[0]
        assert out[row] == pytest.approx(expected)
        assert out[3 + row] == pytest.approx(2.0 * expected)


@pytest.mark.parametrize(('dt', 'steps'), [(0.001, 1.0), (0.1, 1.0), (0.01, 3.0)])
def test_eq_3_5_adds_its_numbers_a_frame_whatever_the_step(dt, steps):
    values = np.arange(1.0, 7.0)
    np.testing.assert_array_equal(process_noise(PRINTED, values, dt, steps), steps * values)


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
