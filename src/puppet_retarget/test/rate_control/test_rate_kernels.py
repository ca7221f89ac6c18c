# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Jacobian and pseudo-inverse of rate control, against differences and numpy.linalg."""

import numpy as np
from puppet_core.math import quaternions as qb
from puppet_retarget.rate_control.kinematics import joint_difference, move_tree, turn_joint
from puppet_retarget.rate_control.state import DAMPING, DEXTERITY, empty_arrays, MAX_DOFS, Settings
from puppet_retarget.rate_control.step import prepare_inverse, pseudo_inverse
from puppet_retarget.rate_control.tree import MAX_ROWS
import pytest
from rate_bodies import LEFT, mixed_controller, N, numeric_pinv, TOP

STEP = 1e-6
DIFFERENCE_TOL = 1e-8  # of central differences with that step
SETTINGS = Settings(*[0] * len(Settings._fields))


@pytest.mark.parametrize('base', [0, TOP, LEFT, 12])
def test_jacobian_is_that_of_differences(rng, base: int) -> None:
    """Balls, hinges and universal joints, walked both ways; the base's six; partial axes."""
    controller = mixed_controller(rng, base)
    assert controller.tree.n_dofs == 6 + 5 * 3 + 3 * 2 + 3 * 1
    jacobian = controller.jacobian()
    assert jacobian.shape == (3 + 3 + 3 + 2 + 1 + 1, controller.tree.n_dofs)
    arrays = controller._arrays
    rates, tried = np.zeros(MAX_DOFS), np.zeros(MAX_DOFS)
    for d in range(controller.tree.n_dofs):
        ends = []
        for sign in (1.0, -1.0):
            state = type(arrays.state)(*(part.copy() for part in arrays.state))
            rates[:] = 0.0
            rates[d] = sign * STEP
            move_tree(arrays.tree, rates, 1.0, tried, state)
            moved = mixed_controller(np.random.default_rng(20025), base)
            for part, new in zip(moved._arrays.state, state):
                part[...] = new
            ends.append(moved.errors())
        slope = (ends[1] - ends[0]) / (2.0 * STEP)
        np.testing.assert_allclose(jacobian[:, d], slope, atol=DIFFERENCE_TOL)


def test_posture_is_the_same_from_every_base(rng) -> None:
    controller = mixed_controller(rng)
    q, p = controller.q_world.copy(), controller.p_world.copy()
    for base in range(N):
        controller.set_base(base, p[base], q[base])
        controller.reset(p[base], q[base], controller.rotations.copy())
        np.testing.assert_allclose(controller.p_world, p, atol=1e-12)
        dots = np.abs((controller.q_world * q).sum(axis=1))
        np.testing.assert_allclose(dots, 1.0, atol=1e-12)


@pytest.mark.parametrize('kind', [1, 2, 3])
def test_joint_difference_takes_a_joint_to_its_goal(rng, kind: int) -> None:
    """At once for hinges and balls; a universal joint in a few rounds."""
    axes = rng.normal(size=(2, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)

    def some():
        first, second = (qb.exp(rng.normal() * axis) for axis in axes)
        return {1: first, 2: qb.multiply(first, second), 3: qb.exp(rng.normal(size=3))}[kind]

    q, goal, rates = some(), some(), np.zeros(3)
    for _ in range(1 if kind != 2 else 60):
        joint_difference(kind, axes, q, goal, rates)
        turn_joint(kind, axes, rates if kind != 2 else 0.5 * rates, q)
    assert abs(q @ goal) == pytest.approx(1.0, abs=1e-12)


def solve(jacobian, wanted, wish, mobilities, max_damping=0.0, rounds=1):
    """Return rates, dexterity and damping of the kernels."""
    rows, dofs = jacobian.shape
    arrays = empty_arrays(SETTINGS)
    arrays.work.jacobian[:dofs, :rows] = jacobian.T
    out = np.zeros(MAX_DOFS)
    weights, wishes, asked = np.zeros(MAX_DOFS), np.zeros(MAX_DOFS), np.zeros(MAX_ROWS)
    weights[:dofs], wishes[:dofs], asked[:rows] = mobilities, wish, wanted
    for _ in range(rounds):
        prepare_inverse(weights, dofs, rows, max_damping, 0.3, arrays.state, arrays.work)
    pseudo_inverse(asked, wishes, weights, dofs, rows, arrays.work, out)
    measures = arrays.state.measures
    return out[:dofs], measures[DEXTERITY], measures[DAMPING]


@pytest.mark.parametrize('shape', [(8, 30), (9, 42), (24, 51), (1, 6)])
def test_rates_are_those_of_numpys_pseudo_inverse(rng, shape) -> None:
    rows, dofs = shape
    for _ in range(20):
        jacobian = rng.normal(size=shape)
        wanted, wish = rng.normal(size=rows), rng.normal(size=dofs)
        mobilities = rng.uniform(0.1, 2.0, dofs)
        rates, _, damping = solve(jacobian, wanted, wish, mobilities)
        inverse = numeric_pinv(jacobian, mobilities, 0.0)
        expected = inverse @ wanted + wish - inverse @ (jacobian @ wish)
        assert damping == 0.0
        np.testing.assert_allclose(rates, expected, atol=1e-8)
        plain, _, _ = solve(jacobian, wanted, np.zeros(dofs), np.ones(dofs))
        np.testing.assert_allclose(plain, np.linalg.pinv(jacobian) @ wanted, atol=1e-8)


def test_singular_rows_are_damped_and_bounded(rng) -> None:
    """Damped least squares: twice the same constraint, and one of nothing at all."""
    jacobian = rng.normal(size=(8, 30))
    jacobian[1], jacobian[2] = jacobian[0], 0.0
    wanted = rng.normal(size=8)
    rates, dexterity, damping = solve(jacobian, wanted, np.zeros(30), np.ones(30), 0.05)
    assert damping == pytest.approx(0.05, abs=1e-6) and dexterity < 1e-5
    expected = numeric_pinv(jacobian, np.ones(30), damping) @ wanted
    np.testing.assert_allclose(rates, expected, atol=1e-6)
    assert np.linalg.norm(rates) < np.linalg.norm(wanted) / (2.0 * damping)


def test_damping_and_dexterity_follow_the_singular_values(rng) -> None:
    jacobian = rng.normal(size=(8, 30))
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    for smallest in (1.0, 0.31, 0.29, 0.1, 0.01):
        s[-1] = smallest
        _, dexterity, damping = solve(
            (u * s) @ vt, np.zeros(8), np.zeros(30), np.ones(30), 0.05, rounds=8
        )
        assert dexterity == pytest.approx(smallest / s[0], rel=0.05)
        share = max(1.0 - (smallest / 0.3) ** 2, 0.0)
        assert damping == pytest.approx(0.05 * np.sqrt(share), abs=0.005)
