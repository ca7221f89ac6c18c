# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Penetration and contacts of a body with itself: against their definitions in plain numpy."""

from benchmarks.quality.self_quality import (
    self_contact,
    self_contact_error_m,
    self_penetration_m,
    TOUCH_M,
)
import numpy as np
from puppet_core.body import (
    Capsule,
    CONSIDERED,
    general_end_effectors,
    SEGMENT_INDEX,
    shape_arrays,
    world_segments,
)
from puppet_core.math import quaternions
from puppet_retarget.offline.self_contact import MovingBody, palm_errors_m, self_distances_m
import pytest
from self_bodies import Body, plain_distances

TOL_M = 1e-12
LEFT_HAND, RIGHT_HAND, LEFT_ELBOW = 0, 1, 4
N_FRAMES = 12


def _plain_distances(body):
    frames = zip(body.q_world, body.p_world, body.end_effectors)
    found = [plain_distances(Body(None, *frame), body.capsules) for frame in frames]
    return np.where(CONSIDERED, found, np.inf)


def _body(character, rotations):
    """Return a body in the postures of joint rotations (n, 16, 4)."""
    roots = np.tile([0.3, -0.2, 1.0], (len(rotations), 1))
    q_world, p_world = world_segments(character.skeleton, roots, rotations)
    points = general_end_effectors(character.skeleton, q_world, p_world)
    return MovingBody(character.skeleton, character.capsules, q_world, p_world, points)


def _at_rest(character, n=1):
    return _body(character, np.tile([1.0, 0.0, 0.0, 0.0], (n, 16, 1)))


def _moved(body, general, point):
    points = body.end_effectors.copy()
    points[:, general] = point
    return body._replace(end_effectors=points)


def _beside_pelvis(body, gap):
    """Return a point this far [m] to the left of a body's pelvis, at its middle bar's height."""
    pelvis = SEGMENT_INDEX['pelvis']
    level = [c for c in body.capsules if c.segment == pelvis][1]
    out = max(level.start[1], level.end[1]) + level.radius
    return body.p_world[0, pelvis] + [level.start[0], out + gap, level.start[2]]


@pytest.fixture
def crouching(adult_character, rng):
    """Return a body all curled up, so that much of it touches."""
    vectors = rng.normal(size=(N_FRAMES, 16, 3)) * 1.2
    return _body(adult_character, quaternions.exp(vectors))


def test_distances_are_the_least_over_capsules(crouching):
    shape = shape_arrays(crouching.capsules)
    got = self_distances_m(shape, *crouching[2:])
    np.testing.assert_allclose(got, _plain_distances(crouching), atol=TOL_M)


def test_penetration_is_the_greatest_depth_and_zero_outside(crouching):
    # into the chest, to have depths for sure
    body = _moved(crouching, LEFT_HAND, crouching.p_world[:, SEGMENT_INDEX['chest']])
    depths = self_penetration_m(shape_arrays(body.capsules), *body[2:])
    wanted = np.maximum(-_plain_distances(body).min(axis=2), 0.0)
    np.testing.assert_allclose(depths, wanted, atol=TOL_M)
    assert np.all(depths[:, LEFT_HAND] > 0.05) and np.any(depths == 0.0)


def test_a_body_keeps_its_own_contacts(crouching):
    contact = self_contact(crouching, crouching)
    touching = contact.segments >= 0
    assert np.count_nonzero(touching) > 5
    assert np.all(contact.errors[touching] == 0.0)
    assert np.all(np.isnan(contact.errors[~touching]))


def test_contacts_are_those_of_the_definition(crouching, tall_character, rng):
    puppet = _body(tall_character, quaternions.exp(rng.normal(size=(N_FRAMES, 16, 3))))
    own, others = _plain_distances(crouching), _plain_distances(puppet)
    for table in (own, others):
        table[..., :3] = table[..., :3].min(axis=2, keepdims=True)
    errors = self_contact(crouching, puppet, 1.5).errors
    for i, general in np.ndindex(errors.shape):
        segment = own[i, general].argmin()
        pair = [max(t[i, general, segment], 0.0) for t in (own, others)]
        if own[i, general, segment] < TOUCH_M:
            assert errors[i, general] == pytest.approx(abs(pair[1] - 1.5 * pair[0]), abs=TOL_M)


@pytest.mark.parametrize(('gap', 'touches'), [(0.0, True), (0.015, True), (0.03, False)])
def test_a_palm_touches_within_two_centimetres(adult_character, gap, touches):
    body = _at_rest(adult_character)
    body = _moved(body, LEFT_HAND, _beside_pelvis(body, gap))
    contact = self_contact(body, body)
    # pelvis, spine and chest are one body
    assert (contact.segments[0, LEFT_HAND] in (0, 1, 2)) == touches


