# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Seeded motions of body-worn sensors with known truth, and what a magnetic tracker makes of them.

Speeds and accelerations are those of people: reaches and swings of minimum jerk (Flash and
Hogan's velocity profile) with rests between them, feet that stand still while planted. The
benchmark and the tests measure filters on these.
"""

from dataclasses import dataclass

import numpy as np
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.math import quaternions as quaternion_batch

KINDS = ('static', 'slow', 'fast', 'walk', 'jumps')
SWAY_S, SWAY_REST = 2.0, 0.25  # period of slow sways, share of it at rest


@dataclass(frozen=True, slots=True)
class SensorMotion:
    """True poses of several sensors over time."""

    rate_hz: float  # Frames per second
    positions: Vec3s  # Shape (frames, n, 3) [m]
    quaternions: Quats  # Shape (frames, n, 4), signs continuous in time

    @property
    def times_s(self) -> Floats:
        """Time of each frame [s]."""
        return np.arange(len(self.positions)) / self.rate_hz


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What goes wrong between truth and sample."""

    position_mm: float = 0.5  # Standard deviation of white position noise per axis [mm]
    orientation_deg: float = 0.05  # Standard deviation of white orientation noise per axis [deg]
    # Amplitude of position hum per axis [mm]: mains or CRT, aliased by the sampling
    hum_mm: float = 0.0
    hum_deg: float = 0.0  # Amplitude of orientation hum per axis [deg]
    hum_hz: float = 50.0  # Frequency of the hum before sampling [Hz]
    # Amplitude of its octave, a share of it: what sampling at 120 Hz brings down to 20 Hz, or to
    # next to nothing for 60 Hz
    hum_overtone: float = 0.5
    missing: float = 0.0  # Fraction of samples that are missing, in runs
    burst_frames: float = 4.0  # Mean length of a run of missing samples [frames]
    outliers: float = 0.0  # Fraction of samples that begin to be somewhere else altogether
    outlier_frames: int = 1  # For how long they are there


def make_motion(
    kind: str, n_sensors: int, duration_s: float, rate_hz: float, rng: np.random.Generator
) -> SensorMotion:
    """
    Return a motion of one of KINDS.

    'slow' sways for 1.5 s and rests for 0.5 s, below 1 m/s; 'fast' reaches up to 0.8 m in 0.25
    to 0.5 s, up to 5 m/s and 60 m/s^2; 'walk' plants for 0.6 s and swings 1.2 m in 0.4 s;
    'jumps' sways and is carried elsewhere at once every second.
    """
    n_frames = int(round(duration_s * rate_hz))
    times = np.arange(n_frames) / rate_hz
    positions = np.zeros((n_frames, n_sensors, 3))
    rotvecs = np.zeros((n_frames, n_sensors, 3))
    for i in range(n_sensors):
        path = _PATHS[kind](times, rng)
        positions[:, i] = path[:, :3] + rng.uniform(-1.0, 1.0, 3)
        rotvecs[:, i] = path[:, 3:]
    quaternions = quaternion_batch.multiply(
        quaternion_batch.exp(rng.uniform(-1.5, 1.5, (n_sensors, 3))), quaternion_batch.exp(rotvecs)
    )
    return SensorMotion(rate_hz, positions, quaternion_batch.align_signs(quaternions))


def disturb(
    motion: SensorMotion, disturbance: Disturbance, rng: np.random.Generator
) -> tuple[Vec3s, Quats]:
    """
    Return measured positions (frames, n, 3) [m] and quaternions (frames, n, 4).

    Missing samples are NaN; quaternion signs are random, as devices may send either.
    """
    d = disturbance
    shape = motion.positions.shape
    cycles = d.hum_hz * motion.times_s[:, None, None]
    hum = np.sin(2.0 * np.pi * (cycles + rng.random((1, *shape[1:]))))
    overtone = np.sin(2.0 * np.pi * (2.0 * cycles + rng.random((1, *shape[1:]))))
    hum += d.hum_overtone * overtone
    positions = motion.positions + 1e-3 * (d.position_mm * rng.normal(size=shape) + d.hum_mm * hum)
    turn = np.radians(d.orientation_deg * rng.normal(size=shape) + d.hum_deg * hum)
    quaternions = quaternion_batch.multiply(motion.quaternions, quaternion_batch.exp(turn))
    quaternions *= rng.choice([-1.0, 1.0], shape[:2] + (1,))
    frames, sensors = np.nonzero(rng.random(shape[:2]) < d.outliers)
    offsets = rng.normal(size=(len(frames), 3))
    elsewhere = quaternion_batch.exp(rng.normal(size=(len(frames), 3)))
    for k in range(d.outlier_frames):
        inside = frames + k < shape[0]
        rows = frames[inside] + k, sensors[inside]
        positions[rows] += offsets[inside]
        quaternions[rows] = elsewhere[inside]
    missing = _bursts(shape[:2], d.missing, d.burst_frames, rng)
    positions[missing] = np.nan
    quaternions[missing] = np.nan
    return positions, quaternions


def _bursts(
    shape: tuple[int, int], share: float, mean_length: float, rng: np.random.Generator
) -> Floats:
    """Return a mask (frames, n), True in bursts that cover about `share` of it."""
    mask = np.zeros(shape, dtype=bool)
    starts = rng.random(shape) < share / mean_length
    for frame, sensor in np.argwhere(starts):
        length = rng.geometric(1.0 / mean_length)
        mask[frame : frame + length, sensor] = True
    return mask


def minimum_jerk(share: Floats) -> Floats:
    """Return the path share of a minimum-jerk movement at a share of its time in [0, 1]."""
    s = np.clip(share, 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def _static(times: Floats, rng: np.random.Generator) -> Floats:
    return np.zeros((len(times), 6))


def _slow(times: Floats, rng: np.random.Generator) -> Floats:
    path = np.zeros((len(times), 6))
    begun = np.floor(times / SWAY_S)
    eased = SWAY_S * (begun + minimum_jerk((times / SWAY_S - begun) / (1.0 - SWAY_REST)))
    for k in range(6):
        for _ in range(3):
            phase, rate_hz = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.05, 0.25)
            path[:, k] += 0.1 * np.sin(2.0 * np.pi * rate_hz * eased + phase)
    return path


def _fast(times: Floats, rng: np.random.Generator) -> Floats:
    path = np.zeros((len(times), 6))
    at = np.zeros(6)
    begin = rng.uniform(0.0, 0.3)
    while begin < times[-1]:
        lasts = rng.uniform(0.25, 0.5)
        goal = np.concatenate((rng.uniform(-0.4, 0.4, 3), rng.uniform(-0.8, 0.8, 3)))
        share = minimum_jerk((times - begin) / lasts)
        path += share[:, None] * (goal - at)
        at = goal
        begin += lasts + rng.choice([0.0, 0.1, 0.4])
    return path


def _walk(times: Floats, rng: np.random.Generator) -> Floats:
    path = np.zeros((len(times), 6))
    begin = rng.uniform(0.0, 1.0)
    while begin < times[-1]:
        share = (times - begin) / 0.4
        inside = np.clip(share, 0.0, 1.0)
        path[:, 0] += 1.2 * minimum_jerk(share)
        path[:, 2] += 0.12 * np.sin(np.pi * minimum_jerk(share)) ** 2
        path[:, 4] += 0.9 * np.sin(np.pi * inside) ** 3
        begin += 1.0
    return path


def _jumps(times: Floats, rng: np.random.Generator) -> Floats:
    path = _slow(times, rng)
    places = rng.uniform(-0.5, 0.5, (int(times[-1]) + 1, 6))
    return path + places[times.astype(int)]


_PATHS = {'static': _static, 'slow': _slow, 'fast': _fast, 'walk': _walk, 'jumps': _jumps}
