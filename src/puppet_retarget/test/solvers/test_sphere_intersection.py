# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nearest points on a sphere among balls, against samples and a minimiser (errata 4 and 7)."""

from typing import NamedTuple

from ball_problems import draw_on_sphere, Problems, SPHERE_KINDS, unit
from numba import njit
import numpy as np
from puppet_core.math.arrays import Floats, Vec3, Vec3s
from puppet_retarget.solvers.ball_intersection import closest_on_sphere
import pytest
from scipy.optimize import minimize

TOL_M = 1e-9  # errata 4, both for feasibility and for the distance
PER_KIND = 2500  # times 26 kinds
UP = np.array([0.0, 0.0, 1.0])


class Answers(NamedTuple):
    """Problems on spheres, solved."""

    problems: Problems
    centre: Vec3s
    radius: Floats
    points: Vec3s
    relaxations: Floats

    def pick(self, which: Floats) -> 'Answers':
        """Return some of the rows."""
        return Answers(
            self.problems.pick(which), *(np.ascontiguousarray(a[which]) for a in self[1:])
        )

    def needs(self, points: Vec3s) -> Floats:
        """Return the relaxation each constraint needs at points, (m, 8)."""
        square = np.sum((points[:, None] - self.problems.centres) ** 2, axis=2)
        r, outside = self.problems.radii, self.problems.outside
        missed = np.where(outside & (r > 0.0), r * r - square, -np.inf)
        missed = np.where(outside, missed, square - r * r)
        return missed / (2.0 * self.radius[:, None] * self.problems.slacks)


@njit
def _solve_all(p, centres, radii, outside, slacks, s, radius, fallback, points, relaxations):
    for n in range(len(p)):
        relaxations[n] = closest_on_sphere(
            p[n],
            s[n],
            radius[n],
            centres[n],
            radii[n],
            outside[n],
            slacks[n],
            fallback,
            points[n],
        )


def solve(problems: Problems, centre: Vec3s, radius: Floats) -> Answers:
    """Return the problems with their answers."""
    points, relaxations = np.full(problems.p.shape, np.nan), np.full(len(problems.p), np.nan)
    _solve_all(*problems, centre, radius, UP, points, relaxations)
    return Answers(problems, centre, radius, points, relaxations)


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


@pytest.mark.parametrize('kind', SPHERE_KINDS)
def test_relaxation_is_what_the_answer_needs_and_the_least(kind: str) -> None:
    rng = np.random.default_rng(100 + SPHERE_KINDS.index(kind))
    answers = solve(*draw_on_sphere(kind, PER_KIND // 5, rng))
    answers = answers.pick(answers.relaxations > 0.0)
    if kind != 'through a point':
        assert len(answers.points) > 50
    needed = answers.needs(answers.points).max(axis=1)
    np.testing.assert_allclose(needed, answers.relaxations, rtol=1e-9, atol=TOL_M)
    for seed in unit(rng.normal(size=(200, 3))):
        other = answers.centre + answers.radius[:, None] * seed
        assert np.all(answers.needs(other).max(axis=1) >= answers.relaxations - TOL_M)


def test_minimiser_finds_no_less_relaxation() -> None:
    answers = solve(*draw_on_sphere('random', 200, np.random.default_rng(8)))
    answers = answers.pick(answers.relaxations > 1e-3)
    rng, agreed = np.random.default_rng(9), 0
    for n in range(20):
        one = answers.pick(np.array([n]))
        use = np.isfinite(one.problems.radii[0])

        def spare(z: Floats, one: Answers = one, use: Floats = use) -> Floats:
            return z[3] - one.needs(one.centre + one.radius * z[:3])[0, use]

        least = np.inf
        for start in unit(rng.normal(size=(4, 3))):
            result = minimize(
                lambda z: z[3],
                np.append(start, 5.0),
                method='SLSQP',
                constraints=[
                    {'type': 'ineq', 'fun': spare},
                    {'type': 'eq', 'fun': lambda z: z[:3] @ z[:3] - 1.0},
                ],
                options={'ftol': 1e-12, 'maxiter': 200},
            )
            if result.success and abs(result.x[:3] @ result.x[:3] - 1.0) < 1e-9:
                least = min(least, result.x[3])
        assert one.relaxations[0] <= least + 1e-6
        agreed += least <= one.relaxations[0] + 1e-6
    assert agreed > 15


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
        balls = unit(UP + 0.5 * rng.normal(size=(n_caps, 3)))
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
