# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Numbers and poses in Polhemus records, ASCII and binary (kernel layer).

A position in inches or centimetres and an orientation in one of three forms become a pose in
REP-103 axes. The device's axes are X forward, Y right, Z down, as Ascension's.

"""

import math

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver.attitude_kernels import from_angles, from_matrix, matrix_error

ASCII_WIDTH = 7  # characters of a number
MAX_VALUES = 12  # three of the position, up to nine of the orientation
MAX_POSITION_M = 10.0  # what the ASCII records can say
ANGLE_SLACK_DEG = 0.011  # rounding of an angle at its limit

QUATERNION, EULER, COSINES = 0, 1, 2  # forms of the orientation

_BLANK, _PLUS, _MINUS, _DOT, _ZERO = 0x20, 0x2B, 0x2D, 0x2E, 0x30


@njit(cache=True)
def unsigned_at(data: np.ndarray, at: int) -> int:
    """Return the 32-bit word at a place, least significant byte first."""
    word = 0
    for k in range(3, -1, -1):
        word = (word << 8) | int(data[at + k])
    return word


@njit(cache=True)
def float_at(data: np.ndarray, at: int) -> float:
    """Return the IEEE single-precision number at a place, NaN for one that is not finite."""
    word = unsigned_at(data, at)
    exponent, fraction = (word >> 23) & 0xFF, word & 0x7FFFFF
    if exponent == 0xFF:
        return np.nan
    # subnormal numbers have the smallest exponent and no hidden bit
    magnitude = math.ldexp(
        float(fraction | (0x800000 if exponent > 0 else 0)), max(exponent, 1) - 150
    )
    return -magnitude if word >> 31 else magnitude


@njit(cache=True)
def decimal_at(data: np.ndarray, at: int) -> float:
    """Return the number in ASCII_WIDTH characters, NaN for anything else."""
    mantissa, scale = 0.0, 0.0
    n_digits, sign = 0, 0.0
    for k in range(at, at + ASCII_WIDTH):
        c = int(data[k])
        if _ZERO <= c <= _ZERO + 9:
            mantissa = 10.0 * mantissa + (c - _ZERO)
            scale *= 10.0
            n_digits += 1
        elif c == _DOT and scale == 0.0:
            scale = 1.0
        elif c == _BLANK and n_digits == 0 and scale == 0.0:
            continue
        elif (c == _PLUS or c == _MINUS) and n_digits == 0 and scale == 0.0 and sign == 0.0:
            sign = 1.0 if c == _PLUS else -1.0
        else:
            return np.nan
    if n_digits == 0 or scale == 0.0:
        return np.nan
    return (sign if sign != 0.0 else 1.0) * mantissa / scale


@njit(cache=True)
def orientation(form: int, values: Floats, q: Floats) -> float:
    """Write the unit quaternion of `values`; return its length as sent, 1.0 if believable."""
    if form == COSINES:
        rows = values[:9].reshape(3, 3)
        error = matrix_error(rows)
        if not error < 1.0:
            return 0.0
        from_matrix(rows, q)
        return 1.0 + error
    if form == EULER:
        limit = 180.0 + ANGLE_SLACK_DEG
        if not (
            abs(values[0]) <= limit
            and abs(values[1]) <= limit - 90.0
            and abs(values[2]) <= limit
        ):
            return 0.0
        to_rad = math.pi / 180.0
        from_angles(values[0] * to_rad, values[1] * to_rad, values[2] * to_rad, q)
        return 1.0
    norm = 0.0
    for k in range(4):
        q[k] = values[k]
        norm += q[k] * q[k]
    norm = math.sqrt(norm)
    scale = 1.0 / norm if norm > 0.0 else 0.0
    for k in range(4):
        q[k] *= scale
    return norm


@njit(cache=True)
def decode_pose(
    record: np.ndarray, is_ascii: bool, form: int, value_at: Ints,
    decoding: tuple[float, float, float], values: Floats, pose: Floats,
) -> bool:  # fmt: skip
    """
    Decode a record into REP-103 axes.

    Parameters
    ----------
    record : ndarray of uint8
        Its bytes.
    is_ascii : bool
        Whether numbers are decimal.
    form : int
        QUATERNION, EULER or COSINES.
    value_at : ndarray, shape (<= MAX_VALUES,)
        Places of the position's three numbers and of the orientation's.
    decoding : tuple
        Metres per unit, -1.0 for a device that reports the inverse rotation (else 1.0),
        tolerance of the quaternion's length.
    values : ndarray, shape (MAX_VALUES,)
        Scratch.
    pose : ndarray, shape (7,)
        Out: position [m] and unit quaternion (w, x, y, z).

    Returns
    -------
    is_valid : bool
        Whether this can be a measurement; else `pose` is not to be used.

    """
    metres, turn, tolerance = decoding
    for k in range(len(value_at)):
        at = value_at[k]
        values[k] = decimal_at(record, at) if is_ascii else float_at(record, at)
    # X forward, Y right, Z down: half a turn about X from REP-103
    pose[0], pose[1], pose[2] = values[0] * metres, -values[1] * metres, -values[2] * metres
    for k in range(3):
        if not abs(pose[k]) <= MAX_POSITION_M:
            return False
    length = orientation(form, values[3:], pose[3:])
    pose[4], pose[5], pose[6] = turn * pose[4], -turn * pose[5], -turn * pose[6]
    return abs(length - 1.0) <= tolerance
