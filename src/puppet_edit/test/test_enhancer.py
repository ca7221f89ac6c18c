# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""ChoiParkKo section 5 rebuilt: fists meet exactly, curves are smooth; frame by frame."""

import math

from benchmarks.enhance import FIST_M, measured_take, TakeErrors
import numpy as np
from puppet_core.body.posture import general_end_effectors, Motion, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.io import ConfigError
from puppet_edit.enhancement.enhancer import (
    end_effector_errors,
    enhance,
    enhance_online,
    joint_angles_between,
    rate_config,
    rms,
)
from puppet_edit.enhancement.keyframes import choose_keyframes
from puppet_edit.enhancement.motion_curves import CHANNEL_KINDS, EnhanceConfig
from puppet_edit.enhancement.targets import Targets
import pytest

EXACT_TOL_M = 1e-4
HANDS = [0, 1]


def test_end_effectors_are_exact_at_keyframes(enhanced):
    errors = end_effector_errors(enhanced.motion, enhanced.goals)
    assert np.nanmax(errors[list(enhanced.keyframes)]) < EXACT_TOL_M


def test_fists_meet_exactly(fist, enhanced):
    met = [frame for frame, reason in enhanced.keyframes.items() if reason == 'meeting']
    gaps = fist.meeting.distances(enhanced.motion.end_effectors)[met]
    assert np.all(np.abs(gaps - FIST_M) < EXACT_TOL_M)


def test_between_keyframes_it_is_closer_to_what_was_measured(take, enhanced):
    between = np.ones(take.motion.n_frames, dtype=bool)
    between[list(enhanced.keyframes)] = False
    before, after = (
        end_effector_errors(motion, enhanced.goals)[between][:, HANDS]
        for motion in (take.motion, enhanced.motion)
    )
    assert rms(after) < 0.6 * rms(before)


def test_it_is_closer_to_the_truth(fist, take, enhanced):
    truth = fist.motion
    apart = [
        m.end_effectors[:, HANDS] - truth.end_effectors[:, HANDS]
        for m in (take.motion, enhanced.motion)
    ]
    listed = [joint for joint in enhanced.joints if joint > 0]
    turned = [
        joint_angles_between(truth.rotations, m.rotations)[:, listed]
        for m in (take.motion, enhanced.motion)
    ]
    assert rms(apart[1]) < 0.6 * rms(apart[0])
    assert rms(turned[1]) < rms(turned[0])


def palms(take, enhanced, stand, times_s):
    """Return the palms at any times, from the curve itself, shape (k, 2, 3) [m]."""
    listed = list(enhanced.joints)
    values = enhanced.curve(times_s)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(times_s), 16, 1))
    rotations[:, listed] = stand.rotations(values[:, :-3].reshape(len(values), len(listed), -1))
    skeleton = take.motion.skeleton
    q, p = world_segments(skeleton, values[:, -3:], rotations)
    return general_end_effectors(skeleton, q, p)[:, HANDS]


@pytest.mark.parametrize(
    ('config', 'channels'),
    [
        (EnhanceConfig(detail_s=0.0), 'rotvec'),
        (EnhanceConfig(), 'rotvec'),
        (EnhanceConfig(channels='euler', detail_s=0.0, segment=5), 'euler'),
    ],
    ids=['the paper', 'followed', 'euler, segments'],
)
def test_palms_move_with_two_continuous_derivatives(take, chosen, config, channels):
    """C2 everywhere: one-sided second differences agree over every knot, also joints."""
    done = enhance(take.motion, take.targets, chosen, config)
    rotations = take.motion.rotations[:, list(done.joints)]
    stand = CHANNEL_KINDS[channels](rotations, done.joints)
    knots = np.unique(done.curve.t)[1:-1]
    weights = np.array([2.0, -5.0, 4.0, -1.0])  # second derivative, third order of error
    jumps = []
    for step in (4e-3, 1e-3):
        sides = [
            sum(
                w * palms(take, done, stand, knots + side * i * step)
                for i, w in enumerate(weights)
            )
            / step**2
            for side in (1.0, -1.0)
        ]
        jumps.append(np.abs(sides[0] - sides[1]).max())
    accelerations = np.abs(sides[0]).max()
    # a true jump would not shrink with the step
    assert jumps[1] < 0.3 * jumps[0] + 1e-3
    assert jumps[1] < 0.05 * accelerations


def test_joints_that_carry_nothing_measured_are_left_alone(take, enhanced):
    kept = [joint for joint in range(16) if joint not in enhanced.joints]
    assert 3 in kept and set(LIMB_SEGMENTS[2:].ravel()) <= set(kept)
    before, after = take.motion.rotations[:, kept], enhanced.motion.rotations[:, kept]
    assert np.all(np.abs(np.sum(before * after, axis=-1)) > 1.0 - 1e-12)


def test_a_smooth_motion_with_its_own_end_effectors_is_left_as_it_is(fist):
    """Nothing is wrong, so nothing is to be changed."""
    exact = measured_take(fist.motion, TakeErrors(), 0, (), (0, 1))
    keys = choose_keyframes(exact.targets, 60.0)
    done = enhance(exact.motion, exact.targets, keys)
    assert np.max(joint_angles_between(fist.motion.rotations, done.motion.rotations)) < 0.01


