# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Kernels of the Polhemus decoder: numbers and poses, and records cut out of a byte stream.

Records have no checksum but a shape: constant bytes, a station, digits. A record is accepted when
every byte fits its place, its numbers can be a pose, and it continues its sensor's path. Whatever
has a wrong form is searched from its second byte on, so the first whole record after garbage is
found. The device's axes are X forward, Y right, Z down, as Ascension's; poses are in REP-103 axes.

"""

import math
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.math import Floats, Ints
from puppet_driver.devices.decoding import (
    follow,
    from_angles,
    from_matrix,
    has_begun,
    is_plausible,
    matrix_error,
    N_COLUMNS,
    Paths,
    record_error_code,
)

ASCII_WIDTH = 7  # characters of a number
MAX_VALUES = 12  # three of the position, up to nine of the orientation
MAX_POSITION_M = 10.0  # the most that ASCII records can hold
ANGLE_SLACK_DEG = 0.011  # rounding of an angle at its limit

QUATERNION, EULER, COSINES = 0, 1, 2  # forms of the orientation

_BLANK, _PLUS, _MINUS, _DOT, _ZERO = 0x20, 0x2B, 0x2D, 0x2E, 0x30

# rows of the integer state; the counters are in the order of tracker.StreamCounters
RECORDS, RESYNCS, DISCARDED, REJECTED, IMPLAUSIBLE = 0, 1, 2, 3, 4
LENGTH, IN_PHASE, HELD, LAST_ORDINAL = 5, 6, 7, 8
STATE_SIZE = 9

# rows of RecordShape.places
STATION_AT, STATUS_AT, STYLUS_AT, TIME_AT, FRAME_AT = 0, 1, 2, 3, 4
IS_ASCII, FORM, HAS_END = 5, 6, 7
N_PLACES = 8

NO_ERROR = ord(' ')

# columns of Scanner.last_extras
STATUS, STYLUS, TIME_MS, FRAME, FAULT = 0, 1, 2, 3, 4
N_EXTRAS = FAULT + N_COLUMNS  # those of `decoding`


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
            abs(values[0]) <= limit and abs(values[1]) <= limit - 90.0 and abs(values[2]) <= limit
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
    record: np.ndarray,
    is_ascii: bool,
    form: int,
    value_at: Ints,
    decoding: tuple[float, float, float],
    values: Floats,
    pose: Floats,
) -> bool:
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


class RecordShape(NamedTuple):
    """The layout of a record."""

    accepts: np.ndarray
    """Whether a byte can stand at a place, uint8, shape (record size, 256)."""

    places: Ints
    """Where things are, -1 if absent, and how they are written; shape (N_PLACES,)."""

    value_at: Ints
    """Places of the numbers of the position and the orientation."""

    ordinal_of: Ints
    """Ordinal of the sensor that a station byte stands for, -1 if none; shape (256,)."""


class Scanner(NamedTuple):
    """The scanner's memory, all arrays."""

    state: Ints
    """Shape (STATE_SIZE,)."""

    pending: np.ndarray
    """Bytes not yet decided on, uint8, one more than a record has."""

    arrivals_ns: Ints
    """When each of them arrived [ns]."""

    paths: Paths
    """Where the sensors are."""

    last_extras: Ints
    """Status byte, stylus, time stamp [ms] and frame of each sensor's last record, and what
    its errors are; shape (sensors, N_EXTRAS)."""

    values: Floats
    """Scratch."""


@njit(cache=True)
def drop(s: Scanner, n_bytes: int) -> None:
    """Discard the first pending bytes."""
    rest = s.state[LENGTH] - n_bytes
    for k in range(rest):
        s.pending[k] = s.pending[n_bytes + k]
        s.arrivals_ns[k] = s.arrivals_ns[n_bytes + k]
    s.state[LENGTH] = rest
    s.state[DISCARDED] += n_bytes


@njit(cache=True)
def realign(accepts: np.ndarray, s: Scanner) -> None:
    """Discard pending bytes, one at least, up to where a record can begin."""
    s.state[RESYNCS] += s.state[IN_PHASE]
    s.state[IN_PHASE] = 0
    s.state[HELD] = 0
    length = s.state[LENGTH]
    size = len(accepts)
    for start in range(1, length):
        fits = True
        for k in range(min(length - start, size)):
            if accepts[k, s.pending[start + k]] == 0:
                fits = False
                break
        if fits:
            drop(s, start)
            return
    drop(s, length)


