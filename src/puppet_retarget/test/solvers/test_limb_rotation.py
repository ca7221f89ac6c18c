# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint rotations of a limb: forward kinematics returns to the goal, weights blend."""

from limb_cases import ALL_LIMBS, Captured, forward, goal_in_reach, random_limb
import numpy as np
from puppet_core.body.skeleton import LIMBS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3
from puppet_retarget.solvers.limbs import bend_hint, solve_limb
import pytest

POSITION_TOL_M = 1e-9


def solved(limb: int, body: Captured, goal: Vec3, weight: float) -> Quats:
    """Return the rotations."""
    return np.array(solve_limb(body.limb(limb), tuple(goal), 0.0, weight))


def turn_between(a: Quats, b: Quats) -> Floats:
    """Return angles of the rotations from a to b [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


@ALL_LIMBS
def test_full_weight_takes_the_wrist_to_its_goal(limb: int, adult_character, rng) -> None:
    for _ in range(100):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        wrist = forward(body, solved(limb, body, goal, 1.0))[2]
        np.testing.assert_allclose(wrist, goal, atol=POSITION_TOL_M)


@ALL_LIMBS
def test_no_weight_leaves_the_captured_rotations(limb: int, adult_character, rng) -> None:
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        out = solved(limb, body, goal_in_reach(rng, body), 0.0)
        np.testing.assert_allclose(out, body.captured, atol=1e-15)


@ALL_LIMBS
def test_eq_5_14_blends_every_joint_in_proportion(limb: int, adult_character, rng) -> None:
    """Of the wrist, what would keep the hand's orientation on the blended forearm."""
    body = random_limb(rng, adult_character, limb)
    goal = goal_in_reach(rng, body)
    whole = turn_between(body.captured, solved(limb, body, goal, 1.0))
    rotations = solved(limb, body, goal, 0.3)
    part = turn_between(body.captured, rotations)
    np.testing.assert_allclose(part[:2], 0.3 * whole[:2], atol=1e-9)
    forearm = qb.multiply(qb.multiply(body.q_parent, rotations[0]), rotations[1])
    keeping = qb.multiply(qb.conjugate(forearm), body.q_end)
    np.testing.assert_allclose(part[2], 0.3 * turn_between(body.captured[2], keeping), atol=1e-9)
    assert turn_between(rotations[2], keeping) == pytest.approx(7.0 / 3.0 * part[2], abs=1e-9)


@pytest.mark.parametrize('limb, forward_sign', [(0, -1), (1, -1), (2, 1), (3, 1)], ids=LIMBS)
def test_straight_knees_bend_forward_and_elbows_back(limb: int, forward_sign: int) -> None:
    assert bend_hint(limb, (1.0, 0.0, 0.0, 0.0)) == (forward_sign, 0.0, 0.0)


@ALL_LIMBS
def test_degenerate_goals_stay_finite(limb: int, adult_character, rng) -> None:
    """At the shoulder, on the captured line, exactly opposite, folded and at full stretch."""
    body = random_limb(rng, adult_character, limb)
    wrist = forward(body, body.captured)[2] - body.shoulder
    full = body.lengths.sum() / np.linalg.norm(wrist)
    for factor in (0.0, 1e-12, 1.0, -1.0, full, -full, 1e6):
        out = solved(limb, body, body.shoulder + factor * wrist, 1.0)
        np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0, atol=1e-9)
