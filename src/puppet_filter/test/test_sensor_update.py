# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_update by way of PoseFilter: every fate of a sample, gaps, and the look-ahead."""

from dataclasses import replace

from benchmarks.filter.synthetic_motion import disturb, Disturbance, make_motion
from filter_samples import CONFIG, IDENTITY, make_frame, MODELS, RATE_HZ, run_filter, STEP_S, still
import numpy as np
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
)
from puppet_filter.pose_filter import PoseFilter
import pytest

ORDER = np.r_[0:3, 6:9, 3:6, 9:12]  # the thesis' p, p', r, r' from ours p, r, p', r'


@MODELS
def test_missing_samples_are_predicted_with_growing_uncertainty(model):
    positions, quaternions = still(60)
    positions[:, 0, 0] = np.arange(60) / RATE_HZ  # 1 m/s
    truth = positions.copy()
    positions[40:48] = np.nan
    run = run_filter(PoseFilter(replace(CONFIG, process_model=model)), positions, quaternions)
    assert (run.status[40:48] == FILTER_PREDICTED).all() and (run.status[48:] == FILTER_OK).all()
    assert (np.diff(run.covariances[39:48, 0, 0, 0]) > 0.0).all()
    np.testing.assert_allclose(run.positions[40:43], truth[40:43], atol=1e-4)
    np.testing.assert_allclose(run.positions[48:], truth[48:], atol=2e-3)


def test_long_gap_coasts_a_bounded_way_then_loses_the_sensor():
    positions, quaternions = still(120)
    positions[:, 0, 0] = 3.0 * np.arange(120) / RATE_HZ
    positions[30:110] = np.nan
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    bound = 3.0 * CONFIG.gap_hold_s + CONFIG.gap_reach_m
    predicted = run.status[:, 0] == FILTER_PREDICTED
    assert np.nanmax(run.positions[predicted, 0, 0] - run.positions[29, 0, 0]) < bound
    assert predicted.sum() == int(CONFIG.gap_lost_after_s * RATE_HZ)
    lost = run.status[:, 0] == FILTER_LOST
    assert np.isnan(run.positions[lost]).all() and np.isnan(run.covariances[lost]).all()
    assert run.status[110, 0] == FILTER_REINITIALISED and run.status[111, 0] == FILTER_OK
    assert run.positions[110, 0, 0] == positions[110, 0, 0]


@MODELS
def test_outlier_is_rejected_and_leaves_no_trace(model):
    positions, quaternions = still(60)
    positions[40, 0] = [0.3, 0.0, 0.0]
    quaternions[50, 0] = quaternion_batch.exp(np.array([0.5, 0.0, 0.0]))
    run = run_filter(PoseFilter(replace(CONFIG, process_model=model)), positions, quaternions)
    assert run.status[40, 0] == FILTER_REJECTED and run.status[50, 0] == FILTER_REJECTED
    assert (run.status[41:50] == FILTER_OK).all()
    np.testing.assert_allclose(run.positions, 0.0, atol=1e-9)
    np.testing.assert_allclose(run.angular, 0.0, atol=1e-9)


def test_scattered_outliers_never_reinitialise(rng):
    positions, quaternions = still(60)
    positions[40:46, 0] = rng.choice([-1.0, 1.0], (6, 3)) * rng.uniform(0.3, 1.0, (6, 3))
    positions[41, 0] *= -1.0
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    assert (run.status[40:46] == FILTER_REJECTED).all()
    assert (run.status[46:] == FILTER_OK).all()


@pytest.mark.parametrize('count', [1, 2, 3])
@MODELS
def test_true_jump_is_taken_after_some_samples_agree(model, count):
    positions, quaternions = still(60)
    positions[40:, 0] = [0.5, 0.0, 0.0]
    quaternions[40:, 0] = quaternion_batch.exp(np.array([0.0, 0.6, 0.0]))
    pose_filter = PoseFilter(replace(CONFIG, process_model=model, gate_jump_count=count))
    run = run_filter(pose_filter, positions, quaternions)
    assert (run.status[40 : 40 + count - 1] == FILTER_REJECTED).all()
    assert run.status[40 + count - 1, 0] == FILTER_REINITIALISED
    assert (run.status[40 + count :] == FILTER_OK).all()
    np.testing.assert_allclose(
        run.positions[40 + count - 1 :, 0], positions[40 : 61 - count, 0], atol=1e-9
    )
    turned = quaternion_batch.multiply(
        quaternion_batch.conjugate(run.quaternions[40 + count - 1 :, 0]), quaternions[59, 0]
    )
    np.testing.assert_allclose(quaternion_batch.log(turned), 0.0, atol=1e-9)
    assert pose_filter.counts()['rejected'] == count


