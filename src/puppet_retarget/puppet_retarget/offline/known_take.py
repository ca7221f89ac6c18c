# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Recordings of a range of motion whose truth is known, and what may go wrong in them.

For the calibration's benchmark and tests.

"""

from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Vec3s
from puppet_core.character import Character
from puppet_core.posture import Motion
from puppet_core.procedural_range import range_of_motion
from puppet_core.skeleton import N_SEGMENTS, PARENTS, Skeleton
from puppet_retarget.performer.calibration import Calibration
from puppet_retarget.performer.functional_calibration import calibrate_motion, Outcome
from puppet_retarget.performer.motion_recording import measured_joints, MotionRecording
from puppet_retarget.performer.pose_calibration import CalibrationLimits, PoseRecording
from puppet_retarget.performer.recording_parts import part_of
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.virtual_sensors import (
    Disturbances,
    measure,
    Mounting,
    random_mounting,
)

T_POSE_S, RANGE_S = 2.0, 25.0
FADE_S = 1.0  # in which the errors of a pose go when the motion begins
RATE_HZ = 60.0
LIMITS = CalibrationLimits()
SLIP_M, SLIP_DEG = 0.025, 12.0


class Take(NamedTuple):
    """One performer's recording with its truth."""

    skeleton: Skeleton
    """The performer's own."""

    motion: Motion
    """What was done."""

    mounting: Mounting
    """How the sensors sit."""

    recording: MotionRecording
    """What they measured, the T-pose first."""

    layout: SensorLayout
    """Which sensors."""

    ordinary: Character
    """Whose proportions are known."""

    def calibrate(self, recording: MotionRecording | None = None) -> Outcome:
        """Return the calibration, by an ordinary body's proportions."""
        whole = self.recording if recording is None else recording
        return calibrate_motion(
            part_of(whole, 0.0, T_POSE_S).poses, part_of(whole, T_POSE_S, T_POSE_S + RANGE_S),
            self.layout, self.ordinary, LIMITS, '2026-11-21',
        )  # fmt: skip

    def centre_errors(self, calibration: Calibration) -> Floats:
        """Return how far each joint centre is off in both sensors' frames, (joints, 2) [m]."""
        assert calibration.skeleton is not None
        true = _centres(self.skeleton, self.mounting, self.layout)
        found = _centres(
            calibration.skeleton, Mounting(calibration.positions, calibration.rotations),
            self.layout,
        )  # fmt: skip
        return np.linalg.norm(found - true, axis=2)

    def length_errors(self, calibration: Calibration) -> Floats:
        """Return how far the limb segments' lengths are off, shape (4, 2) [m]."""
        assert calibration.skeleton is not None
        return np.abs(calibration.skeleton.limb_lengths - self.skeleton.limb_lengths)


def make_take(
    ordinary: Character, layout: SensorLayout, disturbances: Disturbances, seed: int,
    rate_hz: float = RATE_HZ, stretch: float = 0.1, pose_deg: float = 0.0,
) -> Take:  # fmt: skip
    """
    Return what a performer does, measured with sensors put on anyhow.

    Parameters
    ----------
    ordinary, layout : Character and SensorLayout
        Whose proportions are known; the sensors.
    disturbances : Disturbances
        Of the measurement.
    seed : int
        Of proportions, mountings and disturbances.
    rate_hz : float
        Frames per second.
    stretch : float
        How much the performer differs from the ordinary body along each axis, as a share.
    pose_deg : float
        How far each segment is turned from the T-pose, standard deviation per axis [deg].

    """
    rng = np.random.default_rng(seed)
    factors = 1.0 + rng.uniform(-stretch, stretch, 3)
    body = ordinary.skeleton
    skeleton = Skeleton(body.offsets * factors, body.interaction_points * factors)
    off = np.radians(pose_deg) * np.random.default_rng(seed + 3000).normal(size=(N_SEGMENTS, 3))
    motion = posed_badly(range_of_motion(skeleton, rate_hz, T_POSE_S), T_POSE_S, off)
    mounting = random_mounting(layout, seed + 1000)
    recording = measure(motion, layout, mounting, disturbances, seed + 2000)
    return Take(skeleton, motion, mounting, recording, layout, ordinary)


def posed_badly(motion: Motion, pose_s: float, off: Vec3s) -> Motion:
    """
    Return a motion in whose opening pose the segments are turned.

    Parameters
    ----------
    motion : Motion
        Begins with a held T-pose.
    pose_s : float
        How long; the errors fade in FADE_S after it [s].
    off : ndarray, shape (16, 3)
        Rotation vector of each segment's error, in the world and so not adding up [rad].

    """
    t = np.arange(motion.n_frames) / motion.rate_hz - pose_s
    share = np.clip(1.0 - t / FADE_S, 0.0, 1.0)
    world, _ = motion.world_segments()
    world = quaternion_batch.multiply(world, quaternion_batch.exp(share[:, None, None] * off))
    rotations = world.copy()
    rotations[:, 1:] = quaternion_batch.multiply(
        quaternion_batch.conjugate(world[:, PARENTS[1:]]), world[:, 1:]
    )
    return Motion.from_rotations(
        motion.skeleton, motion.rate_hz, motion.root_positions, rotations
    )


def exchanged(recording: MotionRecording, layout: SensorLayout, *names: str) -> MotionRecording:
    """Return the recording with pairs of sensors exchanged."""
    order = np.arange(len(layout.sensors))
    for first, second in zip(names[::2], names[1::2]):
        i, j = layout.sensors.index(first), layout.sensors.index(second)
        order[[i, j]] = order[[j, i]]
    poses = recording.poses
    return MotionRecording(recording.rate_hz, PoseRecording(
        poses.positions[:, order], poses.rotations[:, order], poses.usable[:, order]
    ))  # fmt: skip


def slipped(
    recording: MotionRecording, layout: SensorLayout, name: str, when_s: float, seed: int = 0
) -> MotionRecording:
    """Return the recording with a sensor that moves by SLIP_M and turns by SLIP_DEG."""
    rng = np.random.default_rng(seed)
    shift, axis = rng.normal(size=(2, 3))
    shift, axis = SLIP_M * shift / np.linalg.norm(shift), axis / np.linalg.norm(axis)
    poses, row = recording.poses, layout.sensors.index(name)
    start = round((T_POSE_S + when_s) * recording.rate_hz)
    positions, rotations = poses.positions.copy(), poses.rotations.copy()
    after = poses.rotations[start:, row]
    positions[start:, row] += quaternion_batch.rotate(after, shift)
    rotations[start:, row] = quaternion_batch.multiply(
        after, quaternion_batch.exp(np.radians(SLIP_DEG) * axis)
    )
    return MotionRecording(
        recording.rate_hz, PoseRecording(positions, rotations, poses.usable)
    )


def _centres(skeleton: Skeleton, mounting: Mounting, layout: SensorLayout) -> Vec3s:
    """Return joint centres in the sensors' frames, shape (joints, 2, 3) [m]."""
    inverse = quaternion_batch.conjugate(mounting.rotations)
    return np.array([
        [
            quaternion_batch.rotate(
                inverse[joint.parent],
                skeleton.offsets[joint.segment] - mounting.positions[joint.parent],
            ),
            quaternion_batch.rotate(inverse[joint.child], -mounting.positions[joint.child]),
        ]
        for joint in measured_joints(layout)
    ])  # fmt: skip
