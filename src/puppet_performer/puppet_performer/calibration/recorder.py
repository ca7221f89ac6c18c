# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Recording sensor frames for a calibration: a window that waits for a still pose, or a stream.

`PoseRecorder` empties its window when a frame has moved away from the first, so that a full
window is a still one; whether it is a T-pose, the calibration decides. `StreamRecorder` keeps
everything; `find_pose` then picks the first second in which all sensors are still and stand as
in a T-pose, or else the first still one, whose sensors may have been exchanged.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import Character
from puppet_core.io import CalibrationError
from puppet_core.math import Quat, quaternions, Quats, Vec3, Vec3s
from puppet_core.sensor_frames import FILTER_OK, FILTER_REINITIALISED, FilteredFrame, SensorFrame
from puppet_performer.calibration.checks import joint_range, range_complaint, size_findings
from puppet_performer.calibration.measured_skeleton import sized
from puppet_performer.calibration.motion_recording import (
    measured_joints,
    MotionRecording,
    relative_poses,
)
from puppet_performer.calibration.pose import (
    calibrate_pose,
    CalibrationLimits,
    mean_pose,
    PoseRecording,
)
from puppet_performer.sensor_layout import SensorLayout

MAX_FRAMES = 20_000  # two minutes at the fastest tracker's rate
STRAY_SHARE = 0.25  # of the sensors may stray (outliers) before a frame counts as moved

POSE_S = 1.0
PATIENCE_S = 5.0  # after the first still pose, for one that is a T-pose
MIN_MOTION_S = 8.0
MAX_RECORDED_FRAMES = 200_000


# A window of recent frames.


class PoseRecorder:
    """Collects frames in world until they span a duration."""

    def __init__(
        self,
        sensors: tuple[str, ...],
        q_world_tracker: Quat,
        p_world_tracker: Vec3,
        duration_s: float,
        max_stray_m: float = np.inf,
    ) -> None:
        """
        Prepare an empty window for the sensors of a layout.

        It waits until they stay within `max_stray_m` of where they were at the window's beginning;
        infinite records whatever comes.
        """
        self._sensors = sensors
        self._q_world_tracker = np.array(q_world_tracker)
        self._p_world_tracker = np.array(p_world_tracker)
        self._duration_ns = round(duration_s * 1e9)
        self._max_stray_m = max_stray_m
        self._frames: list[tuple[Vec3s, Quats, NDArray[np.bool_]]] = []
        self._first_ns = 0
        self._last_ns = 0

    @property
    def n_frames(self) -> int:
        """Return the number of frames in the window."""
        return len(self._frames)

    def restart(self) -> None:
        """Forget all frames."""
        self._frames.clear()

    def add(self, frame: FilteredFrame) -> bool:
        """Take a frame; return True once the window is full."""
        positions, rotations, usable = in_world(
            frame, self._sensors, self._q_world_tracker, self._p_world_tracker
        )
        stale = frame.stamp_ns <= self._last_ns or len(self._frames) >= MAX_FRAMES
        if self._frames and (stale or self._has_moved(positions, usable)):
            self.restart()
        if not self._frames:
            self._first_ns = frame.stamp_ns
        self._last_ns = frame.stamp_ns
        self._frames.append((positions, rotations, usable))
        return self._last_ns - self._first_ns >= self._duration_ns

    def recording(self) -> PoseRecording:
        """Return the frames in the window, at least one."""
        positions, rotations, usable = zip(*self._frames)
        return PoseRecording(np.array(positions), np.array(rotations), np.array(usable))

    def _has_moved(self, positions: Vec3s, usable: NDArray[np.bool_]) -> bool:
        first, _, first_usable = self._frames[0]
        both = usable & first_usable
        moved = np.linalg.norm(positions - first, axis=1) > self._max_stray_m
        return bool(np.any(both)) and float(np.mean(moved[both])) > STRAY_SHARE


def in_world(
    frame: FilteredFrame | SensorFrame,
    sensors: tuple[str, ...],
    q_world_tracker: Quat,
    p_world_tracker: Vec3,
) -> tuple[Vec3s, Quats, NDArray[np.bool_]]:
    """
    Return positions (n, 3) [m], rotations (n, 4), usability (n,) of some sensors in world.

    The frame may lack some; what is good has the same status before and after the filter.
    """
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


# A stream: the held pose, and the motion after it.


