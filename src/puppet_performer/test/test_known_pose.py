# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Functional calibration by poses that are no T-pose, or not quite, and in a wrong unit."""

from dataclasses import replace

from motion_samples import ADULT, CONFIG, EXACT, LAYOUT, make_recording, REAL
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import N_SEGMENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.io import CalibrationError
from puppet_core.math import quaternions
from puppet_performer.calibration.calibration import POSE, SWAPPED, UNIT
from puppet_performer.calibration.checks import range_complaint
from puppet_performer.calibration.functional import calibrate_motion, split_recording
from puppet_performer.calibration.recording import Joint
from puppet_performer.sensor_layout import load_layout
from puppet_performer.synthetic_recording import LIMITS, measure, posed_badly, SYNTHETIC_T_POSE_S
import pytest

COARSE_HZ = 30.0
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
    assert calibration is not None
    off = quaternions.log(
        quaternions.multiply(quaternions.conjugate(calibration.rotations), take.mounting.rotations)
    )
    return dict(zip(take.layout.sensors, np.degrees(np.linalg.norm(off, axis=1)).tolist()))


@pytest.mark.parametrize(
    ('turned', 'named'),
    [
        ([(LEFT_ARM, (-70.0, 0.0, 0.0)), (RIGHT_ARM, (70.0, 0.0, 0.0))], UPPER_BONES),
        ([(LEFT_ARM, (0.0, -90.0, 0.0))], {'left_upper_arm'}),
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
    [
        (('left_upper_arm',), (0.0, 15.0, 0.0)),
        (('left_upper_arm',), (0.0, -15.0, 0.0)),
        (('left_thigh',), (0.0, 0.0, 15.0)),
        (('left_thigh',), (0.0, 0.0, -15.0)),
    ],
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
    upper = []
    for seed in range(2):
        take = make_recording(seed, REAL, COARSE_HZ, pose_deg=3.0)
        outcome = take.calibrate()
        assert outcome.evaluation.usable, outcome.evaluation.findings
        errors = _errors_deg(take, outcome.calibration)
        upper += [error for name, error in errors.items() if name[-5:] in ('r_arm', 'thigh')]
    # the pose alone would leave 3 degrees about each axis, 5.2 in all
    assert np.sqrt(np.mean(np.square(upper))) < 2.0


@pytest.mark.parametrize('name', ['head15', 'choi_ko13', 'enhance11'])
def test_layouts_with_a_head_are_calibrated_by_the_built_in_range_of_motion(name):
    layout = load_layout(CONFIG / 'layouts' / f'{name}.yaml')
    evaluation = make_recording(3, REAL, COARSE_HZ, layout=layout).calibrate().evaluation
    assert evaluation.usable, evaluation.findings


def test_every_refusal_names_the_joint_and_what_to_do():
    take = make_recording(
        4, REAL, COARSE_HZ, layout=load_layout(CONFIG / 'layouts' / 'head15.yaml')
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


def test_wrong_unit_in_which_nobody_stands_still_is_told():
    recording = make_recording(11, REAL, COARSE_HZ).recording
    recording = replace(recording, positions=recording.positions * 1e3)
    with pytest.raises(CalibrationError, match='would be about 1.* m tall.* in metres'):
        split_recording(recording, LAYOUT, ADULT, LIMITS)


def test_sensors_that_were_hardly_measured_are_named(exact):
    usable = exact.recording.usable.copy()
    usable[100:, LAYOUT.sensors.index('left_shank')] = False
    with pytest.raises(CalibrationError, match='got .* with left_thigh and left_shank'):
        exact.calibrate(replace(exact.recording, usable=usable))


def test_upside_down_is_told_where_all_sides_are_exchanged(exact):
    recording, mirror = exact.recording, np.array([1.0, -1.0, 1.0])
    positions = recording.positions * mirror
    rotations = recording.rotations * [1.0, -1.0, 1.0, -1.0]
    outcome = exact.calibrate(replace(recording, positions=positions, rotations=rotations))
    findings = outcome.evaluation.of_kind(SWAPPED)
    assert len(findings) == len(LAYOUT.pairs)
    assert all('upside down or mirrored' in finding.text for finding in findings)
