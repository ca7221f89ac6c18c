# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Recording sensor poses for a calibration, and the relative poses of neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import N_SEGMENTS, PARENTS
from puppet_core.io import CalibrationError, ConfigError
from puppet_core.math import check_array, Floats, Ints, Quat, quaternions, Quats, Vec3, Vec3s
from puppet_core.sensor_frames import FILTER_OK, FILTER_REINITIALISED, FilteredFrame, SensorFrame
from puppet_performer.calibration.pose import MAD_TO_SIGMA, PoseRecording
from puppet_performer.sensor_layout import NO_SENSOR, SensorLayout

SPIKE_M, SPIKE_DEG = 0.06, 12.0  # a sample this far from its neighbours is none of them ..
FAST_M_S, FAST_RAD_S = 6.0, 12.0  # .. unless the fastest motions take it there
SPIKE_FRAMES = 1.5  # mean distance in time of the two neighbours on each side
MIN_FRAMES = 50  # in which both sensors of a joint are measured
MIN_RATE_HZ, MAX_RATE_HZ = 10.0, 2000.0


@dataclass(frozen=True, slots=True)
class MotionRecording(PoseRecording):
    """Sensor poses in world over time, in the order of a layout, at an even rate."""

    rate_hz: float  # Frames per second

    def __post_init__(self) -> None:
        if not MIN_RATE_HZ <= self.rate_hz <= MAX_RATE_HZ:
            raise ConfigError(
                f'recording: expected {MIN_RATE_HZ:g} .. {MAX_RATE_HZ:g} frames per second, '
                f'got {self.rate_hz:.3g}'
            )
        frames, sensors = self.usable.shape
        check_array('positions', self.positions, (frames, sensors, 3))
        check_array('rotations', self.rotations, (frames, sensors, 4))

    @property
    def n_frames(self) -> int:
        return len(self.usable)

    @property
    def duration_s(self) -> float:
        """Return the length [s]."""
        return self.n_frames / self.rate_hz

    def without_spikes(self) -> 'MotionRecording':
        """Return the recording in which single samples far from their neighbours are unusable."""
        return replace(self, usable=self.usable & ~_spikes(self))


class Joint(NamedTuple):
    """Two neighbouring segments that both carry a sensor."""

    segment: int  # The child, whose name the joint has
    parent: int  # Sensor on the parent segment
    child: int  # Sensor on the child segment


class RelativePoses(NamedTuple):
    """The child's sensor seen from the parent's, where both were measured."""

    rotations: Floats  # Matrices R_parent^T R_child, shape (n, 3, 3)
    positions: Vec3s  # R_parent^T (p_child - p_parent), shape (n, 3) [m]
    frames: Ints  # Index of each in the recording, shape (n,)


def rotation_noise(recording: MotionRecording) -> Floats:
    """Return the white noise per axis (n,) [rad], by third differences, of variance 20 s^2."""
    before, after = recording.rotations[:-1], recording.rotations[1:]
    steps = quaternions.log(quaternions.multiply(quaternions.conjugate(before), after))
    changes = np.abs(np.diff(steps, n=2, axis=0))
    together = np.logical_and.reduce(
        [recording.usable[k : len(recording.usable) - 3 + k] for k in range(4)]
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
    recording: MotionRecording, parent: int, child: int, step: int = 1, names: Sequence[str] = ()
) -> RelativePoses:
    """Return one sensor in another's frame every `step`-th frame; CalibrationError for too few."""
    frames = np.flatnonzero(recording.usable[:, parent] & recording.usable[:, child])[::step]
    if len(frames) < MIN_FRAMES:
        first, second = (names[i] if names else f'sensor {i + 1}' for i in (parent, child))
        raise CalibrationError(
            f'recording: expected at least {MIN_FRAMES} frames with each two neighbouring '
            f'sensors, got {len(frames)} with {first} and {second}'
        )
    inverse = quaternions.conjugate(recording.rotations[frames, parent])
    apart = recording.positions[frames, child] - recording.positions[frames, parent]
    turn = quaternions.multiply(inverse, recording.rotations[frames, child])
    return RelativePoses(quaternions.to_matrix(turn), quaternions.rotate(inverse, apart), frames)


def _spikes(recording: MotionRecording) -> NDArray[np.bool_]:
    """Return where a sample is farther from most of its neighbours than moving takes it."""
    limit_m = max(SPIKE_M, SPIKE_FRAMES * FAST_M_S / recording.rate_hz)
    limit_rad = max(np.radians(SPIKE_DEG), SPIKE_FRAMES * FAST_RAD_S / recording.rate_hz)
    shifts = (-2, -1, 1, 2)
    far = np.zeros((len(shifts), *recording.usable.shape), dtype=bool)
    for row, shift in zip(far, shifts):
        beside = np.arange(len(row)) + shift
        others = np.clip(beside, 0, len(row) - 1)
        moved = np.linalg.norm(recording.positions - recording.positions[others], axis=2)
        cosine = np.abs(np.sum(recording.rotations * recording.rotations[others], axis=2))
        row[:] = (moved > limit_m) | (cosine < np.cos(0.5 * limit_rad))
        row |= ~recording.usable[others] | (others != beside)[:, None]
    return np.sum(far, axis=0) > len(shifts) // 2


