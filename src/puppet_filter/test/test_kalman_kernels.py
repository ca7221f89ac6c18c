# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The kernels against a textbook filter in plain numpy, and against scipy's steady state."""

import numpy as np
from puppet_core.math import quaternion
from puppet_filter import kalman as k
from puppet_filter.process_noise import PHYSICAL, process_noise
import pytest
from scipy.linalg import solve_discrete_are
from scipy.spatial.transform import Rotation

TOL = 1e-12  # rounding of covariances near one over some hundred products
DT = 1.0 / 120.0
# the textbook's order p, p', r, r' of Shin2002 eq. 3.1, from ours p, r, p', r'
ORDER = np.r_[0:3, 6:9, 3:6, 9:12]


def random_covariance(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a well-conditioned symmetric positive definite matrix, symmetric to the bit."""
    a = rng.normal(size=(n, n))
    a = a @ a.T / n + np.eye(n)
    return 0.5 * (a + a.T)


def textbook_matrices(dt: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A (eq. 3.3), Q (eq. 3.5) and H (eq. 3.6) in the thesis' order."""
    one, zero = np.eye(3), np.zeros((3, 3))
    a = np.block(
        [
            [one, dt * one, zero, zero],
            [zero, one, zero, zero],
            [zero, zero, one, dt * one],
            [zero, zero, zero, one],
        ]
    )
    noise = np.block(
        [
            [q[0] * one, q[1] * one, zero, zero],
            [q[1] * one, q[2] * one, zero, zero],
            [zero, zero, q[3] * one, q[4] * one],
            [zero, zero, q[4] * one, q[5] * one],
        ]
    )
    h = np.block([[one, zero, zero, zero], [zero, zero, one, zero]])
    return a, noise, h


class Textbook:
    """Shin2002 eqs. 3.1-3.10 word by word: inverses, full matrices, scipy's rotations."""

    def __init__(self, noise: np.ndarray, q: np.ndarray, p: np.ndarray) -> None:
        self.x = np.zeros(12)
        self.p = p[np.ix_(ORDER, ORDER)]
        self.q_e = Rotation.identity()
        self.noise, self.q = noise, q

    def step(self, dt: float, position: np.ndarray, rotation: Rotation) -> None:
        """Take one measurement."""
        a, q, h = textbook_matrices(dt, self.q)
        z = np.concatenate((position, (self.q_e.inv() * rotation).as_rotvec()))
        x = a @ self.x
        p = a @ self.p @ a.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + self.noise)
        self.x = x + gain @ (z - h @ x)
        self.p = (np.eye(12) - gain @ h) @ p
        self.q_e = self.q_e * Rotation.from_rotvec(self.x[6:9])
        self.x[6:9] = 0.0


def test_random_sequence_equals_the_textbook_filter(rng: np.random.Generator) -> None:
    noise, p = 1e-2 * random_covariance(rng, 6), random_covariance(rng, 12)
    q = np.array([1e-3, 1e-4, 1e-2, 2e-3, 2e-4, 3e-2])
    book = Textbook(noise, q, p)
    position, velocity, q_e = np.zeros(3), np.zeros(6), np.array([1.0, 0.0, 0.0, 0.0])
    predicted, lower, w = np.zeros((12, 12)), np.zeros((6, 6)), np.zeros((6, 12))
    dz, y, change, scratch = np.zeros(6), np.zeros(6), np.zeros(12), np.zeros(4)
    rotation = Rotation.identity()
    for _ in range(200):
        dt = rng.uniform(0.5, 2.0) * DT
        z = rng.normal(size=3) * 0.1
        rotation = rotation * Rotation.from_rotvec(0.1 * rng.normal(size=3))
        book.step(dt, z, rotation)
        z_q = rng.choice([-1.0, 1.0]) * rotation.as_quat()[[3, 0, 1, 2]]
        k.predict_covariance(p, dt, q, predicted)
        k.residual(position, velocity, q_e, dt, z, z_q, dz)
        k.factor_innovation(predicted, noise, dz, lower, y)
        k.correct(predicted, lower, y, w, p, change)
        k.advance(position, velocity, q_e, dt, change, scratch)
    np.testing.assert_allclose(position, book.x[:3], atol=TOL)
    np.testing.assert_allclose(velocity, book.x[np.r_[3:6, 9:12]], atol=1e2 * TOL)
    np.testing.assert_allclose(p[np.ix_(ORDER, ORDER)], book.p, atol=TOL)
    ours = Rotation.from_quat(q_e[[1, 2, 3, 0]])
    assert (ours.inv() * book.q_e).magnitude() < 1e2 * TOL


