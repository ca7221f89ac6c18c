# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Small linear systems against numpy."""

import numpy as np
from puppet_core.math.linear_system import factorise_in_place, solve_factorised
import pytest


@pytest.mark.parametrize('n', [1, 4, 12])
def test_factor_solves_positive_definite_systems(n, rng):
    for _ in range(20):
        root = rng.normal(size=(n, n))
        a, b, x = root @ root.T + 0.01 * np.eye(n), rng.normal(size=n), np.empty(n)
        factor = np.tril(a)  # nothing above the diagonal is looked at
        assert factorise_in_place(factor, n, False)
        solve_factorised(factor, b, n, x)
        np.testing.assert_allclose(a @ x, b, atol=1e-9)


def test_indefinite_matrix_is_reported(rng):
    for _ in range(20):
        root = rng.normal(size=(12, 12))
        vectors, _ = np.linalg.qr(root)
        values = rng.uniform(0.1, 3.0, 12)
        assert factorise_in_place(vectors * values @ vectors.T, 12, False)
        values[rng.integers(12)] *= -1.0
        for stiffen in (False, True):
            assert not factorise_in_place(vectors * values @ vectors.T, 12, stiffen)


def test_matrix_that_rounding_made_singular_stays_finite(rng):
    root = rng.normal(size=(12, 4))
    factor, out = np.tril(root @ root.T), np.empty(12)
    factorise_in_place(factor, 12, True)
    solve_factorised(factor, rng.normal(size=12), 12, out)
    assert np.isfinite(out).all()
