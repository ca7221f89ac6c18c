# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Orientations as a device may tell them, to unit quaternions (kernel layer)."""

import numpy as np
from puppet_core.arrays import Floats, Quat
from puppet_core.kernel import kernel


@kernel
def from_angles(z: float, y: float, x: float, out: Quat) -> None:
    """Write the rotation about Z, then the new Y, then the new X [rad] as (w, x, y, z)."""
    cz, sz = np.cos(0.5 * z), np.sin(0.5 * z)
    cy, sy = np.cos(0.5 * y), np.sin(0.5 * y)
    cx, sx = np.cos(0.5 * x), np.sin(0.5 * x)
    out[0] = cz * cy * cx + sz * sy * sx
    out[1] = cz * cy * sx - sz * sy * cx
    out[2] = cz * sy * cx + sz * cy * sx
    out[3] = sz * cy * cx - cz * sy * sx


@kernel
def matrix_error(m: Floats) -> float:
    """Return how far a matrix is from a rotation: the largest entry of m mᵀ - 1, 2 if mirrored."""
    worst = 0.0
    for i in range(3):
        for j in range(3):
            dot = m[i, 0] * m[j, 0] + m[i, 1] * m[j, 1] + m[i, 2] * m[j, 2]
            worst = max(worst, abs(dot - (1.0 if i == j else 0.0)))
    determinant = (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    )
    return worst if determinant > 0.0 else max(worst, 2.0)


@kernel
def from_matrix(m: Floats, out: Quat) -> None:
    """Write the unit quaternion (w, x, y, z) of a rotation matrix, shape (3, 3)."""
    # four times the square of each component; the largest is divided by
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    largest, square = 0, 1.0 + trace
    for k in range(3):
        candidate = 1.0 + 2.0 * m[k, k] - trace
        if candidate > square:
            largest, square = k + 1, candidate
    if largest == 0:
        out[0] = square
        out[1], out[2], out[3] = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        out[0] = m[k, j] - m[j, k]
        out[1 + i] = square
        out[1 + j] = m[j, i] + m[i, j]
        out[1 + k] = m[k, i] + m[i, k]
    norm = np.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2 + out[3] ** 2)
    for k in range(4):
        out[k] /= norm