def test_jump_is_taken_in_motion_and_tells_the_new_velocity(rng):
    """As when a recording starts over: place and velocity are others at once."""
    n, k = 1000, 40
    positions, quaternions = still(60, n)
    times = np.arange(60)[:, None, None] / RATE_HZ
    before, after = rng.uniform(-2.0, 2.0, (2, 1, n, 3))
    positions[:] = times * before
    offset = rng.uniform(0.2, 1.0, (n, 3))
    positions[k:] = offset + (times[k:] - times[k]) * after
    truth = positions.copy()
    positions += rng.normal(size=positions.shape) * CONFIG.noise_position_mm * 1e-3
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    # some come to be near where they were going anyway
    assert np.mean(run.status[k] == FILTER_REJECTED) > 0.99
    assert np.mean(run.status[k + 1] == FILTER_REINITIALISED) > 0.99
    seen = (run.status[k] == FILTER_REJECTED) & (run.status[k + 1] == FILTER_REINITIALISED)
    error = (run.linear[k + 1] - after[0])[seen]
    # two samples a step apart, and what the initial velocity's variance takes off
    expected = np.sqrt(2.0) * CONFIG.noise_position_mm * 1e-3 * RATE_HZ
    assert np.sqrt(np.mean(error**2)) < 1.1 * expected
    place = (run.positions[k + 1] - truth[k + 1])[seen]
    squares = np.einsum(
        'ni,nij,nj->n', place, np.linalg.inv(run.covariances[k + 1, seen][:, :3, :3]), place
    )
    assert squares.mean() == pytest.approx(3.0, rel=0.05)


def test_small_outliers_do_not_confirm_each_other(rng):
    """All of them are within any motion's reach of each other, so direction must tell."""
    n = 2000
    positions, quaternions = still(60, n)
    garbage = rng.normal(size=(2, n, 3))
    positions[40:42] = 0.05 * garbage / np.linalg.norm(garbage, axis=-1, keepdims=True)
    pose_filter = PoseFilter(replace(CONFIG, process_model='physical'))
    run = run_filter(pose_filter, positions, quaternions)
    assert (run.status[40] == FILTER_REJECTED).all()
    # 1/16 of all directions are within half a radius of a given one
    assert np.mean(run.status[41] == FILTER_REINITIALISED) == pytest.approx(1 / 16, abs=0.02)


def test_outlier_that_is_sent_again_does_not_confirm_itself():
    pose_filter = PoseFilter(CONFIG)
    for k in range(10):
        pose_filter.step(make_frame(k, np.zeros((1, 3))))
    far = np.array([[0.5, 0.0, 0.0]])
    assert pose_filter.step(make_frame(10, far)).status[0] == FILTER_REJECTED
    for k in range(1, 6):
        again = make_frame(10 + k, far, ages_s=[k * 8_333_333e-9])
        assert pose_filter.step(again).status[0] == FILTER_PREDICTED
    assert pose_filter.counts()['repeated'] == 5
    assert pose_filter.step(make_frame(16, np.zeros((1, 3)))).status[0] == FILTER_OK


