# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Compare filters on noisy sensor poses: the graph's Kalman filter and a low-pass.

    python compare_filters.py [CLIP] [NOISE_MM]

It prints the rms errors of position and of speed of both hands and feet. Both filters are causal:
what a low-pass smooths it also delays, and the delay counts as an error.
"""

import sys

import numpy as np
import puppet
from scipy.interpolate import CubicSpline
from scipy.signal import butter, lfilter

RATE_HZ = 120.0
CUTOFFS_HZ = (3.0, 6.0, 12.0)


def rms(difference: np.ndarray) -> float:
    return float(np.sqrt((difference[20:] ** 2).sum(axis=-1).mean()))  # both have settled


def main(clip: str = 'walk', noise_mm: str = '2') -> None:
    motion = puppet.load_clip(clip)
    measured_s = np.arange(motion.n_frames) / motion.rate_hz
    path = CubicSpline(measured_s, motion.end_effectors[:, :4])
    times = np.arange(0.0, measured_s[-1], 1.0 / RATE_HZ)
    truth, speed, noise_m = path(times), path(times, 1), 1e-3 * float(noise_mm)
    noisy = truth + np.random.default_rng(0).normal(scale=noise_m, size=truth.shape)
    still = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (*truth.shape[:2], 4))

    kalman = puppet.filter_poses(times, noisy, still, noise_position_mm=float(noise_mm))
    raw_speed = np.gradient(noisy, times, axis=0)
    found = {'none': (noisy, raw_speed), 'Kalman': (kalman.positions, kalman.linear_velocities)}
    for cutoff_hz in CUTOFFS_HZ:
        b, a = butter(2, cutoff_hz, fs=RATE_HZ)
        smooth = noisy[0] + lfilter(b, a, noisy - noisy[0], axis=0)
        found[f'low-pass {cutoff_hz:g} Hz'] = smooth, np.gradient(smooth, times, axis=0)
    print(f'{"filter":16} {"position [mm]":>13} {"speed [mm/s]":>12}')
    for name, (positions, speeds) in found.items():
        print(f'{name:16} {1e3 * rms(positions - truth):13.2f} {1e3 * rms(speeds - speed):12.0f}')


if __name__ == '__main__':
    main(*sys.argv[1:3])
