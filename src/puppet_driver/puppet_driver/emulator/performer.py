# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What simulated sensors measure: a looped motion through mountings, with noise by the seed."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body import END_EFFECTORS, N_SEGMENTS, PARENTS, SEGMENTS, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions, Quats, Vec3, Vec3s
from puppet_core.procedural import LoopedMotion

SPREAD_M = 0.015  # how far a strapped-on sensor ends up from its sensible place, per axis
BACK_M = 0.10  # from the spine to the back, where pelvis and chest sensors are worn
SKIN_M = 0.035  # from an arm's or shank's bone to the sensor on it; twice that for thighs

N_WAVES = 8  # per sensor and axis; enough for a sum that appears random
SLOW_BAND_HZ = (1.0, 10.0)

MeasurementModel = Callable[[Floats, int], Floats]


class Mounting(NamedTuple):
    """Pose of each sensor in its segment's frame, or its prop's."""

    segments: tuple[int, ...]  # Index of each sensor into SEGMENTS and, after them, the props
    positions: Vec3s  # Shape (n, 3) [m]
    rotations: Quats  # Shape (n, 4)


def random_mounting(
    sensors: Sequence[str], skeleton: Skeleton, seed: int, props: Sequence[str] = ()
) -> Mounting:
    """Return a mounting of the named sensors, on props without any; ConfigError for others."""
    known = (*SEGMENTS, *props)
    for name in sensors:
        if name not in known:
            raise ConfigError(
                f'sensors: expected names of segments or props, got {name!r}; '
                f'known: {", ".join(known)}'
            )
    rng = np.random.default_rng((seed, len(sensors)))
    segments = tuple(known.index(name) for name in sensors)
    places = np.array([_place(s, skeleton) if s < N_SEGMENTS else np.zeros(3) for s in segments])
    positions = places + rng.normal(0.0, SPREAD_M, places.shape)
    # a normal 4-vector's direction is uniform over rotations
    rotations = quaternions.normalize(rng.normal(size=(len(segments), 4)))
    on_props = np.array(segments) >= N_SEGMENTS
    positions[on_props], rotations[on_props] = 0.0, (1.0, 0.0, 0.0, 0.0)
    return Mounting(segments, positions, rotations)


def _place(segment: int, skeleton: Skeleton) -> Vec3:
    name = SEGMENTS[segment]
    side = -1.0 if name.startswith('right_') else 1.0
    if name.endswith('hand'):
        palm = skeleton.interaction_points[END_EFFECTORS.index(name)]
        return palm * (0.7, 0.7, 0.0) + (0.0, 0.0, SKIN_M)
    if name.endswith('foot'):
        sole = skeleton.interaction_points[END_EFFECTORS.index(name)]
        return sole * (1.0, 0.0, 0.3)
    child = int(np.flatnonzero(PARENTS == segment)[0]) if segment in PARENTS else -1
    middle = 0.5 * skeleton.offsets[child] if child > 0 else np.array([0.0, 0.0, 0.1])
    outward = {
        'arm': (0.0, 0.0, SKIN_M),
        'thigh': (0.0, side * 2.0 * SKIN_M, 0.0),
        'shank': (SKIN_M, 0.0, 0.0),
    }
    part = 'arm' if name.endswith('arm') else name.split('_')[-1]
    return middle + outward.get(part, (-BACK_M, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class NoiseLevels:
    """Standard deviations per axis."""

    white_mm: float = 0.5  # White position noise [mm]
    white_deg: float = 0.05  # White orientation noise [deg]
    slow_mm: float = 0.3  # Position noise between 1 and 10 Hz [mm]
    slow_deg: float = 0.03  # Orientation noise between 1 and 10 Hz [deg]

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0.0 <= value < 1000.0:
                raise ConfigError(f'{name}: expected 0.0 <= value < 1000, got {value}')


class SensorNoise:
    def __init__(self, levels: NoiseLevels, n_sensors: int, rate_hz: float, seed: int) -> None:
        self._seed = seed
        self._rate_hz = rate_hz
        self._white = _per_axis(levels.white_mm, levels.white_deg)
        rng = np.random.default_rng((seed, n_sensors))
        shape = (n_sensors, 6, N_WAVES)
        low, high = np.log(SLOW_BAND_HZ)
        self._frequencies_hz = np.exp(rng.uniform(low, high, shape))
        self._phases = rng.uniform(0.0, 2.0 * np.pi, shape)
        # a wave of amplitude a has variance a^2 / 2
        slow = _per_axis(levels.slow_mm, levels.slow_deg)
        self._amplitudes = np.sqrt(2.0 / N_WAVES) * slow

    def block(self, start_tick: int, n_ticks: int) -> Floats:
        """Return position [m] and rotation vector [rad] noise, shape (n_ticks, n_sensors, 6)."""
        times = (start_tick + np.arange(n_ticks)) / self._rate_hz
        angles = 2.0 * np.pi * times[:, None, None, None] * self._frequencies_hz + self._phases
        slow = self._amplitudes * np.sin(angles).sum(axis=-1)
        rng = np.random.default_rng((self._seed, start_tick, n_ticks))
        return slow + self._white * rng.normal(size=slow.shape)


def add_noise(poses: Floats, noise: Floats) -> Floats:
    """Return poses (..., 7) moved by noise (..., 6), the rotation vector in the sensor's frame."""
    turned = quaternions.multiply(poses[..., 3:], quaternions.exp(noise[..., 3:]))
    return np.concatenate((poses[..., :3] + noise[..., :3], turned), axis=-1)


def _per_axis(millimetres: float, degrees: float) -> Floats:
    return np.repeat((1e-3 * millimetres, np.radians(degrees)), 3)


def sensor_poses(looped: LoopedMotion, mounting: Mounting, transmitter_m: Vec3) -> Floats:
    """Return the true poses in the transmitter's axes, which are the world's, (frames, n, 7)."""
    q_world, p_world = looped.motion.world_segments()
    names, p_props, q_props = looped.motion.props
    if names:
        q_world = np.concatenate((q_world, q_props), axis=1)
        p_world = np.concatenate((p_world, p_props), axis=1)
    segments = list(mounting.segments)
    q_segment, p_segment = q_world[:, segments], p_world[:, segments]
    position = p_segment + quaternions.rotate(q_segment, mounting.positions) - transmitter_m
    rotation = quaternions.normalize(quaternions.multiply(q_segment, mounting.rotations))
    return np.concatenate((position, rotation), axis=-1)


class SensorPoses:
    """
    Sensor poses by tick, for ever.

    `poses` (frames, n, 7) are one pass, one frame a tick; `loop_start` follows the last one.
    `add_noise` takes poses of a block and its first tick and returns them as measured.
    """

    def __init__(
        self, poses: Floats, loop_start: int, add_noise: MeasurementModel | None = None
    ) -> None:
        self._poses = poses
        self._loop_start = loop_start
        self._disturb = add_noise

    @property
    def n_sensors(self) -> int:
        return self._poses.shape[1]

    def frames(self, ticks: np.ndarray) -> np.ndarray:
        n_frames = len(self._poses)
        looped = self._loop_start + (ticks - n_frames) % (n_frames - self._loop_start)
        return np.where(ticks < n_frames, ticks, looped)

    def block(self, start_tick: int, n_ticks: int) -> Floats:
        """Return the measured poses of consecutive ticks, shape (n_ticks, n, 7)."""
        poses = self._poses[self.frames(start_tick + np.arange(n_ticks))]
        return poses if self._disturb is None else self._disturb(poses, start_tick)
