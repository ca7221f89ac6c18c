# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Measurement noise of a magnetic tracker: white, plus a slow part as from a nearby CRT.

Every value is a function of seed and tick, so a run can be repeated and blocks of ticks
can be made in any order.

"""

from dataclasses import dataclass

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats
from puppet_core.errors import ConfigError

N_WAVES = 8  # per sensor and axis; enough for a sum that looks random
SLOW_BAND_HZ = (1.0, 10.0)


@dataclass(frozen=True, slots=True)
class NoiseLevels:
    """Standard deviations per axis."""

    white_mm: float = 0.5
    """White position noise [mm]."""

    white_deg: float = 0.05
    """White orientation noise [deg]."""

    slow_mm: float = 0.3
    """Position noise between 1 and 10 Hz [mm]."""

    slow_deg: float = 0.03
    """Orientation noise between 1 and 10 Hz [deg]."""

    def __post_init__(self) -> None:
        for name in ('white_mm', 'white_deg', 'slow_mm', 'slow_deg'):
            value = getattr(self, name)
            if not 0.0 <= value < 1000.0:
                raise ConfigError(f'{name}: expected 0.0 <= value < 1000, got {value}')


class SensorNoise:
    """Noise of `n_sensors` sensors at `rate_hz`."""

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


def disturb(poses: Floats, noise: Floats) -> Floats:
    """Return poses (..., 7) moved by noise (..., 6), the rotation vector in the sensor's frame."""
    turned = quaternion_batch.multiply(poses[..., 3:], quaternion_batch.exp(noise[..., 3:]))
    return np.concatenate((poses[..., :3] + noise[..., :3], turned), axis=-1)


def _per_axis(millimetres: float, degrees: float) -> Floats:
    return np.repeat((1e-3 * millimetres, np.radians(degrees)), 3)
