# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a posture that came over a topic is one (kernel, SPEC 6)."""

from puppet_core.arrays import Quats, Vec3, Vec3s
from puppet_core.kernel import kernel

MAX_COORDINATE_M = 1e4  # no tracker reaches so far; beyond it squares lose digits
UNIT_TOL = 1e-3  # of a quaternion's squared length [-]


@kernel
def is_posture(root: Vec3, segments: Vec3s, rotations: Quats) -> bool:
    """
    Return whether places are finite and rotations are of unit length.

    Parameters
    ----------
    root : ndarray, shape (3,)
        Pelvis in world [m].
    segments : ndarray, shape (16, 3)
        Joints in world [m].
    rotations : ndarray, shape (16, 4)
        Joint rotations.

    """
    # every comparison is false for NaN
    for k in range(3):
        if not abs(root[k]) <= MAX_COORDINATE_M:
            return False
    for i in range(len(segments)):
        square = 0.0
        for k in range(3):
            if not abs(segments[i, k]) <= MAX_COORDINATE_M:
                return False
        for k in range(4):
            square += rotations[i, k] * rotations[i, k]
        if not abs(square - 1.0) <= UNIT_TOL:
            return False
    return True