def test_an_elbow_touches_with_its_flesh(adult_character):
    body = _at_rest(adult_character)
    near = _moved(body, LEFT_ELBOW, _beside_pelvis(body, 0.05))
    assert self_contact(near, near).segments[0, LEFT_ELBOW] >= 0
    far = _moved(body, LEFT_ELBOW, _beside_pelvis(body, 0.07))
    assert self_contact(far, far).segments[0, LEFT_ELBOW] < 0


def test_a_hand_on_the_waist_that_is_off_the_fat_one_is_an_error(adult_character, short_character):
    performer, puppet = _at_rest(adult_character), _at_rest(short_character)
    performer = _moved(performer, LEFT_HAND, _beside_pelvis(performer, 0.01))
    ball = puppet.p_world[0, SEGMENT_INDEX['spine']] + [0.0, 0.0, 0.102]
    for gap, error in ((0.01, 0.0), (0.04, 0.03), (-0.05, 0.01)):
        beside = _moved(puppet, LEFT_HAND, ball + [0.0, 0.27 + gap, 0.0])
        errors = self_contact(performer, beside).errors[0]
        assert errors[LEFT_HAND] == pytest.approx(error, abs=1e-3)  # the belly has two balls


def test_clapping_hands_count_by_their_palms_too(adult_character, tall_character):
    bodies = [_at_rest(c) for c in (adult_character, tall_character)]
    for i, apart in enumerate((0.01, 0.04)):
        middle = bodies[i].p_world[:, SEGMENT_INDEX['right_hand']] + [0.0, -0.08, -0.025]
        body = _moved(bodies[i], RIGHT_HAND, middle)
        bodies[i] = _moved(body, LEFT_HAND, middle - [0.0, 0.0, apart])
    contact = self_contact(*bodies, world_scale=2.0)
    assert contact.segments[0, LEFT_HAND] == SEGMENT_INDEX['right_hand']
    assert contact.palm_errors[0] == pytest.approx(0.04 - 2.0 * 0.01, abs=TOL_M)
    assert self_contact_error_m(*bodies, 2.0)[0, 8] == contact.palm_errors[0]


def test_pairs_that_a_puppet_has_no_shape_for_do_not_count(adult_character):
    body = _at_rest(adult_character)
    body = _moved(body, LEFT_HAND, _beside_pelvis(body, 0.0))
    ball = Capsule(SEGMENT_INDEX['head'], np.zeros(3), np.zeros(3), 0.1)
    assert np.all(np.isnan(self_contact_error_m(body, body._replace(capsules=(ball,)))))


def test_palm_errors_are_of_important_palms_where_nothing_leaps(adult_character):
    body = _at_rest(adult_character, 4)
    touching = _moved(body, LEFT_HAND, _beside_pelvis(body, 0.01))
    apart = _moved(body, LEFT_HAND, _beside_pelvis(body, 0.06))
    importances, leaping = np.zeros((4, 8)), np.zeros(4, dtype=bool)
    importances[1:, LEFT_HAND] = 0.995, 0.98, 0.99
    importances[0, LEFT_ELBOW] = 1.0
    leaping[3] = True
    found, _ = palm_errors_m(touching, apart, 2.0, importances, leaping)
    np.testing.assert_allclose(found, [0.06 - 2.0 * 0.01], atol=1e-9)
    leaping[3] = False
    assert len(palm_errors_m(touching, apart, 2.0, importances, leaping)[0]) == 2
    assert not palm_errors_m(touching, apart, 2.0, 0.9 * importances, leaping)[0].size


def test_a_palm_counts_only_where_its_arm_can_bring_it(adult_character):
    importances = np.zeros((1, 8))
    importances[0, LEFT_HAND] = 1.0
    performer, puppet = _at_rest(adult_character), _at_rest(adult_character)
    for segment, share in (('chest', 0.0), ('right_shank', 1.0)):
        touching = _moved(performer, LEFT_HAND, performer.p_world[0, SEGMENT_INDEX[segment]])
        found, out_of_reach = palm_errors_m(touching, puppet, 1.0, importances, np.zeros(1, bool))
        assert out_of_reach == share and len(found) == 1 - share
    # behind a belly as large as that there is nothing
    belly = Capsule(SEGMENT_INDEX['chest'], np.zeros(3), np.zeros(3), 0.6)
    hand = Capsule(SEGMENT_INDEX['right_hand'], np.zeros(3), np.zeros(3), 0.05)
    touching = _moved(performer, LEFT_HAND, performer.end_effectors[:, RIGHT_HAND])
    fat = puppet._replace(capsules=(belly, hand))
    assert palm_errors_m(touching, fat, 1.0, importances, np.zeros(1, bool))[1] == 1.0
