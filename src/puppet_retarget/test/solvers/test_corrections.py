# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections follow what is wanted at a bounded rate, and planted ends stay where they are."""

import numpy as np
from puppet_core.math import quaternions as qb
from puppet_retarget.solvers.corrections import BANDWIDTH, follow_turn, MAX_RATE_RAD_S, TURN_SIZE
import pytest
from scipy.integrate import solve_ivp

TICK_S = 1.0 / 120.0
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def resting(q=IDENTITY):
    """Return the state of a turn that rests."""
    return np.concatenate((q, np.zeros(3)))


def turn(angle, axis=(0.0, 0.0, 1.0)):
    return qb.exp(angle * np.asarray(axis))


def angles(quaternions):
    return np.linalg.norm(qb.log(np.array(quaternions)), axis=-1)


@pytest.mark.parametrize('rate_hz', [20.0, 30.0, 120.0])
def test_a_small_turn_is_that_of_a_critically_damped_oscillator(rate_hz):
    """Against a numerical integration of x'' = -w^2 (x - target) - 2 w x'."""
    state, target, n = resting(), 0.1, round(0.2 * rate_hz)
    followed = [follow_turn(state, turn(target), BANDWIDTH, 1.0 / rate_hz) for _ in range(n)]
    found = solve_ivp(
        lambda t, x: (x[1], -(BANDWIDTH**2) * (x[0] - target) - 2.0 * BANDWIDTH * x[1]),
        (0.0, n / rate_hz),
        (0.0, 0.0),
        t_eval=np.arange(1, n + 1) / rate_hz,
        rtol=1e-9,
        atol=1e-12,
    )
    np.testing.assert_allclose(angles(followed), found.y[0], atol=1e-8)


@pytest.mark.parametrize('rate_hz', [30.0, 120.0, 12_000.0])
def test_it_is_never_faster_than_its_bound_does_not_swing_past_and_arrives(rate_hz, rng):
    for _ in range(20):
        start, target = qb.exp(rng.normal(size=(2, 3)))
        state = resting(start)
        path = [start]
        for _ in range(round(rate_hz)):
            path.append(follow_turn(state, target, BANDWIDTH, 1.0 / rate_hz))
        path = np.array(path)
        steps = angles(qb.multiply(path[1:], qb.conjugate(path[:-1])))
        left = angles(qb.multiply(target, qb.conjugate(path)))
        assert steps.max() * rate_hz <= MAX_RATE_RAD_S + 1e-6
        assert np.all(np.diff(left) < 1e-9)
        assert left[-1] < 1e-6


def test_without_a_frame_before_it_is_there_at_once(rng):
    target = qb.exp(rng.normal(size=3))
    state = rng.normal(size=TURN_SIZE)
    np.testing.assert_allclose(follow_turn(state, target, BANDWIDTH, np.inf), target, atol=1e-15)
    np.testing.assert_allclose(follow_turn(state, target, BANDWIDTH, TICK_S), target, atol=1e-12)


def test_either_sign_of_a_quaternion_is_the_same_turn(rng):
    start, target = qb.exp(rng.normal(size=(2, 3)))
    one, other = resting(start), resting(start)
    for _ in range(10):
        a, b = (
            follow_turn(one, target, BANDWIDTH, TICK_S),
            follow_turn(other, -target, BANDWIDTH, TICK_S),
        )
        np.testing.assert_allclose(a, b, atol=1e-12)
