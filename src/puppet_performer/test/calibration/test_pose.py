# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""T-poses: recorded, fitted and calibrated by; exact without noise, refused where not sure."""

import numpy as np
from puppet_core.io import CalibrationError
from puppet_core.math import quaternions
from puppet_core.math.quaternions import rotate
from puppet_core.sensor_frames import FILTER_LOST
from puppet_performer.calibration.pose import (
    CalibrationLimits,
    fit_t_pose,
    require_t_pose,
    rezero_sensor,
    robust_mean,
    robust_mean_rotation,
)
import pytest
from scipy.spatial.transform import Rotation
from virtual_performer import make_virtual, rotation_errors

EXACT_TOL = 1e-9  # the truth is recovered
NOISE = (0.002, np.radians(0.5))  # a good tracker, after the filter


def test_mountings_of_a_random_performer_are_recovered(virtual):
    calibration = virtual.calibrate()
    assert np.max(rotation_errors(calibration.rotations, virtual.mount_q)) < EXACT_TOL
    np.testing.assert_allclose(calibration.positions, virtual.mount_p, atol=EXACT_TOL)
    assert abs(np.angle(np.exp(1j * (calibration.heading - virtual.yaw)))) < EXACT_TOL


def _flip(frame, rng):
    signs = rng.choice([-1.0, 1.0], size=(len(frame.sensors), 1))
    return frame._replace(quaternions=frame.quaternions * signs)


def _spoil(frame, rng):
    if rng.random() < 0.05:
        frame.positions[3] += 2.0
        frame.quaternions[3] = [0.0, 1.0, 0.0, 0.0]
    return frame


def _blink(frame, rng):
    if frame.frame_index % 3 == 0:
        frame.status[5] = FILTER_LOST
        frame.positions[5] = np.nan
    return frame


@pytest.mark.parametrize('change', [_flip, _spoil, _blink])
def test_signs_outliers_and_short_drop_outs_change_nothing(virtual, rng, change):
    calibration = virtual.calibrate(change=lambda frame: change(frame, rng), duration_s=1.0)
    assert np.max(rotation_errors(calibration.rotations, virtual.mount_q)) < EXACT_TOL
    np.testing.assert_allclose(calibration.positions, virtual.mount_p, atol=EXACT_TOL)


def test_noise_is_averaged_out(virtual, rng):
    """A second at 120 Hz divides the noise by about eleven; the fit shares the rest out."""
    calibration = virtual.calibrate(NOISE, rng, duration_s=1.0)
    assert np.max(rotation_errors(calibration.rotations, virtual.mount_q)) < np.radians(0.3)
    assert np.max(np.abs(calibration.positions - virtual.mount_p)) < 0.002
    assert calibration.residual_m == pytest.approx(np.sqrt(3.0) * 0.002, rel=0.2)
    assert calibration.residual_deg == pytest.approx(np.sqrt(3.0) * 0.5, rel=0.2)


def test_moving_or_turning_sensor_is_refused_by_name_and_amount(virtual):
    row = virtual.layout.sensors.index('right_hand')

    def drift(frame):
        frame.positions[row] += [0.0, 0.0, 0.004 * frame.frame_index]
        return frame

    def turn(frame):
        half = np.radians(0.4 * frame.frame_index)
        frame.quaternions[0] = [np.cos(half), 0.0, 0.0, np.sin(half)]
        return frame

    with pytest.raises(CalibrationError, match=r'right_hand: expected .* 0\.02 m .* got 0\.0'):
        virtual.calibrate(change=drift)
    with pytest.raises(CalibrationError, match=r'pelvis: .* 3 deg, got .* \d+\.\d deg'):
        virtual.calibrate(change=turn)


def test_limits_are_configurable(virtual, rng):
    with pytest.raises(CalibrationError, match='within 0.001 m'):
        virtual.calibrate(NOISE, rng, limits=CalibrationLimits(max_movement_m=0.001))


@pytest.mark.parametrize('how', ['lost', 'nan', 'absent'])
def test_missing_sensor_is_named(virtual, how):
    row = virtual.layout.sensors.index('left_shank')

    def lose(frame):
        if how == 'lost':
            frame.status[row] = FILTER_LOST
        elif how == 'nan':
            frame.positions[row, 1] = np.nan
        else:
            names = tuple('other' if n == 'left_shank' else n for n in frame.sensors)
            return frame._replace(sensors=names)
        return frame

    with pytest.raises(CalibrationError, match=r'got left_shank \(0%\)'):
        virtual.calibrate(change=lose)


FLOOR_M = 1e-3


