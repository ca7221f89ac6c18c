# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Filters to compare ours with (kernel layer), each a loop over the sensors of one frame.

Rows are poses (x y z, w x y z). None of them gates outliers; a missing sample (NaN) leaves
the prediction or the last output, as their authors would.
"""

import math
from typing import NamedTuple

from puppet_core.math import copy, Floats, kernel, Quat, Quats, values, Vec3, Vec3s, work_array
from puppet_filter.kalman import correct, factor_innovation, Factors, predict_covariance


class EulerState(NamedTuple):
    """State of the Kalman filter on Euler increments, one row a sensor, and scratch."""

    position: Vec3s  # (n, 3) [m]
    velocity: Floats  # (n, 6) [m/s], Euler rates [rad/s]
    orientation: Quats  # (n, 4)
    covariance: Floats  # (n, 12, 12)
    predicted: Floats  # (12, 12)
    lower: Floats  # (6, 6)
    w: Floats  # (6, 12)
    dz: Floats  # (6,)
    y: Floats  # (6,)
    change: Floats  # (12,)


@kernel
def euler_of(q: Quat, out: Vec3) -> None:
    """Write the X-Y-Z angles (roll, pitch, yaw) of q = yaw pitch roll [rad]."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0] = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    out[1] = math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x))))
    out[2] = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@kernel
def quaternion_of(euler: Vec3, out: Quat) -> None:
    """Write the quaternion of X-Y-Z angles, the inverse of `euler_of`."""
    cr, sr = math.cos(0.5 * euler[0]), math.sin(0.5 * euler[0])
    cp, sp = math.cos(0.5 * euler[1]), math.sin(0.5 * euler[1])
    cy, sy = math.cos(0.5 * euler[2]), math.sin(0.5 * euler[2])
    out[0] = cr * cp * cy + sr * sp * sy
    out[1] = sr * cp * cy - cr * sp * sy
    out[2] = cr * sp * cy + sr * cp * sy
    out[3] = cr * cp * sy - sr * sp * cy


@kernel
def step_euler(
    s: EulerState, positions: Vec3s, quaternions: Quats, dt: float, q: Factors, noise: Floats
) -> None:
    """
    Filter a frame as [WelchBishop1997]_ did: increments as Euler angles, orientation outside.

    Parameters
    ----------
    s : EulerState
        Updated in place; position and orientation are the output.
    positions, quaternions : ndarray, shape (n, 3) and (n, 4)
        Samples; NaN is missing.
    dt : float
        Step [s].
    q : tuple of six floats
        Process noise factors for dt.
    noise : ndarray, shape (6, 6)
        R.

    """
    turn, euler = work_array(4), work_array(3)
    for i in range(len(positions)):
        p = s.covariance[i]
        predict_covariance(p, dt, q, s.predicted)
        for k in range(12):
            s.change[k] = 0.0
        if math.isnan(positions[i, 0]):
            for a in range(12):
                copy(s.predicted[a], p[a])
        else:
            turn[:] = values.conjugate(s.orientation[i])
            turn[:] = values.multiply(turn, quaternions[i])
            euler_of(turn, euler)
            for k in range(3):
                s.dz[k] = positions[i, k] - s.position[i, k] - dt * s.velocity[i, k]
                s.dz[3 + k] = euler[k] - dt * s.velocity[i, 3 + k]
            factor_innovation(s.predicted, noise, s.dz, s.lower, s.y)
            correct(s.predicted, s.lower, s.y, s.w, p, s.change)
        for k in range(3):
            s.position[i, k] += dt * s.velocity[i, k] + s.change[k]
            euler[k] = dt * s.velocity[i, 3 + k] + s.change[3 + k]
        quaternion_of(euler, turn)
        s.orientation[i] = values.multiply(s.orientation[i], turn)
        s.orientation[i] = values.normalize(s.orientation[i])
        for k in range(6):
            s.velocity[i, k] += s.change[6 + k]