class StreamRecorder:
    """Collects frames in world, with their stamps."""

    def __init__(self, sensors: tuple[str, ...]) -> None:
        self._sensors = sensors
        self._stamps_ns: list[int] = []
        self._rows: list[tuple] = []

    @property
    def duration_s(self) -> float:
        """Return the time from the first frame to the last [s]."""
        if not self._stamps_ns:
            return 0.0
        return (self._stamps_ns[-1] - self._stamps_ns[0]) * 1e-9

    def restart(self) -> None:
        """Forget all frames."""
        self._stamps_ns.clear()
        self._rows.clear()

    def add(
        self, frame: FilteredFrame | SensorFrame, p_world_tracker: Vec3, q_world_tracker: Quat
    ) -> None:
        """Take a frame; one that is not newer than the last is left out."""
        late = self._stamps_ns and frame.stamp_ns <= self._stamps_ns[-1]
        if late or len(self._rows) >= MAX_RECORDED_FRAMES:
            return
        self._stamps_ns.append(frame.stamp_ns)
        self._rows.append(in_world(frame, self._sensors, q_world_tracker, p_world_tracker))

    def recording(self) -> MotionRecording:
        """Return what was collected; raise CalibrationError if there are not two frames."""
        if len(self._rows) < 2:
            raise CalibrationError(f'recording: expected frames, got {len(self._rows)}')
        positions, rotations, usable = zip(*self._rows)
        rate_hz = (len(self._rows) - 1) / self.duration_s
        return MotionRecording(
            rate_hz, PoseRecording(np.array(positions), np.array(rotations), np.array(usable))
        )


def split_recording(
    recording: MotionRecording,
    layout: SensorLayout,
    performer: Character,
    limits: CalibrationLimits,
    pose_s: float = POSE_S,
) -> tuple[PoseRecording, MotionRecording]:
    """
    Return the held pose and the motion after it.

    Raise CalibrationError if nobody stands still, or hardly anything follows.
    """
    pose, start_s = find_pose(recording, layout, performer, limits, pose_s)
    motion = part_of(recording, start_s + pose_s, recording.duration_s)
    if motion.duration_s < MIN_MOTION_S:
        raise CalibrationError(
            f'recording: expected at least {MIN_MOTION_S:g} s of motion after the T-pose, '
            f'got {motion.duration_s:.1f} s'
        )
    return pose, motion


def find_pose(
    recording: MotionRecording,
    layout: SensorLayout,
    performer: Character,
    limits: CalibrationLimits,
    pose_s: float = POSE_S,
) -> tuple[PoseRecording, float]:
    """
    Return the first T-pose that is held, and when it begins [s].

    Raise CalibrationError if there is none; why the first second is none.
    """
    still: tuple[PoseRecording, float] | None = None
    refusal: CalibrationError | None = None
    for start_s in np.arange(0.0, max(recording.duration_s - pose_s, 0.0) + 1e-9, 0.5 * pose_s):
        if still is not None and start_s > still[1] + PATIENCE_S:
            break
        pose = part_of(recording, start_s, start_s + pose_s).poses
        try:
            means = mean_pose(pose, layout, limits)
        except CalibrationError as err:
            refusal = refusal or err
            continue
        still = still or (pose, float(start_s))
        body = sized(performer.skeleton, layout, means.positions)
        try:
            calibrate_pose(pose, layout, replace(performer, skeleton=body), limits, '')
        except CalibrationError:
            continue
        return pose, float(start_s)
    if still is None:
        _require_size(recording, layout, performer)
        raise refusal or CalibrationError(
            f'recording: expected a T-pose of {pose_s:g} s, got {recording.duration_s:.1f} s'
        )
    return still


def _require_size(recording: MotionRecording, layout: SensorLayout, performer: Character) -> None:
    """Refuse a wrong unit, in which nobody seems to stand still."""
    poses = part_of(recording, 0.0, POSE_S).poses
    seen = np.any(poses.usable, axis=0)
    if not np.all(seen):
        return
    held = np.where(poses.usable[..., None], poses.positions, np.nan)
    for finding in size_findings(layout, performer.skeleton, np.nanmedian(held, axis=0)):
        raise CalibrationError(f'recording: {finding.text}')


def part_of(recording: MotionRecording, start_s: float, end_s: float) -> MotionRecording:
    """Return the frames from one time to another [s]."""
    piece = slice(round(start_s * recording.rate_hz), round(end_s * recording.rate_hz))
    poses = recording.poses
    return MotionRecording(
        recording.rate_hz,
        PoseRecording(poses.positions[piece], poses.rotations[piece], poses.usable[piece]),
    )


def left_to_move(
    recording: MotionRecording,
    layout: SensorLayout,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[int, int]:
    """Report what has not been moved enough yet; return how many joints have, and of how many."""
    joints = measured_joints(layout)
    cleaned = recording.without_spikes()
    n_left = 0
    for joint in joints:
        try:
            moved = joint_range(
                relative_poses(cleaned, joint.parent, joint.child, names=layout.sensors)
            )
        except CalibrationError as err:
            complaint = str(err)
        else:
            complaint = range_complaint(joint, moved)
        n_left += bool(complaint)
        if complaint:
            tell(complaint)
    return len(joints) - n_left, len(joints)
