# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Cutting a byte stream into records of one size with a fixed frame (kernel layer).

For devices whose records have no checksum but a shape: constant bytes, a station, digits. A
record is accepted when every byte fits its place, its numbers can be a pose, and it continues its
sensor's path (path_kernels). Whatever has a wrong form is searched from its second byte on, so
the first whole record after garbage is found.

"""

from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver.fault_kernels import hear, N_COLUMNS
from puppet_driver.path_kernels import follow, has_begun, is_plausible, Paths
from puppet_driver.polhemus_kernels import decode_pose, unsigned_at

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
N_EXTRAS = FAULT + N_COLUMNS  # those of fault_kernels


class RecordShape(NamedTuple):
    """What a record looks like."""

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
    hear(s.last_extras, ordinal, FAULT, 0 if status == NO_ERROR else status, stamps_ns[count])
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
    shape: RecordShape, s: Scanner, decoding: tuple[float, float, float], ordinals: Ints,
    stamps_ns: Ints, poses: Floats,
) -> int:  # fmt: skip
    """Move a held record into an empty batch; return how many there were."""
    if s.state[HELD] == 0:
        return 0
    decode(shape, s, decoding, poses[0])
    return accept(shape, s, ordinals, stamps_ns, poses, 0)


@njit(cache=True)
def scan(
    data: np.ndarray, n_bytes: int, arrival_ns: int, shape: RecordShape, s: Scanner,
    decoding: tuple[float, float, float], ordinals: Ints, stamps_ns: Ints, poses: Floats,
) -> int:  # fmt: skip
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
        What a record looks like.
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
