# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The filters of the benchmark behind one interface: frames in, positions and rotations out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
import math
from typing import Any, NamedTuple, Protocol

from benchmarks.filter import baseline_kernels
from benchmarks.filter.baseline_kernels import EulerState
import numpy as np
from puppet_core.math import Floats, Mat6, quaternions, Quats, Vec3s
from puppet_core.sensor_frames import SensorFrame
from puppet_filter.kalman import PHYSICAL, process_noise
from puppet_filter.parameters import PoseFilterConfig
from puppet_filter.pose_filter import default_noise, PoseFilter

LOW_PASS_HZ = 10.0  # body motion holds little above it
# Those of a grid with the least error, as geometric mean over static, slow, fast and walk.
ONE_EURO = (0.3, 300.0, 300.0, 10.0)  # least cutoff, slopes, velocity cutoff
EULER_DENSITIES = (1.0, 6.0)  # [m^2/s^3], [rad^2/s^3]
GATED_DENSITIES = (4.0, 24.0)  # with those above a gate takes the start of a swing for an outlier
# q1, q2, q4, q5, q6, q8 of Shin2002 eq. 3.5 with the least error over slow, fast and walk
PRINTED = (9.6e-7, 1.7e-4, 0.032, 4.2e-6, 1.0e-3, 0.29)
MAX_STEP_S = 0.5  # longer gaps start anew
BENCH_FILTERS = ('kalman', 'none', 'euler', 'low_pass')
# what ours is without one part or the other, and filters that nobody runs
PARTS = ('constant', 'gated', 'printed', 'increments', 'error_state', 'fixed_low_pass')
FILTER_NAMES = (*BENCH_FILTERS, *PARTS)


class Poses(NamedTuple):
    """What a baseline gives."""

    positions: Vec3s  # Shape (n, 3) [m]
    quaternions: Quats  # Shape (n, 4)


class HasPoses(Protocol):
    """Poses, or a FilteredFrame, which knows more."""

    @property
    def positions(self) -> Vec3s:
        """Shape (n, 3) [m]."""

    @property
    def quaternions(self) -> Quats:
        """Shape (n, 4)."""


class FrameFilter(Protocol):
    """A filter of whole frames; PoseFilter is one too."""

    def step(self, frame: SensorFrame) -> HasPoses | None:
        """Return the filtered poses of a frame, overwritten by the next step."""


class _Baseline(ABC):
    """Time steps, first samples and restarts, the same for all."""

    def __init__(self) -> None:
        self._stamp_ns: int | None = None
        self._poses = Poses(np.zeros((0, 3)), np.zeros((0, 4)))

    def step(self, frame: SensorFrame) -> Poses | None:
        """Return the filtered poses of a frame, overwritten by the next step."""
        dt = (frame.stamp_ns - self._stamp_ns) * 1e-9 if self._stamp_ns is not None else np.inf
        if dt <= 0.0:
            return None
        self._stamp_ns = frame.stamp_ns
        if dt > MAX_STEP_S or len(self._poses.positions) != len(frame.positions):
            self._poses = Poses(
                np.nan_to_num(frame.positions),
                np.where(np.isnan(frame.quaternions), [1.0, 0.0, 0.0, 0.0], frame.quaternions),
            )
            self._start(len(frame.positions))
            return self._poses
        self._advance(frame, dt)
        return self._poses

    def _start(self, n: int) -> None:
        """Reset what a subclass remembers; nothing here."""
        return

    @abstractmethod
    def _advance(self, frame: SensorFrame, dt: float) -> None:
        """Filter one frame into the poses."""


class NoFilter(_Baseline):
    """The samples as they are; a missing one repeats the last."""

    def _advance(self, frame: SensorFrame, dt: float) -> None:
        good = ~np.isnan(frame.positions[:, 0])
        self._poses.positions[good] = frame.positions[good]
        self._poses.quaternions[good] = frame.quaternions[good]