def test_third_of_wild_samples_leaves_the_mean_exact(rng):
    points = np.tile([1.0, 2.0, 3.0], (90, 1))
    points[::3] += rng.normal(size=(30, 3)) * 10.0
    np.testing.assert_allclose(robust_mean(points, FLOOR_M), [1.0, 2.0, 3.0], atol=1e-12)


def test_rotation_mean_agrees_with_scipy(rng):
    """Independent computation: scipy's mean is the chordal one, equal to second order."""
    centre = quaternions.normalize(rng.normal(size=4))
    turns = quaternions.exp(rng.normal(size=(300, 3)) * 0.01)
    samples = quaternions.multiply(centre, turns)
    mean = robust_mean_rotation(samples, 1.0)
    expected = Rotation.from_quat(samples[:, [1, 2, 3, 0]]).mean().as_quat()[[3, 0, 1, 2]]
    assert abs(abs(mean @ expected) - 1.0) < 1e-8


STRAY_M = 0.04
FRAMES_IN_A_FIFTH = 25  # 0.2 s at 120 Hz, both ends


def test_window_is_full_after_its_duration(virtual):
    recorder = virtual.recorder(0.2, STRAY_M)
    full = [
        virtual.add(recorder, virtual.frame(*virtual.t_pose()))
        for _ in range(FRAMES_IN_A_FIFTH + 1)
    ]
    assert full.index(True) in (FRAMES_IN_A_FIFTH - 1, FRAMES_IN_A_FIFTH)


@pytest.mark.parametrize(('stray_m', 'way_m', 'kept'), [(STRAY_M, 0.01, 5), (np.inf, 0.1, 20)])
def test_movement_restarts_a_waiting_window_but_not_one_on_request(virtual, stray_m, way_m, kept):
    recorder = virtual.recorder(0.2, stray_m)
    root, rotations = virtual.t_pose()
    for step in range(20):
        assert not virtual.add(recorder, virtual.frame(root + [way_m * step, 0.0, 0.0], rotations))
    assert kept - 4 <= recorder.n_frames <= kept


def test_one_straying_sensor_does_not_restart(virtual):
    recorder = virtual.recorder(0.2, STRAY_M)
    for _ in range(10):
        frame = virtual.frame(*virtual.t_pose())
        frame.positions[4] += 1.0 * (frame.frame_index % 4 == 0)
        virtual.add(recorder, frame)
    assert recorder.n_frames == 10


@pytest.mark.parametrize('step_ns', [0, -1_000_000_000], ids=['repeated', 'back'])
def test_stamps_that_do_not_advance_restart(virtual, step_ns):
    recorder = virtual.recorder(0.2)
    frame = virtual.frame(*virtual.t_pose())
    virtual.add(recorder, frame)
    virtual.add(recorder, frame._replace(stamp_ns=frame.stamp_ns + step_ns))
    assert recorder.n_frames == 1


LIMITS, LIMIT_M = CalibrationLimits(), 0.2


def _sensors(virtual):
    q, p, _ = virtual.truth(*virtual.t_pose())
    segments = virtual.layout.segments
    return p[segments] + rotate(q[segments], virtual.mount_p)


@pytest.mark.parametrize('yaw', [0.0, 3.14, -1.9])
def test_any_heading_is_found(yaw):
    virtual = make_virtual(yaw)
    pose = fit_t_pose(virtual.layout, virtual.character.skeleton, _sensors(virtual))
    assert abs(np.angle(np.exp(1j * (pose.heading - yaw)))) < EXACT_TOL
    np.testing.assert_allclose(pose.pelvis, virtual.place, atol=EXACT_TOL)


def test_one_pair_mounted_askew_moves_nothing():
    virtual = make_virtual(0.4)
    virtual.mount_p[virtual.layout.sensors.index('left_thigh')] += [0.2, 0.0, 0.0]
    pose = fit_t_pose(virtual.layout, virtual.character.skeleton, _sensors(virtual))
    assert abs(pose.heading - 0.4) < EXACT_TOL


@pytest.mark.parametrize('seed', range(3))
def test_unequal_mountings_cost_little(seed):
    """2 cm RMS on every axis of every sensor: 2.5 degrees and 3 cm at most."""
    virtual = make_virtual(-2.0, asymmetry_m=0.02, seed=seed)
    pose = fit_t_pose(virtual.layout, virtual.character.skeleton, _sensors(virtual))
    assert abs(pose.heading + 2.0) < np.radians(2.5)
    assert np.linalg.norm(pose.pelvis - virtual.place) < 0.03


def test_exchanged_hands_are_named():
    virtual = make_virtual(1.0)
    positions = _sensors(virtual)
    i, j = (virtual.layout.sensors.index(f'{side}_hand') for side in ('left', 'right'))
    positions[[i, j]] = positions[[j, i]]
    with pytest.raises(CalibrationError, match='left_hand and right_hand.*exchanged'):
        fit_t_pose(virtual.layout, virtual.character.skeleton, positions)


