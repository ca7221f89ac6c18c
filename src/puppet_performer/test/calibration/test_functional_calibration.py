# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Functional calibration on recordings whose truth is known: how far from it they may be."""

from functools import cache

from motion_samples import estimates, EXACT, LAYOUT, make_recording, REAL
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.io import CalibrationError
from puppet_core.math import quaternions
from puppet_performer.calibration.calibration import RANGE, SLIPPED, SWAPPED
from puppet_performer.sensor_layout import SensorLayout
from puppet_performer.synthetic_recording import exchanged, measure, slipped
import pytest

EXACT_TOL_M = 1e-6
CENTRE_TOL_M, LENGTH_TOL_M, ANGLE_TOL_DEG = 0.010, 0.008, 1.5
SEEDS = tuple(range(5))
COARSE_HZ = 30.0  # is enough where nothing is averaged


@cache
def _real(seed):
    take = make_recording(seed, REAL)
    return take, take.calibrate()


def test_everything_is_exact_without_noise():
    take = make_recording(7, EXACT, COARSE_HZ)
    calibration = take.calibrate().calibration
    assert calibration is not None
    assert np.max(take.centre_errors(calibration)) < EXACT_TOL_M
    assert np.max(take.length_errors(calibration)) < EXACT_TOL_M
    between = quaternions.multiply(
        quaternions.conjugate(calibration.rotations), take.mounting.rotations
    )
    assert np.max(np.abs(quaternions.log(between))) < EXACT_TOL_M


def test_unmeasured_segments_have_the_right_size_where_proportions_are_ordinary():
    take = make_recording(3, EXACT, COARSE_HZ, stretch=0.0)
    calibration = take.calibrate().calibration
    assert calibration is not None and calibration.skeleton is not None
    np.testing.assert_allclose(
        calibration.skeleton.offsets, take.skeleton.offsets, atol=EXACT_TOL_M
    )
    np.testing.assert_allclose(
        calibration.skeleton.interaction_points, take.skeleton.interaction_points, atol=EXACT_TOL_M
    )


def test_centres_and_lengths_keep_their_tolerances_in_the_real_world():
    centres, lengths = [], []
    for seed in SEEDS:
        take, outcome = _real(seed)
        assert outcome.calibration is not None
        centres.append(take.centre_errors(outcome.calibration))
        lengths.append(take.length_errors(outcome.calibration))
    assert np.quantile(centres, 0.95) < CENTRE_TOL_M
    assert np.max(lengths) < LENGTH_TOL_M


def test_errors_are_about_as_large_as_the_uncertainty_says():
    shares = []
    for seed in SEEDS:
        take, outcome = _real(seed)
        assert outcome.calibration is not None
        sds = np.array([joint.sd_m for joint in outcome.evaluation.joints])
        shares.append(take.centre_errors(outcome.calibration).max(axis=1) / sds)
    # length of a Gaussian 3-vector, in its worst direction's standard deviations
    assert np.quantile(shares, 0.95) < 2.8
    assert np.median(shares) > 0.3


@pytest.mark.parametrize('seed', SEEDS)
def test_nothing_is_named_when_all_is_well(seed):
    _, outcome = _real(seed)
    assert outcome.evaluation.findings == ()
    assert outcome.evaluation.usable


@pytest.mark.parametrize('seed', SEEDS[:2])
def test_posture_angles_keep_their_tolerance(seed):
    take, outcome = _real(seed)
    calibration, poses = outcome.calibration, take.recording
    assert calibration is not None
    clean = take.recording.without_spikes().usable.all(axis=1)
    frames = np.flatnonzero(clean)[::10]
    found = [e.posture.rotations.copy() for e in estimates(calibration, poses, frames)]
    off = quaternions.multiply(
        quaternions.conjugate(take.motion.rotations[frames]), np.array(found)
    )
    measured = [0, *LIMB_SEGMENTS.reshape(-1)]
    errors = np.linalg.norm(quaternions.log(off), axis=2)[:, measured]
    assert np.degrees(np.sqrt(np.mean(np.square(errors)))) < ANGLE_TOL_DEG


