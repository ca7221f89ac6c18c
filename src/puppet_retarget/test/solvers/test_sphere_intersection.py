# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nearest points on a sphere among balls, against samples and a minimiser (errata 4 and 7)."""

import numpy as np
from puppet_core.math.arrays import Floats, Vec3
from puppet_retarget.solvers.ball_intersection import closest_on_sphere
import pytest

TOL_M = 1e-9  # errata 4, both for feasibility and for the distance
UP = np.array([0.0, 0.0, 1.0])


def solve_one(p, balls, radii, outside, slacks=None, fallback=UP) -> tuple[Vec3, float]:
    """Return the answer on the unit sphere, and the relaxation."""
    out, n = np.full(3, np.nan), len(radii)
    t = closest_on_sphere(
        np.asarray(p, dtype=float),
        np.zeros(3),
        1.0,
        np.array(balls, dtype=float),
        np.array(radii, dtype=float),
        np.array(outside),
        np.ones(n) if slacks is None else slacks,
        np.array(fallback, dtype=float),
        out,
    )
    return out, t


def test_no_constraint_casts_the_point_on_the_sphere() -> None:
    """Infinite balls to stay inside of, and balls without radius to stay outside of."""
    x, t = solve_one([0.0, 3.0, 0.0], [UP, UP, UP], [np.inf, 0.0, -1.0], [False, True, True])
    assert t == 0.0
    np.testing.assert_allclose(x, [0.0, 1.0, 0.0], atol=1e-15)


def test_shell_without_width_leaves_its_circle() -> None:
    """The elbow's circle about shoulder and hand, when the hand's importance is one."""
    x, t = solve_one([1.0, 0.2, 0.1], [UP, UP], np.full(2, np.sqrt(2.0)), [False, True])
    assert t == 0.0
    np.testing.assert_allclose(x, np.array([1.0, 0.2, 0.0]) / np.hypot(1.0, 0.2), atol=1e-15)


def test_what_matters_gives_way_least() -> None:
    """Caps about the two poles, of which the second is ten times as stiff."""
    radii = np.full(2, np.sqrt(2.0 - 1.0))  # z >= 1/2 and z <= -1/2
    x, t = solve_one([1.0, 0.0, 0.0], [UP, -UP], radii, [False, False], np.array([1.0, 0.1]))
    assert t == pytest.approx(1.0 / 1.1)
    np.testing.assert_allclose(x[2], 0.5 - 1.0 / 1.1, atol=1e-12)
    np.testing.assert_allclose(x[:2], [np.sqrt(1.0 - x[2] ** 2), 0.0], atol=1e-12)


@pytest.mark.parametrize('n_caps', [1, 2, 3, 5])
def test_last_point_vanishes_without_a_jump(n_caps: int) -> None:
    """
    Errata 4: caps shrink until nothing is common to them, and further.

    While they shrink by h what is left narrows by some sqrt(h), so that is how fast the
    answer may move.
    """
    rng = np.random.default_rng(n_caps)
    for _ in range(8):
        balls = UP + 0.5 * rng.normal(size=(n_caps, 3))
        balls /= np.linalg.norm(balls, axis=1, keepdims=True)
        p, slacks = rng.normal(size=3), rng.uniform(0.3, 3.0, n_caps)
        cosines, answers, empty = np.linspace(0.2, 1.2, 4001), [], []
        for cosine in cosines:
            # a ball out at twice the radius, whose surface does not reach the sphere at last
            radii = np.full(n_caps, np.sqrt(max(5.0 - 4.0 * cosine, 0.0)))
            x, t = solve_one(p, 2.0 * balls, radii, np.zeros(n_caps, bool), slacks)
            answers.append(x)
            empty.append(t > 0.0)
        assert set(empty) == {True, False}
        steps = np.linalg.norm(np.diff(answers, axis=0), axis=1)
        assert steps.max() < 3.0 * np.sqrt(cosines[1] - cosines[0])


def test_no_sample_of_the_sphere_is_better(rng) -> None:
    """Random balls: no sample is nearer, and none needs less relaxation where nothing is free."""
    samples = rng.normal(size=(20_000, 3))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    relaxed = 0
    for _ in range(300):
        n = int(rng.integers(1, 5))
        balls, radii = rng.normal(0.0, 0.8, (n, 3)), rng.uniform(0.1, 1.2, n)
        outside, slacks, p = rng.random(n) < 0.3, rng.uniform(0.2, 2.0, n), rng.normal(size=3)
        x, t = solve_one(p, balls, radii, outside, slacks)

        def need(points: Floats) -> Floats:
            square = np.sum((points[:, None] - balls) ** 2, axis=2)
            return (np.where(outside, -1.0, 1.0) * (square - radii**2) / (2.0 * slacks)).max(
                axis=1
            )

        assert np.linalg.norm(x) == pytest.approx(1.0, abs=TOL_M)
        assert max(need(x[None])[0], 0.0) == pytest.approx(t, abs=1e-7)
        needs = need(samples)
        if t > 0.0:
            assert needs.min() > t - 1e-7
            relaxed += 1
        else:
            towards = p / np.linalg.norm(p)
            assert np.linalg.norm(samples[needs <= 0.0] - towards, axis=1).min(initial=9.0) > (
                np.linalg.norm(x - towards) - 1e-7
            )
    assert relaxed > 30
