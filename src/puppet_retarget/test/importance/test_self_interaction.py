# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Self-interaction: pairs, contacts without jumps, whole performances (thesis fig. 7.6)."""

from typing import NamedTuple

from benchmarks.quality.procedural_self_contact import self_contact_motion, SELF_CONTACTS
from benchmarks.quality.self_quality import self_penetration_m
from body_fixtures import floor_only
import numpy as np
from puppet_core.body.capsules import default_capsules, shape_arrays
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import pack_arrays
from puppet_core.math import quaternions as qb
from puppet_retarget.importance.estimator import MAX_STEP_S
from puppet_retarget.importance.self_interaction import (
    body_arrays,
    DISPLACEMENT,
    DISTANCE,
    estimate_self_pairs,
    estimator_of,
    IMPORTANCE,
    list_contacts,
    MovingPosture,
    N_SAMPLES,
    RATE,
    RELEVANT,
    SAMPLE,
    sample_spacings,
    SelfArrays,
    SelfInteractionConfig,
    SelfInteractionEstimator,
    skeleton_of,
    WEIGHT,
)
from puppet_retarget.offline.self_contact import (
    MovingBody,
    performer_body,
    puppet_body,
    self_distances_m,
)
from puppet_retarget.offline.whole_motion import retarget_motion, RetargetJob, RetargetResult
import pytest
from self_bodies import at_rest, body_of_rotations, contacts, curled_up, plain_distances

RATE_HZ = 120.0
EXACT_M = 2.5e-3  # hands that touch are held apart softly
WAIST_M = 10e-3
ADDED_DEPTH_M = 25e-3  # a way out is taken no faster than a limb moves
TORSO = [SEGMENT_INDEX[name] for name in ('pelvis', 'spine', 'chest')]
TOL_M = 1e-12
SINGLE = 1e-7  # contacts are of single precision [-], [m]
INFLUENCES = SelfInteractionConfig().influences_m
MARGINS = SelfInteractionConfig().margins_m
LEFT_HAND, RIGHT_HAND = 0, 1
UNSMOOTHED = SelfInteractionConfig(smoothing_s=0.0, prediction_s=0.0)
PALMS = slice(0, 2)
PUPPETS = pytest.mark.parametrize('puppet', ['tall_character', 'short_character'])


class Run(NamedTuple):
    motion: Motion
    result: RetargetResult
    performer: MovingBody
    puppet: MovingBody


@pytest.fixture(scope='module')
def perform(adult_character):
    """Return a function that puts a kind of self-contact on a character, each once."""
    done = {}

    def run(kind, character):
        if (kind, character.name) not in done:
            motion = self_contact_motion(kind, adult_character.skeleton, RATE_HZ)
            job = RetargetJob(character, floor_only())
            result = retarget_motion(motion, job)
            done[kind, character.name] = Run(
                motion, result, performer_body(motion), puppet_body(job, result)
            )
        return done[kind, character.name]

    return run


def distances(body):
    """Return how far general end-effectors are from segments, shape (n, 8, 16) [m]."""
    return self_distances_m(shape_arrays(body.capsules), *body[2:])


def depths(body):
    """Return how deep general end-effectors are in the own body, shape (n, 8) [m]."""
    return self_penetration_m(shape_arrays(body.capsules), *body[2:])


@pytest.mark.parametrize('kind', SELF_CONTACTS)
def test_performer_on_itself_is_exact(perform, adult_character, kind):
    run = perform(kind, adult_character)
    away = np.linalg.norm(run.result.puppet.end_effectors - run.motion.end_effectors, axis=2)
    assert away.max() < EXACT_M


@PUPPETS
def test_palms_stay_on_the_waist_however_fat(perform, puppet, request):
    run = perform('waist', request.getfixturevalue(puppet))
    for palm in (0, 1):
        touching = distances(run.performer)[:, palm, TORSO].min(axis=1) < 1e-3
        assert touching.sum() > 60
        reached = distances(run.puppet)[touching][:, palm, TORSO].min(axis=1)
        assert np.abs(reached).max() < WAIST_M


@pytest.mark.parametrize('kind', SELF_CONTACTS)
@PUPPETS
def test_puppet_is_no_deeper_in_itself_than_the_performer(perform, puppet, kind, request):
    run = perform(kind, request.getfixturevalue(puppet))
    assert depths(run.puppet).max() <= depths(run.performer).max() + ADDED_DEPTH_M
    np.testing.assert_allclose(
        run.result.self_depths[:, PALMS], depths(run.puppet)[:, PALMS], atol=1e-9
    )


def test_skeleton_is_recovered_from_any_posture(
    adult_character, tall_character, short_character, rng
):
    for character in (adult_character, tall_character, short_character):
        own = character.skeleton
        body = curled_up(own, rng)
        got = skeleton_of(body.rotations, body.p_world, body.points)
        np.testing.assert_allclose(got.offsets, own.offsets, atol=1e-12)
        np.testing.assert_allclose(got.interaction_points, own.interaction_points, atol=1e-12)