def test_outliers_either_side_of_a_gap_do_not_agree_at_any_distance():
    positions, quaternions = still(60)
    positions[40, 0], positions[52, 0] = [2.6, 0.0, 0.0], [2.0, 0.0, 0.0]
    positions[41:52] = np.nan
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    assert run.status[40, 0] == FILTER_REJECTED and run.status[52, 0] == FILTER_REJECTED
    assert (run.status[53:] == FILTER_OK).all()
    np.testing.assert_allclose(run.positions, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ('position', 'quaternion', 'age'),
    [
        ([np.inf, 0, 0], IDENTITY, 0.0),
        ([0, np.nan, 0], IDENTITY, 0.0),
        ([0, 0, 0], np.zeros(4), 0.0),
        ([0, 0, 0], [np.nan, 0, 0, 0], 0.0),
        ([0, 0, 0], 2.0 * IDENTITY, 0.0),
        ([0, 0, 0], IDENTITY, -0.001),
        ([0, 0, 0], IDENTITY, np.nan),
    ],
    ids=['inf', 'nan', 'zero_q', 'nan_q', 'long_q', 'future', 'nan_age'],
)
def test_impossible_sample_is_counted_and_never_propagated(position, quaternion, age):
    pose_filter = PoseFilter(CONFIG)
    for k in range(10):
        pose_filter.step(make_frame(k, np.zeros((1, 3))))
    bad = make_frame(10, [[0.0, 0.0, 0.0]], [quaternion], ages_s=[age])
    out = pose_filter.step(bad._replace(positions=np.array([position], dtype=float)))
    assert out.status[0] == FILTER_PREDICTED and pose_filter.counts()['invalid'] == 1
    assert np.isfinite(out.positions).all() and np.isfinite(out.quaternions).all()
    assert pose_filter.step(make_frame(11, np.zeros((1, 3)))).status[0] == FILTER_OK


@pytest.mark.parametrize(('back_ns', 'name'), [(0, 'repeated_frames'), (1, 'backward_frames')])
def test_repeated_or_backward_stamp_is_dropped_and_counted(back_ns, name):
    pose_filter = PoseFilter(CONFIG)
    frame = make_frame(0, np.zeros((1, 3)))
    pose_filter.step(frame)
    assert pose_filter.step(frame._replace(stamp_ns=frame.stamp_ns - back_ns)) is None
    assert pose_filter.counts()[name] == 1
    assert pose_filter.step(make_frame(1, np.zeros((1, 3)))) is not None


def test_clock_set_far_back_starts_anew():
    pose_filter = PoseFilter(CONFIG)
    pose_filter.step(make_frame(1000, np.zeros((1, 3))))
    out = pose_filter.step(make_frame(0, np.ones((1, 3))))
    assert out.status[0] == FILTER_REINITIALISED and out.positions[0, 0] == 1.0


def test_clock_set_back_a_little_starts_anew_soon():
    """One or two frames that come late are dropped; more of them in order are not late."""
    pose_filter = PoseFilter(CONFIG)
    for k in range(60):
        pose_filter.step(make_frame(k, np.zeros((1, 3))))
    for k in (58, 57, 56, 55):
        assert pose_filter.step(make_frame(k, np.zeros((1, 3)))) is None
    assert pose_filter.step(make_frame(60, np.zeros((1, 3)))).status[0] == FILTER_OK
    for k in (10, 11):
        assert pose_filter.step(make_frame(k, np.ones((1, 3)))) is None
    out = pose_filter.step(make_frame(12, np.ones((1, 3))))
    assert out.status[0] == FILTER_REINITIALISED and out.positions[0, 0] == 1.0
    assert pose_filter.step(make_frame(13, np.ones((1, 3)))).status[0] == FILTER_OK


def named(frame, *sensors):
    return frame._replace(sensors=sensors)


def test_sensors_come_and_go_without_touching_the_others():
    places = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    pose_filter, twin = PoseFilter(CONFIG), PoseFilter(CONFIG)
    for k in range(10):
        moving = make_frame(k, places + 0.01 * k)
        pose_filter.step(named(moving, 'a', 'b'))
        twin.step(named(moving, 'a', 'b'))
    expected = twin.step(named(make_frame(10, places + 0.1), 'a', 'b'))
    swapped = np.array([[1.1, 0.1, 0.1], [5.0, 5.0, 5.0], [0.1, 0.1, 0.1]])
    out = pose_filter.step(named(make_frame(10, swapped), 'b', 'c', 'a'))
    assert out.sensors == ('b', 'c', 'a')
    assert out.status.tolist() == [FILTER_OK, FILTER_REINITIALISED, FILTER_OK]
    np.testing.assert_array_equal(out.positions[[2, 0]], expected.positions)
    np.testing.assert_array_equal(out.linear_velocities[[2, 0]], expected.linear_velocities)
    assert pose_filter.step(named(make_frame(10, swapped), 'a', 'b', 'c')) is None
    out = pose_filter.step(named(make_frame(11, [[5.0, 5.0, 5.0]]), 'c'))
    assert out.status.tolist() == [FILTER_OK]
    # nobody remains: another source, whose clock may be another too
    out = pose_filter.step(named(make_frame(3, [[5.0, 5.0, 5.0]]), 'd'))
    assert out.status.tolist() == [FILTER_REINITIALISED]


