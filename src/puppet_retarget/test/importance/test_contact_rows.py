# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a general end-effector with its body: who is listed, how heavy, without jumps."""

from collections.abc import Iterator

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX, Skeleton
from puppet_core.math import pack_arrays
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Vec3
from puppet_retarget.importance.self_interaction import (
    body_arrays,
    DISPLACEMENT,
    IMPORTANCE,
    list_contacts,
    moved_share,
    N_SAMPLES,
    PAIR_COLUMNS,
    RELEVANT,
    SAMPLE,
    sample_spacings,
    SelfArrays,
    SelfInteractionConfig,
    SelfInteractionEstimator,
    SHARE,
    WEIGHT,
)
import pytest
from self_bodies import at_rest, Body, body_of_rotations, contacts, curled_up

LEFT_HAND, RIGHT_HAND, RIGHT_ELBOW = 0, 1, 5
UNSMOOTHED = SelfInteractionConfig(smoothing_s=0.0, prediction_s=0.0)


class Estimator:
    """Rows of single postures without any memory."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.body = body_arrays(skeleton)
        self._estimator = SelfInteractionEstimator(self.body, UNSMOOTHED)

    def rows(self, body: Body, environment: Floats | None = None) -> Floats:
        """Return what the body is near, shape (8, SELF_ROW)."""
        self._estimator.reset()
        outside = np.zeros((4, 8)) if environment is None else environment
        return self._estimator.step(0, body.posture(), body.p_world, outside).copy()

    def place(self, body: Body, sample: float) -> Vec3:
        """Return a sample point in world."""
        segment, k = divmod(int(sample), N_SAMPLES)
        local = self.body.samples[segment][:, k]
        return body.p_world[segment] + qb.rotate(body.q_world[segment], local)


@pytest.fixture
def estimator(adult_character) -> Estimator:
    """Return an estimator of an ordinary body."""
    return Estimator(adult_character.skeleton)


@pytest.fixture
def standing(adult_character) -> Body:
    """Return that body, arms spread."""
    return at_rest(adult_character.skeleton)


def over_the_body(body: Body, n: int) -> Iterator[Vec3]:
    """Yield a path near the surface: belly, chest, neck, face, down the other arm."""
    head, chest, spine = (body.p_world[SEGMENT_INDEX[s]] for s in ('head', 'chest', 'spine'))
    upper, lower, hand = (body.p_world[s] for s in LIMB_SEGMENTS[LEFT_HAND])
    corners = np.array(
        [
            spine + [0.11, -0.14, 0.0],
            spine + [0.125, 0.12, 0.05],
            chest + [0.13, -0.1, 0.12],
            chest + [0.06, 0.0, 0.24],
            head + [0.12, 0.0, 0.05],
            head + [0.05, 0.1, 0.1],
            upper + [0.05, 0.02, 0.03],
            lower + [0.045, 0.0, 0.0],
            hand + [0.0, 0.03, 0.04],
            hand + [0.0, 0.16, 0.03],
        ]
    )
    lengths = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))))
    for way in np.linspace(0.0, lengths[-1], n):
        yield np.array([np.interp(way, lengths, corners[:, k]) for k in range(3)])


def plain_contacts(estimator: Estimator, body: Body, j: int, pairs: Floats) -> dict[int, float]:
    """Return weights of all sample points by definition; without a limit to their number."""
    spacings = sample_spacings(estimator.body.samples.transpose(0, 2, 1))
    out = {}
    for segment in np.flatnonzero(RELEVANT[j] & (pairs[j, :, IMPORTANCE] > 0.0)):
        q, origin = body.q_world[segment], body.p_world[segment]
        local = qb.rotate(qb.conjugate(q), body.points[j] - origin)
        squares = ((estimator.body.samples[segment].T - local) ** 2).sum(axis=1)
        farther = (squares - squares.min()) / spacings[segment] ** 2
        w = pairs[j, segment, IMPORTANCE]
        for k in np.flatnonzero(farther < 1.0):
            closeness = 2.0 * farther[k] ** 3 - 3.0 * farther[k] ** 2 + 1.0
            out[N_SAMPLES * int(segment) + int(k)] = (w / (1.03 - w)) ** 2 * closeness
    return out


def listed(estimator: Estimator, body: Body, pairs: Floats) -> Floats:
    """Return the rows of given pairs."""
    config = UNSMOOTHED
    _, arrays = pack_arrays(
        SelfArrays(estimator.body, config.influences_m, config.margins_m, pairs)
    )
    arrays.q_world[:] = body.q_world
    list_contacts(arrays, body.p_world, body.points, np.zeros((4, 8)))
    return arrays.rows


def test_weights_are_those_of_the_definition_and_none_that_matters_is_left_out(
    estimator, standing
) -> None:
    """A hand that sweeps over torso, head, arm and hand; the list is never too short for it."""
    most = 0
    for point in over_the_body(standing, 300):
        standing.points[RIGHT_HAND] = point
        pairs = pairs_of(estimator, standing)
        wanted = plain_contacts(estimator, standing, RIGHT_HAND, pairs)
        found = contacts(listed(estimator, standing, pairs)[RIGHT_HAND])
        assert set(found[:, SAMPLE].astype(int)) <= set(wanted)
        for sample, weight in found[:, [SAMPLE, WEIGHT]]:
            assert weight == pytest.approx(wanted[int(sample)], rel=1e-9)
        missing = sum(wanted.values()) - found[:, WEIGHT].sum()
        assert missing <= 1e-3 * sum(wanted.values()) + 1e-12
        most = max(most, len(wanted))
    assert most > 10


def pairs_of(estimator: Estimator, body: Body) -> Floats:
    """Return the unsmoothed pairs of a posture."""
    estimator.rows(body)
    return estimator._estimator._arrays.pairs.copy()


def test_displacements_lead_from_the_samples_to_the_end_effector(
    estimator, adult_character, rng
) -> None:
    checked = 0
    for _ in range(10):
        body = curled_up(adult_character.skeleton, rng)
        for j, row in enumerate(estimator.rows(body)):
            for contact in contacts(row):
                way = contact[DISPLACEMENT : DISPLACEMENT + 3]
                segment = int(contact[SAMPLE]) // N_SAMPLES
                assert RELEVANT[j, segment]
                point = estimator.place(body, contact[SAMPLE]) + qb.rotate(
                    body.q_world[segment], way
                )
                np.testing.assert_allclose(point, body.points[j], atol=1e-12)
                checked += 1
    assert checked > 100


def pairs_with(*entries: tuple[int, str, float]) -> Floats:
    """Return pairs without importance but for some."""
    pairs = np.zeros((8, 16, PAIR_COLUMNS))
    for j, segment, w in entries:
        pairs[j, SEGMENT_INDEX[segment], IMPORTANCE] = w
    return pairs


def held(limb: int) -> Floats:
    """Return rows of the environment of which one limb's importance is 1."""
    rows = np.zeros((4, 8))
    rows[limb, 0] = 1.0
    return rows