class EulerKalman(_Baseline):
    """Constant-velocity Kalman filter on Euler increments [WelchBishop1997]_."""

    def __init__(
        self,
        config: PoseFilterConfig,
        noise: Mat6 | None = None,
        densities: tuple[float, float] = EULER_DENSITIES,
    ) -> None:
        super().__init__()
        self._noise = np.array(default_noise(config) if noise is None else noise)
        self._densities = np.array(densities)
        self._initial = (config.initial_speed_m_s, config.initial_rate_rad_s)

    def _start(self, n: int) -> None:
        covariance = np.zeros((n, 12, 12))
        covariance[:, :6, :6] = self._noise
        for k in range(6):
            covariance[:, 6 + k, 6 + k] = self._initial[k // 3] ** 2
        scratch = [np.zeros(shape) for shape in ((12, 12), (6, 6), (6, 12), 6, 6, 12)]
        self._state = EulerState(
            self._poses.positions, np.zeros((n, 6)), self._poses.quaternions, covariance, *scratch
        )

    def _advance(self, frame: SensorFrame, dt: float) -> None:
        factors = process_noise(PHYSICAL, self._densities, dt, 1.0)
        baseline_kernels.step_euler(
            self._state, frame.positions, frame.quaternions, dt, factors, self._noise
        )


class EulerIncrements:
    """Ours, gate and adaptation and all, on Euler increments as EulerKalman has them."""

    def __init__(self, config: PoseFilterConfig, noise: Mat6) -> None:
        self._filter = PoseFilter(config, default=noise)
        self._last: Quats | None = None

    def step(self, frame: SensorFrame) -> HasPoses | None:
        """Return the filtered poses of a frame, overwritten by the next step."""
        if self._last is not None:
            turns = quaternions.multiply(quaternions.conjugate(self._last), frame.quaternions)
            angles = np.zeros((len(turns), 3))
            for turn, own in zip(turns, angles):
                baseline_kernels.euler_of(turn, own)
            q = quaternions.multiply(self._last, quaternions.exp(angles))
            frame = frame._replace(quaternions=q)
        out = self._filter.step(frame)
        if out is not None:
            self._last = out.quaternions.copy()
        return out


class ErrorState(_Baseline):
    """
    Constant-velocity error-state filter on the rotations themselves [Sola2017]_.

    The error is a rotation vector in the sensor's axes; its covariance turns with the sensor and
    is carried over to the corrected orientation, which ours leaves out.
    """

    def __init__(
        self,
        config: PoseFilterConfig,
        noise: Mat6,
        densities: tuple[float, float] = EULER_DENSITIES,
    ) -> None:
        super().__init__()
        self._noise, self._densities = np.array(noise), np.array(densities)
        self._initial = np.repeat((config.initial_speed_m_s, config.initial_rate_rad_s), 3) ** 2

    def _start(self, n: int) -> None:
        self._rates = np.zeros((n, 6))  # [m/s], of rotation in the sensor's axes [rad/s]
        self._covariance = np.zeros((n, 12, 12))  # place, rotation, their rates
        self._covariance[:, :6, :6] = self._noise
        self._covariance[:, range(6, 12), range(6, 12)] = self._initial

    def _advance(self, frame: SensorFrame, dt: float) -> None:
        positions, q = self._poses
        step = self._rates * dt
        transition = np.tile(np.eye(12), (len(q), 1, 1))
        transition[:, 3:6, 3:6] = _matrices(-step[:, 3:])
        transition[:, range(6), range(6, 12)] = dt
        factors = process_noise(PHYSICAL, self._densities, dt, 1.0)
        growth = np.zeros((12, 12))
        for part in range(2):
            place, both, rate = factors[3 * part : 3 * part + 3]
            own = np.arange(3) + 3 * part
            growth[own, own], growth[own + 6, own + 6] = place, rate
            growth[own, own + 6] = growth[own + 6, own] = both
        p = transition @ self._covariance @ transition.swapaxes(1, 2) + growth
        positions += step[:, :3]
        q[:] = quaternions.multiply(q, quaternions.exp(step[:, 3:]))
        good = ~np.isnan(frame.positions[:, 0])
        turns = quaternions.multiply(quaternions.conjugate(q[good]), frame.quaternions[good])
        residual = np.hstack((frame.positions[good] - positions[good], quaternions.log(turns)))
        before = p[good]
        gain = before[:, :, :6] @ np.linalg.inv(before[:, :6, :6] + self._noise)
        change = np.einsum('nij,nj->ni', gain, residual)
        carried = np.tile(np.eye(12), (len(change), 1, 1))
        carried[:, 3:6, 3:6] = _matrices(-0.5 * change[:, 3:6])
        corrected = carried @ (before - gain @ before[:, :6]) @ carried.swapaxes(1, 2)
        p[good] = 0.5 * (corrected + corrected.swapaxes(1, 2))
        self._covariance = p
        positions[good] += change[:, :3]
        q[good] = quaternions.multiply(q[good], quaternions.exp(change[:, 3:6]))
        self._rates[good] += change[:, 6:]


def _matrices(turns: Vec3s) -> Floats:
    """Return the rotation matrices of rotation vectors, shape (n, 3, 3)."""
    return quaternions.to_matrix(quaternions.exp(turns))


class LowPass(_Baseline):
    """Fixed critically damped low-pass."""

    def __init__(self, cutoff_hz: float = LOW_PASS_HZ) -> None:
        super().__init__()
        self._omega = 2.0 * math.pi * cutoff_hz

    def _start(self, n: int) -> None:
        self._velocity = np.zeros((n, 6))

    def _advance(self, frame: SensorFrame, dt: float) -> None:
        baseline_kernels.step_low_pass(
            *self._poses, self._velocity, frame.positions, frame.quaternions, dt, self._omega
        )


class OneEuro(_Baseline):
    """Low-pass with a cutoff that rises with speed."""

    def __init__(self, tuning: tuple[float, float, float, float] = ONE_EURO) -> None:
        super().__init__()
        self._tuning = np.array(tuning)

    def _start(self, n: int) -> None:
        self._speed = np.zeros((n, 6))
        self._last = np.hstack(self._poses)

    def _advance(self, frame: SensorFrame, dt: float) -> None:
        baseline_kernels.step_one_euro(
            *self._poses,
            self._speed,
            self._last,
            frame.positions,
            frame.quaternions,
            dt,
            self._tuning,
        )


def make_filter(name: str, config: PoseFilterConfig, noise: Mat6 | None = None) -> FrameFilter:
    """
    Return a fresh filter of FILTER_NAMES.

    Parameters
    ----------
    name : str
        One of FILTER_NAMES.
    config : PoseFilterConfig
        Tuning of ours; R of those that know it.
    noise : ndarray, shape (6, 6), optional
        R instead of the config's.

    """
    matrix = default_noise(config) if noise is None else noise
    constant, gated = (
        replace(
            config,
            process_model='physical',
            process_linear_m2_s3=linear,
            process_angular_rad2_s3=angular,
        )
        for linear, angular in (EULER_DENSITIES, GATED_DENSITIES)
    )
    numbers: dict[str, Any] = {
        f'process_q{k}': q
        for q, names in zip(PRINTED, ((1,), (2, 3), (4,), (5,), (6, 7), (8,)))
        for k in names
    }
    printed = replace(config, process_model='printed', **numbers)
    makers: dict[str, Callable[[], FrameFilter]] = {
        'kalman': lambda: PoseFilter(config, default=matrix),
        'none': NoFilter,
        'euler': lambda: EulerKalman(config, matrix),
        'low_pass': OneEuro,
        'fixed_low_pass': LowPass,
        'gated': lambda: PoseFilter(gated, default=matrix),
        'printed': lambda: PoseFilter(printed, default=matrix),
        'constant': lambda: PoseFilter(replace(constant, gate_jump_count=1), default=matrix),
        'increments': lambda: EulerIncrements(config, matrix),
        'error_state': lambda: ErrorState(config, matrix),
    }
    return makers[name]()