def _refused(virtual, positions):
    skeleton = virtual.character.skeleton
    pose = fit_t_pose(virtual.layout, skeleton, positions)
    with pytest.raises(CalibrationError) as refusal:
        require_t_pose(virtual.layout, skeleton, pose, positions, LIMIT_M)
    return str(refusal.value)


def _moved(virtual, name, inward, up):
    positions = _sensors(virtual)
    for side in ('left', 'right'):
        sensor = virtual.layout.sensors.index(f'{side}_{name}')
        towards = virtual.place[:2] - positions[sensor, :2]
        positions[sensor, :2] += inward * towards / np.linalg.norm(towards)
        positions[sensor, 2] += up
    return positions


@pytest.mark.parametrize(
    ('inward', 'up', 'texts'),
    [
        (0.25, 0.0, ['arm span between left_hand and right_hand: expected 1.65 m', 'got 1.1']),
        (0.0, -0.4, ['height of ', '_hand', 'expected 1.4']),
    ],
    ids=['bent arms', 'lowered hands'],
)
def test_hands_elsewhere_are_what_does_not_fit(inward, up, texts):
    virtual = make_virtual(0.3)
    refusal = _refused(virtual, _moved(virtual, 'hand', inward, up))
    assert all(text in refusal for text in texts)


def test_sensor_beside_its_segment_is_named():
    virtual = make_virtual(0.3)
    positions = _sensors(virtual)
    positions[virtual.layout.sensors.index('chest'), :2] += 0.4
    assert 'place of chest' in _refused(virtual, positions)


def _recording(virtual, bend=lambda rotations: rotations):
    root, rotations = virtual.t_pose()
    recorder = virtual.recorder()
    while not virtual.add(recorder, virtual.frame(root, bend(rotations))):
        pass
    return recorder.poses()


def _move(virtual, row, rng):
    virtual.mount_q[row] = quaternions.normalize(rng.normal(size=4))
    virtual.mount_p[row] = virtual.mount_p[row] + rng.normal(size=3) * 0.03


def _rezero(virtual, calibration, recording, sensor):
    body = virtual.character.skeleton
    return rezero_sensor(calibration, recording, virtual.layout, sensor, body, LIMITS, 'later')


@pytest.mark.parametrize('sensor', ['pelvis', 'chest', 'left_forearm', 'right_foot'])
def test_moved_sensor_is_found_and_the_others_stay(virtual, rng, sensor):
    before = virtual.calibrate()
    row = virtual.layout.sensors.index(sensor)
    _move(virtual, row, rng)
    virtual.place = virtual.place + [0.5, -0.7, 0.0]
    after = _rezero(virtual, before, _recording(virtual), sensor)
    assert np.max(rotation_errors(after.rotations, virtual.mount_q)) < EXACT_TOL
    np.testing.assert_allclose(after.positions, virtual.mount_p, atol=EXACT_TOL)
    others = np.arange(len(before.sensors)) != row
    # quaternions are normalised once more
    np.testing.assert_allclose(after.rotations[others], before.rotations[others], atol=1e-15)
    np.testing.assert_array_equal(after.positions[others], before.positions[others])
    assert after.date == 'later'


def test_two_bad_sensors_are_not_blamed_on_one(virtual, rng):
    before = virtual.calibrate()
    _move(virtual, virtual.layout.sensors.index('left_hand'), rng)
    _move(virtual, virtual.layout.sensors.index('chest'), rng)
    with pytest.raises(CalibrationError, match='T-pose: chest: expected within 20 deg'):
        _rezero(virtual, before, _recording(virtual), 'left_hand')


def test_another_pose_is_refused(virtual):
    before = virtual.calibrate()

    def lower_an_arm(rotations):
        rotations = rotations.copy()
        rotations[7] = quaternions.exp(np.array([1.2, 0.0, 0.0]))
        return rotations

    with pytest.raises(CalibrationError, match='stand in the T-pose'):
        _rezero(virtual, before, _recording(virtual, lower_an_arm), 'left_hand')


def test_sensor_on_another_segment_is_refused(virtual):
    before = virtual.calibrate()
    row = virtual.layout.sensors.index('left_hand')
    virtual.mount_p[row] = virtual.mount_p[row] + [0.0, -0.4, 0.0]
    with pytest.raises(CalibrationError, match='is it on the right segment'):
        _rezero(virtual, before, _recording(virtual), 'left_hand')


def test_unknown_sensor_is_refused_with_those_there_are(virtual):
    with pytest.raises(CalibrationError, match="expected one of pelvis, .* got 'tail'"):
        _rezero(virtual, virtual.calibrate(), _recording(virtual), 'tail')
