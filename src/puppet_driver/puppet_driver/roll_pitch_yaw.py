# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations as people give them in parameters: roll, pitch and yaw in degrees."""

import numpy as np
from puppet_core.arrays import Quat
from puppet_core.quaternion_batch import exp, multiply


def rotation_of(rpy_deg: tuple[float, float, float]) -> Quat:
    """Return the rotation by roll about X, then pitch about Y, then yaw about Z, shape (4,)."""
    roll, pitch, yaw = np.radians(rpy_deg)[:, None] * np.eye(3)
    return multiply(exp(yaw), multiply(exp(pitch), exp(roll)))
