# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nearest points in balls, and the least growth, against bounds of their duals (errata 4)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from plain_thesis import Ball, closest_point
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers.thesis.ball_intersection import (
    closest_in_shells,
    NO_SHELL,
    Shell,
    sphere,
)
from puppet_retarget.solvers.thesis.errata import AS_PRINTED
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


def nearest(p, centres, radii, importances, all_candidates=True, growing=True):
    """Return growth and point of the nearest in up to four balls."""
    numbers = zip(centres.tolist(), radii.tolist(), importances.tolist())
    balls = [Shell(tuple(c), 0.0, r, w) for c, r, w in numbers]
    balls += [NO_SHELL] * (4 - len(balls))
    start = tuple(map(float, p))
    return closest_in_shells(start, tuple(balls), all_candidates, growing)


def solve(problem: Problem) -> tuple[Vec3, float]:
    """Return the answer and the relaxation."""
    importances = problem.slacks**-0.5
    relaxation, point = nearest(problem.p, problem.centres, problem.radii, importances)
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


# As printed, and on a sphere: against plain searches.


class Meeting(NamedTuple):
    """Balls with a common ball of 5 cm, and a point."""

    start: Vec3
    centres: Vec3s
    radii: Floats

    def find(self, all_candidates: bool) -> Vec3:
        given = self.start, self.centres, self.radii, np.ones(4)
        return np.array(nearest(*given, all_candidates, False)[1])


def meeting(rng: np.random.Generator) -> Meeting:
    centres = rng.normal(size=(4, 3))
    return Meeting(2.0 * rng.normal(size=3), centres, np.linalg.norm(centres, axis=1) + 0.05)


def test_first_match_as_printed_need_not_be_the_closest(rng):
    """Errata 4."""
    farther = []
    for _ in range(300):
        problem = meeting(rng)
        balls = [Ball(c, r, 1.0) for c, r in zip(problem.centres, problem.radii)]
        expected = closest_point(problem.start, balls, AS_PRINTED)
        printed, corrected = problem.find(False), problem.find(True)
        np.testing.assert_allclose(printed, expected, atol=1e-9)
        _, best = nearest(problem.start, problem.centres, problem.radii, np.ones(4))
        np.testing.assert_allclose(corrected, best, atol=1e-12)
        farther.append(np.linalg.norm(printed - problem.start) - problem_distance(problem, best))
    assert min(farther) > -1e-9
    assert 0 < np.sum(np.array(farther) > 0.01) < 30


def problem_distance(problem: Meeting, x: Vec3) -> float:
    return float(np.linalg.norm(np.array(x) - problem.start))


@pytest.mark.parametrize('all_candidates', [False, True])
def test_balls_that_do_not_meet_the_most_important_one_are_discarded(all_candidates):
    centres = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    start, importances = (0.0, 0.0, 3.0), np.array([0.5, 0.9, 0.7])
    _, found = nearest(start, centres, np.full(3, 0.1), importances, all_candidates, False)
    np.testing.assert_allclose(found, [0.0, 0.0, 0.1], atol=1e-12)


def test_three_balls_that_meet_in_pairs_only_lose_the_least_important_one():
    """Errata 4: the printed rule would discard nothing for ever."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.75**0.5, 0.0]])
    importances = np.array([0.9, 0.8, 0.1])
    given = corners[2], corners, np.full(3, 0.51), importances
    _, found = nearest(*given, False, False)
    away = np.linalg.norm(np.array(found) - corners, axis=1)
    assert max(away[:2]) < 0.51 + 1e-9 < away[2]


def fibonacci_sphere(n: int = 200_000) -> Vec3s:
    """Return unit vectors all over, less than 5 mm apart on an upper arm's sphere."""
    k = np.arange(n) + 0.5
    z, angle = 1.0 - 2.0 * k / n, np.pi * (1.0 + 5.0**0.5) * k
    flat = np.sqrt(1.0 - z * z)
    return np.stack((flat * np.cos(angle), flat * np.sin(angle), z), axis=1)


EVERYWHERE = fibonacci_sphere()
CENTRE, RADIUS = (0.1, -0.2, 0.3), 0.3
ARM = sphere(CENTRE, RADIUS)


