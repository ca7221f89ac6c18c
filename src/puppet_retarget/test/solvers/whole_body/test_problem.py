# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The least-squares problem of a step against numpy's own."""

import numpy as np
from puppet_core.math import pack_arrays
from puppet_retarget.solvers.whole_body.problem import (
    add_diagonal,
    clear,
    close_row,
    firmness,
    N,
    Problem,
    ramp,
    solve,
)
import pytest


def sparse_rows(rng, count):
    """Return Jacobian, weights and residuals of rows that each touch a few unknowns."""
    jacobian = np.zeros((count, N))
    for row in jacobian:
        first, second = rng.integers(0, N - 9, 2)
        row[first : first + 9], row[second : second + 3] = rng.normal(size=9), rng.normal(size=3)
        row[-12:] = rng.normal(size=12)
    return jacobian, rng.uniform(0.1, 100.0, count), rng.normal(size=count)


class Summed:
    """A problem, and views on what is in it."""

    def __init__(self):
        packed, self.views = pack_arrays(Problem())
        self.record = packed[0]

    def add(self, jacobian, weights, residuals):
        clear(self.record)
        for i in range(N):
            add_diagonal(self.record, i, 0.5, 0.1 * i)
        for own, weight, residual in zip(jacobian, weights, residuals):
            self.views.row[:] = own
            close_row(self.record, weight, residual)


@pytest.fixture
def problem():
    return Summed()


def test_the_step_is_that_of_a_dense_solver(problem, rng):
    jacobian, weights, residuals = sparse_rows(rng, 40)
    problem.add(jacobian, weights, residuals)
    solve(problem.record)
    normal = 0.5 * np.eye(N) + jacobian.T @ (weights[:, None] * jacobian)
    right = 0.05 * np.arange(N) + jacobian.T @ (weights * residuals)
    np.testing.assert_allclose(problem.views.step, np.linalg.solve(normal, right), atol=1e-9)


def test_the_order_of_rows_does_not_matter(problem, rng):
    rows = sparse_rows(rng, 20)
    problem.add(*rows)
    solve(problem.record)
    step = problem.views.step.copy()
    problem.add(*(part[::-1] for part in rows))
    solve(problem.record)
    np.testing.assert_allclose(problem.views.step, step, atol=1e-9)


def test_the_cost_is_the_sum_of_weighted_squares(problem, rng):
    jacobian, weights, residuals = sparse_rows(rng, 10)
    problem.add(jacobian, weights, residuals)
    expected = 0.5 * (0.01 * np.arange(N) ** 2).sum() + (weights * residuals**2).sum()
    assert problem.views.cost[0] == pytest.approx(expected)


def test_limbs_that_have_nothing_to_do_with_each_other_leave_the_envelope_narrow(problem):
    clear(problem.record)
    for first in (0, 9, 18):
        problem.views.row[first : first + 9] = 1.0
        problem.views.row[48:51] = 1.0
        close_row(problem.record, 1.0, 0.0)
    assert problem.views.begins[:27].tolist() == [0] * 9 + [9] * 9 + [18] * 9


@pytest.mark.parametrize('slack', [0.002, 0.05, 0.3])
def test_firmness_grows_smoothly_from_nothing_to_its_greatest_in_contact(slack):
    w = np.linspace(0.0, 1.0, 1001)
    values = np.array([firmness(x, slack) for x in w])
    assert values[0] == 0.0 and values[-1] == pytest.approx(1.0 / slack)
    assert (np.diff(values) > 0.0).all()


def test_a_ramp_and_its_slope_have_no_kink():
    depth = np.linspace(-0.01, 0.03, 4001)
    value, slope = np.array([ramp(d, 0.005) for d in depth]).T
    np.testing.assert_allclose(np.gradient(value, depth)[1:-1], slope[1:-1], atol=2e-3)
    assert np.abs(np.diff(slope)).max() < 2e-3
    assert value[0] == 0.0 and value[-1] == pytest.approx(0.025)
