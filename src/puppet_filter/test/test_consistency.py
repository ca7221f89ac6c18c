# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Consistency of the filter: squared errors and innovations in units of its own covariance.

The data are drawn from the very model that the filter assumes: white linear and sensor-frame
angular acceleration, coupled measurement noise of a full R. Then the normalised estimation error
squared (NEES) of a sensor is chi-square distributed with 12 degrees of freedom, 6 for the pose
or the twist alone, and the normalised innovation squared (NIS) with 6, independent over sensors
and, for innovations, over time; so sums have exact bounds. The rotation's error is the filter's
own, log(q_e^-1 q), in the sensor's axes; in the published pose it is log(q q_e^-1), and the
published rate is in the transmitter's axes.
"""

from dataclasses import replace
from typing import NamedTuple

from filter_samples import make_frame, STEP_S
import numpy as np
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import FILTER_LOST, FILTER_OK, FILTER_REINITIALISED
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.pose_filter import PoseFilter
import pytest
from scipy.stats import chi2

N_SENSORS = 300
N_FRAMES = 240
LOOKS = (1, 10, 60, 120, 239)  # frames at which errors are taken
CONFIDENCE = 0.999  # of each two-sided bound
DENSITIES = (5.0, 5.0)  # [m^2/s^3], [rad^2/s^3]
INITIAL = (0.5, 0.5)  # [m/s], [rad/s]
CONFIG = replace(
    PoseFilterConfig(),
    process_model='physical',
    process_linear_m2_s3=DENSITIES[0],
    process_angular_rad2_s3=DENSITIES[1],
    initial_speed_m_s=INITIAL[0],
    initial_rate_rad_s=INITIAL[1],
    gate_mahalanobis_limit=100.0,  # the gate would cut the distribution's tail
)


class Truth(NamedTuple):
    """Drawn trajectories and their samples, frame by frame."""

    positions: np.ndarray  # (frames, n, 3)
    quaternions: np.ndarray  # (frames, n, 4)
    velocities: np.ndarray  # (frames, n, 6), linear, then angular in the sensor's axes
    sample_positions: np.ndarray
    sample_quaternions: np.ndarray


def coupled_noise(rng):
    """Return a full R of half a millimetre and a twentieth of a degree or so."""
    a = rng.normal(size=(6, 6))
    scale = np.repeat([5e-4, np.radians(0.05)], 3)
    return np.outer(scale, scale) * (a @ a.T / 6.0 + 0.3 * np.eye(6))


def draw(rng, noise, missing):
    shape, dt = (N_SENSORS, 6), STEP_S
    kick = np.linalg.cholesky(np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]]))
    root = np.sqrt(np.repeat(DENSITIES, 3))
    lower = np.linalg.cholesky(noise)
    position = np.zeros((N_SENSORS, 3))
    q = quaternion_batch.exp(rng.normal(size=(N_SENSORS, 3)))
    velocity = rng.normal(size=shape) * np.repeat(INITIAL, 3)
    rows = []
    for _ in range(N_FRAMES):
        error = rng.normal(size=shape) @ lower.T
        sample = position + error[:, :3]
        sample[rng.random(N_SENSORS) < missing] = np.nan
        turned = quaternion_batch.multiply(q, quaternion_batch.exp(error[:, 3:]))
        rows.append((position, q, velocity, sample, turned))
        shift, push = np.einsum('ab,bnk->ank', kick, rng.normal(size=(2, *shape))) * root
        step = dt * velocity + shift
        position = position + step[:, :3]
        q = quaternion_batch.multiply(q, quaternion_batch.exp(step[:, 3:]))
        velocity = velocity + push
    return Truth(*(np.array(column) for column in zip(*rows)))


class Squares(NamedTuple):
    """Sums of normalised squares, and how many numbers went into each."""

    innovations: tuple[float, int]  # of all frames
    states: list[tuple[float, int]]  # at LOOKS
    poses: list[tuple[float, int]]
    twists: list[tuple[float, int]]


def squares(pose_filter, truth):
    nis, count = 0.0, 0
    states, poses, twists = [], [], []
    for k in range(N_FRAMES):
        out = pose_filter.step(
            make_frame(k, truth.sample_positions[k], truth.sample_quaternions[k])
        )
        good = out.status == FILTER_OK
        nis += float(pose_filter.states['nis'][good].sum())
        count += 6 * int(good.sum())
        if k not in LOOKS:
            continue
        back = quaternion_batch.conjugate(out.quaternions)
        apart = truth.positions[k] - out.positions
        world = np.hstack(
            (apart, quaternion_batch.log(quaternion_batch.multiply(truth.quaternions[k], back)))
        )
        seen = out.status != FILTER_LOST  # predicted ones too
        poses.append((normalised(world[seen], out.covariances[seen]), 6 * int(seen.sum())))
        angular = quaternion_batch.rotate(truth.quaternions[k], truth.velocities[k, :, 3:])
        linear = truth.velocities[k, :, :3] - out.linear_velocities
        speeds = np.hstack((linear, angular - out.angular_velocities))
        twists.append((normalised(speeds[seen], out.twist_covariances[seen]), poses[-1][1]))
        # the states are those after a sample
        good |= out.status == FILTER_REINITIALISED
        turned = quaternion_batch.log(quaternion_batch.multiply(back, truth.quaternions[k]))
        slower = truth.velocities[k] - pose_filter.states['velocity']
        own = np.hstack((apart, turned, slower))[good]
        states.append((normalised(own, pose_filter.states['covariance'][good]), own.size))
    return Squares((nis, count), states, poses, twists)


def normalised(errors, covariances):
    return float(np.sum(errors * np.linalg.solve(covariances, errors[..., None])[..., 0]))


def within(value, dof):
    low, high = chi2.ppf([(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0], dof)
    return bool(low < value < high)


@pytest.fixture(scope='module', params=[0.0, 0.1], ids=['all samples', 'a tenth missing'])
def case(request):
    rng = np.random.default_rng(4)
    noise = coupled_noise(rng)
    return draw(rng, noise, request.param), noise


def with_noise(noise):
    return PoseFilter(CONFIG, {f's{i}': noise for i in range(N_SENSORS)})


def test_errors_and_innovations_are_as_large_as_the_filter_says(case):
    truth, noise = case
    got = squares(with_noise(noise), truth)
    sums = {
        'NIS': [got.innovations],
        'NEES': got.states,
        'pose NEES': got.poses,
        'twist NEES': got.twists,
    }
    ratios = {name: [value / dof for value, dof in rows] for name, rows in sums.items()}
    for rows in sums.values():
        assert all(within(*row) for row in rows), ratios
    wrong = squares(with_noise(0.8 * noise), truth)
    assert not within(*wrong.innovations) and not all(within(*row) for row in wrong.poses)
