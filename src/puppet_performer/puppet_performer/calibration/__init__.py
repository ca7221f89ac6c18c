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
from puppet_performer.calibration.functional import (
    calibrate_motion,
    find_pose,
    left_to_move,
    Outcome,
    split_recording,
)
from puppet_performer.calibration.pose import (
    calibrate_pose,
    CalibrationLimits,
    PoseRecording,
    rezero_sensor,
)
from puppet_performer.calibration.recording import (
    in_world,
    measured_joints,
    MotionRecording,
    part_of,
    PoseRecorder,
    StreamRecorder,
)
