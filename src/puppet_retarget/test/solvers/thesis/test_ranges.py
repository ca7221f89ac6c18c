# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Sections 5.3.1 and 5.3.2: balls of the own body and of the environment, shells of elbows."""

import numpy as np
from puppet_core.body import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_retarget.importance import body_arrays, N_SAMPLES
from puppet_retarget.solvers.thesis.ball_intersection import NO_SHELL, Shell
from puppet_retarget.solvers.thesis.errata import AS_PRINTED, Errata
from puppet_retarget.solvers.thesis.puppet import puppet_of
from puppet_retarget.solvers.thesis.ranges import elbow_shell, self_ball
import pytest
from thesis_frames import goals_of, random_pose, rows_of, self_row, settings

CHEST, LEFT_THIGH = 2, 10
MANY = AS_PRINTED._replace(many_points=True)


def contacts_of(rng: np.random.Generator, segments: list[int]) -> np.ndarray:
    """Return contacts (n, 5) with sample points of segments: number, weight, displacement."""
    k = rng.permutation(N_SAMPLES)[: len(segments)]
    rows = np.empty((len(segments), 5))
    rows[:, 0] = N_SAMPLES * np.array(segments) + k
    rows[:, 1] = rng.uniform(0.1, 1.0, len(segments))
    rows[:, 2:] = 0.1 * rng.normal(size=(len(segments), 3))
    return rows


def ball(character, row, j, pose, errata):
    return self_ball(puppet_of(character), settings(character, errata), row, j, pose)


def wanted_places(character, contacts, pose):
    """Return where each contact's displacement leads from the puppet's own point [m]."""
    samples = body_arrays(character.skeleton, character.capsules).samples
    segments, k = np.divmod(contacts[:, 0].astype(int), N_SAMPLES)
    local = samples[segments, :, k] + character.scale_for(0.93) * contacts[:, 2:]
    return pose.p[segments] + qb.rotate(pose.q[segments], local)


@pytest.mark.parametrize('j', range(8))
def test_eq_5_7_centre_is_the_mean_of_point_and_displacement(tall_character, rng, j):
    for _ in range(10):
        pose = random_pose(tall_character, rng)
        contacts = contacts_of(rng, [0, 1, CHEST, CHEST, 3])
        found = ball(tall_character, self_row(0.7, contacts), j, pose, MANY)
        places = wanted_places(tall_character, contacts, pose)
        expected = np.average(places, axis=0, weights=contacts[:, 1])
        np.testing.assert_allclose(found.centre, expected, atol=1e-12)
        assert found.importance == 0.7


def test_eq_5_9_a_limb_is_met_half_way(tall_character, rng):
    pose = random_pose(tall_character, rng)
    contacts = contacts_of(rng, [LEFT_THIGH] * 3)
    found = ball(tall_character, self_row(1.0, contacts), 0, pose, MANY)
    places = wanted_places(tall_character, contacts, pose)
    whole = np.average(places, axis=0, weights=contacts[:, 1])
    np.testing.assert_allclose(found.centre, 0.5 * (whole + pose.points[0]), atol=1e-12)


def test_eq_5_6_shrinks_to_the_target_where_the_printed_one_grows(tall_character, rng):
    """Errata 5: never larger than the way to the nearest point."""
    pose, contacts = random_pose(tall_character, rng), contacts_of(rng, [CHEST] * 4)
    nearest = tall_character.scale_for(0.93) * np.linalg.norm(contacts[:, 2:], axis=1).min()
    for w in (0.2, 0.5, 1.0):
        row = self_row(w, contacts)
        printed = ball(tall_character, row, 1, pose, AS_PRINTED).outer
        assert printed == pytest.approx(w * nearest)
        mended = ball(tall_character, row, 1, pose, Errata()).outer
        assert mended == pytest.approx((1.0 - w) * nearest)


def test_as_printed_only_the_three_nearest_points_count(tall_character, rng):
    """Errata 18: a fourth point that becomes the third takes its place at once."""
    pose, contacts = random_pose(tall_character, rng), contacts_of(rng, [CHEST] * 6)
    nearest = contacts[np.argsort(np.linalg.norm(contacts[:, 2:], axis=1))[:3]]
    printed = ball(tall_character, self_row(1.0, contacts), 0, pose, AS_PRINTED)
    three = ball(tall_character, self_row(1.0, nearest), 0, pose, MANY)
    np.testing.assert_allclose(printed.centre, three.centre, atol=1e-12)
    assert printed.outer == three.outer
    all_of_them = ball(tall_character, self_row(1.0, contacts), 0, pose, MANY)
    assert np.linalg.norm(np.subtract(all_of_them.centre, printed.centre)) > 1e-3


def test_no_weight_is_no_ball(tall_character, rng):
    """Errata 6: eq. 5.7 is 0/0."""
    pose, contacts = random_pose(tall_character, rng), contacts_of(rng, [CHEST] * 2)
    assert ball(tall_character, self_row(1.0), 0, pose, Errata()) == NO_SHELL
    assert ball(tall_character, self_row(0.0, contacts), 0, pose, Errata()) == NO_SHELL
    contacts[:, 1] = 0.0
    assert ball(tall_character, self_row(1.0, contacts), 0, pose, AS_PRINTED) == NO_SHELL


def test_eq_5_10_is_d_without_importance_and_a_point_with_it(tall_character, rng):
    pose, goals = random_pose(tall_character, rng), rng.normal(size=(4, 3))
    numbers, w = settings(tall_character), np.array([0.0, 0.25, 0.9, 1.0])
    found = goals_of(tall_character, numbers, rows_of(goals, w, 0.6), pose)
    scale = numbers.world_scale
    np.testing.assert_allclose(found.radii, scale * 0.6 * (1.0 - w))
    np.testing.assert_allclose(found.palms, scale * goals)
    # the wrist is where a hand with its captured orientation has its palm at the goal
    q = pose.q[LIMB_SEGMENTS[:, 2]]
    palms = found.wrists + qb.rotate(q, tall_character.skeleton.interaction_points)
    np.testing.assert_allclose(palms, scale * goals, atol=1e-12)


@pytest.mark.parametrize('radius', [0.0, 0.05, 0.4])
def test_elbow_shell_is_where_a_forearm_can_end_in_the_ball(rng, radius):
    """Figure 5.6, errata 7: outside of the smaller sphere, too."""
    forearm, centre = 0.25, tuple(map(float, rng.normal(size=3)))
    shell = elbow_shell(Shell(centre, 0.0, radius, 0.5), forearm)
    for _ in range(1000):
        away = rng.uniform(0.0, 1.0)
        # hands about an elbow are from |away - forearm| to away + forearm from the centre
        can_hold = abs(away - forearm) <= radius
        assert can_hold == (shell.inner <= away <= shell.outer)