def test_long_gap_or_step_back_starts_anew(adult_character, rng):
    """Else an importance of before the gap would linger."""
    estimator = estimator_of(adult_character.skeleton, SelfInteractionConfig())
    near = curled_up(adult_character.skeleton, rng)
    first = estimator.step(10**9, near.posture(), near.p_world).copy()
    assert first[:, 0].max() > 0.9
    other = curled_up(adult_character.skeleton, rng)
    for stamp_ns in (10**9 + round(2e9 * MAX_STEP_S), 0):
        got = estimator.step(stamp_ns, other.posture(), other.p_world).copy()
        estimator.reset()
        fresh = estimator.step(stamp_ns, other.posture(), other.p_world).copy()
        np.testing.assert_array_equal(got, fresh)
        estimator.step(stamp_ns + 8_333_333, near.posture(), near.p_world)


class Pairs:
    def __init__(self, skeleton):
        _, self.arrays = pack_arrays(SelfArrays(body_arrays(skeleton), INFLUENCES, MARGINS))

    def of(self, body, velocities=None, dt=np.inf):
        """Return the pairs (8, 16, 3) of the next posture."""
        speeds = np.zeros((8, 3)) if velocities is None else velocities
        moving = MovingPosture(body.rotations, body.p_world, body.points, speeds)
        estimate_self_pairs(self.arrays, moving, dt)
        return self.arrays.pairs.copy()


@pytest.fixture
def skeleton(adult_character):
    return adult_character.skeleton


def test_distances_are_the_least_over_capsules_wherever_they_matter(skeleton, rng):
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


def test_importance_is_eq_4_4_of_the_gap_and_zero_beyond_its_influence(skeleton, rng):
    kernel, capsules = Pairs(skeleton), default_capsules(skeleton)
    for _ in range(20):
        body = curled_up(skeleton, rng)
        w = kernel.of(body)[..., IMPORTANCE]
        gap = np.maximum(plain_distances(body, capsules) - MARGINS[:, None], 0.0)
        d = np.minimum(gap / INFLUENCES, 1.0)
        wanted = np.where(RELEVANT, 2.0 * d**3 - 3.0 * d**2 + 1.0, 0.0)
        np.testing.assert_allclose(w, wanted, atol=1e-9)
        assert np.all(w[d >= 1.0] == 0.0)


def test_rate_is_the_change_of_the_distance(skeleton, rng):
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


class Estimator:
    """Rows of single postures without any memory."""

    def __init__(self, skeleton):
        self.body = body_arrays(skeleton)
        self._estimator = SelfInteractionEstimator(self.body, UNSMOOTHED)

    def rows(self, body):
        """Return what the body is near, shape (8, SELF_ROW)."""
        self._estimator.reset()
        return self._estimator.step(0, body.posture(), body.p_world).copy()

    def place(self, body, sample):
        segment, k = divmod(int(sample), N_SAMPLES)
        local = self.body.samples[segment][:, k]
        return body.p_world[segment] + qb.rotate(body.q_world[segment], local)


@pytest.fixture
def estimator(adult_character):
    return Estimator(adult_character.skeleton)


def over_the_body(body, n):
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


def plain_contacts(estimator, body, j, pairs):
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


def listed(estimator, body, pairs):
    config = UNSMOOTHED
    margins = config.margins_m
    _, arrays = pack_arrays(SelfArrays(estimator.body, config.influences_m, margins, pairs=pairs))
    arrays.q_world[:] = body.q_world
    list_contacts(arrays, body.p_world, body.points)
    return arrays.rows


def test_weights_are_those_of_the_definition_and_none_that_matters_is_left_out(
    estimator, adult_character
):
    """A hand that sweeps over torso, head, arm and hand; the list is never too short for it."""
    most = 0
    standing = at_rest(adult_character.skeleton)
    for point in over_the_body(standing, 300):
        standing.points[RIGHT_HAND] = point
        pairs = pairs_of(estimator, standing)
        wanted = plain_contacts(estimator, standing, RIGHT_HAND, pairs)
        found = contacts(listed(estimator, standing, pairs)[RIGHT_HAND])
        assert set(found[:, SAMPLE].astype(int)) <= set(wanted)
        for sample, weight in found[:, [SAMPLE, WEIGHT]]:
            assert weight == pytest.approx(wanted[int(sample)], rel=SINGLE)
        missing = sum(wanted.values()) - found[:, WEIGHT].sum()
        assert missing <= 1e-3 * sum(wanted.values()) + SINGLE
        most = max(most, len(wanted))
    assert most > 10


def pairs_of(estimator, body):
    estimator.rows(body)
    return estimator._estimator._arrays.pairs.copy()


def test_displacements_lead_from_the_samples_to_the_end_effector(estimator, adult_character, rng):
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
                np.testing.assert_allclose(point, body.points[j], atol=SINGLE)
                checked += 1
    assert checked > 100
