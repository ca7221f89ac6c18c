# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One frame of calibrated sensors to the performer's joint rotations and end-effectors."""

from puppet_performer.posture.estimator import (
    EstimatedPosture,
    PostureConfig,
    PostureEstimator,
    warm_up,
)
