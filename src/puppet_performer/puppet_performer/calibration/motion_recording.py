# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What the sensors measured while the performer moved, and the relative poses of neighbours.

Samples that jump away from their neighbours in time are taken out first, so that a sensor
that slips, which changes everything after it, is not mistaken for outliers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import N_SEGMENTS, PARENTS
from puppet_core.io import CalibrationError, ConfigError
from puppet_core.math import check_array, Floats, Ints, quaternions, Vec3s
from puppet_performer.calibration.pose import PoseRecording
from puppet_performer.calibration.robust_mean import MAD_TO_SIGMA
from puppet_performer.sensor_layout import NO_SENSOR, SensorLayout

SPIKE_M, SPIKE_DEG = 0.06, 12.0  # a sample this far from its neighbours is none of them ..
FAST_M_S, FAST_RAD_S = 6.0, 12.0  # .. unless the fastest motions take it there
SPIKE_FRAMES = 1.5  # mean distance in time of the two neighbours on each side
MIN_FRAMES = 50  # in which both sensors of a joint are measured
MIN_RATE_HZ, MAX_RATE_HZ = 10.0, 2000.0


@dataclass(frozen=True, slots=True)
class MotionRecording:
    """Sensor poses in world over time, in the order of a layout, at an even rate."""

    rate_hz: float
    """Frames per second."""

    poses: PoseRecording
    """Positions, rotations and which of them are usable."""

    def __post_init__(self) -> None:
        if not MIN_RATE_HZ <= self.rate_hz <= MAX_RATE_HZ:
            raise ConfigError(
                f'recording: expected {MIN_RATE_HZ:g} .. {MAX_RATE_HZ:g} frames per second, '
                f'got {self.rate_hz:.3g}'
            )
        frames, sensors = self.poses.usable.shape
        check_array('positions', self.poses.positions, (frames, sensors, 3))
        check_array('rotations', self.poses.rotations, (frames, sensors, 4))

    @property
    def n_frames(self) -> int:
        """Return the number of frames."""
        return len(self.poses.usable)

    @property
    def duration_s(self) -> float:
        """Return the length [s]."""
        return self.n_frames / self.rate_hz

    def without_spikes(self) -> 'MotionRecording':
        """Return the recording in which single samples far from their neighbours are unusable."""
        poses = self.poses
        usable = poses.usable & ~_spikes(poses, self.rate_hz)
        return MotionRecording(
            self.rate_hz, PoseRecording(poses.positions, poses.rotations, usable)
        )


class Joint(NamedTuple):
    """Two neighbouring segments that both carry a sensor."""

    segment: int
    """The child, whose name the joint has."""

    parent: int
    """Sensor on the parent segment."""

    child: int
    """Sensor on the child segment."""


class RelativePoses(NamedTuple):
    """The child's sensor seen from the parent's, where both were measured."""

    rotations: Floats
    """Matrices R_parent^T R_child, shape (n, 3, 3)."""

    positions: Vec3s
    """R_parent^T (p_child - p_parent), shape (n, 3) [m]."""

    frames: Ints
    """Index of each in the recording, shape (n,)."""


def rotation_noise(recording: MotionRecording) -> Floats:
    """
    Return the white noise of each sensor's rotation per axis, shape (n,) [rad].

    From third differences in time, in which white noise of variance s^2 has 20 s^2 and a
    performer's motion next to nothing; their median leaves outliers and fast moments out.
    """
    poses = recording.poses
    steps = quaternions.log(
        quaternions.multiply(quaternions.conjugate(poses.rotations[:-1]), poses.rotations[1:])
    )
    changes = np.abs(np.diff(steps, n=2, axis=0))
    together = np.logical_and.reduce(
        [poses.usable[k : len(poses.usable) - 3 + k] for k in range(4)]
    )
    held = np.where(together[..., None], changes, np.nan)
    middle = np.nan_to_num(np.nanmedian(held, axis=(0, 2)))
    return MAD_TO_SIGMA * middle / np.sqrt(20.0)


def measured_joints(layout: SensorLayout) -> tuple[Joint, ...]:
    """Return the joints whose both segments carry a sensor, in the order of SEGMENTS."""
    sensor = layout.sensor_of_segment
    return tuple(
        Joint(segment, int(sensor[PARENTS[segment]]), int(sensor[segment]))
        for segment in range(1, N_SEGMENTS)
        if sensor[segment] != NO_SENSOR and sensor[PARENTS[segment]] != NO_SENSOR
    )


def relative_poses(
    recording: MotionRecording,
    parent: int,
    child: int,
    step: int = 1,
    names: Sequence[str] = (),
) -> RelativePoses:
    """
    Return the poses of one sensor in another's frame, every `step`-th frame.

    Raise CalibrationError, with the names of the sensors if given, if they were hardly ever
    measured together.
    """
    poses = recording.poses
    frames = np.flatnonzero(poses.usable[:, parent] & poses.usable[:, child])[::step]
    if len(frames) < MIN_FRAMES:
        first, second = (names[i] if names else f'sensor {i + 1}' for i in (parent, child))
        raise CalibrationError(
            f'recording: expected at least {MIN_FRAMES} frames with each two neighbouring '
            f'sensors, got {len(frames)} with {first} and {second}'
        )
    inverse = quaternions.conjugate(poses.rotations[frames, parent])
    apart = poses.positions[frames, child] - poses.positions[frames, parent]
    turn = quaternions.multiply(inverse, poses.rotations[frames, child])
    return RelativePoses(quaternions.to_matrix(turn), quaternions.rotate(inverse, apart), frames)


def _spikes(poses: PoseRecording, rate_hz: float) -> NDArray[np.bool_]:
    """Return where a sample is farther from most of its neighbours than moving takes it."""
    limit_m = max(SPIKE_M, SPIKE_FRAMES * FAST_M_S / rate_hz)
    limit_rad = max(np.radians(SPIKE_DEG), SPIKE_FRAMES * FAST_RAD_S / rate_hz)
    shifts = (-2, -1, 1, 2)
    far = np.zeros((len(shifts), *poses.usable.shape), dtype=bool)
    for row, shift in zip(far, shifts):
        beside = np.arange(len(row)) + shift
        others = np.clip(beside, 0, len(row) - 1)
        moved = np.linalg.norm(poses.positions - poses.positions[others], axis=2)
        cosine = np.abs(np.sum(poses.rotations * poses.rotations[others], axis=2))
        row[:] = (moved > limit_m) | (cosine < np.cos(0.5 * limit_rad))
        row |= ~poses.usable[others] | (others != beside)[:, None]
    return np.sum(far, axis=0) > len(shifts) // 2
