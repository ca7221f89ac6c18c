# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Functional calibration on recordings whose truth is known, also with poses that are not."""

from dataclasses import replace
from functools import cache

from benchmarks.synthetic_recording import (
    exchanged,
    LIMITS,
    measure,
    posed_badly,
    slipped,
    SYNTHETIC_T_POSE_S,
)
from motion_samples import ADULT, estimates, EXACT, LAYOUT, make_recording, REAL
import numpy as np
from puppet_core import named_files
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS, N_SEGMENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.io import CalibrationError
from puppet_core.math import quaternions
from puppet_performer.calibration.calibration import POSE, RANGE, SLIPPED, SWAPPED, UNIT
from puppet_performer.calibration.checks import range_complaint
from puppet_performer.calibration.functional import calibrate_motion, split_recording
from puppet_performer.calibration.recording import Joint
from puppet_performer.sensor_layout import load_layout, SensorLayout
import pytest

pytestmark = pytest.mark.slow

EXACT_TOL_M = 1e-6
CENTRE_TOL_M, LENGTH_TOL_M, ANGLE_TOL_DEG = 0.010, 0.008, 1.5
SEEDS = tuple(range(3))
COARSE_HZ = 30.0  # is enough where nothing is averaged


@cache
def _real(seed):
    take = make_recording(seed, REAL)
    return take, take.calibrate()


def test_everything_is_exact_without_noise():
    take = make_recording(7, EXACT, COARSE_HZ)
    calibration = take.calibrate().calibration
    assert np.max(take.centre_errors(calibration)) < EXACT_TOL_M
    assert np.max(take.length_errors(calibration)) < EXACT_TOL_M
    between = quaternions.multiply(
        quaternions.conjugate(calibration.rotations), take.mounting.rotations
    )
    assert np.max(np.abs(quaternions.log(between))) < EXACT_TOL_M


def test_unmeasured_segments_have_the_right_size_where_proportions_are_ordinary():
    take = make_recording(3, EXACT, COARSE_HZ, stretch=0.0)
    calibration = take.calibrate().calibration
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
        centres.append(take.centre_errors(outcome.calibration))
        lengths.append(take.length_errors(outcome.calibration))
        assert outcome.evaluation.findings == () and outcome.evaluation.usable
    assert np.quantile(centres, 0.95) < CENTRE_TOL_M
    assert np.max(lengths) < LENGTH_TOL_M


def test_errors_are_about_as_large_as_the_uncertainty_says():
    shares = []
    for seed in SEEDS:
        take, outcome = _real(seed)
        sds = np.array([joint.sd_m for joint in outcome.evaluation.joints])
        shares.append(take.centre_errors(outcome.calibration).max(axis=1) / sds)
    # length of a Gaussian 3-vector, in its worst direction's standard deviations
    assert np.quantile(shares, 0.95) < 2.8
    assert np.median(shares) > 0.3


def test_posture_angles_keep_their_tolerance():
    take, outcome = _real(0)
    calibration, poses = outcome.calibration, take.recording
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
        ('right_thigh', 'right_shank'),
        ('pelvis', 'chest'),
        ('left_forearm', 'right_shank'),
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
def test_limbs_worn_on_the_wrong_sides_are_reported_by_pose_knees_and_elbows(pairs):
    take, _ = _real(2)
    outcome = take.calibrate(exchanged(take.recording, LAYOUT, *sum(pairs, ())))
    assert [f.names for f in outcome.evaluation.of_kind(SWAPPED)] == pairs


