# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Poses to the bytes of the device's records, in every format it can be asked for."""

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Ints, Quats
from puppet_driver import flock_of_birds as flock

ANGLE_FULL_SCALE = np.pi  # counts at 180 degrees are full scale
GIMBAL_LOCK = 1e-7  # cosine of Y below which Z and X cannot be told apart


def device_quaternions(quaternions: Quats) -> Quats:
    """Return REP-103 orientations, shape (..., 4), in the device's axes."""
    return quaternions * np.array((1.0, *flock.REP103_SIGNS))


def record_words(command: bytes, poses: Floats, range_in: int) -> Ints:
    """
    Return the words of records in the format that a command chose.

    Parameters
    ----------
    command : bytes
        A key of RECORD_FORMATS.
    poses : ndarray, shape (..., 7)
        Position [m] and unit quaternion (w, x, y, z), REP-103 axes of the transmitter.
    range_in : int
        Full scale of positions [inch].

    Returns
    -------
    words : ndarray, shape (..., words of the format)
        Position first; angles in the order Z, Y, X; matrices column by column.

    """
    pose_words = flock.encode_pose_words(poses, range_in)
    parts = flock.RECORD_FORMATS[command].name.split('/')
    q = device_quaternions(poses[..., 3:])
    words = {
        'POSITION': lambda: pose_words[..., :3],
        'QUATERNION': lambda: pose_words[..., 3:],
        'ANGLES': lambda: flock.counts(angles_zyx(q), ANGLE_FULL_SCALE),
        'MATRIX': lambda: flock.counts(matrix_columns(q), 1.0),
    }
    return np.concatenate([words[part]() for part in parts], axis=-1)


def encode_records(
    command: bytes, poses: Floats, range_in: int, address: int | None
) -> np.ndarray:
    """Return the bytes of one unit's records, shape (n, record size), uint8."""
    data = flock.encode_words(record_words(command, poses, range_in))
    if address is None:
        return data
    addresses = np.full((*data.shape[:-1], 1), address, dtype=np.uint8)
    return np.concatenate((data, addresses), axis=-1)


def angles_zyx(q: Quats) -> Floats:
    """Return angles about Z, the new Y and the new X [rad], shape (..., 3)."""
    m = quaternion_batch.to_matrix(q)
    y = -np.arcsin(np.clip(m[..., 2, 0], -1.0, 1.0))
    # with Y upright only the sum or difference of the others counts: all of it is Z's
    is_locked = np.hypot(m[..., 0, 0], m[..., 1, 0]) < GIMBAL_LOCK
    z = np.where(
        is_locked,
        np.arctan2(-m[..., 0, 1], m[..., 1, 1]),
        np.arctan2(m[..., 1, 0], m[..., 0, 0]),
    )
    x = np.where(is_locked, 0.0, np.arctan2(m[..., 2, 1], m[..., 2, 2]))
    return np.stack((z, y, x), axis=-1)


def matrix_columns(q: Quats) -> Floats:
    """Return rotation matrices, column by column, shape (..., 9)."""
    matrix = quaternion_batch.to_matrix(q)
    return np.swapaxes(matrix, -1, -2).reshape(*q.shape[:-1], 9)
