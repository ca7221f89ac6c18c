# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The decoder of Flock of Birds records: phasing-bit synchronisation, formats, plausibility.

The first byte of a record has bit 7 set (the phasing bit), the others have not; there is no
checksum. A record is accepted when it has the right length between two phasing bits, an expected
address and a valid orientation, and when it continues its sensor's path. Waiting for the next
phasing bit would cost a record's time, so at the end of a read the record of the sensor whose turn
it is is accepted at once; any other is held until the next byte, or until the line is quiet.

"""

from collections.abc import Sequence

import numpy as np
from puppet_core.math import Floats, Ints, kernel, Quat, work_table
from puppet_driver.devices.decoding import (
    follow,
    from_angles,
    from_matrix,
    has_begun,
    is_plausible,
    matrix_error,
    Paths,
    Reach,
    USUAL,
)
from puppet_driver.devices.flock_protocol import (
    decode_word,
    FULL_SCALE,
    full_scale_m,
    MAX_ADDRESS,
    PHASING_BIT,
    POSITION_QUATERNION,
    RECORD_FORMATS,
)
from puppet_driver.tracker import MAX_READ_BYTES, RecordBatch, RecordStream, StreamCounters

POSITION_CODE, ANGLES_CODE, MATRIX_CODE, POSITION_ANGLES_CODE, POSITION_MATRIX_CODE = 1, 2, 3, 4, 5
QUATERNION_CODE, POSITION_QUATERNION_CODE = 7, 8
ANGLE_UNIT = np.pi / FULL_SCALE  # [rad]
PITCH_LIMIT = 0.5 * np.pi + 4.0 * ANGLE_UNIT
IMPOSSIBLE = 2.0

# rows of the integer state; the counters are in the order of tracker.StreamCounters
RECORDS, RESYNCS, DISCARDED, REJECTED, IMPLAUSIBLE = 0, 1, 2, 3, 4
LENGTH, FIRST_NS, IN_PHASE, HELD, LAST_ORDINAL, DOUBTFUL = 5, 6, 7, 8, 9, 10
STATE_SIZE = 11

# A phasing bit so early in a record is rather a stray byte than a loss of all the rest; the
# record that it seems to begin may then be the old one with a wrong first byte.
STRAY_LENGTH = 7

# 14-bit components put the length off by 1.3e-4 at most; the rest is the device's own.
NORM_TOLERANCE = 0.004


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
    if (
        code == POSITION_CODE
        or code == POSITION_ANGLES_CODE
        or code == POSITION_MATRIX_CODE
        or (code == POSITION_QUATERNION_CODE)
    ):
        # REP103_SIGNS
        pose[0] = word_at(record, 0) * metres_per_count
        pose[1] = -word_at(record, 1) * metres_per_count
        pose[2] = -word_at(record, 2) * metres_per_count
        first = 3
    if code == POSITION_QUATERNION_CODE or code == QUATERNION_CODE:
        error = read_quaternion(record, first, pose[3:])
    elif code == POSITION_MATRIX_CODE or code == MATRIX_CODE:
        error = read_matrix(record, first, pose[3:])
    elif code == POSITION_ANGLES_CODE or code == ANGLES_CODE:
        error = read_angles(record, first, pose[3:])
    pose[4] *= turn
    pose[5] *= -turn
    pose[6] *= -turn
    return error


@kernel
def is_due(ordinal: int, paths: Paths, state: Ints) -> bool:
    """Return whether a record comes from the sensor whose turn it is."""
    return ordinal == (state[LAST_ORDINAL] + 1) % len(paths.memory)


@kernel
def accept(
    ordinal: int,
    paths: Paths,
    state: Ints,
    ordinals: Ints,
    stamps_ns: Ints,
    poses: Floats,
    count: int,
) -> int:
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
    pending: np.ndarray,
    ordinal_of: Ints,
    decoding: tuple[int, float, float, float],
    pose: Floats,
) -> int:
    """Decode a complete record into `pose`; return its ordinal, -1 if it cannot be one."""
    code, scale, turn, tolerance = decoding
    error = decode_record(pending, code, scale, turn, pose)
    ordinal = ordinal_of[pending[-1]] if len(pending) % 2 else ordinal_of[0]
    return ordinal if error <= tolerance else -1


@kernel
def scan(
    data: np.ndarray,
    n_bytes: int,
    arrival_ns: int,
    pending: np.ndarray,
    ordinal_of: Ints,
    decoding: tuple[int, float, float, float],
    paths: Paths,
    state: Ints,
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


class PhasedRecordStream(RecordStream):
    """
    Decoder of one run of a line.

    Parameters
    ----------
    addresses : sequence of int
        Bus addresses of the line's sensors in the order of their ordinals; empty for a line
        with one sensor and no address bytes.
    range_in : int
        Full scale of positions [inch].
    inverted : bool
        Whether the device reports the inverse rotation.
    command : bytes
        The records' format, a key of RECORD_FORMATS. One without position and orientation
        is decoded as far as it goes.
    reach : Reach
        How far a sensor can move between two of its records.

    """

    def __init__(
        self,
        addresses: Sequence[int],
        range_in: int,
        inverted: bool = False,
        command: bytes = POSITION_QUATERNION,
        reach: Reach = USUAL,
    ) -> None:
        has_address = len(addresses) > 0
        n_sensors = max(len(addresses), 1)
        self.record_bytes = 2 * RECORD_FORMATS[command].n_words + int(has_address)
        self.batch = RecordBatch(MAX_READ_BYTES // self.record_bytes + 2)
        self._ordinal_of = np.full(MAX_ADDRESS + 2, -1, dtype=np.int64)
        self._ordinal_of[list(addresses) or [0]] = np.arange(n_sensors)
        self._decoding = (
            RECORD_FORMATS[command].status_code,
            full_scale_m(range_in) / FULL_SCALE,
            -1.0 if inverted else 1.0,
            NORM_TOLERANCE,
        )
        self._pending = np.zeros(self.record_bytes, dtype=np.uint8)
        self._paths = reach.paths(n_sensors)
        self._state = np.zeros(STATE_SIZE, dtype=np.int64)
        self._state[LAST_ORDINAL] = n_sensors - 1

    @property
    def is_holding(self) -> bool:  # type: ignore[override]
        """Whether a complete record waits for confirmation."""
        return bool(self._state[HELD])

    @property
    def counters(self) -> StreamCounters:  # type: ignore[override]
        """Totals since the stream was opened."""
        return StreamCounters(*(int(n) for n in self._state[: len(StreamCounters._fields)]))

    def feed(self, data: np.ndarray, n_bytes: int, arrival_ns: int) -> int:
        """Decode the first `n_bytes` of `data`, at most MAX_READ_BYTES, into the batch."""
        batch = self.batch
        batch.count = scan(
            data,
            n_bytes,
            arrival_ns,
            self._pending,
            self._ordinal_of,
            self._decoding,
            self._paths,
            self._state,
            batch.ordinals,
            batch.stamps_ns,
            batch.poses,
        )
        return batch.count

    def skip(self) -> None:
        """Forget the record being collected, because bytes were skipped."""
        reject(self._state, -1)

    def flush(self) -> int:
        """Release the held record, if any, into the batch: quiet has confirmed its end."""
        batch, state = self.batch, self._state
        batch.count = 0
        if state[HELD]:
            ordinal = state[HELD] - 1
            complete(self._pending, self._ordinal_of, self._decoding, batch.poses[0])
            batch.count = accept(
                ordinal, self._paths, state, batch.ordinals, batch.stamps_ns, batch.poses, 0
            )
        return batch.count
