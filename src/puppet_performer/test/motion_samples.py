# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the default fourteen sensors on performers much like the built-in adult."""

from functools import cache

from benchmarks import synthetic_recording as synthetic
import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.posture import Motion
from puppet_core.procedural.performer import procedural_motion
from puppet_core.sensor_frames import FilteredFrame
from puppet_performer.posture.estimator import PostureConfig, PostureEstimator
from puppet_performer.sensor_layout import load_layout

EXACT = synthetic.Disturbances()
REAL = synthetic.Disturbances(noise_mm=2.0, noise_deg=0.5, outliers=0.01, skin_mm=5.0)
ADULT = load_character(named_files.character_file('performer'))
LAYOUT = load_layout(named_files.layout_file('default14'))


def make_recording(
    seed, disturbances, rate_hz=synthetic.RATE_HZ, layout=LAYOUT, stretch=0.1, pose_deg=0.0
):
    return synthetic.make_recording(ADULT, layout, disturbances, seed, rate_hz, stretch, pose_deg)


@cache
def walk_and_clap(n_frames):
    whole, part = procedural_motion(ADULT, 120.0), slice(2100, 2100 + n_frames)
    return Motion.from_rotations(
        whole.skeleton, 120.0, whole.root_positions[part], whole.rotations[part]
    )


def estimator_of(skeleton, layout, calibration=None):
    """Return an estimator of frames of `sensor_frames`, calibrated exactly by default."""
    known = synthetic.known_calibration(layout) if calibration is None else calibration
    return PostureEstimator(
        skeleton,
        known,
        np.array([1.0, 0.0, 0.0, 0.0]),
        np.array(synthetic.TRACKER_M),
        PostureConfig(),
    )


def plain_frame(index, sensors, positions, rotations, stamp_ns=0):
    """Return a filtered frame of sensors at rest, all of them measured."""
    n = len(sensors)
    zeros, status = np.zeros((n, 3)), np.zeros(n, dtype=np.uint8)
    poses = np.ascontiguousarray(positions), np.ascontiguousarray(rotations)
    return FilteredFrame(
        stamp_ns, index, sensors, *poses, zeros, zeros.copy(), np.zeros((n, 6, 6)), status
    )


def estimates(calibration, poses, frames):
    """Yield the posture of some frames of a recording in world, each as if it were the first."""
    tracker = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
    estimator = PostureEstimator(calibration.skeleton, calibration, *tracker, PostureConfig())
    for k in frames:
        estimator.reset()
        frame = plain_frame(k, calibration.sensors, poses.positions[k], poses.rotations[k])
        yield estimator.step(frame)
