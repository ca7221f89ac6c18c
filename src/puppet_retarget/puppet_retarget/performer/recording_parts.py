# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A stream of sensor frames to what a calibration needs: the held pose, and the motion after it.

The pose is the first second in which all sensors are still and stand as in a T-pose; if none
does, the first still one, whose sensors may have been exchanged.

"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from puppet_core.arrays import Quat, Vec3
from puppet_core.character import Character
from puppet_core.errors import CalibrationError
from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_retarget.performer.joint_range import joint_range, range_complaint
from puppet_retarget.performer.measured_skeleton import sized
from puppet_retarget.performer.motion_recording import (
    measured_joints,
    MotionRecording,
    relative_poses,
)
from puppet_retarget.performer.pose_calibration import (
    calibrate_pose,
    CalibrationLimits,
    mean_pose,
    PoseRecording,
)
from puppet_retarget.performer.pose_recorder import in_world
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.size_check import size_findings

POSE_S = 1.0
PATIENCE_S = 5.0  # after the first still pose, for one that is a T-pose
MIN_MOTION_S = 8.0
MAX_FRAMES = 200_000


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
        if late or len(self._rows) >= MAX_FRAMES:
            return
        self._stamps_ns.append(frame.stamp_ns)
        self._rows.append(in_world(frame, self._sensors, q_world_tracker, p_world_tracker))

    def recording(self) -> MotionRecording:
        """
        Return what was collected.

        Raises
        ------
        CalibrationError : if there are not two frames.

        """
        if len(self._rows) < 2:
            raise CalibrationError(f'recording: expected frames, got {len(self._rows)}')
        positions, rotations, usable = zip(*self._rows)
        rate_hz = (len(self._rows) - 1) / self.duration_s
        return MotionRecording(rate_hz, PoseRecording(
            np.array(positions), np.array(rotations), np.array(usable)
        ))  # fmt: skip


def split_recording(
    recording: MotionRecording, layout: SensorLayout, performer: Character,
    limits: CalibrationLimits, pose_s: float = POSE_S,
) -> tuple[PoseRecording, MotionRecording]:  # fmt: skip
    """
    Return the held pose and the motion after it.

    Raises
    ------
    CalibrationError : if nobody stands still, or hardly anything follows.

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
    recording: MotionRecording, layout: SensorLayout, performer: Character,
    limits: CalibrationLimits, pose_s: float = POSE_S,
) -> tuple[PoseRecording, float]:  # fmt: skip
    """
    Return the first T-pose that is held, and when it begins [s].

    Raises
    ------
    CalibrationError : if there is none; why the first second is none.

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


def _require_size(
    recording: MotionRecording, layout: SensorLayout, performer: Character
) -> None:
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
    return MotionRecording(recording.rate_hz, PoseRecording(
        poses.positions[piece], poses.rotations[piece], poses.usable[piece]
    ))  # fmt: skip


def left_to_move(
    recording: MotionRecording, layout: SensorLayout,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[int, int]:  # fmt: skip
    """Tell what has not been moved enough yet; return how many joints have, and of how many."""
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
