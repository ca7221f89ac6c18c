# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Elbow and wrist for a goal: exact in reach, soft at its limits, on the captured side."""

import numpy as np
from puppet_core.math.arrays import Vec3
from puppet_retarget.solvers import limbs as lp
import pytest

POSITION_TOL_M = 1e-9
UPPER, LOWER = 0.3, 0.25
FULL = UPPER + LOWER


def unit(v: Vec3) -> Vec3:
    """Return v at length one."""
    return v / np.linalg.norm(v)


def limb(shoulder: Vec3, along: Vec3, side: Vec3, reach: float) -> tuple[Vec3, Vec3]:
    """Return elbow and wrist of a limb that reaches along one direction and bends to another."""
    cosine = (UPPER**2 + reach**2 - LOWER**2) / (2.0 * UPPER * reach)
    side = unit(side - (side @ along) * along)
    elbow = shoulder + UPPER * (cosine * along + np.sqrt(1.0 - cosine**2) * side)
    return elbow, shoulder + reach * along


def placed(
    shoulder: Vec3,
    elbow: Vec3,
    wrist: Vec3,
    goal: Vec3,
    current: float = 0.0,
    hint: Vec3 = np.array([0.0, 0.0, 1.0]),
) -> tuple[Vec3, Vec3]:
    """Return the solved elbow and wrist."""
    places = (tuple(map(float, p)) for p in (shoulder, elbow, wrist, goal, hint))
    shoulder, elbow, wrist, goal, hint = places
    found = lp.place_elbow(shoulder, elbow, wrist, UPPER, LOWER, goal, current, hint)
    return np.array(found[0]), np.array(found[1])


def random_limb(rng: np.random.Generator) -> tuple[Vec3, Vec3, Vec3]:
    """Return shoulder, elbow and wrist of a well bent limb."""
    shoulder = rng.normal(size=3)
    return shoulder, *limb(
        shoulder, unit(rng.normal(size=3)), rng.normal(size=3), rng.uniform(0.1, 0.5)
    )


def test_wrist_reaches_goals_in_reach(rng) -> None:
    for _ in range(200):
        shoulder, elbow, wrist = random_limb(rng)
        goal = shoulder + rng.uniform(0.06, lp.EXACT_SHARE * FULL) * unit(rng.normal(size=3))
        new_elbow, new_wrist = placed(shoulder, elbow, wrist, goal)
        np.testing.assert_allclose(new_wrist, goal, atol=POSITION_TOL_M)
        assert np.linalg.norm(new_elbow - shoulder) == pytest.approx(UPPER, abs=POSITION_TOL_M)
        assert np.linalg.norm(goal - new_elbow) == pytest.approx(LOWER, abs=POSITION_TOL_M)


def test_knee_cannot_pass_through_the_straight_leg(rng) -> None:
    """A goal just behind a nearly straight leg's foot bends it to the captured side."""
    shoulder = np.zeros(3)
    elbow, wrist = limb(shoulder, np.array([0, 0, -1.0]), np.array([1.0, 0, 0]), 0.54)
    for angle in np.linspace(-0.8, 0.8, 41):
        goal = 0.4 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
        new_elbow, _ = placed(shoulder, elbow, wrist, goal, hint=np.array([1.0, 0, 0]))
        forward = np.array([np.cos(angle), 0.0, np.sin(angle)])
        assert new_elbow @ forward > 0.1


@pytest.mark.parametrize('current', [0.0, 0.9995 * FULL], ids=['free', 'stretched'])
def test_reach_is_exact_in_between_and_soft_at_the_ends(current: float) -> None:
    d = np.linspace(0.0, 2.0 * FULL, 20_001)
    reached = np.array([lp.soft_reach(x, current, UPPER, LOWER) for x in d])
    far = max(lp.EXACT_SHARE * FULL, current)
    inside = (d > UPPER - LOWER + 0.002 * FULL) & (d <= far)
    np.testing.assert_array_equal(reached[inside], d[inside])
    assert np.all(reached[d > far] <= FULL)
    assert np.all(reached >= UPPER - LOWER)
    slopes = np.diff(reached) / (d[1] - d[0])
    assert np.all(slopes >= 0.0)
    assert slopes.max() <= 1.0 + 1e-6


def test_elbow_moves_continuously_with_goal_and_capture(rng) -> None:
    """Goals sweep from close by to far out of reach while the captured limb straightens."""
    n = 4000
    s = np.linspace(0.0, 1.0, n)
    for _ in range(10):
        hint, along = np.array([0.0, 0.0, 1.0]), unit(np.append(rng.normal(size=2), 0.0))
        goals = (0.1 + 0.8 * s)[:, None] * unit(rng.normal(size=3) + 2.0 * along)
        elbows = []
        for k in range(n):
            elbow, wrist = limb(np.zeros(3), along, hint, FULL * (0.7 + 0.29999 * s[k]))
            elbows.append(placed(np.zeros(3), elbow, wrist, goals[k], hint=hint)[0])
        assert np.linalg.norm(np.diff(elbows, axis=0), axis=1).max() < 30.0 / n


@pytest.mark.parametrize('run', [lp.into_reach, lp.into_reach.py_func], ids=['jit', 'py'])
def test_goals_of_little_importance_are_slowed_before_they_leave_reach(run, rng) -> None:
    """Hardly past the reach, never farther than the goal, without a kink, exact where needed."""
    left, last = 0.5 * (1.0 - lp.EXACT_SHARE) * FULL, None
    for slack in (0.0, 1e-9, 0.1, 0.7, 1.0):
        shoulder, towards = rng.normal(size=3), unit(rng.normal(size=3))
        captured = shoulder + 0.3 * FULL * unit(rng.normal(size=3))
        d = np.linspace(0.05, 2.0, 2001) * FULL
        ends = np.empty_like(d)
        for i, distance in enumerate(d):
            goal = shoulder + distance * towards
            ends[i] = (np.array(run(shoulder, captured, FULL, slack, goal)) - shoulder) @ towards
        assert np.all(ends <= np.minimum(d, FULL + left) + 1e-12)
        near = d < max(1.0 - lp.REACH_ROOM * slack, 0.3) * FULL
        np.testing.assert_allclose(ends[near], d[near], atol=1e-12)
        if slack < 0.1:
            # the last of the slack goes without a jump
            np.testing.assert_allclose(ends, ends if last is None else last, atol=1e-8)
            last = ends
            continue
        slopes = np.diff(ends) / np.diff(d)
        assert np.abs(np.diff(slopes)).max() < 1.1 * (d[1] - d[0]) / (lp.REACH_ROOM * slack * FULL)
