# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where limbs point and how high a body lies, on bodies that were posed and tampered with."""

import numpy as np
from puppet_core.body import (
    default_capsules,
    general_end_effectors,
    LIMB_SEGMENTS,
    SEGMENT_INDEX,
    world_segments,
)
from puppet_core.math import quaternions as qb
from puppet_retarget.offline import posture_measures
from puppet_retarget.offline.self_contact import body_distances_m, MovingBody
import pytest

RATE_HZ = 30.0
N = 60
NO_LEAP = np.zeros(N, dtype=bool)
UPPER_ARM, FOREARM = SEGMENT_INDEX['left_upper_arm'], SEGMENT_INDEX['left_forearm']
UNASKED = np.zeros((N, 4))


def posed(character, turns, height=None):
    """Return a body of joint turns (n, 16, 3), upright or with its pelvis so high."""
    skeleton, n = character.skeleton, len(turns)
    root = np.tile([0.0, 0.0, skeleton.rest_root_height if height is None else height], (n, 1))
    q_world, p_world = world_segments(skeleton, root, qb.exp(turns))
    points = general_end_effectors(skeleton, q_world, p_world)
    return MovingBody(skeleton, character.capsules, q_world, p_world, points)


def hanging(degrees):
    """Return turns of who lets its arms hang, so far from straight down."""
    turns = np.zeros((N, 16, 3))
    turns[:, UPPER_ARM, 0] = -np.radians(90.0 - degrees)
    turns[:, SEGMENT_INDEX['right_upper_arm'], 0] = np.radians(90.0 - degrees)
    return turns


def free(performer, puppet, importances=UNASKED, world_scale=1.0):
    return posture_measures.free_limbs(
        performer, puppet, body_distances_m(performer), world_scale, importances, RATE_HZ
    )


