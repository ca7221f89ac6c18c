# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether numbers that came over a topic can be solved at all (kernel layer, SPEC 6)."""

from numba import njit
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS

MAX_COORDINATE_M = 1e4  # no tracker reaches so far; beyond it squares lose digits
MAX_RADIUS_M = 1e4
UNIT_TOL = 1e-3  # of a quaternion's squared length [-]


@njit(cache=True)
def is_usable(root: Vec3, segments: Vec3s, rotations: Quats, rows: Floats) -> bool:
    """
    Return whether a posture and its importance are finite, unit and in range.

    Parameters
    ----------
    root : ndarray, shape (3,)
        Pelvis in world [m].
    segments : ndarray, shape (16, 3)
        Joints in world [m].
    rotations : ndarray, shape (16, 4)
        Joint rotations.
    rows : ndarray, shape (4, 8)
        Importance rows.

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
    for i in range(len(rows)):
        if not 0.0 <= rows[i, IMPORTANCE] <= 1.0 or not 0.0 <= rows[i, RADIUS] <= MAX_RADIUS_M:
            return False
        for k in range(GOAL, GOAL + 3):
            if not abs(rows[i, k]) <= MAX_COORDINATE_M:
                return False
    return True