def random_shells(rng: np.random.Generator) -> list[Ball]:
    """Return a ball of an elbow and two shells about hands, about the sphere of an arm."""
    centres = np.array(CENTRE) + 0.35 * rng.normal(size=(3, 3))
    w = rng.uniform(0.1, 1.0, 3)
    inner, outer = rng.uniform(0.05, 0.25, 3), rng.uniform(0.3, 0.6, 3)
    inner[0] = 0.0
    return [Ball(centres[i], outer[i], w[i], inner[i]) for i in range(3)]


def on_sphere(start: Vec3, balls: list[Ball], all_candidates: bool, growing: bool) -> Vec3:
    shells = [Shell(tuple(map(float, b.centre)), b.inner, b.radius, b.importance) for b in balls]
    given = tuple(map(float, start)), (ARM, *shells)
    return np.array(closest_in_shells(*given, all_candidates, growing)[1])


def test_nearest_point_in_shells_is_the_best_of_all_on_the_sphere(rng):
    """Errata 7: outside of the inner spheres, too."""
    points, found = np.array(CENTRE) + RADIUS * EVERYWHERE, 0
    for _ in range(120):
        balls = random_shells(rng)
        allowed = np.ones(len(points), dtype=bool)
        for ball in balls:
            away = np.linalg.norm(points - ball.centre, axis=1)
            allowed &= (away <= ball.radius) & (away >= ball.inner)
        if allowed.sum() < 500:
            continue
        found += 1
        start = points[rng.integers(len(points))]
        x = on_sphere(start, balls, True, True)
        assert np.linalg.norm(x - CENTRE) == pytest.approx(RADIUS, abs=1e-12)
        assert all(ball.holds(x) for ball in balls)
        nearest = np.linalg.norm(points[allowed] - start, axis=1).min()
        # less than a grid's width apart, and never farther
        assert nearest - 5e-3 < np.linalg.norm(x - start) <= nearest + 1e-9
    assert found > 20


@pytest.mark.parametrize('growing', [False, True], ids=['discarding', 'growing'])
@pytest.mark.parametrize('all_candidates', [False, True], ids=['printed', 'all'])
def test_shells_with_nothing_in_common_are_those_of_the_plain_search(rng, all_candidates, growing):
    errata = AS_PRINTED._replace(all_candidates=all_candidates, growing_balls=growing)
    empty = 0
    for _ in range(100):
        balls = [ball._replace(radius=0.5 * ball.radius) for ball in random_shells(rng)]
        start = np.array(CENTRE) + RADIUS * EVERYWHERE[rng.integers(len(EVERYWHERE))]
        x = on_sphere(start, balls, all_candidates, growing)
        plain = closest_point(start, balls, errata, Ball(np.array(CENTRE), RADIUS, 0.0))
        np.testing.assert_allclose(x, plain, atol=1e-4)
        empty += not all(ball.holds(x) for ball in balls)
    assert empty > 20


@pytest.mark.parametrize('growing', [False, True])
def test_an_elbow_whose_hand_is_out_of_reach_points_to_it(growing):
    start = np.array(CENTRE) + [RADIUS, 0.0, 0.0]
    hand = np.array(CENTRE) + [0.0, 0.0, 2.0]
    ranges = [Ball(hand, 0.25, 1.0, 0.25), *2 * [Ball(np.zeros(3), np.inf, 0.0)]]
    x = on_sphere(start, ranges, True, growing)
    np.testing.assert_allclose(x, np.array(CENTRE) + [0.0, 0.0, RADIUS], atol=1e-7)
    # a hand that is wanted at the shoulder, which the forearm is too long for
    near = np.array(CENTRE) + [0.0, 0.0, 0.01]
    ranges[0] = Ball(near, 0.6, 1.0, 0.5)
    x = on_sphere(start, ranges, True, growing)
    np.testing.assert_allclose(x, np.array(CENTRE) - [0.0, 0.0, RADIUS], atol=1e-7)


def test_growing_shells_keep_the_elbow_continuous(rng):
    """Errata 4; while ranges part by h the common part is some sqrt(h) wide."""
    for _ in range(10):
        balls = random_shells(rng)
        start = np.array(CENTRE) + [0.0, RADIUS, 0.0]
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        # one ball, so that no second part of the range can be nearer
        path = [
            on_sphere(start, [balls[0]._replace(centre=balls[0].centre + s * way)] * 3, True, True)
            for s in np.linspace(-1.5, 1.5, 3001)
        ]
        steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
        assert steps.max() < 3.0 * np.sqrt(1e-3)
