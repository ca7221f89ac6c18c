# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Section 5.1: where the root begins, its mean offset, and the place from which goals are met."""

import numpy as np
from puppet_core.body import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_retarget.solvers.thesis.errata import AS_PRINTED, ERRATA, Errata
from puppet_retarget.solvers.thesis.puppet import puppet_of
from puppet_retarget.solvers.thesis.root import (
    estimate_root,
    first_root,
    mean_offset,
    reach_over_importance,
)
import pytest
from scipy.optimize import minimize
from thesis_frames import goals_of, LEG_M, random_pose, rows_of, settings

STARTS = LIMB_SEGMENTS[:, 0]


@pytest.fixture
def pose(short_character, rng):
    return random_pose(short_character, rng)


def mean(character, pose, goals, w, is_continuous):
    given = goals_of(character, settings(character), rows_of(goals, w), pose)
    return np.array(mean_offset(given, pose.points, is_continuous))


def test_eq_5_1_is_the_weighted_mean_of_the_displacements(short_character, pose, rng):
    for is_continuous in (False, True):
        goals, w = rng.normal(size=(4, 3)), np.array([0.9, 0.8, 0.3, 0.7])
        expected = np.average(goals - pose.points[:4], axis=0, weights=w)
        found = mean(short_character, pose, goals, w, is_continuous)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_eq_5_1_as_printed_jumps_as_the_last_importance_vanishes(short_character, pose, rng):
    """Errata 2: 0/0, which moves nothing; corrected the offset vanishes with the importance."""
    goals = rng.normal(size=(4, 3))
    barely = np.array([0.0, 0.0, 1e-9, 0.0])
    printed = mean(short_character, pose, goals, barely, False)
    np.testing.assert_allclose(printed, goals[2] - pose.points[2], atol=1e-9)
    assert not mean(short_character, pose, goals, np.zeros(4), False).any()
    assert np.abs(mean(short_character, pose, goals, barely, True)).max() < 1e-8


def test_eq_5_2_is_the_reach_over_the_importance(short_character):
    """Errata 3: none at all without importance."""
    puppet, lengths = puppet_of(short_character), short_character.skeleton.limb_lengths
    for limb in range(4):
        assert reach_over_importance(puppet, limb, 0.5) == pytest.approx(2 * lengths[limb].sum())
        assert reach_over_importance(puppet, limb, 0.0) == np.inf


def test_root_begins_at_the_performers_or_at_a_height_of_its_own(short_character, rng):
    """Errata 2: by the ratio of the legs, the hips over the performer's."""
    puppet, q = puppet_of(short_character), qb.exp(rng.normal(size=3))
    root, hips = np.array([0.3, 0.2, 1.0]), np.array([0.31, 0.19, 0.9])
    printed = first_root(puppet, settings(short_character, AS_PRINTED), root, hips, q)
    np.testing.assert_allclose(printed, short_character.scale_for(LEG_M) * root)
    found = np.array(first_root(puppet, settings(short_character), root, hips, q))
    middle = short_character.skeleton.offsets[STARTS[2:]].mean(axis=0)
    own = found + qb.rotate(q, middle)
    ratio = short_character.skeleton.leg_length / LEG_M
    np.testing.assert_allclose(own, [hips[0], hips[1], ratio * hips[2]], atol=1e-12)


def everything_but(*names: str) -> Errata:
    return Errata(*(name not in names for name in ERRATA))


@pytest.mark.parametrize('has_mean', [False, True])
def test_estimate_is_the_nearest_root_that_reaches_all_goals(tall_character, rng, has_mean):
    """Beside a general solver's; the mean is where it starts from (errata 12)."""
    errata = everything_but('no_mean') if has_mean else Errata()
    numbers, puppet = settings(tall_character, errata), puppet_of(tall_character)
    lengths, moves = tall_character.skeleton.limb_lengths.sum(axis=1), 0
    for _ in range(40):
        pose = random_pose(tall_character, rng)
        w = rng.uniform(0.6, 1.0, 4)
        rows = rows_of(pose.points[:4] + 0.3 * rng.normal(size=(4, 3)), w)
        goals = goals_of(tall_character, numbers, rows, pose)
        root = np.array(estimate_root(puppet, numbers, goals, pose))
        start = pose.root + has_mean * np.array(mean_offset(goals, pose.points, True))
        wrists, arms = goals.wrists, pose.p[STARTS] - pose.root

        def room(x, wrists=wrists, arms=arms, w=w):
            return (lengths / w) ** 2 - np.sum((x + arms - wrists) ** 2, axis=1)

        within = {'type': 'ineq', 'fun': room}
        found = minimize(
            lambda x, start=start: np.sum((x - start) ** 2), start, constraints=within, tol=1e-12
        )
        if not found.success:  # nothing in common
            continue
        np.testing.assert_allclose(root, found.x, atol=1e-5)
        moves += np.linalg.norm(root - start) > 1e-3
    assert moves > 5
