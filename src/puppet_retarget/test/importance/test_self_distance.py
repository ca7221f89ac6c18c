# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of general end-effectors and segments: distance, rate, importance, and who counts."""

import numpy as np
from puppet_core.body.capsules import default_capsules
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import pack_arrays
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats
from puppet_retarget.importance.self_interaction import (
    body_arrays,
    DISTANCE,
    estimate_self_pairs,
    IMPORTANCE,
    RATE,
    RELEVANT,
    SelfArrays,
    SelfInteractionConfig,
)
import pytest
from self_bodies import Body, body_of_rotations, curled_up, plain_distances

TOL_M = 1e-12
INFLUENCES = SelfInteractionConfig().influences_m
MARGINS = SelfInteractionConfig().margins_m
TICK_S = 1.0 / 120.0


class Pairs:
    """The kernel with its memory."""

    def __init__(self, skeleton, passing: float = 0.0) -> None:
        _, self.arrays = pack_arrays(SelfArrays(body_arrays(skeleton), INFLUENCES, MARGINS))
        self.passing = passing

    def of(self, body: Body, velocities: Floats | None = None, dt: float = np.inf) -> Floats:
        """Return the pairs (8, 16, 3) of the next posture."""
        speeds = np.zeros((8, 3)) if velocities is None else velocities
        tuning = 0.0, self.passing, False, dt
        posture = body.rotations, body.p_world, body.points
        estimate_self_pairs(self.arrays, *posture, speeds, *tuning)
        return self.arrays.pairs.copy()


@pytest.fixture
def skeleton(adult_character):
    """Return an ordinary body's lengths."""
    return adult_character.skeleton


def test_distances_are_the_least_over_capsules_wherever_they_matter(skeleton, rng) -> None:
    """Farther off than anything matters a bound from below is enough."""
    kernel, capsules = Pairs(skeleton), default_capsules(skeleton)
    near = 0
    for _ in range(40):
        body = curled_up(skeleton, rng)
        got, wanted = kernel.of(body)[..., DISTANCE], plain_distances(body, capsules)
        np.testing.assert_allclose(kernel.arrays.q_world, body.q_world, atol=TOL_M)
        close = RELEVANT & (wanted < INFLUENCES + MARGINS[:, None])
        np.testing.assert_allclose(got[close], wanted[close], atol=TOL_M)
        assert np.all(got[RELEVANT] <= wanted[RELEVANT] + TOL_M)
        near += close.sum()
    assert near > 50


def test_importance_is_eq_4_4_of_the_gap_and_zero_beyond_its_influence(skeleton, rng) -> None:
    kernel, capsules = Pairs(skeleton), default_capsules(skeleton)
    for _ in range(20):
        body = curled_up(skeleton, rng)
        w = kernel.of(body)[..., IMPORTANCE]
        gap = np.maximum(plain_distances(body, capsules) - MARGINS[:, None], 0.0)
        d = np.minimum(gap / INFLUENCES, 1.0)
        wanted = np.where(RELEVANT, 2.0 * d**3 - 3.0 * d**2 + 1.0, 0.0)
        np.testing.assert_allclose(w, wanted, atol=1e-9)
        assert np.all(w[d >= 1.0] == 0.0)


def test_rate_is_the_change_of_the_distance(skeleton, rng) -> None:
    """Both the point and the segment move and turn; against differences of distances."""
    kernel, dt = Pairs(skeleton), 1e-6
    checked = 0
    for _ in range(40):
        vectors, spins = 1.2 * rng.normal(size=(16, 3)), rng.normal(size=(16, 3))
        first = body_of_rotations(skeleton, qb.exp(vectors))
        second = body_of_rotations(skeleton, qb.exp(vectors + dt * spins))
        before = kernel.of(first)
        pairs = kernel.of(second, (second.points - first.points) / dt, dt)
        change = (pairs[RELEVANT] - before[RELEVANT])[:, DISTANCE] / dt
        near = (pairs[..., DISTANCE] < 0.05)[RELEVANT]
        rates = pairs[..., RATE][RELEVANT]
        # a pair that cannot matter soon has a bound for its distance, and no rate
        good = near & (np.abs(change) < 3.9) & (rates != 0.0)
        np.testing.assert_allclose(rates[good], change[good], atol=1e-3)
        checked += good.sum()
    assert checked > 20


def test_soles_that_pass_by_count_as_farther_and_palms_do_not(skeleton) -> None:
    body = curled_up(skeleton, np.random.default_rng(1))
    sole, palm = 2, 0
    shank, head = SEGMENT_INDEX['right_shank'], SEGMENT_INDEX['head']
    forward, sideways = np.eye(3)[0], np.eye(3)[1]
    for j, segment, speed in ((sole, shank, 0.2), (palm, head, 0.2)):
        # beside the segment's joint, a little outside of it
        at = body.p_world[segment] + qb.rotate(body.q_world[segment], [0.0, 0.0, 0.0])
        kernel, passing = Pairs(skeleton), Pairs(skeleton, 0.03)
        for step in np.linspace(0.0, 0.4, 2000):
            body.points[j] = at + step * qb.rotate(body.q_world[segment], sideways)
            if kernel.of(body)[j, segment, DISTANCE] > MARGINS[j] + 0.003:
                break
        velocities = np.zeros((8, 3))
        velocities[j] = speed * qb.rotate(body.q_world[segment], forward)
        passing.of(body)
        w = [k.of(body, velocities, TICK_S)[j, segment, IMPORTANCE] for k in (kernel, passing)]
        assert w[0] > 0.5
        if j == sole:
            # 6 mm more of the influence distance
            gap = (0.003 + 0.03 * speed) / INFLUENCES[j, segment]
            assert w[1] == pytest.approx(2.0 * gap**3 - 3.0 * gap**2 + 1.0, abs=0.02)
        else:
            assert w[1] == w[0]
