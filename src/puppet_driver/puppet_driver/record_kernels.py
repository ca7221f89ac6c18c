# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Cutting a phased byte stream into records that were really sent (kernel layer).

The first byte of a record has bit 7 set, the others have not; there is no checksum. A record
is accepted when it has the right length between two phasing bits, an expected address and an
orientation that can be one, and when it continues its sensor's path (path_kernels). Waiting for
the next phasing bit would cost a record's time, so at the end of a read a record that is due is
accepted at once; any other is held until the next byte, or until the line is quiet. What
turned bits, or a lost and an inserted byte, do to the words of one record cannot be told from
data if it stays within reach of the path.

"""

import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_core.kernel import kernel
from puppet_driver.flock_of_birds import PHASING_BIT
from puppet_driver.flock_record_kernels import decode_record
from puppet_driver.path_kernels import follow, has_begun, is_plausible, Paths

# rows of the integer state; the counters are in the order of tracker.StreamCounters
RECORDS, RESYNCS, DISCARDED, REJECTED, IMPLAUSIBLE = 0, 1, 2, 3, 4
LENGTH, FIRST_NS, IN_PHASE, HELD, LAST_ORDINAL, DOUBTFUL = 5, 6, 7, 8, 9, 10
STATE_SIZE = 11

# A phasing bit so early in a record is rather a stray byte than a loss of all the rest; the
# record that it seems to begin may then be the old one with a wrong first byte.
STRAY_LENGTH = 7


@kernel
def is_due(ordinal: int, paths: Paths, state: Ints) -> bool:
    """Return whether a record comes from the sensor whose turn it is."""
    return ordinal == (state[LAST_ORDINAL] + 1) % len(paths.memory)


@kernel
def accept(
    ordinal: int, paths: Paths, state: Ints, ordinals: Ints, stamps_ns: Ints, poses: Floats,
    count: int,
) -> int:  # fmt: skip
    """Move the pose at `poses[count]` into the batch; return the new count."""
    ordinals[count] = ordinal
    stamps_ns[count] = state[FIRST_NS]
    follow(ordinal, poses[count], paths)
    state[LAST_ORDINAL] = ordinal
    state[RECORDS] += 1
    state[LENGTH] = 0
    state[HELD] = 0
    state[IN_PHASE] = 1
    return count + 1


@kernel
def reject(state: Ints, counter: int) -> None:
    """Forget the bytes collected so far, as out of phase or as a bad record."""
    state[DISCARDED] += state[LENGTH]
    if counter >= 0:
        state[counter] += 1
    state[LENGTH] = 0
    state[HELD] = 0
    state[IN_PHASE] = 0


@kernel
def doubt(ordinal: int, paths: Paths, state: Ints) -> None:
    """Leave out a record that does not continue its path; the phase is not in doubt."""
    if has_begun(ordinal, paths):
        state[IMPLAUSIBLE] += 1
    reject(state, -1)
    state[LAST_ORDINAL] = ordinal
    state[IN_PHASE] = 1


@kernel
def complete(
    pending: np.ndarray, ordinal_of: Ints, decoding: tuple[int, float, float, float],
    pose: Floats,
) -> int:  # fmt: skip
    """Decode a complete record into `pose`; return its ordinal, -1 if it cannot be one."""
    code, scale, turn, tolerance = decoding
    error = decode_record(pending, code, scale, turn, pose)
    ordinal = ordinal_of[pending[-1]] if len(pending) % 2 else ordinal_of[0]
    return ordinal if error <= tolerance else -1


@kernel
def scan(
    data: np.ndarray, n_bytes: int, arrival_ns: int, pending: np.ndarray, ordinal_of: Ints,
    decoding: tuple[int, float, float, float], paths: Paths, state: Ints, ordinals: Ints,
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
    paths : Paths
        Where the sensors are.
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
                count = accept(ordinal, paths, state, ordinals, stamps_ns, poses, count)
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
        if not is_plausible(ordinal, poses[count], paths):
            doubt(ordinal, paths, state)
        elif i + 1 == n_bytes and is_due(ordinal, paths, state):
            count = accept(ordinal, paths, state, ordinals, stamps_ns, poses, count)
        else:
            state[HELD] = ordinal + 1
    return count
