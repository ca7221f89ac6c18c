# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The critically damped follower against its differential equation."""

import numpy as np
from puppet_core.math.critically_damped import follow
import pytest
from scipy.integrate import solve_ivp

ODE_TOL = 1e-9  # solve_ivp at rtol 1e-12


@pytest.mark.parametrize('dt', [1e-4, 0.01, 0.3])
def test_step_solves_the_critically_damped_equation(dt):
    tau, target = 0.05, 0.8
    state = np.array([0.1, 3.0])

    def rate(_, y):
        return y[1], (target - y[0]) / tau**2 - 2.0 * y[1] / tau

    wanted = solve_ivp(rate, (0.0, dt), state, rtol=1e-12, atol=1e-13).y[:, -1]
    assert follow(state, target, tau, dt) == state[0]
    np.testing.assert_allclose(state, wanted, atol=ODE_TOL)


def test_step_length_does_not_matter_for_a_held_target():
    one, many = np.array([1.0, -2.0]), np.array([1.0, -2.0])
    follow(one, 0.3, 0.02, 0.05)
    for _ in range(500):
        follow(many, 0.3, 0.02, 1e-4)
    np.testing.assert_allclose(many, one, atol=1e-12)


def test_from_rest_it_never_overshoots(rng):
    for target, tau, dt in rng.uniform(0.001, 1.0, (200, 3)):
        state = np.zeros(2)
        values = [follow(state, target, tau, dt) for _ in range(30)]
        assert np.all(np.diff(values) >= 0.0)
        assert max(values) <= target


def test_ramp_is_followed_two_time_constants_late():
    tau, dt = 0.05, 1e-4
    state = np.zeros(2)
    for i in range(20_000):
        value = follow(state, i * dt, tau, dt)
    # one step more, because the ramp is held over each step
    assert 1.9999 - value == pytest.approx(2.0 * tau, abs=2.0 * dt)
