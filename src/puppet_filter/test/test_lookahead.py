# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""lookahead_s: poses and covariance as of that much later, under the frame's own stamp."""

from collections.abc import Callable
from dataclasses import replace

from benchmarks.filter.synthetic_motion import disturb, Disturbance, make_motion
import numpy as np
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import FILTER_OK, FILTER_PREDICTED
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.pose_filter import PoseFilter
import pytest

RATE_HZ = 120.0
STEP_S = 8_333_333e-9
CONFIG = PoseFilterConfig()
ORDER = np.r_[0:3, 6:9, 3:6, 9:12]  # the thesis' p, p', r, r' from ours p, r, p', r'


def predicted(state: np.void, ahead_s: float, q: np.ndarray) -> tuple[np.ndarray, ...]:
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
def test_output_is_the_analytic_prediction(
    model: str, ahead_s: float, make_frame: Callable, rng: np.random.Generator
) -> None:
    motion = make_motion('fast', 3, 1.0, RATE_HZ, rng)
    positions, quaternions = disturb(motion, Disturbance(), rng)
    pose_filter = PoseFilter(replace(CONFIG, process_model=model, lookahead_s=ahead_s))
    for k in range(len(positions)):
        frame = make_frame(k, positions[k], quaternions[k])
        out = pose_filter.step(frame)
        assert out is not None and out.stamp_ns == frame.stamp_ns
        for i in np.flatnonzero(out.status == FILTER_OK):
            state = pose_filter.states[i]
            density = (
                state['density']
                if model == 'adaptive'
                else [CONFIG.process_linear_m2_s3, CONFIG.process_angular_rad2_s3]
            )
            position, quaternion, covariance = predicted(state, ahead_s, np.array(density))
            np.testing.assert_allclose(out.positions[i], position, atol=1e-12)
            assert abs(out.quaternions[i] @ quaternion) == pytest.approx(1.0, abs=1e-12)
            np.testing.assert_allclose(out.covariances[i], covariance, rtol=1e-9, atol=1e-15)


def test_known_latency_is_made_up_for(run_filter: Callable, rng: np.random.Generator) -> None:
    """Looking two frames ahead is nearer to the truth two frames later than not looking."""
    motion = make_motion('walk', 4, 8.0, RATE_HZ, rng)
    samples = disturb(motion, Disturbance(), rng)
    errors = []
    for ahead_s in (0.0, 2.0 * STEP_S):
        run = run_filter(PoseFilter(replace(CONFIG, lookahead_s=ahead_s)), *samples)
        errors.append(np.sqrt(np.mean((run.positions[60:-2] - motion.positions[62:]) ** 2)))
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize('ahead_s', [0.0, 0.05, 0.2])
def test_output_does_not_jump_when_samples_stop(ahead_s: float, make_frame: Callable) -> None:
    """What is predicted anyhow is predicted the same, whether or not a sample came."""
    pose_filter = PoseFilter(replace(CONFIG, lookahead_s=ahead_s))
    speed = np.array([2.0, 0.0, 0.0])
    path = []
    for k in range(100):
        position = k * STEP_S * speed[None] if k < 60 else np.full((1, 3), np.nan)
        out = pose_filter.step(make_frame(k, position))
        assert out is not None
        path.append(out.positions[0].copy())
    assert out.status[0] == FILTER_PREDICTED
    steps = np.diff(path, axis=0)[30:] / STEP_S
    assert np.abs(steps[:, 0]).max() < 2.01  # no faster than the sensor was
    assert np.abs(np.diff(steps[:, 0])).max() < 0.5  # and slowed down, not stopped