def test_segments_keep_the_angles_of_long_motions(walk):
    """Nearer to the true angles the more there are; exact at keyframes, joints included."""
    measured = measured_take(walk, TakeErrors(2.0, 0.5), 3)
    keys = choose_keyframes(measured.targets, 30.0, 0.1, 0.3)
    off = []
    for segment in (0, 4, 2):
        config = EnhanceConfig(detail_s=0.0, segment=segment)
        done = enhance(measured.motion, measured.targets, keys, config)
        off.append(rms(joint_angles_between(walk.rotations, done.motion.rotations)[:, 1:]))
        errors = end_effector_errors(done.motion, done.goals)[list(done.keyframes)]
        assert np.nanmax(errors) < EXACT_TOL_M
    assert np.all(np.diff(off) < 0.0)


def test_tolerance_adds_keyframes_until_errors_are_small(take):
    ends = {0: 'end', 135: 'given', 270: 'end'}
    config = EnhanceConfig(follow=False, tolerance_m=0.06)
    done = enhance(take.motion, take.targets, ends, config)
    errors = end_effector_errors(done.motion, done.goals)[:, HANDS]
    worst = [
        np.max(errors[a + 6 : b - 5], initial=0.0)
        for a, b in zip(list(done.keyframes), list(done.keyframes)[1:])
        if b - a > 11
    ]
    assert len(done.keyframes) > 3 and max(worst) <= 0.06
    assert set(done.keyframes.values()) == {'end', 'given', 'error'}


def test_frames_without_measurement_are_passed_over(take):
    positions = np.array(take.targets.positions)
    positions[60:200] = np.nan
    positions[:, 1] = np.nan
    targets = Targets(positions)
    keys = choose_keyframes(targets, 60.0)
    assert not [k for k in keys if 60 <= k < 200]
    done = enhance(take.motion, targets, keys)
    errors = end_effector_errors(done.motion, done.goals)[:, 0]
    assert np.isfinite(done.motion.rotations).all()
    assert rms(errors[np.isfinite(errors)]) < 0.02 and np.isfinite(errors).sum() == 131


def test_measured_feet_stay_put_when_the_root_gives_way(walk):
    """By default a measured foot frees the root."""
    measured = measured_take(walk, TakeErrors(3.0, 1.0), 3)
    keys = choose_keyframes(measured.targets, 30.0)
    done = enhance(measured.motion, measured.targets, keys)
    errors = end_effector_errors(done.motion, done.goals)[list(keys)]
    assert np.nanmax(errors) < EXACT_TOL_M and 0 in done.joints
    assert np.any(np.abs(done.motion.root_positions - measured.motion.root_positions) > 1e-4)
    feet = [
        np.linalg.norm(m.end_effectors[:, 2:4] - walk.end_effectors[:, 2:4], axis=-1)
        for m in (measured.motion, done.motion)
    ]
    assert rms(feet[1]) < 0.2 * rms(feet[0])


@pytest.mark.parametrize(
    ('options', 'says'),
    [
        ({'weight': 1.0}, 'weight: expected 0.0 <= value < 1.0'),
        ({'detail_s': -1.0}, 'detail_s: expected 0 .. 60'),
        ({'tolerance_m': float('nan')}, 'tolerance_m: expected 0 .. 10'),
    ],
)
def test_options_are_checked(options, says):
    with pytest.raises(ConfigError, match=says):
        EnhanceConfig(**options)


SEEDS = range(5)


def errors(truth, motion):
    """Return RMS errors of palms and soles [m], and of joints [rad]; written out again."""
    apart = (motion.end_effectors - truth.end_effectors)[:, :4]
    dots = np.abs(np.sum(motion.rotations * truth.rotations, axis=-1))[:, 1:]
    turned = 2.0 * np.arccos(np.minimum(dots, 1.0))
    return math.sqrt(np.mean(np.sum(apart**2, axis=-1))), math.sqrt(np.mean(turned**2))


def test_exact_weight_puts_end_effectors_in_place(walk):
    take = measured_take(walk, TakeErrors(3.0, 1.0), 5)
    better = enhance_online(take.motion, take.targets, weight=0.999999)
    apart = (better.end_effectors - take.targets.positions)[:, :4]
    assert np.max(np.linalg.norm(apart, axis=-1)) < 1e-4


def test_later_frames_change_nothing(walk):
    """Causal: the first half alone gives the same."""
    take = measured_take(walk, TakeErrors(3.0, 1.0, 3.0), 5)
    half = Motion.from_rotations(
        take.motion.skeleton,
        take.motion.rate_hz,
        take.motion.root_positions[:30],
        take.motion.rotations[:30],
    )
    whole = enhance_online(take.motion, take.targets)
    part = enhance_online(half, Targets(take.targets.positions[:30]))
    assert np.allclose(whole.rotations[:30], part.rotations, atol=1e-12)


def test_a_kept_root_stays_where_it_was_measured(walk):
    take = measured_take(walk, TakeErrors(3.0), 5)
    better = enhance_online(take.motion, take.targets, root='fixed')
    assert np.allclose(better.root_positions, take.motion.root_positions, atol=1e-12)


def test_end_effectors_without_measurement_follow_their_angles(walk):
    """After a gap in one hand's trajectory nothing is left of the gap."""
    take = measured_take(walk, TakeErrors(3.0), 5)
    positions = np.array(take.targets.positions)
    positions[20:40, 0] = np.nan
    better = enhance_online(take.motion, Targets(positions), weight=0.999999)
    apart = np.linalg.norm((better.end_effectors - take.targets.positions)[:, :4], axis=-1)
    assert np.isfinite(better.rotations).all()
    assert apart[:20].max() < 1e-3 and apart[45:].max() < 1e-3 and apart[20:40, 1:].max() < 1e-3


@pytest.mark.parametrize('weight', [0.0, 1.0, float('nan')])
def test_weights_out_of_range_are_refused(weight):
    with pytest.raises(ConfigError, match='weight: expected 0.0 < value < 1.0'):
        rate_config(weight)
