# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The least growth that lets balls meet, against scipy's constrained minimiser."""

import numpy as np
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers.ball_intersection import largest_growth, least_growth
import pytest
from scipy.optimize import minimize

TOL_M = 1e-9
MINIMISER_TOL_M = 1e-6


def grow(centres: Vec3s, radii: Floats, slacks: Floats) -> tuple[Vec3, Floats, bool]:
    """Return the point, the bounds of the growth, and whether it is proven."""
    out, bounds = np.full(3, np.nan), np.empty(2)
    proven = least_growth(centres, radii, slacks, bounds, out)
    return out, bounds, proven


def minimiser(centres: Vec3s, radii: Floats, slacks: Floats, start: Vec3) -> float:
    """Return the least growth found by SLSQP over point and growth."""
    finite = np.isfinite(radii)
    c, r, s = centres[finite], radii[finite], slacks[finite]
    result = minimize(
        lambda z: z[3],
        np.append(start, 5.0),
        method='SLSQP',
        constraints={
            'type': 'ineq',
            'fun': lambda z: r + s * z[3] - np.linalg.norm(z[:3] - c, axis=1),
        },
        options={'ftol': 1e-12, 'maxiter': 300},
    )
    return result.x[3] if result.success else np.inf


@pytest.mark.parametrize('n', [2, 3, 4])
def test_growth_is_the_least(n: int, rng) -> None:
    compared = 0
    for _ in range(60):
        c, r, s = rng.normal(size=(n, 3)), rng.uniform(0.1, 0.6, n), rng.uniform(0.3, 3.0, n)
        x, (low, high), proven = grow(c, r, s)
        assert proven
        assert high - low <= TOL_M
        assert largest_growth(x, c, r, s) == pytest.approx(high, abs=TOL_M)
        if high > 0.0:
            wanted = minimiser(c, r, s, c.mean(axis=0))
            assert high <= wanted + MINIMISER_TOL_M
            compared += high == pytest.approx(wanted, abs=MINIMISER_TOL_M)
    assert compared > 20


def test_infinite_balls_are_left_out(rng) -> None:
    c = np.array([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0], [4.0, 0.0, 0.0]])
    with_it = grow(c, np.array([1.0, np.inf, 1.0]), np.ones(3))
    without = grow(c[[0, 2]], np.ones(2), np.ones(2))
    np.testing.assert_allclose(with_it[0], without[0], atol=TOL_M)
    np.testing.assert_allclose(with_it[1], without[1], atol=TOL_M)
