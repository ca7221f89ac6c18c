# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Compile the performer's kernels before the first frame, with the types that frames have."""

import numpy as np
from puppet_core.sensor_frames import FilteredFrame
from puppet_core.skeleton import N_SEGMENTS, SEGMENTS, Skeleton
from puppet_retarget.performer.calibration import Calibration
from puppet_retarget.performer.posture_estimate import PostureConfig, PostureEstimator


def warm_up(skeleton: Skeleton) -> None:
    """Run one frame of an invented performer."""
    n = N_SEGMENTS
    identities = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    calibration = Calibration(
        '', '', '', SEGMENTS, np.arange(n), identities, np.zeros((n, 3)), np.zeros(n), np.zeros(n)
    )
    estimator = PostureEstimator(
        skeleton, calibration, identities[0], np.zeros(3), PostureConfig()
    )
    frame = FilteredFrame(
        0, 0, SEGMENTS, np.zeros((n, 3)), identities, np.zeros((n, 3)), np.zeros((n, 3)),
        np.zeros((n, 6, 6)), np.zeros(n, dtype=np.uint8),
    )  # fmt: skip
    estimator.step(frame)