def mirrored(body):
    """Return a body to which a mirror has done what it does: left is right."""
    order = np.arange(16)
    order[4:16] = LIMB_SEGMENTS[[1, 0, 3, 2]].ravel()
    ends = [1, 0, 3, 2, 5, 4, 7, 6]
    flip, turn = np.array([1.0, -1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    return body._replace(
        q_world=body.q_world[:, order] * turn,
        p_world=body.p_world[:, order] * flip,
        end_effectors=body.end_effectors[:, ends] * flip,
    )


# Directions.


def test_a_body_of_other_proportions_points_as_its_performer_does(
    adult_character, tall_character, rng
):
    turns = 0.3 * rng.normal(size=(N, 16, 3))
    bodies = [posed(character, turns) for character in (adult_character, tall_character)]
    everything = np.ones((N, 4), dtype=bool)
    found = posture_measures.segment_direction_deg(*bodies, everything)
    names = [f'{s}_{n}' for s in ('left', 'right') for n in ('upper_arm', 'forearm')]
    names += [f'{s}_{n}' for s in ('left', 'right') for n in ('thigh', 'shank')]
    assert list(found['segments']) == names
    assert found['worst'] < 1e-3
    assert posture_measures.segment_direction_deg(*bodies, ~everything) is None


def test_angles_are_those_that_segments_were_turned_by(adult_character):
    turns = hanging(20.0)
    performer = posed(adult_character, turns)
    turns[:, FOREARM, 2] = np.radians(np.linspace(0.0, 12.0, N))
    found = posture_measures.segment_direction_deg(
        performer, posed(adult_character, turns), np.ones((N, 4), dtype=bool)
    )
    assert found['segments']['left_forearm'] == pytest.approx({'median': 6.0, 'worst': 12.0})
    assert found['segments']['left_upper_arm'] == pytest.approx({'median': 0.0, 'worst': 0.0})
    assert (found['median'], found['worst']) == pytest.approx((6.0, 12.0))
    # only the frames in which the arm is free count
    first = np.zeros((N, 4), dtype=bool)
    first[:20, 0] = True
    found = posture_measures.segment_direction_deg(performer, posed(adult_character, turns), first)
    assert list(found['segments']) == ['left_upper_arm', 'left_forearm']
    assert found['worst'] == pytest.approx(12.0 * 19 / (N - 1))


def test_hanging_arms_are_free_though_elbows_are_near_the_trunk(adult_character):
    body = posed(adult_character, hanging(12.0))
    assert free(body, body)[:, :2].all()


def test_what_is_asked_of_a_limb_makes_it_bound(adult_character):
    body = posed(adult_character, hanging(30.0))
    importances = UNASKED.copy()
    importances[10, 3], importances[20, 0] = 1.0, 0.005
    bound = np.argwhere(~free(body, body, importances))
    assert bound.tolist() == [[10, 3]]


def test_a_touch_binds_both_limbs_for_a_while(adult_character):
    """The left palm is put on the right forearm for one frame."""
    turns = hanging(40.0)
    body = posed(adult_character, turns)
    points = body.end_effectors.copy()
    points[30, 0] = body.p_world[30, [8, 9]].mean(axis=0)
    touching = body._replace(end_effectors=points)
    bound = ~free(touching, body)
    around = round(posture_measures.TOUCH_S * RATE_HZ)
    expected = np.abs(np.arange(N) - 30) <= around
    np.testing.assert_array_equal(bound[:, 0], expected)
    np.testing.assert_array_equal(bound[:, 1], expected)
    assert not bound[:, 2:].any()


def test_a_palm_near_the_face_means_it_and_one_near_the_hip_does_not(adult_character):
    body = posed(adult_character, hanging(40.0))
    face = body.p_world[0, SEGMENT_INDEX['head']] + [0.18, 0.0, 0.1]
    hip = body.p_world[0, 0] + [0.0, 0.21, 0.0]
    for place, is_free in ((face, False), (hip, True)):
        points = body.end_effectors.copy()
        points[:, 0] = place
        near = body._replace(end_effectors=points)
        gap = body_distances_m(near)[0, 0].min()
        assert posture_measures.TOUCH_M < gap < posture_measures.GESTURE_M
        assert (free(near, body)[:, 0] == is_free).all()


def test_an_arm_that_would_be_in_the_puppets_belly_is_not_free(adult_character, short_character):
    performer = posed(adult_character, hanging(3.0))
    aside = posed(adult_character, hanging(60.0))
    fat = posed(short_character, hanging(60.0))  # where it is does not count
    assert not free(performer, fat)[:, :2].any()
    assert free(aside, fat)[:, :2].all()


def test_a_mirror_exchanges_sides_and_changes_nothing_else(adult_character, short_character, rng):
    calm, wild = (s * rng.normal(size=(N, 16, 3)) for s in (0.1, 0.4))
    performer, puppet = posed(adult_character, hanging(10.0) + calm), posed(short_character, wild)
    # both bodies are their own mirror images but for the thickness of fingers
    round_bodies = [
        body._replace(capsules=tuple(c for c in body.capsules if c.segment not in (6, 9)))
        for body in (performer, puppet)
    ]
    is_free = free(*round_bodies)
    others = [mirrored(body) for body in round_bodies]
    np.testing.assert_array_equal(free(*others)[:, [1, 0, 3, 2]], is_free)
    angles = posture_measures.direction_angles_deg(performer.p_world, puppet.p_world)
    turned = posture_measures.direction_angles_deg(*(body.p_world for body in others))
    np.testing.assert_allclose(turned[:, [1, 0, 3, 2]], angles, atol=1e-6)


# Lying.


def lying(character, height, tilt_deg=0.0, count=N):
    """Return a body on its back, its head so much higher."""
    turns = np.zeros((count, 16, 3))
    turns[:, 0, 1] = -np.radians(90.0 - tilt_deg)
    return posed(character, turns, height)


def test_who_stands_crawls_or_sits_does_not_lie(adult_character):
    for height, tilt_deg, lies in (
        (0.12, 0.0, True),
        (0.12, 29.0, True),
        (0.12, 31.0, False),
        (0.24, 0.0, True),
        (0.26, 0.0, False),
        (0.2, 20.0, False),  # the chest is too high
        (0.2, -20.0, True),
    ):
        body = lying(adult_character, height, tilt_deg)
        found = posture_measures.lying_frames(body)
        assert found.all() == found.any() == lies, (height, tilt_deg)
    body = posed(adult_character, np.zeros((N, 16, 3)))
    assert posture_measures.lying_height_mm(body, body, 1.0, NO_LEAP) is None


def test_a_lifted_body_is_as_much_too_high(adult_character):
    performer = lying(adult_character, 0.15)
    copy = posture_measures.lying_height_mm(performer, performer, 1.0, NO_LEAP)
    zero = {'median': 0.0, 'worst': 0.0}
    assert copy == {'frames': N, 'worst': 0.0, 'pelvis': zero, 'chest': zero, 'head': zero}
    lifted = lying(adult_character, 0.15).p_world + [0.0, 0.0, 0.3]
    lifted[:5, :, 2] += 0.1
    leaping = NO_LEAP.copy()
    leaping[2:5] = True
    puppet = performer._replace(p_world=lifted)
    found = posture_measures.lying_height_mm(performer, puppet, 1.0, leaping)
    assert found['frames'] == N - 3
    for part in ('pelvis', 'chest', 'head'):
        assert found[part] == pytest.approx({'median': 300.0, 'worst': 400.0})
    assert found['worst'] == pytest.approx(400.0)
    # of half the size, in a world of half the size
    found = posture_measures.lying_height_mm(performer, performer, 0.5, NO_LEAP)
    heights = posture_measures.surface_heights_m(performer, [0], np.ones(N, dtype=bool))
    assert found['pelvis']['median'] == pytest.approx(500.0 * heights[0, 0])


def test_a_fat_body_on_the_floor_is_not_too_high(adult_character, short_character):
    """And what is in the floor counts as on it."""
    bodies = [adult_character, short_character]
    performer, puppet = (lying(character, 0.2) for character in bodies)
    every = np.ones(N, dtype=bool)
    down = [
        body._replace(
            p_world=body.p_world
            - [0.0, 0.0, posture_measures.surface_heights_m(body, [0], every)[0, 0] + 0.01]
        )
        for body in (performer, puppet)
    ]
    assert (down[1].p_world[:, 0, 2] > down[0].p_world[:, 0, 2] + 0.03).all()
    found = posture_measures.lying_height_mm(*down, 1.0, NO_LEAP)
    assert found['pelvis'] == pytest.approx({'median': 0.0, 'worst': 0.0})


def test_parts_without_a_surface_are_left_out(adult_character):
    performer = lying(adult_character, 0.15)
    shape = default_capsules(adult_character.skeleton)
    headless = performer._replace(
        capsules=tuple(c for c in shape if c.segment != SEGMENT_INDEX['head'])
    )
    found = posture_measures.lying_height_mm(performer, headless, 1.0, NO_LEAP)
    assert list(found) == ['frames', 'worst', 'pelvis', 'chest']
    bare = performer._replace(capsules=())
    found = posture_measures.lying_height_mm(performer, bare, 1.0, NO_LEAP)
    assert found == {'frames': N, 'worst': None}
