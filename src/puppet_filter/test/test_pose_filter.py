# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""pose_filter: accuracy, invariances, consistency, tuning."""

from dataclasses import replace

from benchmarks.filter.synthetic_motion import disturb, Disturbance, make_motion
from filter_samples import CONFIG, make_frame, MODELS, RATE_HZ, run_filter, STEP_S, still
import numpy as np
from puppet_core.io import build_config, check_values, ConfigError
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import FILTER_OK
from puppet_filter.parameters import PoseFilterConfig, ROWS
from puppet_filter.pose_filter import default_noise, PoseFilter, warm_up
from puppet_filter.sensor_update import step_frame
import pytest

PHYSICAL = replace(CONFIG, process_model='physical')


def turned(q, positions, quaternions):
    return quaternion_batch.rotate(q, positions), quaternion_batch.multiply(q, quaternions)


@MODELS
def test_constant_velocity_is_followed_without_error(model):
    times = np.arange(120)[:, None] * STEP_S
    velocity, rate = np.array([1.0, -2.0, 0.5]), np.array([1.0, 0.5, -2.0])
    start = quaternion_batch.exp(np.array([0.3, -1.0, 0.4]))
    positions = (times * velocity)[:, None]
    quaternions = quaternion_batch.multiply(quaternion_batch.exp(times * rate), start)[:, None]
    run = run_filter(PoseFilter(replace(CONFIG, process_model=model)), positions, quaternions)
    np.testing.assert_allclose(run.positions[-1, 0], positions[-1, 0], atol=1e-6)
    np.testing.assert_allclose(run.linear[-1, 0], velocity, atol=1e-4)
    np.testing.assert_allclose(run.angular[-1, 0], rate, atol=1e-4)
    assert np.abs(np.sum(run.quaternions[-1, 0] * quaternions[-1, 0])) > 1.0 - 1e-9


@pytest.mark.parametrize('kind', ['slow', 'fast', 'walk'])
def test_filtering_beats_the_raw_samples_without_lag(kind, rng):
    motion = make_motion(kind, 4, 10.0, RATE_HZ, rng)
    positions, quaternions = disturb(motion, Disturbance(), rng)
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    error = (run.positions - motion.positions)[60:]
    velocity = np.gradient(motion.positions, axis=0)[60:] * RATE_HZ
    lag_s = -np.sum(error * velocity) / np.sum(velocity**2)
    assert np.sqrt(np.mean(error**2)) < 0.92 * 0.5e-3
    assert abs(lag_s) < 1e-4


def test_resting_sensor_is_far_quieter_than_its_samples(rng):
    motion = make_motion('static', 4, 10.0, RATE_HZ, rng)
    positions, quaternions = disturb(motion, Disturbance(), rng)
    run = run_filter(PoseFilter(CONFIG), positions, quaternions)
    moved = np.linalg.norm(np.diff(run.positions[60:], axis=0), axis=-1).mean() * RATE_HZ
    raw = np.linalg.norm(np.diff(positions[60:], axis=0), axis=-1).mean() * RATE_HZ
    assert moved < 0.5 * raw
    assert np.linalg.norm(run.linear[60:], axis=-1).mean() < 0.03


@MODELS
def test_turned_world_turns_the_output(model, rng):
    motion = make_motion('fast', 3, 2.0, RATE_HZ, rng)
    samples = disturb(motion, Disturbance(missing=0.05, outliers=0.02), rng)
    q = quaternion_batch.exp(np.array([0.4, -1.2, 2.0]))
    config = replace(CONFIG, process_model=model)
    plain = run_filter(PoseFilter(config), *samples)
    other = run_filter(PoseFilter(config), *turned(q, *samples))
    np.testing.assert_array_equal(other.status, plain.status)
    places = quaternion_batch.rotate(q, plain.positions)
    np.testing.assert_allclose(other.positions, places, atol=1e-9)
    np.testing.assert_allclose(other.angular, quaternion_batch.rotate(q, plain.angular), atol=1e-7)
    turn = np.kron(np.eye(2), quaternion_batch.to_matrix(q))
    np.testing.assert_allclose(other.covariances, turn @ plain.covariances @ turn.T, atol=1e-12)


