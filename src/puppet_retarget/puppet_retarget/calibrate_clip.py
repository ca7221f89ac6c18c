# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibration of a performer that is a clip: virtual sensors, and how far the result is off.

Without a clip the built-in range of motion is performed by the performer's own character.
The sensors are put on at random, so nothing of the truth is in what they measure.

"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.character import Character
from puppet_core.clip import load_clip
from puppet_core.motion_loop import clip_loop_motion
from puppet_core.posture import Motion
from puppet_core.procedural_range import range_of_motion
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
    clip: Path | None, performer: Character, layout: SensorLayout, disturbances: Disturbances,
    seed: int,
) -> VirtualTake:  # fmt: skip
    """
    Return what the sensors of a layout measure of a clip, after a T-pose.

    Raises
    ------
    InputFileError : if the clip cannot be read.

    """
    if clip is None:
        motion = range_of_motion(performer, RATE_HZ, T_POSE_S)
    else:
        motion = clip_loop_motion(load_clip(clip), RATE_HZ, T_POSE_S)
    mounting = random_mounting(layout, seed)
    recording = measure(motion, layout, mounting, disturbances, seed + 1)
    return VirtualTake(motion, mounting, recording)