def test_sensors_of_one_name_are_two():
    pose_filter = PoseFilter(CONFIG)
    frames = [named(make_frame(k, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), 'a', 'a') for k in (0, 1)]
    pose_filter.step(frames[0])
    out = pose_filter.step(frames[1])
    np.testing.assert_allclose(out.positions[:, 0], [0.0, 1.0], atol=1e-9)


def test_sensor_that_never_answers_is_lost_from_the_start():
    out = PoseFilter(CONFIG).step(make_frame(0, np.array([[0.0, 0, 0], [np.nan] * 3])))
    assert out.status.tolist() == [FILTER_REINITIALISED, FILTER_LOST]
    assert np.isnan(out.positions[1]).all() and np.isnan(out.linear_velocities[1]).all()


def test_no_sensors_at_all_is_an_empty_frame():
    assert PoseFilter(CONFIG).step(make_frame(0, np.zeros((0, 3)))).positions.shape == (0, 3)


def test_gap_is_not_bridged_faster_than_a_body_moves():
    """Two samples far from each other, both damaged, are a velocity that nobody has."""
    positions, quaternions = still(40)
    positions[1] = [0.14, 0.0, 0.0]  # 17 m/s
    positions[2:] = np.nan
    # a new state believes in 6 x 3 m/s, less than the fastest body, so the limit is set lower
    limit_m_s = 10.0
    config = replace(CONFIG, gate_jump_speed_m_s=limit_m_s)
    run = run_filter(PoseFilter(config), positions, quaternions)
    assert run.status[1, 0] == FILTER_OK and (run.status[2:] == FILTER_PREDICTED).all()
    ways = np.diff(run.positions[1:, 0, 0])
    assert 0.9 * limit_m_s / RATE_HZ < ways[0]
    assert ways.max() <= limit_m_s / RATE_HZ
    assert run.linear[2:].max() <= limit_m_s


@pytest.mark.parametrize('n_missing', [0, 3])
@pytest.mark.parametrize('speed_m_s', [8.0, 19.0])
def test_gap_in_the_fastest_motion_of_a_body_is_bridged_and_nothing_rejected(speed_m_s, n_missing):
    times = np.arange(360) / RATE_HZ
    speeds = speed_m_s * np.sin(np.pi * np.clip((times - 1.0) / 0.4, 0.0, 1.0)) ** 2
    positions, quaternions = still(len(times))
    positions[:, 0, 0] = np.cumsum(speeds) / RATE_HZ
    truth = positions.copy()
    positions[144 : 144 + n_missing] = np.nan  # where it is fastest
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    assert not (run.status == FILTER_REJECTED).any()
    assert (run.status[1:] != FILTER_REINITIALISED).all()
    assert np.abs(run.positions - truth).max() < 0.02


def test_end_of_a_gap_says_so_where_the_pose_does_not_continue():
    positions, quaternions = still(100, 3)
    positions[40:60] = np.nan
    positions[60:, 1, 0] = 0.05  # moved unseen
    quaternions[60:, 2] = quaternion_batch.exp(np.array([0.0, 0.0, 0.3]))
    pose_filter = PoseFilter(CONFIG)
    run = run_filter(pose_filter, positions, quaternions)
    assert pose_filter.counts()['leapt'] == 2 and pose_filter.counts()['reinitialised'] == 3
    assert run.status[60].tolist() == [FILTER_OK, FILTER_REINITIALISED, FILTER_REINITIALISED]
    assert (run.status[61:] == FILTER_OK).all()
    assert run.positions[60, 1, 0] == pytest.approx(0.05, abs=1e-3)


@pytest.mark.parametrize('rate_hz', [20.0, 120.0])
def test_gap_without_frames_is_one_too_and_a_slow_device_has_none(rate_hz):
    pose_filter, step_ns = PoseFilter(CONFIG), int(1e9 / rate_hz)
    seen = []
    for k in [*range(20), 26, 27]:
        # 10 m/s^2, and elsewhere after the gap
        place = 5.0 * (k / rate_hz) ** 2 + (0.3 if k > 20 else 0.0)
        frame = make_frame(k, [[place, 0.0, 0.0]], stamp_ns=(k + 1) * step_ns)
        seen.append(pose_filter.step(frame).status[0])
    assert (np.array(seen[1:20]) == FILTER_OK).all()
    assert seen[20] == FILTER_REINITIALISED and seen[21] == FILTER_OK


