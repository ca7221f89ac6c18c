# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Small linear systems against numpy."""

import numpy as np
from puppet_retarget.solvers.linear_system import (
    factorise_in_place,
    solve_factorised,
    solve_in_place,
)
import pytest


def test_four_equations_are_solved(rng) -> None:
    for _ in range(100):
        a, b = rng.normal(size=(4, 4)), rng.normal(size=4)
        a[rng.integers(4), 0] = 0.0  # pivots must be looked for
        system = np.column_stack((a, b))
        assert solve_in_place(system)
        np.testing.assert_allclose(a @ system[:, 4], b, atol=1e-9)


def test_singular_system_is_told(rng) -> None:
    a = rng.normal(size=(4, 5))
    a[3] = a[1] - 2.0 * a[0]
    assert not solve_in_place(a)


@pytest.mark.parametrize('n', [1, 4, 12])
def test_factor_solves_positive_definite_systems(n: int, rng) -> None:
    for _ in range(20):
        root = rng.normal(size=(n, n))
        a, b, x = root @ root.T + 0.01 * np.eye(n), rng.normal(size=n), np.empty(n)
        factor = np.tril(a)  # nothing above the diagonal is looked at
        factorise_in_place(factor)
        solve_factorised(factor, b, x)
        np.testing.assert_allclose(a @ x, b, atol=1e-9)


def test_matrix_that_rounding_made_singular_stays_finite(rng) -> None:
    root = rng.normal(size=(12, 4))
    factor, out = np.tril(root @ root.T), np.empty(12)
    factorise_in_place(factor)
    solve_factorised(factor, rng.normal(size=12), out)
    assert np.isfinite(out).all()
