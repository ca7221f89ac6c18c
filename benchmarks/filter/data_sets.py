# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The benchmark's data: motions with their samples, and the measured noise of their sensors.

Everything is seeded, so a number that changes is a change of the code.
"""

from typing import NamedTuple

from benchmarks.filter.synthetic_motion import disturb, Disturbance, make_motion, SensorMotion
import numpy as np
from puppet_core.math import Mat6, Quats, Vec3s
from puppet_filter.sensor_noise import estimate_noise

RATE_HZ = 120.0
NOISE_S = 20.0  # of rest, for R

# 60 Hz is never exactly that: the octave of 59.95 Hz, sampled at 120 Hz, drifts with 0.1 Hz
DISTURBANCES = {
    '': Disturbance(),
    '_hum_50': Disturbance(hum_mm=1.0, hum_deg=0.1, hum_hz=50.0),
    '_hum_60': Disturbance(hum_mm=1.0, hum_deg=0.1, hum_hz=59.95),
    '_dropouts': Disturbance(missing=0.05),
    '_outliers': Disturbance(outliers=0.01),
}
MOTIONS = ('static', 'slow', 'fast', 'walk', 'jumps')
DATA_SETS = {
    motion + ending: (motion, disturbance)
    for motion in MOTIONS
    for ending, disturbance in DISTURBANCES.items()
} | {
    # what a gate that waits for two of a kind takes for a jump
    'fast_outlier_pairs': ('fast', Disturbance(outliers=0.005, outlier_frames=2))
}
"""Kind of motion and disturbance, by name."""


class DataSet(NamedTuple):
    """One recording."""

    motion: SensorMotion  # The truth
    positions: Vec3s  # Samples, shape (frames, n, 3) [m]; NaN is missing
    quaternions: Quats  # Samples, shape (frames, n, 4)
    noise: Mat6  # R, estimated from a rest recording of a sensor with the same noise, shape (6, 6)


def make_data_set(name: str, duration_s: float, n_sensors: int, seed: int) -> DataSet:
    """Return one of DATA_SETS."""
    kind, disturbance = DATA_SETS[name]
    rng = np.random.default_rng(seed)
    motion = make_motion(kind, n_sensors, duration_s, RATE_HZ, rng)
    samples = disturb(motion, disturbance, rng)
    # as the thesis measured R: at rest, and without what happens now and then
    noisy = Disturbance(
        disturbance.position_mm,
        disturbance.orientation_deg,
        disturbance.hum_mm,
        disturbance.hum_deg,
        disturbance.hum_hz,
        disturbance.hum_overtone,
    )
    rest = make_motion('static', 1, NOISE_S, RATE_HZ, rng)
    positions, quaternions = disturb(rest, noisy, rng)
    return DataSet(motion, *samples, estimate_noise(positions[:, 0], quaternions[:, 0]).matrix)
