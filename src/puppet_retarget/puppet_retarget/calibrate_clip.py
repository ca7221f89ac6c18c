# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibration of a performer that is a clip: virtual sensors, and how far the result is off.

The sensors are put on at random, so nothing of the truth is in what they measure.

"""

from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.posture import Motion
from puppet_core.skeleton import N_SEGMENTS
from puppet_retarget.offline.known_take import posed_badly
from puppet_retarget.performer.calibration import Calibration
from puppet_retarget.performer.motion_recording import MotionRecording
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.virtual_sensors import (
    Disturbances,
    measure,
    Mounting,
    random_mounting,
)

RATE_HZ = 60.0
T_POSE_S = 2.0


class VirtualTake(NamedTuple):
    """A recording whose truth is known."""

    motion: Motion
    """What was done, by whom."""

    mounting: Mounting
    """How the sensors sit."""

    recording: MotionRecording
    """What they measured."""

    def compare(self, calibration: Calibration) -> str:
        """Return one line on how far a calibration is from the truth."""
        between = quaternion_batch.multiply(
            quaternion_batch.conjugate(calibration.rotations), self.mounting.rotations
        )
        turned = np.degrees(np.linalg.norm(quaternion_batch.log(between), axis=1))
        line = f'off the truth: sensors turned by {np.sqrt(np.mean(turned**2)):.2f} deg RMS'
        if calibration.skeleton is not None:
            true = self.motion.skeleton.limb_lengths
            worst = np.max(np.abs(calibration.skeleton.limb_lengths - true))
            line += f', limb segments by at most {1e3 * worst:.1f} mm'
        return line


def record_clip(
    motion: Motion, layout: SensorLayout, disturbances: Disturbances, seed: int,
    pose_deg: float = 0.0,
) -> VirtualTake:  # fmt: skip
    """
    Return what the sensors of a layout measure of a motion that begins with a T-pose.

    Parameters
    ----------
    motion, layout, disturbances : Motion, SensorLayout and Disturbances
        What is done, and how it is measured.
    seed : int
        Of mounting, disturbances and pose, >= 0.
    pose_deg : float
        How far each segment is turned from the T-pose, standard deviation per axis [deg].

    """
    off = np.radians(pose_deg) * np.random.default_rng(seed + 2).normal(size=(N_SEGMENTS, 3))
    motion = posed_badly(motion, T_POSE_S, off)
    mounting = random_mounting(layout, seed)
    recording = measure(motion, layout, mounting, disturbances, seed + 1)
    return VirtualTake(motion, mounting, recording)
