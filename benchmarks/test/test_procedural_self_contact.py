# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Performers that touch themselves: exact contacts, natural joints, curves without corners."""

from benchmarks.quality.procedural_self_contact import (
    N_CLAPS,
    RATE_HZ,
    self_contact_motion,
    SELF_CONTACTS,
)
import numpy as np
from puppet_core.body import default_capsules, Motion, SEGMENT_INDEX, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import quaternions
import pytest

TOUCH_M = 1e-9
PRESS_M = 0.006  # forearms and hands that are not meant to touch may graze so deep
TORSO_AND_HEAD = ('pelvis', 'spine', 'chest', 'head')
REACH_M = 0.11  # the farthest point of a hand from its palm


@pytest.fixture(scope='module', params=SELF_CONTACTS)
def kind(request):
    """Return each kind of contact."""
    return request.param


@pytest.fixture(scope='module')
def motions(adult_character):
    """Return all of them."""
    return {kind: self_contact_motion(kind, adult_character.skeleton) for kind in SELF_CONTACTS}


def distances(motion: Motion, points: np.ndarray, segments: tuple[str, ...]) -> np.ndarray:
    """Return how far points (n, 3) are outside of segments' capsules in each frame [m]."""
    q_world, p_world = motion.world_segments()
    nearest = np.full(len(points), np.inf)
    for capsule in default_capsules(motion.skeleton):
        s = capsule.segment
        if s not in [SEGMENT_INDEX[name] for name in segments]:
            continue
        local = quaternions.rotate(quaternions.conjugate(q_world[:, s]), points - p_world[:, s])
        axis = capsule.end - capsule.start
        share = (local - capsule.start) @ axis / max(float(axis @ axis), 1e-18)
        core = capsule.start + np.clip(share, 0.0, 1.0)[:, None] * axis
        nearest = np.minimum(nearest, np.linalg.norm(local - core, axis=1) - capsule.radius)
    return nearest


def limb_points(motion: Motion, segment: str, share: float) -> np.ndarray:
    """Return points of a forearm's bone, shape (n, 3) [m]."""
    index = SEGMENT_INDEX[segment]
    _, p_world = motion.world_segments()
    return p_world[:, index] + share * (p_world[:, index + 1] - p_world[:, index])


def test_the_smoking_palm_touches_the_head(motions):
    motion = motions['smoke']
    outside = distances(motion, motion.end_effectors[:, 1], TORSO_AND_HEAD)
    assert outside.min() > -TOUCH_M
    assert np.sum(outside < TOUCH_M) / RATE_HZ > 1.0
    left = distances(motion, motion.end_effectors[:, 0], TORSO_AND_HEAD)
    assert left.min() > 0.05


@pytest.mark.parametrize('hand', [0, 1], ids=['left', 'right'])
def test_both_palms_touch_the_waist(motions, hand):
    motion = motions['waist']
    outside = distances(motion, motion.end_effectors[:, hand], TORSO_AND_HEAD)
    assert outside.min() > -TOUCH_M
    assert np.sum(outside < TOUCH_M) / RATE_HZ > 1.0


def test_palms_meet_in_every_clap(motions):
    motion = motions['clap']
    left = distances(motion, motion.end_effectors[:, 0], ('right_hand',))
    right = distances(motion, motion.end_effectors[:, 1], ('left_hand',))
    together = (np.abs(left) < 1e-4) & (np.abs(right) < 1e-4)
    assert np.sum(np.diff(together.astype(int)) == 1) == N_CLAPS
    assert np.minimum(left, right).min() > -1e-4


def test_palms_look_at_what_they_touch(motions):
    q_world, p_world = motions['waist'].world_segments()
    middle = len(q_world) // 2
    for hand, mirror in ((6, 1.0), (9, -1.0)):
        looking = quaternions.rotate(q_world[middle, hand], np.array([0.0, 0.0, -1.0]))
        assert -mirror * looking[1] > 0.8
    q_world, p_world = motions['smoke'].world_segments()
    middle = len(q_world) // 2
    looking = quaternions.rotate(q_world[middle, 9], np.array([0.0, 0.0, -1.0]))
    palm = motions['smoke'].end_effectors[middle, 1]
    towards = p_world[middle, SEGMENT_INDEX['head']] + [0.0, 0.0, 0.1] - palm
    assert looking @ towards > 0.8 * np.linalg.norm(towards)


@pytest.mark.parametrize('share', [0.2, 0.5, 0.8, 1.0])
def test_forearms_stay_out_of_the_body_and_each_other(motions, kind, share):
    motion = motions[kind]
    radius = 0.028  # at the wrist, the least
    for mine, other in (('left_forearm', 'right_forearm'), ('right_forearm', 'left_forearm')):
        points = limb_points(motion, mine, share)
        assert distances(motion, points, (*TORSO_AND_HEAD, other)).min() > radius - PRESS_M


def test_elbows_point_to_their_own_side(motions, kind):
    elbows = motions[kind].end_effectors[:, 4:6]
    assert elbows[:, 0, 1].min() > 0.05 and elbows[:, 1, 1].max() < -0.05


def test_joints_stay_within_a_persons_limits(motions, kind):
    angles = np.degrees(np.linalg.norm(quaternions.log(motions[kind].rotations), axis=2))
    limits = {'left_hand': 60, 'right_hand': 60, 'left_forearm': 150, 'right_forearm': 150}
    for joint, limit in limits.items():
        assert angles[:, SEGMENT_INDEX[joint]].max() < limit


def test_soles_are_planted_flat(motions, kind):
    motion = motions[kind]
    soles = motion.end_effectors[:, 2:4]
    np.testing.assert_allclose(soles, np.broadcast_to(soles[0], soles.shape), atol=1e-9)
    np.testing.assert_allclose(soles[..., 2], 0.0, atol=1e-9)
    assert np.ptp(motion.root_positions[:, 1]) > 0.01


def test_a_performer_ends_where_it_began(motions, kind):
    points = motions[kind].end_effectors
    np.testing.assert_allclose(points[0], points[-1], atol=1e-9)
    velocity = np.diff(points[[0, 1, -2, -1]], axis=0)[[0, 2]] * RATE_HZ
    assert np.abs(velocity).max() < 1e-3


def test_velocity_jumps_vanish_with_the_time_step(adult_character, kind):
    jumps = []
    for rate_hz in (120.0, 240.0):
        points = self_contact_motion(kind, adult_character.skeleton, rate_hz).end_effectors
        velocity = np.diff(points, axis=0) * rate_hz
        jumps.append(np.abs(np.diff(velocity, axis=0)).max())
    assert jumps[1] < 0.6 * jumps[0]


def test_a_child_touches_itself_as_exactly(adult_character):
    adult = adult_character.skeleton
    child = Skeleton(0.7 * adult.offsets, 0.7 * adult.interaction_points)
    motion = self_contact_motion('waist', child, 60.0)
    outside = distances(motion, motion.end_effectors[:, 0], TORSO_AND_HEAD)
    assert abs(outside.min()) < TOUCH_M


def test_unknown_kinds_and_rates_are_refused(adult_character):
    with pytest.raises(ConfigError, match='kind: expected one of smoke, waist, clap'):
        self_contact_motion('yawn', adult_character.skeleton)
    with pytest.raises(ConfigError, match='expected rate_hz >= 1'):
        self_contact_motion('clap', adult_character.skeleton, 0.0)