def test_output_quaternions_do_not_flip(rng):
    motion = make_motion('fast', 3, 4.0, RATE_HZ, rng)
    run = run_filter(PoseFilter(CONFIG), *disturb(motion, Disturbance(), rng))
    assert np.sum(run.quaternions[1:] * run.quaternions[:-1], axis=-1).min() > 0.9


def test_adaptive_covariance_is_neither_smug_nor_timid_on_body_motion(rng):
    motion = make_motion('fast', 6, 8.0, RATE_HZ, rng)
    run = run_filter(PoseFilter(CONFIG), *disturb(motion, Disturbance(), rng))
    error = (run.positions - motion.positions)[60:]
    information = np.linalg.inv(run.covariances[60:, :, :3, :3])
    nees = np.einsum('fni,fnij,fnj->fn', error, information, error)
    assert 1.5 < nees.mean() < 6.0  # 3 if the model were the truth


def test_late_sensors_are_brought_to_the_frames_stamp():
    pose_filter, ages = PoseFilter(CONFIG), np.array([0.0, 0.004])
    for k in range(120):
        seconds = (k + 1) * 8_333_333e-9 - ages
        out = pose_filter.step(make_frame(k, np.outer(seconds, [2.0, 0.0, 0.0]), ages_s=ages))
    np.testing.assert_allclose(out.positions[1], out.positions[0], atol=1e-6)
    assert out.covariances[1, 0, 0] > out.covariances[0, 0, 0]


def test_measured_noise_goes_to_its_own_sensor_and_unused_one_is_named():
    noise = {'s1': 4.0 * default_noise(CONFIG), 'S0': default_noise(CONFIG)}
    pose_filter = PoseFilter(CONFIG, noise)
    run = run_filter(pose_filter, *still(2, 2))
    assert run.covariances[0, 1, 0, 0] == pytest.approx(4.0 * run.covariances[0, 0, 0, 0])
    assert pose_filter.unused_noise() == ('S0',)


def test_noise_coupling_position_and_rotation_is_used():
    positions, quaternions = still(200)
    positions[100:, 0, 0] = 1e-4
    matrix = default_noise(CONFIG).copy()
    matrix[0, 3] = matrix[3, 0] = 0.9 * np.sqrt(matrix[0, 0] * matrix[3, 3])
    run = run_filter(PoseFilter(PHYSICAL, {'s0': matrix}), positions, quaternions)
    # a shift alone contradicts the coupling, so the filter explains part of it by a turn
    assert abs(run.quaternions[100, 0, 1]) > 1e-6
    assert abs(run.covariances[99, 0, 0, 3]) > 1e-9


def test_change_of_tuning_keeps_the_states():
    pose_filter = PoseFilter(CONFIG)
    for k in range(20):
        pose_filter.step(make_frame(k, np.full((1, 3), 0.01 * k)))
    pose_filter.configure(replace(CONFIG, noise_position_mm=2.0))
    out = pose_filter.step(make_frame(20, np.full((1, 3), 0.2)))
    assert out.status[0] == FILTER_OK and out.linear_velocities[0, 0] > 1.0


def test_live_like_run_compiles_each_kernel_once(rng):
    warm_up()
    pose_filter = PoseFilter(CONFIG)
    for model in ('adaptive', 'physical', 'printed'):
        pose_filter.configure(replace(CONFIG, process_model=model, lookahead_s=0.01))
        for k in range(20):
            pose_filter.step(make_frame(k, rng.normal(size=(14, 3))))
    assert len(step_frame.signatures) == 1


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'process.q3': 1e-3}, 'process.q3: expected process.q2'),
        ({'process.q2': 1.0, 'process.q3': 1.0}, r'process.q2: expected value <= sqrt\(q1 q4\)'),
        ({'process.quiet_linear_m2_s3': 300.0}, 'process.quiet_linear_m2_s3: expected value <='),
        ({'gap.lost_after_s': 0.01}, 'gap.lost_after_s: expected value >= gap.hold_s'),
    ],
)
def test_impossible_combination_is_refused(values, text):
    with pytest.raises(ConfigError, match=text):
        build_config(PoseFilterConfig, check_values(ROWS, values))