MAX_FRAMES = 200_000  # twenty minutes at the fastest tracker's rate
STRAY_SHARE = 0.25  # of the sensors may stray (outliers) before a frame counts as moved

Row = tuple[Vec3s, Quats, NDArray[np.bool_]]


def in_world(
    frame: FilteredFrame | SensorFrame,
    sensors: tuple[str, ...],
    q_world_tracker: Quat,
    p_world_tracker: Vec3,
) -> Row:
    """Return positions (n, 3) [m], rotations (n, 4), usability (n,) of some sensors in world."""
    n = len(sensors)
    positions, rotations = np.zeros((n, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    usable = np.zeros(n, dtype=bool)
    for i, name in enumerate(sensors):
        if name not in frame.sensors:
            continue
        row = frame.sensors.index(name)
        pose = np.concatenate((frame.positions[row], frame.quaternions[row]))
        measured = frame.status[row] in (FILTER_OK, FILTER_REINITIALISED)
        if measured and np.all(np.isfinite(pose)):
            positions[i], rotations[i], usable[i] = pose[:3], pose[3:], True
    return (
        quaternions.rotate(q_world_tracker, positions) + p_world_tracker,
        quaternions.multiply(q_world_tracker, rotations),
        usable,
    )


class StreamRecorder:
    """Collects frames in world, with their stamps, until they span a duration."""

    def __init__(self, sensors: tuple[str, ...], wanted_s: float = np.inf) -> None:
        self._sensors = sensors
        self._wanted_s = wanted_s
        self._stamps_ns: list[int] = []
        self._rows: list[Row] = []

    @property
    def duration_s(self) -> float:
        """Return the time from the first frame to the last [s]."""
        return (self._stamps_ns[-1] - self._stamps_ns[0]) * 1e-9 if self._stamps_ns else 0.0

    @property
    def is_full(self) -> bool:
        return bool(self._rows) and self.duration_s >= self._wanted_s

    @property
    def n_frames(self) -> int:
        return len(self._rows)

    def restart(self) -> None:
        self._stamps_ns.clear()
        self._rows.clear()

    def add(
        self, frame: FilteredFrame | SensorFrame, p_world_tracker: Vec3, q_world_tracker: Quat
    ) -> None:
        """Take a frame; one that is not newer than the last is left out."""
        late = self._rows and frame.stamp_ns <= self._stamps_ns[-1]
        if not late and len(self._rows) < MAX_FRAMES:
            self._append(frame, p_world_tracker, q_world_tracker)

    def _append(
        self, frame: FilteredFrame | SensorFrame, p_world_tracker: Vec3, q_world_tracker: Quat
    ) -> None:
        self._stamps_ns.append(frame.stamp_ns)
        self._rows.append(in_world(frame, self._sensors, q_world_tracker, p_world_tracker))

    def poses(self) -> PoseRecording:
        """Return what was collected, at least one frame."""
        return PoseRecording(*(np.array(values) for values in zip(*self._rows)))

    def recording(self) -> MotionRecording:
        """Return what was collected; raise CalibrationError if there are not two frames."""
        if len(self._rows) < 2:
            raise CalibrationError(f'recording: expected frames, got {len(self._rows)}')
        poses = self.poses()
        rate_hz = (len(self._rows) - 1) / self.duration_s
        return MotionRecording(poses.positions, poses.rotations, poses.usable, rate_hz)


class PoseRecorder(StreamRecorder):
    """
    Collects frames in world while the performer holds still.

    It begins anew until the sensors stay within `max_stray_m` of where they were at the beginning;
    infinite records whatever comes.
    """

    def __init__(
        self, sensors: tuple[str, ...], wanted_s: float, max_stray_m: float = np.inf
    ) -> None:
        super().__init__(sensors, wanted_s)
        self._max_stray_m = max_stray_m

    def add(
        self, frame: FilteredFrame | SensorFrame, p_world_tracker: Vec3, q_world_tracker: Quat
    ) -> None:
        """Take a frame; begin anew with one that is not newer than the last, or has moved."""
        if self._rows and frame.stamp_ns <= self._stamps_ns[-1]:
            self.restart()
        self._append(frame, p_world_tracker, q_world_tracker)
        if self._has_moved() or len(self._rows) > MAX_FRAMES:
            del self._stamps_ns[:-1], self._rows[:-1]

    def _has_moved(self) -> bool:
        (positions, _, usable), (first, _, first_usable) = self._rows[-1], self._rows[0]
        both = usable & first_usable
        moved = np.linalg.norm(positions - first, axis=1) > self._max_stray_m
        return bool(np.any(both)) and float(np.mean(moved[both])) > STRAY_SHARE


def part_of(recording: MotionRecording, start_s: float, end_s: float) -> MotionRecording:
    """Return the frames from one time to another [s]."""
    return recording[round(start_s * recording.rate_hz) : round(end_s * recording.rate_hz)]