def test_covariance_stays_symmetric_to_the_bit(rng: np.random.Generator) -> None:
    p, noise = random_covariance(rng, 12), random_covariance(rng, 6)
    q, predicted = np.full(6, 1e-3), np.zeros((12, 12))
    lower, w = np.zeros((6, 6)), np.zeros((6, 12))
    y, change = np.zeros(6), np.zeros(12)
    for _ in range(50):
        k.predict_covariance(p, DT, q, predicted)
        k.factor_innovation(predicted, noise, rng.normal(size=6), lower, y)
        k.correct(predicted, lower, y, w, p, change)
    assert np.array_equal(p, p.T) and np.array_equal(predicted, predicted.T)
    assert np.linalg.eigvalsh(p)[0] > 0.0


def test_steady_covariance_solves_the_riccati_equation() -> None:
    q = np.zeros(6)
    process_noise(PHYSICAL, np.array([20.0, 300.0]), DT, 1.0, q)
    noise = np.diag([2.5e-7] * 3 + [7.6e-7] * 3)
    a, q_full, h = textbook_matrices(DT, q)
    expected = solve_discrete_are(a.T, h.T, q_full, noise)
    p, predicted = np.eye(12), np.zeros((12, 12))
    lower, w, y, change = np.zeros((6, 6)), np.zeros((6, 12)), np.zeros(6), np.zeros(12)
    for _ in range(300):
        k.predict_covariance(p, DT, q, predicted)
        k.factor_innovation(predicted, noise, np.zeros(6), lower, y)
        k.correct(predicted, lower, y, w, p, change)
    np.testing.assert_allclose(predicted[np.ix_(ORDER, ORDER)], expected, rtol=1e-6, atol=1e-12)


def test_distance_is_mahalanobis(rng: np.random.Generator) -> None:
    p, noise, dz = random_covariance(rng, 12), random_covariance(rng, 6), rng.normal(size=6)
    got = k.factor_innovation(p, noise, dz, np.zeros((6, 6)), np.zeros(6))
    assert got == pytest.approx(dz @ np.linalg.solve(p[:6, :6] + noise, dz))


def test_indefinite_innovation_is_nan() -> None:
    got = k.factor_innovation(
        -np.eye(12), np.zeros((6, 6)), np.ones(6), np.zeros((6, 6)), np.zeros(6)
    )
    assert np.isnan(got)


def test_residual_is_log_of_the_turn_for_either_sign(rng: np.random.Generator) -> None:
    q_e, turn = Rotation.random(random_state=1), 0.3 * rng.normal(size=3)
    z_q = (q_e * Rotation.from_rotvec(turn)).as_quat()[[3, 0, 1, 2]]
    for sign in (1.0, -1.0):
        out = np.zeros(6)
        k.residual(
            np.zeros(3), np.zeros(6), q_e.as_quat()[[3, 0, 1, 2]], DT, np.ones(3), sign * z_q, out
        )
        np.testing.assert_allclose(out, [1, 1, 1, *turn], atol=TOL)


