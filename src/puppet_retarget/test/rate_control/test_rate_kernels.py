# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Jacobian and pseudo-inverse of rate control, against differences and numpy.linalg."""

import numpy as np
from puppet_core.math import pack_arrays, unpack
from puppet_retarget.rate_control.kinematics import move_tree
from puppet_retarget.rate_control.state import MAX_DOFS, RateArrays, RateConfig, TreeArrays
from puppet_retarget.rate_control.step import prepare_inverse, pseudo_inverse
import pytest
from rate_bodies import LEFT, mixed_controller, numeric_pinv, TOP

STEP = 1e-6
DIFFERENCE_TOL = 1e-8  # of central differences with that step


@pytest.mark.parametrize('base', [0, TOP, LEFT, 12])
def test_jacobian_is_that_of_differences(rng, base: int) -> None:
    """Balls, hinges and universal joints, walked both ways; the base's six; partial axes."""
    controller = mixed_controller(rng, base)
    assert controller.tree.n_dofs == 6 + 5 * 3 + 3 * 2 + 3 * 1
    jacobian = controller.jacobian()
    assert jacobian.shape == (3 + 3 + 3 + 2 + 1 + 1, controller.tree.n_dofs)
    rates = np.zeros(MAX_DOFS)
    for d in range(controller.tree.n_dofs):
        ends = []
        for sign in (1.0, -1.0):
            moved = mixed_controller(np.random.default_rng(20025), base)
            rates[:] = 0.0
            rates[d] = sign * STEP
            arrays = unpack(moved.packed[0], RateArrays)
            move_tree(arrays.tree, rates, arrays.state)
            ends.append(moved.errors())
        slope = (ends[1] - ends[0]) / (2.0 * STEP)
        np.testing.assert_allclose(jacobian[:, d], slope, atol=DIFFERENCE_TOL)


def solve(jacobian, wanted, wish, mobilities, max_damping=0.0, rounds=1):
    """Return rates, dexterity and damping of the kernels."""
    rows, dofs = jacobian.shape
    config = RateConfig(max_damping=max_damping, damped_below=0.3)
    arrays = unpack(pack_arrays(RateArrays(config, TreeArrays(n_dofs=dofs)))[0][0], RateArrays)
    arrays.work.jacobian[:dofs, :rows] = jacobian.T
    arrays.work.moves[:rows], arrays.inputs.mobilities[:dofs] = wanted, mobilities
    wishes = np.zeros(MAX_DOFS)
    wishes[:dofs] = wish
    for _ in range(rounds):
        prepare_inverse(arrays, rows)
    pseudo_inverse(arrays, wishes, rows)
    return arrays.work.rates[:dofs], arrays.state.dexterity[0], arrays.state.damping[0]


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
