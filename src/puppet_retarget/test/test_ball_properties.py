# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Nearest points among balls in space, by the ten thousand (errata 4, errata 7).

With balls to stay inside of only, duality proves the answers: multipliers from a non-negative
least-squares fit bound the distance from below, or the relaxation if nothing is feasible. With
balls to stay outside of, no feasible point that a search finds may be nearer.

"""

from ball_problems import draw, KINDS, Problems, unit
from numba import njit
import numpy as np
from puppet_core.math.arrays import Floats, Vec3s
from puppet_retarget.solvers.ball_intersection import closest_in_range
import pytest
from scipy.optimize import nnls
from witness_search import search_space, sphere_seeds

TOL_M = 1e-9  # errata 4, both for feasibility and for the distance
PER_KIND = 1700  # times 18 kinds, times two
SEEDS = sphere_seeds()


@njit
def _solve_all(p, centres, radii, outside, slacks, points, relaxations):
    work = np.empty(radii.shape[1])
    for n in range(len(p)):
        relaxations[n] = closest_in_range(
            p[n], centres[n], radii[n], outside[n], slacks[n], work, points[n]
        )


def solve(problems: Problems) -> tuple[Vec3s, Floats]:
    """Return answers and relaxations."""
    points, relaxations = np.full(problems.p.shape, np.nan), np.full(len(problems.p), np.nan)
    _solve_all(*problems, points, relaxations)
    return points, relaxations


def excesses(problems: Problems, points: Vec3s, relaxations: Floats) -> Floats:
    """Return by how much points miss each constraint, relaxed, (m, 8); < 0 if they keep it."""
    r, growth = problems.radii, relaxations[:, None] * problems.slacks
    away = np.linalg.norm(points[:, None] - problems.centres, axis=2)
    return np.where(problems.outside, np.maximum(r - growth, 0.0) - away, away - (r + growth))


def least_distances(problems: Problems, points: Vec3s) -> Floats:
    """Return distances from p that nothing inside all balls undercuts, by weak duality."""
    p, c, r = problems[:3]
    near = excesses(problems, points, np.zeros(len(p))) > -1e-7
    c, r = np.where(near[..., None], c, 0.0), np.where(near, r, 0.0)
    columns = np.where(near[..., None], points[:, None] - c, 0.0)
    multipliers = np.array([nnls(a.T, b)[0] for a, b in zip(columns, p - points)])
    y = p + np.einsum('ni,nik->nk', multipliers, c)
    y /= 1.0 + multipliers.sum(axis=1)[:, None]
    misses = np.where(near, np.sum((y[:, None] - c) ** 2, axis=2) - r * r, 0.0)
    bound = np.sum((y - p) ** 2, axis=1) + np.sum(multipliers * misses, axis=1)
    return np.sqrt(np.maximum(bound, 0.0))


def least_relaxations(problems: Problems, points: Vec3s, relaxations: Floats) -> Floats:
    """Return relaxations that nothing undercuts, by the convexity of distances."""
    s = problems.slacks
    near = excesses(problems, points, relaxations) / s > -1e-7
    offsets = points[:, None] - problems.centres
    away = np.linalg.norm(offsets, axis=2)
    directions = offsets / np.where(away > 0.0, away, 1.0)[..., None]
    rows = np.concatenate((directions, 10.0 * s[..., None]), axis=2)
    rows = np.where(near[..., None], rows, 0.0)
    multipliers = np.array([nnls(a.T, np.array([0.0, 0.0, 0.0, 10.0]))[0] for a in rows])
    missed = np.where(near, away - problems.radii, 0.0)
    return np.sum(multipliers * missed, axis=1) / np.sum(multipliers * s, axis=1)


@pytest.mark.parametrize('kind', KINDS)
def test_in_balls_nothing_is_nearer_by_duality(kind: str) -> None:
    problems = draw(kind, PER_KIND, np.random.default_rng(KINDS.index(kind)), 0.0)
    points, relaxations = solve(problems)
    assert excesses(problems, points, relaxations).max() <= TOL_M
    met, parted = relaxations == 0.0, relaxations > 0.0
    assert np.all(met | parted) and met.sum() > 200
    away = np.linalg.norm(points - problems.p, axis=1)[met]
    nearest = away <= least_distances(problems.pick(met), points[met]) + TOL_M
    # or else the point is all there is: no radii can do with less
    rest = np.flatnonzero(met)[~nearest]
    if len(rest) > 0:
        least = least_relaxations(problems.pick(rest), points[rest], np.zeros(len(rest)))
        assert np.all(least >= -TOL_M)
    if parted.any():
        least = least_relaxations(problems.pick(parted), points[parted], relaxations[parted])
        assert np.all(relaxations[parted] <= least + TOL_M)


@pytest.mark.parametrize('kind', KINDS)
def test_among_balls_no_search_finds_a_nearer_point(kind: str) -> None:
    """Errata 7."""
    problems = draw(kind, PER_KIND, np.random.default_rng(100 + KINDS.index(kind)), 0.4)
    points, relaxations = solve(problems)
    assert excesses(problems, points, relaxations).max() <= TOL_M
    met, found = relaxations == 0.0, np.empty(len(points))
    search_space(*problems[:4], SEEDS, found)
    away = np.linalg.norm(points - problems.p, axis=1)
    assert np.all(away[met] <= found[met] + TOL_M)
    assert np.all(relaxations[np.isfinite(found)] <= TOL_M)
    # the search is worth its time: it does find the answers
    assert np.mean(np.abs(away - found)[met & np.isfinite(found)] < 1e-6) > 0.85
    assert np.sum(met & np.isfinite(found)) > 200


@pytest.mark.parametrize('less', [1e-3, 0.1])
def test_with_less_relaxation_no_search_finds_any_point(less: float, rng) -> None:
    problems = draw('random', 3000, rng, 0.4)
    points, relaxations = solve(problems)
    which = relaxations > 0.0
    problems, almost = problems.pick(which), (1.0 - less) * relaxations[which, None]
    growth = almost * problems.slacks * np.where(problems.outside, -1.0, 1.0)
    found = np.empty(len(almost))
    relaxed = problems._replace(radii=np.maximum(problems.radii + growth, 0.0))
    search_space(*relaxed[:4], SEEDS, found)
    assert len(found) > 1000 and np.all(np.isinf(found))


def test_outside_of_one_ball_is_its_surface(rng) -> None:
    p = 0.3 * unit(rng.normal(size=(50, 3)))
    for start in p:
        x = np.empty(3)
        closest_in_range(
            start, np.zeros((1, 3)), np.ones(1), np.array([True]), np.ones(1), np.empty(1), x
        )
        np.testing.assert_allclose(x, start / 0.3, atol=1e-14)


def test_shell_without_width_keeps_the_answer_on_its_surface() -> None:
    """The elbow range of a hand whose importance is one (fig. 5.6)."""
    centres, radii = np.zeros((2, 3)), np.full(2, 0.3)
    for p in ([0.1, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 0.0]):
        x = np.empty(3)
        t = closest_in_range(
            np.array(p), centres, radii, np.array([False, True]), np.ones(2), np.empty(2), x
        )
        assert t == 0.0
        np.testing.assert_allclose(x, [0.3, 0.0, 0.0], atol=1e-15)


def test_a_ball_that_swallows_the_only_room_gives_way() -> None:
    """Inside a ball of 1 m, outside of one of 2 m about the same centre."""
    x = np.empty(3)
    t = closest_in_range(
        np.array([0.0, 0.5, 0.0]),
        np.zeros((2, 3)),
        np.array([1.0, 2.0]),
        np.array([False, True]),
        np.array([1.0, 3.0]),
        np.empty(2),
        x,
    )
    assert t == pytest.approx(0.25, abs=TOL_M)
    np.testing.assert_allclose(x, [0.0, 1.25, 0.0], atol=1e-6)


@pytest.mark.parametrize('seed', range(6))
def test_last_room_vanishes_without_a_jump(seed: int) -> None:
    """
    Errata 4: a ball grows over the lens of two others until nothing of it is left.

    What is left narrows with the square root of what remains to grow, and so fast may the
    answer move.

    """
    rng = np.random.default_rng(seed)
    centres = np.array([[0.4, 0.0, 0.0], [-0.4, 0.0, 0.0], [0.05, -0.2, 0.03]])
    p, growth, answers, empty = rng.normal(size=3), np.linspace(0.3, 0.8, 3001), [], []
    for radius in growth:
        radii, x = np.array([0.5, 0.5, radius]), np.empty(3)
        empty.append(
            closest_in_range(
                p,
                centres,
                radii,
                np.array([False, False, True]),
                np.array([1.0, 0.7, 0.2]),
                np.empty(3),
                x,
            )
            > 0.0
        )
        answers.append(x)
    assert {True, False} == set(empty)
    steps = np.linalg.norm(np.diff(answers, axis=0), axis=1)
    assert steps.max() < 2.0 * np.sqrt(growth[1] - growth[0])
