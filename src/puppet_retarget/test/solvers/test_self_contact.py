# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Self-interaction balls: one's own body gives one's own points; sizes and the lack of them."""

from dataclasses import replace

import numpy as np
from puppet_core.body.capsules import default_capsules
from puppet_core.body.character import Character
from puppet_core.body.skeleton import LIMB_SEGMENTS, Skeleton
from puppet_core.body.surface import N_ROUND
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats
from puppet_retarget.importance.self_interaction import (
    body_arrays,
    CONTACT_WIDTH,
    DISPLACEMENT,
    estimator_of,
    FIRST_CONTACT,
    MAX_CONTACTS,
    N_SAMPLES,
    SAMPLE,
    SELF_IMPORTANCE,
    SELF_ROW,
    SelfInteractionConfig,
    WEIGHT,
)
from puppet_retarget.solvers.self_contact import (
    empty_self_balls,
    fill_self_ball,
    PosedBody,
    self_ball,
    SelfBalls,
)
import pytest
from self_bodies import Body, contacts, curled_up

TOL_M = 1e-12
BENT = np.zeros((2, 3))  # arms that do not hang
UNSMOOTHED = SelfInteractionConfig(smoothing_s=0.0, prediction_s=0.0)


def empty_row(w: float = 0.0) -> Floats:
    """Return a row that lists nothing."""
    row = np.zeros(SELF_ROW)
    row[FIRST_CONTACT + SAMPLE :: CONTACT_WIDTH] = -1.0
    row[SELF_IMPORTANCE] = w
    return row


def random_row(rng: np.random.Generator, n: int, w: float) -> Floats:
    """Return a row of n contacts anywhere on the body."""
    row = empty_row(w)
    for i in range(n):
        start = FIRST_CONTACT + i * CONTACT_WIDTH
        row[start + SAMPLE] = rng.integers(16 * N_SAMPLES)
        row[start + WEIGHT] = rng.uniform(0.1, 2.0)
        row[start + DISPLACEMENT : start + DISPLACEMENT + 3] = 0.05 * rng.normal(size=3)
    return row


def rows_of(skeleton: Skeleton, body: Body) -> Floats:
    """Return the rows of a posture."""
    estimator = estimator_of(skeleton, UNSMOOTHED)
    return estimator.step(0, body.posture(), body.p_world).copy()


def balls_of(rows: Floats, character: Character, body: Body, scale: float = 1.0) -> SelfBalls:
    """Return the balls of all limbs of a puppet."""
    balls = empty_self_balls()
    samples = body_arrays(character.skeleton, character.capsules).samples
    posed = PosedBody(samples, scale, body.q_world, body.p_world, body.points, BENT)
    for j in range(8):
        fill_self_ball(j, np.zeros(4), rows, posed, balls)
    return balls


def nearest_sample(row: Floats) -> float:
    """Return the length of the shortest displacement of a row [m]."""
    ways = contacts(row)[:, DISPLACEMENT : DISPLACEMENT + 3]
    return float(np.linalg.norm(ways, axis=1).min())


@pytest.fixture
def own_body(adult_character):
    """Return a character with the very shape that a performer is taken to have."""
    return replace(adult_character, capsules=default_capsules(adult_character.skeleton))


def test_own_body_gets_its_own_points_and_eq_5_6_radii(own_body, rng):
    """Errata 5: r = (1 - w) min |v|."""
    checked = 0
    for _ in range(40):
        body = curled_up(own_body.skeleton, rng)
        rows = rows_of(own_body.skeleton, body)
        balls = balls_of(rows, own_body, body)
        for j in np.flatnonzero(rows[:, SELF_IMPORTANCE]):
            np.testing.assert_allclose(balls.centres[j], body.points[j], atol=1e-7)  # single
            w = rows[j, SELF_IMPORTANCE]
            assert balls.importances[j] == w
            assert balls.radii[j] == pytest.approx((1.0 - w) * nearest_sample(rows[j]), abs=TOL_M)
            checked += 1
        assert not balls.importances[rows[:, SELF_IMPORTANCE] == 0.0].any()
    assert checked > 20


def ball(
    row: Floats,
    character: Character,
    body: Body,
    j: int,
    sideways: float,
    share: float = 1.0,
    stretches: Floats = BENT,
) -> Floats:
    """Return the centre of one ball."""
    centre = np.empty(3)
    samples = body_arrays(character.skeleton, character.capsules).samples
    posed = PosedBody(samples, 1.0, body.q_world, body.p_world, body.points, stretches)
    self_ball(j, row, sideways, share, posed, centre)
    return centre


