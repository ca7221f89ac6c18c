# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Keyframes by contact and speed; their postures: minima by scipy, reach."""

import numpy as np
from puppet_core.body.motion_measures import planted_soles
from puppet_core.body.posture import general_end_effectors, Motion, world_segments
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_edit.enhancement.keyframes import (
    choose_keyframes,
    fit_postures,
    given_keyframes,
    ROOT_LENGTH_M,
    worst_frames,
)
from puppet_edit.enhancement.motion_curves import EnhanceConfig
from puppet_edit.enhancement.targets import Targets
import pytest
from scipy.optimize import least_squares

RATE_HZ = 60.0


def swinging(n=181):
    """Return a hand that turns round at frames 30, 60, 90, .."""
    positions = np.full((n, 8, 3), np.nan)
    positions[:, 0] = [0.0, 0.0, 1.0]
    positions[:, 0, 0] = 0.4 * np.cos(np.pi * np.arange(n) / 30.0)
    return Targets(positions)


def test_turning_points_are_found(rng):
    """With a millimetre of noise too."""
    targets = swinging()
    noisy = Targets(targets.positions + rng.normal(0.0, 1e-3, targets.positions.shape))
    for seen in (targets, noisy):
        found = choose_keyframes(seen, RATE_HZ, 0.1, 2.0)
        slow = [frame for frame, reason in found.items() if reason == 'slow']
        assert np.allclose(slow, [30, 60, 90, 120, 150], atol=2)
        assert list(found)[0] == 0 and list(found)[-1] == 180


def test_steps_begin_and_end_at_keyframes(walk):
    targets = Targets(np.where(np.arange(8)[:, None] < 4, walk.end_effectors, np.nan))
    found = choose_keyframes(targets, walk.rate_hz, 0.05, 2.0)
    contacts = np.array([frame for frame, reason in found.items() if reason == 'contact'])
    planted = planted_soles(walk.end_effectors[:, 2:4], walk.rate_hz)
    edges = np.flatnonzero(np.any(np.diff(planted.astype(int), axis=0), axis=1))
    assert len(contacts) >= 3
    assert max(np.min(np.abs(edges - contact)) for contact in contacts) <= 3


@pytest.mark.parametrize(('least_s', 'most_s'), [(0.1, 0.5), (0.3, 0.4), (0.02, 0.1)])
def test_gaps_are_neither_short_nor_long(least_s, most_s):
    frames = list(choose_keyframes(swinging(), RATE_HZ, least_s, most_s))
    gaps = np.diff(frames)
    assert gaps.max() <= np.ceil(most_s * RATE_HZ) and gaps.min() >= 0.5 * least_s * RATE_HZ


def test_given_ones_come_with_first_and_last():
    assert given_keyframes([30, 10, 30], 50) == {0: 'end', 10: 'given', 30: 'given', 49: 'end'}
    with pytest.raises(ConfigError, match='keyframes: expected 0 .. 49, got 50'):
        given_keyframes([50], 50)


def test_worst_frames_keep_their_distance(rng):
    errors = rng.random(100)
    errors[10:20] = -1.0  # not known
    keys = [0, 20, 24, 60, 99]
    worst = worst_frames(errors, keys, 0.1, 4)
    assert len(worst) == 3
    for frame, (first, last) in zip(worst, [(0, 20), (24, 60), (60, 99)]):
        assert first + 4 <= frame <= last - 4
        assert errors[frame] == np.max(errors[first + 4 : last - 3])
    assert worst_frames(errors, keys, 1.0, 4) == []


@pytest.mark.parametrize(('least_s', 'most_s'), [(0.0, 0.5), (0.6, 0.5), (-1.0, 1.0)])
def test_spacing_is_checked(least_s, most_s):
    with pytest.raises(ConfigError, match='keyframe spacing: expected 0 < least <= most'):
        choose_keyframes(swinging(), RATE_HZ, least_s, most_s)


EXACT_TOL_M = 1e-4
WEIGHT = EnhanceConfig().weight


