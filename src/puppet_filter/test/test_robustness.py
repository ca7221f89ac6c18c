# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What no input and no tuning may do: numbers that are not finite, covariances that are none."""

from dataclasses import replace

from filter_samples import CONFIG, STEP_NS
import numpy as np
from puppet_core.sensor_frames import FILTER_LOST, SensorFrame
from puppet_filter.pose_filter import PoseFilter
import pytest

N = 30
SENSORS = tuple(f's{i}' for i in range(N))
EXTREMES = {
    'default': {},
    'noise of nanometres': {'noise_position_mm': 1e-6, 'noise_orientation_deg': 1e-6},
    'acceleration without bounds': {
        'process_model': 'physical',
        'process_linear_m2_s3': 1e6,
        'process_angular_rad2_s3': 1e7,
    },
    'no acceleration': {
        'process_model': 'physical',
        'process_linear_m2_s3': 1e-12,
        'process_angular_rad2_s3': 1e-12,
    },
    'printed': {'process_model': 'printed'},
    'looks ahead': {'lookahead_s': 0.2},
}
ODD = np.array([0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e154, 5e-324, 1e9, -9e3, 1.0])
ODD_AGES = np.array([np.nan, -1.0, np.inf, 1e-3, 0.4, 0.6, 999.0, 1e300])
STEPS_NS = np.array([STEP_NS, 0, -1, 1, 99_999, 100_000, 10**8, 6 * 10**8, -2 * 10**9, 10**12])


def assert_sane(out):
    """Check that rows are lost and NaN, or finite with unit quaternions and covariances."""
    lost = out.status == FILTER_LOST
    for values in (*out[3:8], out.twist_covariances):
        assert np.isfinite(values[~lost]).all() and np.isnan(values[lost]).all()
    norms = np.linalg.norm(out.quaternions[~lost], axis=-1)
    np.testing.assert_allclose(norms, 1.0, atol=1e-9)
    assert_covariances(out.covariances[~lost])
    assert_covariances(out.twist_covariances[~lost])


def assert_covariances(matrices):
    """Check that they are symmetric to the bit and positive definite but for rounding."""
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
    variances = np.einsum('nii->ni', matrices)
    assert (variances > 0.0).all()
    scale = 1.0 / np.sqrt(variances)
    correlations = matrices * scale[:, :, None] * scale[:, None, :]
    assert np.linalg.eigvalsh(correlations).min(initial=1.0) > -1e-9


@pytest.mark.parametrize('tuning', EXTREMES)
def test_no_input_makes_an_output_that_is_neither_lost_nor_sane(tuning):
    rng = np.random.default_rng(1)
    pose_filter = PoseFilter(replace(CONFIG, **EXTREMES[tuning]))
    base, stamp_ns = rng.normal(size=(N, 3)), int(rng.choice([0, 10**9, 2**62, -(2**62)]))
    odds = np.full(len(STEPS_NS), 0.02)
    odds[0] = 1.0 - odds[1:].sum()
    for k in range(300):
        stamp_ns += int(rng.choice(STEPS_NS, p=odds))
        positions = base + 1e-3 * rng.normal(size=(N, 3))
        quaternions = np.tile([1.0, 0.0, 0.0, 0.0], (N, 1))
        broken, turned, far = rng.random((3, N)) < [[0.2], [0.1], [0.1]]
        positions[broken] = rng.choice(ODD, (int(broken.sum()), 3))
        quaternions[turned] = rng.choice(ODD, (int(turned.sum()), 4))
        positions[far] += rng.normal(size=(int(far.sum()), 3))
        ages = np.where(rng.random(N) < 0.1, rng.choice(ODD_AGES, N), 0.0)
        status = np.where(rng.random(N) < 0.1, rng.integers(0, 256, N), 0).astype(np.uint8)
        if k % 100 == 99:
            model = str(rng.choice(['adaptive', 'physical', 'printed']))
            pose_filter.configure(
                replace(CONFIG, process_model=model, noise_position_mm=10 ** rng.uniform(-6, 2))
            )
        out = pose_filter.step(
            SensorFrame(stamp_ns, k, SENSORS, positions, quaternions, ages, status)
        )
        if out is not None:
            assert_sane(out)
            assert_covariances(pose_filter.states['covariance'][out.status != FILTER_LOST])


@pytest.mark.parametrize('tuning', EXTREMES)
def test_covariances_keep_their_symmetry_and_their_sign(tuning):
    """With gaps between, after which everything is subtracted from what has grown large."""
    rng = np.random.default_rng(3)
    config = replace(CONFIG, **EXTREMES[tuning])
    pose_filter, stamp_ns = PoseFilter(config), 0
    spread_m = 1e-3 * config.noise_position_mm
    spread_rad = np.radians(config.noise_orientation_deg)
    ages, status = np.zeros(N), np.zeros(N, dtype=np.uint8)
    for k in range(600):
        stamp_ns += STEP_NS if k % 100 else 450_000_000
        quaternions = np.hstack((np.ones((N, 1)), 0.5 * spread_rad * rng.normal(size=(N, 3))))
        out = pose_filter.step(
            SensorFrame(
                stamp_ns, k, SENSORS, spread_m * rng.normal(size=(N, 3)), quaternions, ages, status
            )
        )
        if k % 10 == 0 and out is not None:
            assert_sane(out)
            assert_covariances(pose_filter.states['covariance'])