def plain_gaps(row: Floats, character: Character, body: Body, j: int) -> tuple[Floats, Floats]:
    """Return what leads from the puppet's point, and from the ring's middle, to each demand."""
    samples = body_arrays(character.skeleton, character.capsules).samples
    gaps, ways = [], []
    for contact in contacts(row):
        segment, k = divmod(int(contact[SAMPLE]), N_SAMPLES)
        q, way = body.q_world[segment], contact[DISPLACEMENT : DISPLACEMENT + 3]
        rings = samples[segment].T.reshape(-1, N_ROUND, 3)
        wanted = samples[segment][:, k] + way
        gaps.append(body.p_world[segment] + qb.rotate(q, wanted) - body.points[j])
        ways.append(qb.rotate(q, wanted - rings[k // N_ROUND].mean(axis=0)))
    return np.array(gaps), np.array(ways)


@pytest.mark.parametrize('share', [0.0, 0.5, 1.0])
def test_eq_5_8_centre_is_the_weighted_mean_of_what_the_samples_want(tall_character, rng, share):
    """With the share of eq. 5.9."""
    for n in (1, 3, MAX_CONTACTS):
        body = curled_up(tall_character.skeleton, rng)
        row = random_row(rng, n, 0.4)
        gaps, _ = plain_gaps(row, tall_character, body, 1)
        found = contacts(row)
        weights, segments = found[:, WEIGHT], found[:, SAMPLE] // N_SAMPLES
        shares = np.where(np.isin(segments, LIMB_SEGMENTS[0]), share, 1.0)
        wanted = body.points[1] + (weights * shares @ gaps) / weights.sum()
        centre = ball(row, tall_character, body, 1, 1.0, share)
        np.testing.assert_allclose(centre, wanted, atol=TOL_M)


def test_without_sideways_only_the_distance_is_kept(tall_character, rng):
    """An elbow keeps its distance from the waist, not the height at which it has it."""
    for n in (1, 4):
        body = curled_up(tall_character.skeleton, rng)
        row = random_row(rng, n, 0.4)
        gaps, ways = plain_gaps(row, tall_character, body, 4)
        weights, segments = contacts(row)[:, WEIGHT], contacts(row)[:, SAMPLE] // N_SAMPLES
        along = np.zeros(3)
        for segment in np.unique(segments):
            of = segments == segment
            outward = weights[of] @ ways[of]
            outward /= np.linalg.norm(outward)
            along += (weights[of] @ gaps[of] @ outward) * outward / weights.sum()
        whole = ball(row, tall_character, body, 4, 1.0) - body.points[4]
        straight = ball(row, tall_character, body, 4, 0.0) - body.points[4]
        half = ball(row, tall_character, body, 4, 0.5) - body.points[4]
        np.testing.assert_allclose(straight, along, atol=TOL_M)
        np.testing.assert_allclose(half, 0.5 * (whole + straight), atol=TOL_M)


@pytest.mark.parametrize('segment', [0, 13, 2, 4])
def test_a_palm_may_be_anywhere_along_the_thigh_that_its_arm_hangs_beside(
    tall_character, rng, segment
):
    """Or the pelvis, but not chest and arm, nor below the knee; not so a slanted arm's."""
    body, row = curled_up(tall_character.skeleton, rng), random_row(rng, 3, 1.0)
    row[FIRST_CONTACT + SAMPLE : FIRST_CONTACT + 3 * CONTACT_WIDTH : CONTACT_WIDTH] = (
        N_SAMPLES * segment + np.arange(3)
    )
    down = qb.rotate(body.q_world[segment], np.array([0.0, 0.0, -1.0]))
    ways = [
        ball(row, tall_character, body, 1, 1.0, stretches=np.array([BENT[0], length * down]))
        - body.points[1]
        for length in (0.5, 0.95)
    ]
    whole = ball(row, tall_character, body, 1, 1.0) - body.points[1]
    np.testing.assert_allclose(ways[0], whole, atol=TOL_M)
    knee = np.linalg.norm(body.p_world[segment + 1] - body.p_world[segment])
    below = max((body.points[1] - body.p_world[segment]) @ down - knee, 0.0)
    along = {0: whole @ down, 13: whole @ down + below}.get(segment, 0.0)
    across = whole - along * down
    np.testing.assert_allclose(ways[1], across, atol=TOL_M)


@pytest.mark.parametrize('w', [0.0, 0.4, 1.0])
def test_two_hands_meet_and_one_that_is_held_comes_the_less(tall_character, rng, w):
    """Palms that want the same place: what both come is all of the gap."""
    body = curled_up(tall_character.skeleton, rng)
    samples = body_arrays(tall_character.skeleton, tall_character.capsules).samples
    posed = PosedBody(samples, 1.0, body.q_world, body.p_world, body.points, BENT)
    rows, balls = np.array([empty_row() for _ in range(8)]), empty_self_balls()
    ways, gaps = [], []
    for j in range(2):
        segment = LIMB_SEGMENTS[1 - j, 2]
        rows[j, SELF_IMPORTANCE] = 1.0
        rows[j, FIRST_CONTACT + SAMPLE] = N_SAMPLES * segment
        rows[j, FIRST_CONTACT + WEIGHT] = 1.0
        fill_self_ball(j, np.array([w, 0.0, 0.0, 0.0]), rows, posed, balls)
        place = body.p_world[segment] + qb.rotate(body.q_world[segment], samples[segment][:, 0])
        gaps.append(place - body.points[j])
        ways.append(balls.centres[j] - body.points[j])
    shares = [way @ gap / (gap @ gap) for way, gap in zip(ways, gaps)]
    np.testing.assert_allclose(shares, [(1.0 - w) / (2.0 - w), 1.0 / (2.0 - w)], atol=1e-5)
    assert np.linalg.norm(np.cross(ways, gaps)) < TOL_M