def end_effectors(skeleton, roots, rotations):
    """Return the general end-effectors of postures, shape (k, 8, 3) [m]."""
    return general_end_effectors(skeleton, *world_segments(skeleton, roots, rotations))


def random_measured(skeleton, rng, count=4, off_m=0.03):
    """Return bent postures as a motion, with goals for palms and soles a little off."""
    roots = rng.normal(0.0, 0.2, (count, 3))
    rotations = qb.exp(rng.normal(0.0, 0.4, (count, 16, 3)))
    goals = end_effectors(skeleton, roots, rotations)
    goals[:, :4] += rng.normal(0.0, off_m, (count, 4, 3))
    goals[:, 4:] = np.nan
    return Motion.from_rotations(skeleton, 30.0, roots, rotations), goals


def fit(measured, goals, weight, moves_root):
    """Return the postures with goals in all frames of a motion."""
    return fit_postures(measured, np.arange(measured.n_frames), goals, weight, moves_root)


def test_minimum_is_that_of_scipy(skeleton, rng):
    """An independent minimiser without our derivatives finds no lower G."""
    one, goals = random_measured(skeleton, rng, 1)

    def residuals(roots, rotations):
        apart = np.sqrt(0.9) * (end_effectors(skeleton, roots, rotations) - goals)[0, :4]
        turned = qb.log(qb.multiply(qb.conjugate(one.rotations), rotations))
        shift = (roots - one.root_positions) / ROOT_LENGTH_M
        return np.concatenate((apart.ravel(), np.sqrt(0.1) * np.append(turned, shift)))

    def moved(delta):
        turns = qb.exp(delta[:48].reshape(-1, 16, 3))
        return residuals(one.root_positions + delta[48:], qb.multiply(one.rotations, turns))

    scipys = least_squares(moved, np.zeros(51), xtol=1e-10, ftol=1e-12, gtol=1e-10)
    ours = np.sum(residuals(*fit(one, goals, 0.9, True)) ** 2)
    assert ours == pytest.approx(2.0 * scipys.cost, rel=1e-8)


def test_what_carries_no_goal_stays(skeleton, rng):
    """The root, which is not to move, legs and head; and all of a frame without a goal."""
    measured, goals = random_measured(skeleton, rng)
    goals[:, 2:4] = goals[3] = np.nan
    roots, rotations = fit(measured, goals, WEIGHT, False)
    kept = [0, 3, *range(10, 16)]
    assert np.array_equal(roots, measured.root_positions)
    assert np.allclose(rotations[:, kept], measured.rotations[:, kept], atol=1e-9)
    assert np.allclose(rotations[3], measured.rotations[3], atol=1e-15)


def test_goals_that_are_met_change_nothing(skeleton, rng):
    measured, goals = random_measured(skeleton, rng, off_m=0.0)
    _, rotations = fit(measured, goals, 0.9, True)
    assert np.allclose(rotations, measured.rotations, atol=1e-12)


@pytest.mark.parametrize('weight', [0.5, 0.999999])
def test_goals_out_of_reach_are_pointed_at(skeleton, rng, weight):
    """Two metres off: finite, and nearer than before."""
    measured, known = random_measured(skeleton, rng)
    goals = np.full((4, 8, 3), np.nan)
    goals[:, 0] = known[:, 0] + [2.0, 0.0, 0.0]
    points = end_effectors(skeleton, *fit(measured, goals, weight, False))[:, 0]
    assert np.isfinite(points).all()
    gaps = [
        np.linalg.norm(p - goals[:, 0], axis=-1) for p in (points, measured.end_effectors[:, 0])
    ]
    assert np.all(gaps[0] < gaps[1])


def test_greater_weight_comes_nearer(skeleton, rng):
    measured, goals = random_measured(skeleton, rng)
    errors = []
    for weight in (0.0, 0.5, 0.9, 0.999):
        points = end_effectors(skeleton, *fit(measured, goals, weight, True))
        errors.append(np.linalg.norm((points - goals)[:, :4]))
    assert np.all(np.diff(errors) < 0.0)