@kernel
def step_low_pass(
    out_positions: Vec3s,
    out_quaternions: Quats,
    velocity: Floats,
    positions: Vec3s,
    quaternions: Quats,
    dt: float,
    omega: float,
) -> None:
    """
    Move the output towards the samples as a critically damped spring would, exactly over dt.

    Parameters
    ----------
    out_positions, out_quaternions : ndarray, shape (n, 3) and (n, 4)
        Output before, updated in place.
    velocity : ndarray, shape (n, 6)
        Its velocity, sensor-frame rotation, updated in place.
    positions, quaternions : ndarray, shape (n, 3) and (n, 4)
        Samples; a missing one leaves the output where it is.
    dt, omega : float
        Step [s] and natural frequency [rad/s].

    """
    lag, turn = work_array(6), work_array(4)
    fall = math.exp(-omega * dt)
    for i in range(len(positions)):
        if math.isnan(positions[i, 0]):
            continue
        turn[:] = values.conjugate(quaternions[i])
        turn[:] = values.multiply(turn, out_quaternions[i])
        lag[3:] = values.log(turn)
        for k in range(3):
            lag[k] = out_positions[i, k] - positions[i, k]
        for k in range(6):
            push = (velocity[i, k] + omega * lag[k]) * dt
            lag[k] = (lag[k] + push) * fall
            velocity[i, k] = (velocity[i, k] - omega * push) * fall
        for k in range(3):
            out_positions[i, k] = positions[i, k] + lag[k]
        turn[:] = values.exp(lag[3:])
        out_quaternions[i] = values.multiply(quaternions[i], turn)


@kernel
def step_one_euro(
    out_positions: Vec3s,
    out_quaternions: Quats,
    speed: Floats,
    last: Floats,
    positions: Vec3s,
    quaternions: Quats,
    dt: float,
    tuning: Floats,
) -> None:
    """
    Low-pass whose cutoff rises with speed (Casiez, Roussel and Vogel 2012).

    Parameters
    ----------
    out_positions, out_quaternions : ndarray, shape (n, 3) and (n, 4)
        Output before, updated in place.
    speed : ndarray, shape (n, 6)
        Low-passed velocity of position and rotation, updated in place.
    last : ndarray, shape (n, 7)
        Sample before, updated in place.
    positions, quaternions : ndarray, shape (n, 3) and (n, 4)
        Samples; a missing one leaves the output where it is.
    dt : float
        Step [s].
    tuning : ndarray, shape (4,)
        Least cutoff [Hz], its slope by speed [Hz s/m] and by rate [Hz s/rad], cutoff of the
        velocity [Hz].

    """
    turn, rotvec = work_array(4), work_array(3)
    smooth = _share(tuning[3], dt)
    for i in range(len(positions)):
        if math.isnan(positions[i, 0]):
            continue
        turn[:] = values.conjugate(last[i, 3:])
        turn[:] = values.multiply(turn, quaternions[i])
        rotvec[:] = values.log(turn)
        linear, angular = 0.0, 0.0
        for k in range(3):
            rate = (positions[i, k] - last[i, k]) / dt
            speed[i, k] += smooth * (rate - speed[i, k])
            speed[i, 3 + k] += smooth * (rotvec[k] / dt - speed[i, 3 + k])
            linear += speed[i, k] ** 2
            angular += speed[i, 3 + k] ** 2
            last[i, k] = positions[i, k]
        copy(quaternions[i], last[i, 3:])
        share = _share(tuning[0] + tuning[1] * math.sqrt(linear), dt)
        for k in range(3):
            out_positions[i, k] += share * (positions[i, k] - out_positions[i, k])
        share = _share(tuning[0] + tuning[2] * math.sqrt(angular), dt)
        out_quaternions[i] = values.slerp(out_quaternions[i], quaternions[i], share)


@kernel
def _share(cutoff_hz: float, dt: float) -> float:
    """Return the weight of a new sample in a one-pole low-pass."""
    return 1.0 / (1.0 + 1.0 / (2.0 * math.pi * cutoff_hz * dt))