@pytest.mark.parametrize(
    ('name', 'when_s'), [('left_hand', 15.0), ('chest', 8.0), ('right_thigh', 10.0)]
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


LEFT_ARM = tuple(f'left_{part}' for part in ('upper_arm', 'forearm', 'hand'))
RIGHT_ARM = tuple(name.replace('left', 'right') for name in LEFT_ARM)
UPPER_BONES = {*LEFT_ARM[:2], *RIGHT_ARM[:2]}
LEFT_LEG = tuple(f'left_{part}' for part in ('thigh', 'shank', 'foot'))
TRUNK = ('pelvis', 'spine', 'chest', 'head')


@pytest.fixture(scope='module')
def exact():
    return make_recording(11, EXACT, COARSE_HZ)


def _posed(take, *turned):
    """Return the calibration with segments turned in the pose, in degrees about x, y and z."""
    off = np.zeros((N_SEGMENTS, 3))
    for names, vector in turned:
        off[[SEGMENT_INDEX[name] for name in names]] = np.radians(vector)
    motion = posed_badly(take.motion, SYNTHETIC_T_POSE_S, off)
    return take.calibrate(measure(motion, take.layout, take.mounting, EXACT, 99))


def _errors_deg(take, calibration):
    off = quaternions.log(
        quaternions.multiply(quaternions.conjugate(calibration.rotations), take.mounting.rotations)
    )
    return dict(zip(take.layout.sensors, np.degrees(np.linalg.norm(off, axis=1)).tolist()))


@pytest.mark.parametrize(
    ('turned', 'named'),
    [
        ([(LEFT_ARM, (-70.0, 0.0, 0.0)), (RIGHT_ARM, (70.0, 0.0, 0.0))], UPPER_BONES),
        ([(LEFT_ARM, (0.0, 150.0, 0.0))], {'left_upper_arm'}),
        ([(LEFT_LEG, (25.0, 0.0, 0.0))], {'left_thigh', 'left_shank'}),
        ([(LEFT_LEG, (0.0, 0.0, 45.0))], {'left_thigh'}),
        ([(SEGMENTS, (0.0, 15.0, 0.0))], {'trunk'}),
        ([(TRUNK, (0.0, 15.0, 0.0))], {'trunk'}),
        ([(('spine', 'chest'), (0.0, 0.0, 40.0))], {'shoulders'}),
    ],
)
def test_pose_that_is_no_t_pose_is_named(exact, turned, named):
    evaluation = _posed(exact, *turned).evaluation
    assert {name for f in evaluation.of_kind(POSE) for name in f.names} >= named
    assert not evaluation.usable
    assert all('record again' in finding.text for finding in evaluation.of_kind(POSE))


def test_pose_found_by_falling_back_is_named_too(exact):
    off = np.zeros((N_SEGMENTS, 3))
    off[[SEGMENT_INDEX[name] for name in LEFT_ARM]] = [np.radians(-70.0), 0.0, 0.0]
    motion = posed_badly(exact.motion, SYNTHETIC_T_POSE_S, off)
    recording = measure(motion, LAYOUT, exact.mounting, EXACT, 99)
    pose, rest = split_recording(recording, LAYOUT, ADULT, LIMITS)
    outcome = calibrate_motion(pose, rest, LAYOUT, ADULT, LIMITS, '')
    assert outcome.evaluation.of_kind(POSE) and not outcome.evaluation.usable


@pytest.mark.parametrize(
    ('names', 'vector'),
    [(('left_upper_arm',), (0.0, 15.0, 0.0)), (('left_thigh',), (0.0, 0.0, -15.0))],
)
def test_hinge_corrects_a_rolled_limb(exact, names, vector):
    outcome = _posed(exact, (names, vector))
    assert outcome.evaluation.usable
    errors = _errors_deg(exact, outcome.calibration)
    # pose and hinge are weighed, 10 degrees against 5: a fifth of the error stays
    assert errors.pop(names[0]) < 4.0
    assert max(errors.values()) < 1.0


def test_bones_correct_a_limb_that_points_elsewhere(exact):
    outcome = _posed(exact, (LEFT_ARM, (-10.0, 0.0, 0.0)))
    errors = _errors_deg(exact, outcome.calibration)
    assert outcome.evaluation.usable
    assert max(errors['left_upper_arm'], errors['left_forearm']) < 3.0
    # of a hand only the pose tells
    assert errors['left_hand'] == pytest.approx(10.0, abs=0.5)


def test_ordinary_pose_is_good_enough():
    take = make_recording(0, REAL, COARSE_HZ, pose_deg=3.0)
    outcome = take.calibrate()
    assert outcome.evaluation.usable, outcome.evaluation.findings
    errors = _errors_deg(take, outcome.calibration)
    upper = [error for name, error in errors.items() if name[-5:] in ('r_arm', 'thigh')]
    # the pose alone would leave 3 degrees about each axis, 5.2 in all
    assert np.sqrt(np.mean(np.square(upper))) < 2.0


@pytest.mark.parametrize('name', ['head15', 'choi_ko13', 'enhance11'])
def test_layouts_with_a_head_are_calibrated_by_the_built_in_range_of_motion(name):
    layout = load_layout(named_files.layout_file(name))
    evaluation = make_recording(3, REAL, COARSE_HZ, layout=layout).calibrate().evaluation
    assert evaluation.usable, evaluation.findings


def test_every_refusal_names_the_joint_and_what_to_do():
    take = make_recording(
        4, REAL, COARSE_HZ, layout=load_layout(named_files.layout_file('head15'))
    )
    rotations = take.motion.rotations.copy()
    turns = quaternions.log(rotations[:, SEGMENT_INDEX['head']])
    turns[:, [0, 2]] = 0.0  # nods only
    rotations[:, SEGMENT_INDEX['head']] = quaternions.exp(turns)
    motion = Motion.from_rotations(
        take.skeleton, take.motion.rate_hz, take.motion.root_positions, rotations
    )
    evaluation = take.calibrate(measure(motion, take.layout, take.mounting, REAL, 99)).evaluation
    assert not evaluation.usable
    assert [finding.names for finding in evaluation.findings] == [('head',)]
    assert 'turn the head' in evaluation.findings[0].text


def test_unsure_centre_is_a_complaint_however_far_the_joint_moved():
    joint, moved = Joint(SEGMENT_INDEX['left_thigh'], 0, 1), (90.0, 60.0, 40.0)
    assert range_complaint(joint, moved, 0.01) == ''
    assert 'unsure by 20 mm' in range_complaint(joint, moved, 0.02)


@pytest.mark.parametrize('factor', [2.54, 1.0 / 2.54])
def test_wrong_unit_is_named(exact, factor):
    recording = exact.recording
    outcome = exact.calibrate(replace(recording, positions=recording.positions * factor))
    assert [finding.kind for finding in outcome.evaluation.findings] == [UNIT]
    assert outcome.calibration is None and not outcome.evaluation.usable
    assert 'metres' in outcome.evaluation.findings[0].text


def test_wrong_unit_in_which_nobody_stands_still_is_reported():
    recording = make_recording(11, REAL, COARSE_HZ).recording
    recording = replace(recording, positions=recording.positions * 1e3)
    with pytest.raises(CalibrationError, match='would be about 1.* m tall.* in metres'):
        split_recording(recording, LAYOUT, ADULT, LIMITS)


def test_sensors_that_were_hardly_measured_are_named(exact):
    usable = exact.recording.usable.copy()
    usable[100:, LAYOUT.sensors.index('left_shank')] = False
    with pytest.raises(CalibrationError, match='got .* with left_thigh and left_shank'):
        exact.calibrate(replace(exact.recording, usable=usable))


def test_upside_down_is_reported_where_all_sides_are_exchanged(exact):
    recording, mirror = exact.recording, np.array([1.0, -1.0, 1.0])
    positions = recording.positions * mirror
    rotations = recording.rotations * [1.0, -1.0, 1.0, -1.0]
    outcome = exact.calibrate(replace(recording, positions=positions, rotations=rotations))
    findings = outcome.evaluation.of_kind(SWAPPED)
    assert len(findings) == len(LAYOUT.pairs)
    assert all('upside down or mirrored' in finding.text for finding in findings)