def predicted(state, ahead_s, q):
    """Return position, quaternion and pose covariance by eqs. 3.3 to 3.5 in plain matrices."""
    one, zero = np.eye(3), np.zeros((3, 3))
    block = np.block([[one, ahead_s * one], [zero, one]])
    a = np.block([[block, np.zeros((6, 6))], [np.zeros((6, 6)), block]])
    white = np.array([[ahead_s**3 / 3.0, ahead_s**2 / 2.0], [ahead_s**2 / 2.0, ahead_s]])
    noise = np.kron(np.diag(q), np.kron(white, one))
    p = a @ state['covariance'][np.ix_(ORDER, ORDER)] @ a.T + noise
    position = state['position'] + ahead_s * state['velocity'][:3]
    turn = quaternion_batch.exp(ahead_s * state['velocity'][3:])
    quaternion = quaternion_batch.multiply(state['orientation'], turn)
    pose = np.r_[0:3, 6:9]
    axes = np.eye(6)
    axes[3:, 3:] = quaternion_batch.to_matrix(quaternion)
    return position, quaternion, axes @ p[np.ix_(pose, pose)] @ axes.T


@pytest.mark.parametrize('model', ['physical', 'adaptive'])
@pytest.mark.parametrize('ahead_s', [0.0, 0.02, 0.2])
def test_output_is_the_analytic_prediction(model, ahead_s, rng):
    fixed = CONFIG.process_linear_m2_s3, CONFIG.process_angular_rad2_s3
    motion = make_motion('fast', 3, 1.0, RATE_HZ, rng)
    positions, quaternions = disturb(motion, Disturbance(), rng)
    pose_filter = PoseFilter(replace(CONFIG, process_model=model, lookahead_s=ahead_s))
    for k in range(len(positions)):
        frame = make_frame(k, positions[k], quaternions[k])
        out = pose_filter.step(frame)
        assert out is not None and out.stamp_ns == frame.stamp_ns
        for i in np.flatnonzero(out.status == FILTER_OK):
            state = pose_filter.states[i]
            density = np.array(state['density'] if model == 'adaptive' else fixed)
            position, quaternion, covariance = predicted(state, ahead_s, density)
            np.testing.assert_allclose(out.positions[i], position, atol=1e-12)
            assert abs(out.quaternions[i] @ quaternion) == pytest.approx(1.0, abs=1e-12)
            np.testing.assert_allclose(out.covariances[i], covariance, rtol=1e-9, atol=1e-15)


def test_known_latency_is_made_up_for(rng):
    """Looking two frames ahead is nearer to the truth two frames later than not looking."""
    motion = make_motion('walk', 4, 8.0, RATE_HZ, rng)
    samples = disturb(motion, Disturbance(), rng)
    errors = []
    for ahead_s in (0.0, 2.0 * STEP_S):
        run = run_filter(PoseFilter(replace(CONFIG, lookahead_s=ahead_s)), *samples)
        errors.append(np.sqrt(np.mean((run.positions[60:-2] - motion.positions[62:]) ** 2)))
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize('ahead_s', [0.0, 0.05, 0.2])
def test_output_does_not_jump_when_samples_stop(ahead_s):
    """What is predicted anyhow is predicted the same, whether or not a sample came."""
    pose_filter = PoseFilter(replace(CONFIG, lookahead_s=ahead_s))
    speed = np.array([2.0, 0.0, 0.0])
    path = []
    for k in range(100):
        position = k * STEP_S * speed[None] if k < 60 else np.full((1, 3), np.nan)
        out = pose_filter.step(make_frame(k, position))
        path.append(out.positions[0].copy())
    assert out.status[0] == FILTER_PREDICTED
    steps = np.diff(path, axis=0)[30:] / STEP_S
    assert np.abs(steps[:, 0]).max() < 2.01  # no faster than the sensor was
    assert np.abs(np.diff(steps[:, 0])).max() < 0.5  # and slowed down, not stopped