@njit(cache=True)
def accept(
    shape: RecordShape, s: Scanner, ordinals: Ints, stamps_ns: Ints, poses: Floats, count: int
) -> int:
    """Move the pending record, its pose at `poses[count]`, into the batch; return the count."""
    ordinal = shape.ordinal_of[s.pending[shape.places[STATION_AT]]]
    ordinals[count] = ordinal
    stamps_ns[count] = s.arrivals_ns[0]
    follow(ordinal, poses[count], s.paths)
    status = int(s.pending[shape.places[STATUS_AT]])
    s.last_extras[ordinal, STATUS] = status
    record_error_code(
        s.last_extras, ordinal, FAULT, 0 if status == NO_ERROR else status, stamps_ns[count]
    )
    at = shape.places[STYLUS_AT]
    if at >= 0:
        # an ASCII digit or a small number
        s.last_extras[ordinal, STYLUS] = s.pending[at] & 0x0F
    for column, place in ((TIME_MS, TIME_AT), (FRAME, FRAME_AT)):
        if shape.places[place] >= 0:
            s.last_extras[ordinal, column] = unsigned_at(s.pending, shape.places[place])
    state = s.state
    state[LAST_ORDINAL] = ordinal
    state[RECORDS] += 1
    state[IN_PHASE] = 1
    state[HELD] = 0
    size = len(shape.accepts)
    drop(s, size)
    state[DISCARDED] -= size
    return count + 1


@njit(cache=True)
def doubt(ordinal: int, s: Scanner, size: int) -> None:
    """Leave out a record that does not continue its path."""
    if has_begun(ordinal, s.paths):
        s.state[IMPLAUSIBLE] += 1
    s.state[LAST_ORDINAL] = ordinal
    s.state[IN_PHASE] = 1
    drop(s, size)


@njit(cache=True)
def decode(
    shape: RecordShape, s: Scanner, decoding: tuple[float, float, float], pose: Floats
) -> bool:
    """Decode a complete record; return whether it can be a measurement."""
    places = shape.places
    return decode_pose(
        s.pending, places[IS_ASCII] != 0, places[FORM], shape.value_at, decoding, s.values, pose
    )


@njit(cache=True)
def judge(
    shape: RecordShape, s: Scanner, decoding: tuple[float, float, float], pose: Floats
) -> bool:
    """Decode a complete record; return whether it is believed, else it is gone."""
    size = len(shape.accepts)
    if not decode(shape, s, decoding, pose):
        s.state[REJECTED] += 1
        realign(shape.accepts, s)
        return False
    ordinal = shape.ordinal_of[s.pending[shape.places[STATION_AT]]]
    if ordinal < 0:
        s.state[REJECTED] += 1
        drop(s, size)
        return False
    if is_plausible(ordinal, pose, s.paths):
        return True
    doubt(ordinal, s, size)
    return False


@njit(cache=True)
def release(
    shape: RecordShape,
    s: Scanner,
    decoding: tuple[float, float, float],
    ordinals: Ints,
    stamps_ns: Ints,
    poses: Floats,
) -> int:
    """Move a held record into an empty batch; return how many there were."""
    if s.state[HELD] == 0:
        return 0
    decode(shape, s, decoding, poses[0])
    return accept(shape, s, ordinals, stamps_ns, poses, 0)


@njit(cache=True)
def scan(
    data: np.ndarray,
    n_bytes: int,
    arrival_ns: int,
    shape: RecordShape,
    s: Scanner,
    decoding: tuple[float, float, float],
    ordinals: Ints,
    stamps_ns: Ints,
    poses: Floats,
) -> int:
    """
    Decode one read; return the number of records written into the batch.

    Parameters
    ----------
    data : ndarray of uint8
        The read; its first `n_bytes` are used.
    n_bytes : int
        How many bytes arrived.
    arrival_ns : int
        When they arrived [ns].
    shape : RecordShape
        The layout of a record.
    s : Scanner
        Memory of the run.
    decoding : tuple
        See decode_pose.
    ordinals, stamps_ns, poses : ndarray
        Out: the batch, with room for two records more than the bytes can hold.

    """
    accepts, state = shape.accepts, s.state
    size = len(accepts)
    count = 0
    for i in range(n_bytes):
        at = state[LENGTH]
        s.pending[at] = data[i]
        s.arrivals_ns[at] = arrival_ns
        state[LENGTH] = at + 1
        if state[HELD] != 0:
            # only the beginning of the next record proves that the held one ended there
            if accepts[0, data[i]] != 0:
                decode(shape, s, decoding, poses[count])
                count = accept(shape, s, ordinals, stamps_ns, poses, count)
                continue
            realign(accepts, s)
        elif accepts[at, data[i]] == 0:
            realign(accepts, s)
        while state[LENGTH] >= size and state[HELD] == 0:
            if not judge(shape, s, decoding, poses[count]):
                continue
            ordinal = shape.ordinal_of[s.pending[shape.places[STATION_AT]]]
            is_due = ordinal == (state[LAST_ORDINAL] + 1) % len(s.paths.memory)
            if shape.places[HAS_END] != 0 or (i + 1 == n_bytes and is_due):
                count = accept(shape, s, ordinals, stamps_ns, poses, count)
            else:
                state[HELD] = 1
    return count
