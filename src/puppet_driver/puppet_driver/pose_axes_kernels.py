# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of a frame from their sources' axes into the transmitter's (kernel layer)."""

from puppet_core import quaternion
from puppet_core.arrays import Quats, Vec3s
from puppet_core.kernel import kernel


@kernel
def turn_poses(
    origins: Vec3s, turns: Quats, unit_m: float, positions: Vec3s, quaternions: Quats
) -> None:
    """
    Turn the poses of a frame, in place; NaN stays NaN.

    Parameters
    ----------
    origins, turns : ndarray, shape (n, 3) and (n, 4)
        Each source's axes in the transmitter's [m].
    unit_m : float
        Length of one unit of positions [m].
    positions, quaternions : ndarray, shape (n, 3) and (n, 4)
        In the source's axes and units; then in the transmitter's, quaternions of unit length.

    """
    for i in range(len(positions)):
        quaternion.rotate(turns[i], positions[i], positions[i])
        for k in range(3):
            positions[i, k] = origins[i, k] + unit_m * positions[i, k]
        quaternion.multiply(turns[i], quaternions[i], quaternions[i])
        quaternion.normalize(quaternions[i], quaternions[i])