def test_spec_5_11_residual_goes_the_short_way_past_half_a_turn() -> None:
    # predicted 175 deg ahead, measured 190 deg ahead: 15 deg to go, not -345
    velocity = np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.radians(175.0)])
    z_q = np.array([np.cos(np.radians(95.0)), 0.0, 0.0, np.sin(np.radians(95.0))])
    out = np.zeros(6)
    k.residual(np.zeros(3), velocity, np.array([1.0, 0, 0, 0]), 1.0, np.zeros(3), z_q, out)
    np.testing.assert_allclose(out[3:], [0.0, 0.0, np.radians(15.0)], atol=TOL)


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-6])
def test_tiny_turn_is_exact(angle: float) -> None:
    z_q, out = np.array([1.0, 0.5 * angle, 0.0, 0.0]), np.zeros(6)
    k.residual(np.zeros(3), np.zeros(6), np.array([1.0, 0, 0, 0]), DT, np.zeros(3), z_q, out)
    assert out[3] == pytest.approx(angle, rel=1e-9)


def test_advance_turns_by_the_rate_in_the_sensors_own_axes() -> None:
    q_e = Rotation.from_euler('z', 90.0, degrees=True).as_quat()[[3, 0, 1, 2]]
    position, velocity = np.zeros(3), np.array([1.0, 0, 0, 2.0, 0, 0])
    expected = Rotation.from_euler('z', 90.0, degrees=True) * Rotation.from_rotvec([0.2, 0, 0])
    k.advance(position, velocity, q_e, 0.1, np.zeros(12), np.zeros(4))
    np.testing.assert_allclose(position, [0.1, 0, 0], atol=TOL)
    assert abs(np.dot(q_e, expected.as_quat()[[3, 0, 1, 2]])) == pytest.approx(1.0)
    np.testing.assert_array_equal(velocity, [1.0, 0, 0, 2.0, 0, 0])


def test_covariance_turns_into_the_transmitters_axes(rng: np.random.Generator) -> None:
    p, rotation = random_covariance(rng, 12), Rotation.random(random_state=2)
    matrix, out = np.zeros((3, 3)), np.zeros((6, 6))
    k.rotation_matrix(rotation.as_quat()[[3, 0, 1, 2]], matrix)
    np.testing.assert_allclose(matrix, rotation.as_matrix(), atol=TOL)
    k.rotate_covariance(p, matrix, out)
    turn = np.eye(6)
    turn[3:, 3:] = rotation.as_matrix()
    np.testing.assert_allclose(out, turn @ p[:6, :6] @ turn.T, atol=TOL)
    assert np.array_equal(out, out.T)


def test_twist_covariance_is_that_of_the_rate_in_the_transmitters_axes(
    rng: np.random.Generator,
) -> None:
    """The derivative of R exp(r) (w + e), by differences, independent of the kernel."""
    p, rotation = random_covariance(rng, 12), Rotation.random(random_state=2)
    rate, matrix = rng.normal(size=3), np.zeros((3, 3))
    own, out = np.zeros((6, 6)), np.zeros((6, 6))

    def twist(error: np.ndarray) -> np.ndarray:
        turned = rotation * Rotation.from_rotvec(error[3:6])
        return np.hstack((error[6:9], turned.apply(rate + error[9:])))

    step = 1e-6
    jacobian = np.array([(twist(e) - twist(-e)) / (2.0 * step) for e in step * np.eye(12)]).T
    k.twist_covariance(p, rate, own)
    k.rotation_matrix(rotation.as_quat()[[3, 0, 1, 2]], matrix)
    k.rotate_covariance(own, matrix, out)
    np.testing.assert_allclose(out, jacobian @ p @ jacobian.T, atol=1e-8)
    assert np.array_equal(out, out.T)


def test_quaternion_of_the_state_stays_unit(rng: np.random.Generator) -> None:
    q_e = np.array([1.0, 0.0, 0.0, 0.0])
    for _ in range(500):
        k.advance(np.zeros(3), rng.normal(size=6), q_e, 0.1, np.zeros(12), np.zeros(4))
    assert np.linalg.norm(q_e) == pytest.approx(1.0, abs=TOL)
    assert quaternion.angle_between(q_e, q_e) < 1e-7