@pytest.mark.parametrize('w', [1e-3, 0.3, 1.0])
def test_symmetric_hands_meet_half_way(w: float) -> None:
    pairs = pairs_with((LEFT_HAND, 'right_hand', w), (RIGHT_HAND, 'left_hand', w))
    for j, segment in ((LEFT_HAND, 'right_hand'), (RIGHT_HAND, 'left_hand')):
        share = moved_share(pairs, j, SEGMENT_INDEX[segment], np.zeros((4, 8)))
        assert share == pytest.approx(0.5, abs=0.13 if w < 0.01 else 1e-5)


def test_shares_of_two_limbs_add_up_and_are_listed(estimator, adult_character) -> None:
    """Palms together: (mine + theirs) of the gap is all of it, whoever holds on to something."""
    body = body_of_rotations(adult_character.skeleton, at_rest(adult_character.skeleton).rotations)
    middle = 0.5 * (body.points[LEFT_HAND] + body.points[RIGHT_HAND]) + [0.4, 0.0, 0.0]
    hands = [LIMB_SEGMENTS[limb, 2] for limb in (LEFT_HAND, RIGHT_HAND)]
    for j, hand in enumerate(hands):
        body.p_world[hand] += middle - body.points[j]
        body.points[j] = middle
    for w in (0.0, 0.4, 1.0):
        rows = estimator.rows(body, w * held(LEFT_HAND))
        shares = []
        for j in (LEFT_HAND, RIGHT_HAND):
            found = contacts(rows[j])
            others = found[found[:, SAMPLE] // N_SAMPLES == hands[1 - j]]
            assert len(others) > 0
            shares.append(others[0, SHARE])
        assert sum(shares) == pytest.approx(1.0, abs=1e-4)
        assert shares[0] == pytest.approx((1.0 - w) / (2.0 - w), abs=1e-4)
