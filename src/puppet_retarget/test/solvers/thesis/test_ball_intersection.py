# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nearest points in balls, and the least growth, against bounds of their duals (errata 4)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers.thesis.ball_intersection import closest_in_balls
import pytest
from scipy.optimize import nnls

TOL_M = 1e-9  # errata 4, both for feasibility and for the distance
N_PROBLEMS = 5_000
KINDS = (
    'random',
    'meeting',
    'equal centres',
    'collinear centres',
    'coplanar',
    'nested',
    'infinite',
    'nearly unimportant',
    'on an axis',
    'at a centre',
    'on a sphere',
)


class Problem(NamedTuple):
    """A point and balls."""

    p: Vec3
    centres: Vec3s
    radii: Floats
    slacks: Floats


def solve(problem: Problem) -> tuple[Vec3, float]:
    """Return the answer and the relaxation."""
    relaxation, point = closest_in_balls(*problem)
    return np.array(point), relaxation


def excess(problem: Problem, x: Vec3) -> float:
    """Return how far x is outside the worst of the balls."""
    finite = np.isfinite(problem.radii)
    if not finite.any():
        return -np.inf
    away = np.linalg.norm(x - problem.centres[finite], axis=1)
    return float(np.max(away - problem.radii[finite]))


def least_distance(problem: Problem, x: Vec3) -> float:
    """Return a distance from p that no feasible point undercuts, by weak duality."""
    near = np.isfinite(problem.radii)
    near[near] &= np.linalg.norm(x - problem.centres[near], axis=1) > problem.radii[near] - 1e-7
    c, r = problem.centres[near], problem.radii[near]
    if not near.any():
        return 0.0
    multipliers, _ = nnls((x - c).T, problem.p - x)
    y = (problem.p + multipliers @ c) / (1.0 + multipliers.sum())
    bound = (y - problem.p) @ (y - problem.p)
    bound += multipliers @ (np.sum((y - c) ** 2, axis=1) - r * r)
    return float(np.sqrt(max(bound, 0.0)))


def least_relaxation(problem: Problem, x: Vec3, t: float) -> float:
    """Return a relaxation that no point undercuts, by convexity of the distances."""
    finite = np.isfinite(problem.radii)
    c, r, s = problem.centres[finite], problem.radii[finite], problem.slacks[finite]
    away = np.linalg.norm(x - c, axis=1)
    acts = (away - r) / s > t - 1e-7
    directions = ((x - c) / away[:, None])[acts].T
    multipliers, _ = nnls(np.vstack((directions, 10.0 * s[acts])), np.array([0, 0, 0, 10.0]))
    return float(multipliers @ (away - r)[acts] / (multipliers @ s[acts]))


def problems(kind: str, count: int, seed: int) -> Iterator[Problem]:
    """Yield random problems of a kind."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = rng.integers(1, 5)
        c = rng.normal(size=(n, 3)) * rng.choice([0.05, 0.3, 1.0, 3.0])
        r = rng.uniform(0.05, 1.8, n)
        p = rng.normal(size=3) * rng.choice([0.1, 0.5, 1.5, 5.0])
        noise = rng.choice([0.0, 1e-16, 1e-12, 1e-9, 1e-6]) * rng.normal(size=(n, 3))
        if kind == 'meeting':  # a common point, so that the intersection is not empty
            away = rng.normal(size=(n, 3))
            away /= np.linalg.norm(away, axis=1, keepdims=True)
            c = rng.normal(size=3) + away * (r * rng.uniform(0.5, 1.0, n))[:, None]
        elif kind == 'equal centres':
            c = c[0] + noise
        elif kind == 'collinear centres':
            c = c[0] + rng.normal(size=(n, 1)) * c[-1] + noise
        elif kind == 'coplanar':
            c[:, 2] = 0.0
            p[2] *= rng.integers(0, 2)
        elif kind == 'nested' and n > 1:
            r[0] = np.linalg.norm(c[1] - c[0]) + r[1]
        elif kind == 'infinite':
            r[rng.integers(n)] = np.inf
        elif kind == 'nearly unimportant':
            r[rng.integers(n)] = 1e6
        elif kind == 'on an axis' and n > 1:
            p = c[0] + (c[1] - c[0]) * rng.normal()
        elif kind == 'at a centre':
            p = c[0].copy()
        elif kind == 'on a sphere':
            p = c[0] + r[0] * p / np.linalg.norm(p)
        yield Problem(p, c, r, 1.0 / rng.uniform(0.05, 1.0, n) ** 2)


@pytest.mark.parametrize('kind', KINDS)
def test_answer_is_feasible_and_nothing_is_nearer(kind):
    """Errata 4; empty intersections by the least relaxation."""
    solved = 0
    for problem in problems(kind, N_PROBLEMS // len(KINDS) + 1, seed=KINDS.index(kind)):
        x, t = solve(problem)
        if t == 0.0:
            solved += 1
            assert excess(problem, x) <= TOL_M
            assert np.linalg.norm(x - problem.p) <= least_distance(problem, x) + TOL_M
        else:
            relaxed = problem._replace(radii=problem.radii + t * problem.slacks)
            assert excess(relaxed, x) <= TOL_M
            assert t <= least_relaxation(problem, x, t) + TOL_M
    assert solved > 50


def test_point_inside_one_ball_is_not_drawn_to_its_sphere():
    """P is inside the large ball and outside the two others, whose common part is nearer."""
    p = np.array([0.95, 0.0, 0.0])
    c = np.array([[0.0, 0.0, 0.0], [1.0, 0.30, 0.0], [1.0, -0.30, 0.0]])
    r = np.array([1.0, 0.301, 0.301])
    x, t = solve(Problem(p, c, r, np.ones(3)))
    assert t == 0.0
    np.testing.assert_allclose(x, [1.0 - np.sqrt(0.301**2 - 0.3**2), 0.0, 0.0], atol=TOL_M)


@pytest.mark.parametrize('n_balls', [2, 3, 4])
def test_empty_intersection_keeps_the_answer_continuous(n_balls):
    """
    Errata 4: the answer goes on where the last common point was.

    While balls part by h their common part is some sqrt(h) wide, so that is how fast the
    answer may move; discarding a ball would make it jump by a radius.
    """
    rng = np.random.default_rng(n_balls)
    for _ in range(5):
        away = rng.normal(size=(n_balls, 3))
        away -= away.mean(axis=0) * (n_balls > 2)
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        p = 3.0 * rng.normal(size=3)
        problem = Problem(p, away, np.full(n_balls, 0.8), np.ones(n_balls))
        scales, answers, empty = np.linspace(0.6, 1.4, 4001), [], []
        for scale in scales:
            x, t = solve(problem._replace(centres=scale * away))
            answers.append(x)
            empty.append(t > 0.0)
        assert {True, False} <= set(empty) or n_balls == 2
        steps = np.linalg.norm(np.diff(answers, axis=0), axis=1)
        assert steps.max() < 3.0 * np.sqrt(scales[1] - scales[0])


def test_relaxation_gives_way_where_it_matters_least():
    centres = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    x, t = solve(Problem(np.zeros(3), centres, np.ones(2), np.array([1.0, 9.0])))
    assert t == pytest.approx(0.1)
    np.testing.assert_allclose(x, [1.1, 0.0, 0.0], atol=TOL_M)
