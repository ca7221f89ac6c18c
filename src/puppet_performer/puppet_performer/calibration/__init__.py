# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From a T-pose and a range of motion to sensor mountings, segment lengths and an evaluation."""

from puppet_performer.calibration.calibration import (
    Calibration,
    load_calibration,
    save_calibration,
    SLIPPED,
    SWAPPED,
)
from puppet_performer.calibration.functional import calibrate_motion, Outcome
from puppet_performer.calibration.motion_recording import measured_joints, MotionRecording
from puppet_performer.calibration.pose import calibrate_pose, CalibrationLimits, PoseRecording
from puppet_performer.calibration.recorder import (
    find_pose,
    left_to_move,
    part_of,
    PoseRecorder,
    split_recording,
    StreamRecorder,
)
from puppet_performer.calibration.rezero import rezero_sensor
from puppet_performer.calibration.surface import (
    as_samples,
    describe,
    mirrored,
    segments_to_touch,
    stylus_tip,
    SurfaceRecorder,
    Touch,
    TouchConfig,
)
from puppet_performer.calibration.synthetic_recording import (
    exchanged,
    FADE_S,
    known_calibration,
    LIMITS,
    make_take,
    posed_badly,
    RANGE_S,
    RATE_HZ,
    sensor_frames,
    SLIP_DEG,
    SLIP_M,
    slipped,
    SYNTHETIC_T_POSE_S,
    Take,
    TRACKER_M,
)
from puppet_performer.calibration.virtual_sensors import (
    Disturbances,
    measure,
    Mounting,
    random_mounting,
)

__all__ = [
    'FADE_S',
    'LIMITS',
    'RANGE_S',
    'RATE_HZ',
    'SLIP_DEG',
    'SLIP_M',
    'SYNTHETIC_T_POSE_S',
    'Take',
    'exchanged',
    'make_take',
    'posed_badly',
    'slipped',
    'TRACKER_M',
    'known_calibration',
    'sensor_frames',
    'Calibration',
    'CalibrationLimits',
    'Disturbances',
    'MotionRecording',
    'Mounting',
    'Outcome',
    'PoseRecorder',
    'PoseRecording',
    'SLIPPED',
    'SWAPPED',
    'StreamRecorder',
    'SurfaceRecorder',
    'Touch',
    'TouchConfig',
    'as_samples',
    'calibrate_motion',
    'calibrate_pose',
    'describe',
    'find_pose',
    'left_to_move',
    'load_calibration',
    'measure',
    'measured_joints',
    'mirrored',
    'part_of',
    'random_mounting',
    'rezero_sensor',
    'save_calibration',
    'segments_to_touch',
    'split_recording',
    'stylus_tip',
]
