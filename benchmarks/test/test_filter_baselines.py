# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""baselines: each does what its formula says, and all take the same frames."""

from benchmarks.filter import baseline_kernels
from benchmarks.filter.baselines import (
    EulerKalman,
    FILTER_NAMES,
    LowPass,
    make_filter,
    NoFilter,
    OneEuro,
)
from filter_samples import make_frame
import numpy as np
from puppet_filter.parameters import PoseFilterConfig
import pytest
from scipy.spatial.transform import Rotation

STEP_S = 8_333_333e-9
FILTERS = FILTER_NAMES
TOL = 1e-12  # a handful of roundings


@pytest.mark.parametrize(
    ('euler_of', 'quaternion_of'),
    [
        (baseline_kernels.euler_of, baseline_kernels.quaternion_of),
        (baseline_kernels.euler_of.py_func, baseline_kernels.quaternion_of.py_func),
    ],
    ids=['jit', 'py'],
)
def test_euler_angles_are_scipys(euler_of, quaternion_of, rng):
    for _ in range(20):
        euler = rng.uniform(-1.4, 1.4, 3)
        q, back = np.zeros(4), np.zeros(3)
        quaternion_of(euler, q)
        expected = Rotation.from_euler('xyz', euler).as_quat()[[3, 0, 1, 2]]
        assert abs(np.dot(q, expected)) == pytest.approx(1.0, abs=TOL)
        euler_of(q, back)
        np.testing.assert_allclose(back, euler, atol=1e-12)


@pytest.mark.parametrize('name', FILTERS)
def test_resting_sensor_stays_where_it_is(name):
    frame_filter = make_filter(name, PoseFilterConfig())
    q = Rotation.from_euler('xyz', [0.3, 0.4, 0.5]).as_quat()[[3, 0, 1, 2]]
    for k in range(50):
        poses = frame_filter.step(make_frame(k, [[1.0, 2.0, 3.0]], [q]))
    np.testing.assert_allclose(poses.positions[0], [1, 2, 3], atol=1e-9)
    assert abs(np.dot(poses.quaternions[0], q)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize('name', FILTERS)
def test_missing_samples_and_repeated_stamps_are_survived(name):
    frame_filter = make_filter(name, PoseFilterConfig())
    for k in range(20):
        missing = np.full((1, 3), np.nan) if k in (5, 6) else np.ones((1, 3))
        poses = frame_filter.step(make_frame(k, missing))
    assert np.isfinite(poses.positions).all() and np.isfinite(poses.quaternions).all()
    assert frame_filter.step(make_frame(19, np.ones((1, 3)))) is None


def test_no_filter_returns_the_samples(rng):
    frame_filter = NoFilter()
    for k in range(5):
        positions = rng.normal(size=(2, 3))
        poses = frame_filter.step(make_frame(k, positions))
    np.testing.assert_array_equal(poses.positions, positions)


def test_low_pass_follows_a_ramp_at_its_theoretical_lag():
    frame_filter, cutoff_hz = LowPass(10.0), 10.0
    for k in range(240):
        poses = frame_filter.step(make_frame(k, [[k * STEP_S, 0.0, 0.0]]))
    # a critically damped spring lags 2/omega, less half a step for the held sample
    lag = 240 * STEP_S - STEP_S - poses.positions[0, 0]
    expected = 2.0 / (2.0 * np.pi * cutoff_hz)
    assert lag == pytest.approx(expected, abs=STEP_S)


def test_low_pass_does_not_overshoot_a_step():
    frame_filter = LowPass()
    places = [
        frame_filter.step(make_frame(k, [[float(k > 10), 0.0, 0.0]])).positions[0, 0]
        for k in range(200)
    ]
    assert max(places) <= 1.0 and places[-1] == pytest.approx(1.0, abs=1e-6)


def test_one_euro_opens_up_with_speed():
    lags = []
    for speed in (0.05, 2.0):
        frame_filter = OneEuro()
        for k in range(240):
            x = speed * k * STEP_S
            poses = frame_filter.step(make_frame(k, [[x, 0.0, 0.0]]))
        lags.append((x - poses.positions[0, 0]) / speed)
    assert lags[1] < 0.2 * lags[0]


def test_euler_kalman_agrees_with_ours_on_slow_turns(rng):
    config = PoseFilterConfig(process_model='physical')
    densities = (config.process_linear_m2_s3, config.process_angular_rad2_s3)
    ours, theirs = make_filter('kalman', config), EulerKalman(config, densities=densities)
    for k in range(200):
        q = Rotation.from_rotvec([0.3 * k * STEP_S, 0.1, 0.2]).as_quat()[[3, 0, 1, 2]]
        frame = make_frame(k, 5e-4 * rng.normal(size=(1, 3)), [q])
        a, b = ours.step(frame), theirs.step(frame)
    np.testing.assert_allclose(b.positions, a.positions, atol=1e-9)
    assert abs(np.dot(a.quaternions[0], b.quaternions[0])) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize('rate_rad_s', [0.3, 6.0])
def test_error_state_on_the_rotations_agrees_with_ours(rate_rad_s, rng):
    """Ours leaves out what turns the covariance, which a sensor alike in all axes hardly shows."""
    config = PoseFilterConfig()
    ours, theirs = (make_filter(name, config) for name in ('constant', 'error_state'))
    for k in range(240):
        turn = Rotation.from_rotvec([rate_rad_s * k * STEP_S, 0.1, 0.2])
        turn *= Rotation.from_rotvec(1e-3 * rng.normal(size=3))
        place = [[k * STEP_S, 0.0, 0.0]] + 5e-4 * rng.normal(size=(1, 3))
        frame = make_frame(k, place, [turn.as_quat()[[3, 0, 1, 2]]])
        a, b = ours.step(frame), theirs.step(frame)
    np.testing.assert_allclose(b.positions, a.positions, atol=1e-9)
    angle = 2.0 * np.arccos(min(abs(np.dot(a.quaternions[0], b.quaternions[0])), 1.0))
    assert angle < 2e-5 * max(rate_rad_s, 1.0)
