# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Virtual sensors on a motion whose truth is known."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Motion
from puppet_core.math import quaternions, Quats, Vec3s
from puppet_performer.calibration import Calibration, MotionRecording
from puppet_performer.sensor_layout import SensorLayout

RATE_HZ = 60.0
T_POSE_S = 2.0


class Mounting(NamedTuple):
    positions: Vec3s  # Shape (n, 3) [m]
    rotations: Quats  # Shape (n, 4)


def random_mounting(layout: SensorLayout, seed: int, spread_m: float = 0.015) -> Mounting:
    """Return sensors near the layout's places, turned at random."""
    rng = np.random.default_rng(seed)
    n = len(layout.sensors)
    return Mounting(
        layout.mountings + rng.normal(0.0, spread_m, (n, 3)),
        # a normal 4-vector's direction is uniform over rotations
        quaternions.normalize(rng.normal(size=(n, 4))),
    )


def sensor_poses(
    motion: Motion, layout: SensorLayout, places: Vec3s, turns: Quats
) -> tuple[Vec3s, Quats]:
    """Return positions [m] and rotations in world of sensors so mounted, (frames, n, 3 or 4)."""
    q_world, p_world = motion.world_segments()
    q, p = q_world[:, layout.segments], p_world[:, layout.segments]
    return p + quaternions.rotate(q, places), quaternions.multiply(q, turns)


def off_the_truth(found: Quats, true: Quats) -> Vec3s:
    """Return the rotation vectors from orientations that were found to the true ones [rad]."""
    return quaternions.log(quaternions.multiply(quaternions.conjugate(found), true))


class RecordedClip(NamedTuple):
    motion: Motion  # what was done, by whom
    mounting: Mounting  # how the sensors sit
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


def record_clip(motion: Motion, layout: SensorLayout, seed: int) -> RecordedClip:
    """Return what perfect sensors, put on at random, measure of a motion."""
    mounting = random_mounting(layout, seed)
    positions, rotations = sensor_poses(motion, layout, *mounting)
    usable = np.ones(positions.shape[:2], dtype=bool)
    recording = MotionRecording(positions, rotations, usable, motion.rate_hz)
    return RecordedClip(motion, mounting, recording)
