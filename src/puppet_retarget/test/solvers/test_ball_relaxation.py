# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The least growth that lets balls meet, against scipy's constrained minimiser."""

import numpy as np
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers.ball_intersection import (
    closest_in_balls,
    largest_growth,
    least_growth,
)
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


def test_two_balls_touch_on_the_line_of_their_centres() -> None:
    c = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    x, (low, high), _ = grow(c, np.array([1.0, 1.0]), np.array([3.0, 1.0]))
    assert low == high == pytest.approx(0.5)
    np.testing.assert_allclose(x, [2.5, 0.0, 0.0], atol=TOL_M)


def test_four_equal_balls_meet_in_the_middle_of_their_tetrahedron() -> None:
    c = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    x, (low, high), _ = grow(c, np.full(4, 0.5), np.ones(4))
    assert high == pytest.approx(np.sqrt(3.0) - 0.5)
    np.testing.assert_allclose(x, 0.0, atol=TOL_M)


def test_three_equal_balls_meet_in_the_middle_of_their_triangle() -> None:
    angles = np.radians([90.0, 210.0, 330.0])
    c = np.stack((np.cos(angles), np.sin(angles), np.full(3, 7.0)), axis=1)
    x, (_, high), _ = grow(c, np.full(3, 0.5), np.ones(3))
    assert high == pytest.approx(0.5)
    np.testing.assert_allclose(x, [0.0, 0.0, 7.0], atol=TOL_M)


def test_infinite_balls_are_left_out(rng) -> None:
    c = np.array([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0], [4.0, 0.0, 0.0]])
    with_it = grow(c, np.array([1.0, np.inf, 1.0]), np.ones(3))
    without = grow(c[[0, 2]], np.ones(2), np.ones(2))
    np.testing.assert_allclose(with_it[0], without[0], atol=TOL_M)
    np.testing.assert_allclose(with_it[1], without[1], atol=TOL_M)


def test_balls_with_a_common_part_need_negative_growth() -> None:
    c = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert grow(c, np.ones(2), np.ones(2))[1][1] == pytest.approx(-0.5)


def test_every_empty_intersection_is_proven_and_quick(rng) -> None:
    """No problem of ordinary proportions falls back on halving."""
    empty = 0
    for _ in range(2000):
        n = rng.integers(2, 5)
        c, r = rng.normal(size=(n, 3)), rng.uniform(0.1, 1.0, n)
        s = 1.0 / rng.uniform(0.1, 1.0, n) ** 2
        if closest_in_balls(np.zeros(3), c, r, s, np.empty(n), np.empty(3)) > 0.0:
            empty += 1
            assert grow(c, r, s)[2]
    assert empty > 1000
