# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Calibration of a performer that is a clip, by simulated sensors, and its errors."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Motion, N_SEGMENTS
from puppet_core.math import quaternions, Quats, Vec3s
from puppet_performer import synthetic_recording as synthetic
from puppet_performer.calibration import Calibration, MotionRecording
from puppet_performer.sensor_layout import SensorLayout

T_POSE_S = 2.0


def off_the_truth(found: Quats, true: Quats) -> Vec3s:
    """Return the rotation vectors from orientations that were found to the true ones [rad]."""
    return quaternions.log(quaternions.multiply(quaternions.conjugate(found), true))


class RecordedClip(NamedTuple):
    motion: Motion  # what was done, by whom
    mounting: synthetic.Mounting  # how the sensors sit
    recording: MotionRecording  # what they measured

    def compare(self, calibration: Calibration) -> str:
        off = off_the_truth(calibration.rotations, self.mounting.rotations)
        turned = np.degrees(np.linalg.norm(off, axis=1))
        line = f'off the truth: sensors turned by {np.sqrt(np.mean(turned**2)):.2f} deg RMS'
        if calibration.skeleton is not None:
            true = self.motion.skeleton.limb_lengths
            worst = np.max(np.abs(calibration.skeleton.limb_lengths - true))
            line += f', limb segments by at most {1e3 * worst:.1f} mm'
        return line


def record_clip(
    motion: Motion,
    layout: SensorLayout,
    disturbances: synthetic.Disturbances,
    seed: int,
    pose_deg: float = 0.0,
) -> RecordedClip:
    """Return what sensors measure of a motion whose T-pose is off by `pose_deg` per axis [deg]."""
    off = np.radians(pose_deg) * np.random.default_rng(seed + 2).normal(size=(N_SEGMENTS, 3))
    motion = synthetic.posed_badly(motion, T_POSE_S, off)
    mounting = synthetic.random_mounting(layout, seed)
    recording = synthetic.measure(motion, layout, mounting, disturbances, seed + 1)
    return RecordedClip(motion, mounting, recording)
