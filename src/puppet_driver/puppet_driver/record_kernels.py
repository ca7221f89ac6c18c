# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Cutting a phased byte stream into records that were really sent (kernel layer).

The first byte of a record has bit 7 set, the others have not; there is no checksum. A record
is accepted when it has the right length between two phasing bits, an expected address and an
orientation that can be one, and when it is the one that was due or continues its sensor's path.
Waiting for the next phasing bit would cost a record's time, so at the end of a read a record
that is due and continues is accepted at once; any other is held until the next byte, or
until the line is quiet. What a lost and an inserted byte within one record do cannot always
be told from data.

"""

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver.flock_of_birds import PHASING_BIT
from puppet_driver.flock_record_kernels import decode_record

# rows of the integer state; the counters are in the order of tracker.StreamCounters
RECORDS, RESYNCS, DISCARDED, REJECTED = 0, 1, 2, 3
LENGTH, FIRST_NS, IN_PHASE, HELD, LAST_ORDINAL, DOUBTFUL = 4, 5, 6, 7, 8, 9
STATE_SIZE = 10

# A phasing bit so early in a record is rather a stray byte than a loss of all the rest; the
# record that it seems to begin may then be the old one with a wrong first byte.
STRAY_LENGTH = 7

# Continuity from one sample of a sensor to the next: an 18 m/s hand, a 60 rad/s turn at 120 Hz.
NEAR_M = 0.15
NEAR_COS_HALF_ANGLE = 0.97


@njit(cache=True)
def is_due(ordinal: int, last_poses: Floats, state: Ints) -> bool:
    """Return whether a record comes from the sensor whose turn it is."""
    return ordinal == (state[LAST_ORDINAL] + 1) % len(last_poses)


@njit(cache=True)
def is_near(pose: Floats, last: Floats) -> bool:
    """Return whether a pose continues the path of its sensor; false before its first."""
    distance2 = 0.0
    for k in range(3):
        distance2 += (pose[k] - last[k]) ** 2
    cosine = 0.0
    for k in range(3, 7):
        cosine += pose[k] * last[k]
    # NaN before the first record compares false
    return distance2 < NEAR_M * NEAR_M and abs(cosine) > NEAR_COS_HALF_ANGLE


@njit(cache=True)
def accept(
    ordinal: int, last_poses: Floats, state: Ints, ordinals: Ints, stamps_ns: Ints, poses: Floats,
    count: int,
) -> int:  # fmt: skip
    """Move the pose at `poses[count]` into the batch; return the new count."""
    ordinals[count] = ordinal
    stamps_ns[count] = state[FIRST_NS]
    last_poses[ordinal] = poses[count]
    state[LAST_ORDINAL] = ordinal
    state[RECORDS] += 1
    state[LENGTH] = 0
    state[HELD] = 0
    state[IN_PHASE] = 1
    return count + 1


@njit(cache=True)
def reject(state: Ints, counter: int) -> None:
    """Forget the bytes collected so far, as out of phase or as a bad record."""
    state[DISCARDED] += state[LENGTH]
    if counter >= 0:
        state[counter] += 1
    state[LENGTH] = 0
    state[HELD] = 0
    state[IN_PHASE] = 0


@njit(cache=True)
def complete(
    pending: np.ndarray, ordinal_of: Ints, decoding: tuple[int, float, float, float],
    pose: Floats,
) -> int:  # fmt: skip
    """Decode a complete record into `pose`; return its ordinal, -1 if it cannot be one."""
    code, scale, turn, tolerance = decoding
    error = decode_record(pending, code, scale, turn, pose)
    ordinal = ordinal_of[pending[-1]] if len(pending) % 2 else ordinal_of[0]
    return ordinal if error <= tolerance else -1


@njit(cache=True)
def scan(
    data: np.ndarray, n_bytes: int, arrival_ns: int, pending: np.ndarray, ordinal_of: Ints,
    decoding: tuple[int, float, float, float], last_poses: Floats, state: Ints, ordinals: Ints,
    stamps_ns: Ints, poses: Floats,
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
    pending : ndarray of uint8, shape (record size,)
        The record being collected; an odd size has an address byte at its end.
    ordinal_of : ndarray, shape (128,)
        Ordinal of each address, -1 if none is expected there; [0] without address bytes.
    decoding : tuple
        Code of the format, metres per count, -1.0 for inverted rotations (else 1.0),
        tolerance of the orientation.
    last_poses : ndarray, shape (sensors, 7)
        Last accepted pose of each sensor, NaN before the first.
    state : ndarray, shape (STATE_SIZE,)
        Counters and the scanner's place.
    ordinals, stamps_ns, poses : ndarray
        Out: the batch, with room for one record more than the bytes can hold.

    """
    count = 0
    for i in range(n_bytes):
        byte = data[i]
        if state[HELD] != 0:
            # a held record was valid in itself; only a phasing bit proves that it ended there
            if byte & PHASING_BIT:
                complete(pending, ordinal_of, decoding, poses[count])
                ordinal = state[HELD] - 1
                count = accept(ordinal, last_poses, state, ordinals, stamps_ns, poses, count)
            else:
                reject(state, RESYNCS)
        if byte & PHASING_BIT:
            state[DOUBTFUL] = 0 < state[LENGTH] < STRAY_LENGTH
            if state[LENGTH] > 0:
                reject(state, RESYNCS)
            state[FIRST_NS] = arrival_ns
        elif state[LENGTH] == 0:
            state[DISCARDED] += 1
            state[RESYNCS] += state[IN_PHASE]
            state[IN_PHASE] = 0
            continue
        pending[state[LENGTH]] = byte
        state[LENGTH] += 1
        if state[LENGTH] < len(pending):
            continue
        ordinal = complete(pending, ordinal_of, decoding, poses[count])
        if ordinal < 0 or state[DOUBTFUL] != 0:
            reject(state, REJECTED)
            continue
        due = is_due(ordinal, last_poses, state)
        near = is_near(poses[count], last_poses[ordinal])
        if i + 1 == n_bytes and due and near:
            count = accept(ordinal, last_poses, state, ordinals, stamps_ns, poses, count)
        elif due or near:
            state[HELD] = ordinal + 1
        else:
            # perhaps the halves of two records; a second sample from there would be believed
            last_poses[ordinal] = poses[count]
            state[LAST_ORDINAL] = ordinal
            reject(state, REJECTED)
    return count
