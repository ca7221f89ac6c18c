# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Records of the Flock of Birds in every format, to poses in REP-103 axes (kernel layer).

A format is named by its code in the device's status word. What a format does not hold is NaN
in the pose. Quaternions and matrices have redundancy, by which a record that was never sent
can be told; of angles only the pitch is bounded.

"""

import numpy as np
from puppet_core.arrays import Floats, Quat
from puppet_core.kernel import kernel
from puppet_core.work_array import work_table
from puppet_driver.attitude_kernels import from_angles, from_matrix, matrix_error
from puppet_driver.flock_of_birds import decode_word, FULL_SCALE

POSITION, ANGLES, MATRIX, POSITION_ANGLES, POSITION_MATRIX = 1, 2, 3, 4, 5
QUATERNION, POSITION_QUATERNION = 7, 8
ANGLE_UNIT = np.pi / FULL_SCALE  # [rad]
PITCH_LIMIT = 0.5 * np.pi + 4.0 * ANGLE_UNIT
IMPOSSIBLE = 2.0


@kernel
def word_at(record: np.ndarray, i: int) -> float:
    """Return the i-th word of a record [counts]."""
    return decode_word(record[2 * i], record[2 * i + 1])


@kernel
def read_quaternion(record: np.ndarray, first: int, out: Quat) -> float:
    """Write the unit quaternion at a word; return how far from 1 its length was."""
    norm = 0.0
    for i in range(4):
        out[i] = word_at(record, first + i) / FULL_SCALE
        norm += out[i] * out[i]
    norm = np.sqrt(norm)
    for i in range(4):
        out[i] *= 1.0 / norm if norm > 0.0 else 0.0
    return abs(norm - 1.0)


@kernel
def read_matrix(record: np.ndarray, first: int, out: Quat) -> float:
    """Write the quaternion of the matrix at a word; return how far it was from a rotation."""
    matrix = work_table(3, 3)
    for i in range(9):
        matrix[i % 3, i // 3] = word_at(record, first + i) / FULL_SCALE
    # squares of lengths are off by twice as much as lengths
    error = 0.5 * matrix_error(matrix)
    if error < 0.5:
        from_matrix(matrix, out)
    return error


@kernel
def read_angles(record: np.ndarray, first: int, out: Quat) -> float:
    """Write the quaternion of the angles Z, Y, X at a word; return IMPOSSIBLE for a bad pitch."""
    z = word_at(record, first) * ANGLE_UNIT
    y = word_at(record, first + 1) * ANGLE_UNIT
    x = word_at(record, first + 2) * ANGLE_UNIT
    from_angles(z, y, x, out)
    return IMPOSSIBLE if abs(y) > PITCH_LIMIT else 0.0


@kernel
def decode_record(
    record: np.ndarray, code: int, metres_per_count: float, turn: float, pose: Floats
) -> float:
    """
    Decode a record of any format.

    Parameters
    ----------
    record : ndarray of uint8
        Its bytes, address byte or not.
    code : int
        The format, as in the status word.
    metres_per_count : float
        Scale of positions [m].
    turn : float
        1.0, or -1.0 for a device that reports the inverse rotation.
    pose : ndarray, shape (7,)
        Out: position [m] and unit quaternion (w, x, y, z), NaN where the format has none.

    Returns
    -------
    error : float
        How far the orientation was from one; `pose` is only good if it is small.

    """
    pose[:] = np.nan
    error = 0.0
    first = 0
    if code == POSITION or code == POSITION_ANGLES or code == POSITION_MATRIX or (
        code == POSITION_QUATERNION
    ):  # fmt: skip
        # REP103_SIGNS
        pose[0] = word_at(record, 0) * metres_per_count
        pose[1] = -word_at(record, 1) * metres_per_count
        pose[2] = -word_at(record, 2) * metres_per_count
        first = 3
    if code == POSITION_QUATERNION or code == QUATERNION:
        error = read_quaternion(record, first, pose[3:])
    elif code == POSITION_MATRIX or code == MATRIX:
        error = read_matrix(record, first, pose[3:])
    elif code == POSITION_ANGLES or code == ANGLES:
        error = read_angles(record, first, pose[3:])
    pose[4] *= turn
    pose[5] *= -turn
    pose[6] *= -turn
    return error
