# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Poses to the bytes of a MotionStar's records, in every format it can be asked for."""

import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver import birdnet_status as status
from puppet_driver.birdnet_records import BUTTON_BYTES, BUTTONS_FLAG, counts, FORMATS, LAYOUT
from puppet_driver.emulator.record_encoding import angles_zyx, device_quaternions, matrix_columns
from puppet_driver.flock_of_birds import full_scale_m, REP103_SIGNS


def encode_records(unit: status.UnitStatus, poses: Floats, range_in: int) -> np.ndarray:
    """
    Return a unit's records as it is set up, without any buttons pressed.

    Parameters
    ----------
    unit : UnitStatus
        Says address, format and whether buttons are appended.
    poses : ndarray, shape (n, 7)
        Position [m] and unit quaternion (w, x, y, z), REP-103 axes of the transmitter.
    range_in : int
        Full scale of positions [inch].

    Returns
    -------
    data : ndarray of uint8, shape (n, record size)
        The bytes.

    """
    code, n_words = LAYOUT[unit.format_byte]
    has_buttons = bool(unit.setup & status.SETUP_APPEND_BUTTONS)
    head = unit.address | (BUTTONS_FLAG if has_buttons else 0), code << 4 | n_words
    words = record_words(int(code), poses, range_in).astype('>i2')
    rows = len(poses)
    return np.concatenate(
        (
            np.broadcast_to(np.array(head, dtype=np.uint8), (rows, 2)),
            np.frombuffer(words.tobytes(), dtype=np.uint8).reshape(rows, 2 * n_words),
            np.zeros((rows, BUTTON_BYTES * has_buttons), dtype=np.uint8),
        ),
        axis=1,
    )


def record_words(code: int, poses: Floats, range_in: int) -> Ints:
    """
    Return the words of records in a format.

    Parameters
    ----------
    code : int
        A key of birdnet_records.FORMATS.
    poses : ndarray, shape (n, 7)
        Position [m] and unit quaternion (w, x, y, z), REP-103 axes of the transmitter.
    range_in : int
        Full scale of positions [inch].

    Returns
    -------
    words : ndarray, shape (n, words of the format)
        Position first; angles in the order Z, Y, X; matrices column by column.

    """
    q = device_quaternions(poses[..., 3:])
    words = {
        'POSITION': lambda: counts(poses[..., :3] * REP103_SIGNS, full_scale_m(range_in)),
        'QUATERNION': lambda: counts(q, 1.0),
        'ANGLES': lambda: counts(angles_zyx(q), np.pi),
        'MATRIX': lambda: counts(matrix_columns(q), 1.0),
    }
    return np.concatenate([words[part]() for part in FORMATS[code].name.split('/')], axis=-1)
