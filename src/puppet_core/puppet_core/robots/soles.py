# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What of a robot's foot is sole."""

from puppet_core.math import Floats, Vec3s

SOLE_BAND_M = 0.02  # what of a foot is so near to its lowest point is sole


def sole_box(points: Vec3s) -> tuple[Floats, Floats]:
    """Return the least and greatest coordinates (3,) of a foot's lowest points, of (n, 3) [m]."""
    low = points[points[:, 2] < points[:, 2].min() + SOLE_BAND_M]
    return low.min(axis=0), low.max(axis=0)
