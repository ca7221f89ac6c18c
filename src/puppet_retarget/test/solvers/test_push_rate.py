# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the push-out adds to a limb changes at a bounded speed, and exactly where it may."""

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3
from puppet_retarget.solvers.limbs import limb_of
from puppet_retarget.solvers.penetration import limit_correction_rate, MAX_PUSH_M_S, PUSH_SIZE
import pytest

TICK_S = 1.0 / 120.0
LEG = 2
SHOULDER = np.array([0.3, -0.2, 1.0])


class Leg:
    """A leg of the test's character, free or pushed, and what has been added to it."""

    def __init__(self, character: Character) -> None:
        skeleton = character.skeleton
        self.offsets = np.ascontiguousarray(skeleton.offsets[LIMB_SEGMENTS[LEG, 1:]])
        self.upper, self.lower = skeleton.limb_lengths[LEG]
        self.push = np.zeros(PUSH_SIZE)
        self.q_parent = qb.exp(np.array([0.1, 0.2, 0.3]))

    def places(self, own: Quats) -> tuple[Vec3, Vec3]:
        """Return knee and ankle of joint rotations (3, 4)."""
        q = qb.multiply(self.q_parent, own[0])
        knee = SHOULDER + qb.rotate(q, self.offsets[0])
        return knee, knee + qb.rotate(qb.multiply(q, own[1]), self.offsets[1])

    def q_foot(self, own: Quats) -> Floats:
        """Return the foot's orientation in world."""
        return qb.multiply(qb.multiply(qb.multiply(self.q_parent, own[0]), own[1]), own[2])

    def limit(self, free: Quats, pushed: Quats, dt: float) -> Quats:
        """Return the joint rotations of the next frame."""
        q_foot = self.q_foot(free)
        limbs = (
            limb_of(
                LEG, self.q_parent, SHOULDER, own, q_foot, self.offsets, self.upper, self.lower
            )
            for own in (free, pushed)
        )
        return np.array(limit_correction_rate(*limbs, 1.0, dt, self.push)[1])


@pytest.fixture
def leg(adult_character: Character) -> Leg:
    """Return a leg that is not pushed."""
    return Leg(adult_character)


def bent(rng: np.random.Generator) -> Quats:
    """Return joint rotations (3, 4) of a bent leg."""
    vectors = rng.normal(0.0, 0.3, (3, 3))
    vectors[1, 1] += 1.2
    return qb.exp(vectors)


def knee_turned(leg: Leg, free: Quats, angle: float) -> Quats:
    """Return a leg whose knee has turned about the line from hip to ankle, (3, 4)."""
    ankle = leg.places(free)[1] - SHOULDER
    turn = qb.exp(angle * ankle / np.linalg.norm(ankle))
    pushed = free.copy()
    to_parent = qb.conjugate(leg.q_parent)
    pushed[0] = qb.multiply(to_parent, qb.multiply(turn, qb.multiply(leg.q_parent, free[0])))
    upper = qb.multiply(leg.q_parent, pushed[0])
    lower = qb.multiply(upper, pushed[1])
    pushed[2] = qb.multiply(qb.conjugate(lower), leg.q_foot(free))
    return pushed


def test_slow_pushes_pass_as_they_are(leg: Leg, rng) -> None:
    free = bent(rng)
    for angle in np.linspace(0.0, 0.6, 60):
        pushed = knee_turned(leg, free, angle)
        out = leg.limit(free, pushed, TICK_S)
        np.testing.assert_allclose(leg.places(out), leg.places(pushed), atol=1e-9)


@pytest.mark.parametrize('rate_hz', [120.0, 12_000.0])
def test_a_knee_that_changes_sides_swings_over_while_the_foot_stays(
    leg: Leg, rng, rate_hz: float
) -> None:
    free = bent(rng)
    leg.limit(free, knee_turned(leg, free, 0.9), np.inf)
    pushed = knee_turned(leg, free, -0.9)
    before = leg.places(knee_turned(leg, free, 0.9))[0]
    for step in range(round(0.5 * rate_hz)):
        out = leg.limit(free, pushed, 1.0 / rate_hz)
        knee, ankle = leg.places(out)
        np.testing.assert_allclose(ankle, leg.places(free)[1], atol=1e-9)
        assert np.linalg.norm(knee - before) * rate_hz < 1.001 * MAX_PUSH_M_S
        if step == 0:
            assert np.linalg.norm(knee - leg.places(pushed)[0]) > 0.05
        before = knee
    np.testing.assert_allclose(leg.places(out), leg.places(pushed), atol=1e-9)


def test_a_wrist_that_is_thrown_out_follows_at_the_bound_and_comes_back(leg: Leg, rng) -> None:
    free, pushed = bent(rng), bent(rng)
    way = np.linalg.norm(leg.places(pushed)[1] - leg.places(free)[1])
    ankles = [leg.places(free)[1]]
    for wanted in [pushed] * 120 + [free] * 120:
        ankles.append(leg.places(leg.limit(free, wanted, TICK_S))[1])
    steps = np.linalg.norm(np.diff(ankles, axis=0), axis=1)
    assert steps.max() <= MAX_PUSH_M_S * TICK_S + 1e-9
    assert np.sum(steps > 1e-9) >= 2.0 * way / (MAX_PUSH_M_S * TICK_S)
    np.testing.assert_allclose(ankles[120], leg.places(pushed)[1], atol=1e-9)
    np.testing.assert_allclose(ankles[-1], ankles[0], atol=1e-9)
    np.testing.assert_allclose(leg.push, 0.0, atol=1e-9)