@pytest.mark.parametrize(
    'names',
    [
        ('left_hand', 'right_hand'),
        ('left_upper_arm', 'left_forearm'),
        ('right_thigh', 'right_shank'),
        ('left_foot', 'right_foot'),
        ('pelvis', 'chest'),
        ('left_forearm', 'right_shank'),
        ('pelvis', 'left_thigh'),
    ],
    ids='-'.join,
)
def test_exchanged_sensors_are_named(names):
    take, _ = _real(1)
    outcome = take.calibrate(exchanged(take.recording, LAYOUT, *names))
    assert [set(f.names) for f in outcome.evaluation.of_kind(SWAPPED)] == [set(names)]
    assert outcome.calibration is None
    assert not outcome.evaluation.usable


ARMS = [(f'left_{part}', f'right_{part}') for part in ('upper_arm', 'forearm', 'hand')]
ALL = [(LAYOUT.sensors[i], LAYOUT.sensors[j]) for i, j in LAYOUT.pairs]


@pytest.mark.parametrize('pairs', [ARMS, ALL], ids=['arms', 'all'])
def test_limbs_worn_on_the_wrong_sides_are_told_by_pose_knees_and_elbows(pairs):
    take, _ = _real(2)
    outcome = take.calibrate(exchanged(take.recording, LAYOUT, *sum(pairs, ())))
    assert [f.names for f in outcome.evaluation.of_kind(SWAPPED)] == pairs


@pytest.mark.parametrize(
    ('name', 'when_s'),
    [
        ('left_hand', 15.0),
        ('right_foot', 17.0),
        ('chest', 8.0),
        ('left_forearm', 12.0),
        ('right_thigh', 10.0),
    ],
)
def test_slipped_sensor_is_named_with_the_instant(name, when_s):
    take, _ = _real(3)
    outcome = take.calibrate(slipped(take.recording, LAYOUT, name, when_s))
    slips = outcome.evaluation.of_kind(SLIPPED)
    assert [finding.names for finding in slips] == [(name,)]
    told_s = float(slips[0].text.split(' after ')[1].split(' s')[0])
    assert abs(told_s - when_s) < 2.5
    assert not outcome.evaluation.usable


def test_joint_that_was_not_moved_is_named_with_what_to_do():
    take, _ = _real(4)
    still = take.motion.rotations.copy()
    still[:, LIMB_SEGMENTS[2, 2]] = [1.0, 0.0, 0.0, 0.0]  # the left foot
    evaluation = _remade(take, still).evaluation
    assert [f.names for f in evaluation.of_kind(RANGE)] == [('left_foot',)]
    assert 'point the toes' in evaluation.findings[0].text
    assert not evaluation.usable


def _part_of_layout(name, kept):
    sensors = tuple(LAYOUT.sensors[i] for i in kept)
    return SensorLayout(name, sensors, LAYOUT.segments[kept], LAYOUT.mountings[kept])


def test_fewer_sensors_calibrate_too():
    kept = [i for i, name in enumerate(LAYOUT.sensors) if not name.endswith(('hand', 'foot'))]
    take = make_recording(5, EXACT, COARSE_HZ, layout=_part_of_layout('ten', kept))
    calibration = take.calibrate().calibration
    assert calibration is not None
    assert np.max(take.centre_errors(calibration)) < EXACT_TOL_M


def test_layout_without_neighbours_is_refused():
    kept = [LAYOUT.sensors.index(name) for name in ('pelvis', 'left_hand', 'right_hand')]
    take = make_recording(5, EXACT, COARSE_HZ, layout=_part_of_layout('three', kept))
    with pytest.raises(CalibrationError, match='neighbouring segments'):
        take.calibrate()


def _remade(take, rotations):
    motion = Motion.from_rotations(
        take.skeleton, take.motion.rate_hz, take.motion.root_positions, rotations
    )
    return take.calibrate(measure(motion, LAYOUT, take.mounting, REAL, 99))
