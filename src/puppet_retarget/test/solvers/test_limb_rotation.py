# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Joint rotations of a limb: forward kinematics returns to the goal, weights blend."""

from typing import NamedTuple

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS, LIMBS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quat, Quats, Vec3, Vec3s
from puppet_retarget.solvers.limbs import bend_hint, solve_limb
import pytest

POSITION_TOL_M = 1e-9
ALL_LIMBS = pytest.mark.parametrize('limb', range(4), ids=LIMBS)


class Limb(NamedTuple):
    """A captured limb on a body."""

    q_parent: Quat
    shoulder: Vec3
    captured: Quats
    q_end: Quat
    offsets: Vec3s
    lengths: Floats


def random_limb(rng: np.random.Generator, character: Character, limb: int) -> Limb:
    """Return a limb in any posture."""
    skeleton = character.skeleton
    return Limb(
        qb.normalize(rng.normal(size=4)),
        rng.normal(size=3),
        qb.exp(rng.normal(size=(3, 3))),
        qb.normalize(rng.normal(size=4)),
        skeleton.offsets[LIMB_SEGMENTS[limb, 1:]].copy(),
        skeleton.limb_lengths[limb],
    )


def solved(limb: int, body: Limb, goal: Vec3, weight: float) -> Quats:
    """Return the rotations."""
    out = np.empty((3, 4))
    solve_limb(limb, *body[:5], *body.lengths, goal, 0.0, weight, out)
    return out


def forward(body: Limb, rotations: Quats) -> tuple[Quat, Vec3]:
    """Return the orientation of the hand and the position of the wrist."""
    upper = qb.multiply(body.q_parent, rotations[0])
    lower = qb.multiply(upper, rotations[1])
    wrist = body.shoulder + qb.rotate(upper, body.offsets[0]) + qb.rotate(lower, body.offsets[1])
    return qb.multiply(lower, rotations[2]), wrist


def goal_in_reach(rng: np.random.Generator, body: Limb) -> Vec3:
    """Return a place that the wrist can get to."""
    low, full = abs(np.subtract(*body.lengths)), body.lengths.sum()
    direction = rng.normal(size=3)
    reach = rng.uniform(low + 0.01 * full, 0.997 * full)
    return body.shoulder + reach * direction / np.linalg.norm(direction)


def turn_between(a: Quats, b: Quats) -> Floats:
    """Return angles of the rotations from a to b [rad]."""
    return np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1)


@ALL_LIMBS
def test_full_weight_takes_the_wrist_to_its_goal(limb: int, adult_character, rng) -> None:
    for _ in range(100):
        body = random_limb(rng, adult_character, limb)
        goal = goal_in_reach(rng, body)
        _, wrist = forward(body, solved(limb, body, goal, 1.0))
        np.testing.assert_allclose(wrist, goal, atol=POSITION_TOL_M)


@ALL_LIMBS
def test_full_weight_keeps_the_orientation_of_the_hand(limb: int, adult_character, rng) -> None:
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        q_hand, _ = forward(body, solved(limb, body, goal_in_reach(rng, body), 1.0))
        assert turn_between(q_hand, body.q_end) < 1e-9


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


@ALL_LIMBS
def test_out_of_reach_points_at_the_goal(limb: int, adult_character, rng) -> None:
    for _ in range(50):
        body = random_limb(rng, adult_character, limb)
        away = rng.normal(size=3)
        goal = body.shoulder + 5.0 * away / np.linalg.norm(away)
        step = forward(body, solved(limb, body, goal, 1.0))[1] - body.shoulder
        assert np.linalg.norm(np.cross(step, goal - body.shoulder)) < POSITION_TOL_M
        assert 0.998 <= np.linalg.norm(step) / body.lengths.sum() <= 1.0


@pytest.mark.parametrize('limb, forward_sign', [(0, -1), (1, -1), (2, 1), (3, 1)], ids=LIMBS)
def test_straight_knees_bend_forward_and_elbows_back(limb: int, forward_sign: int) -> None:
    out = np.empty(3)
    bend_hint(limb, np.array([1.0, 0.0, 0.0, 0.0]), out)
    np.testing.assert_array_equal(out, [forward_sign, 0.0, 0.0])


@ALL_LIMBS
def test_degenerate_goals_stay_finite(limb: int, adult_character, rng) -> None:
    """At the shoulder, on the captured line, exactly opposite, folded and at full stretch."""
    body = random_limb(rng, adult_character, limb)
    wrist = forward(body, body.captured)[1] - body.shoulder
    full = body.lengths.sum() / np.linalg.norm(wrist)
    for factor in (0.0, 1e-12, 1.0, -1.0, full, -full, 1e6):
        out = solved(limb, body, body.shoulder + factor * wrist, 1.0)
        np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0, atol=1e-9)
