# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The decoder of a running MotionStar: a byte stream or datagrams to validated records.

There is no checksum, but a packet states its own length, each record its format and so its
length, no unit reports twice, and the records fill the packet exactly. A packet is accepted when
all that holds and it is followed by the beginning of another one, or by quiet. Waiting for quiet
would cost time, so a packet that ends where a read ends is accepted at once if that read holds
nothing but whole packets.

"""

from collections.abc import Sequence
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.math import Floats, Ints
from puppet_driver.devices import decoding as attitude
from puppet_driver.devices.birdnet import (
    BUTTON_BYTES,
    BUTTONS_FLAG,
    error_code_text,
    FULL_SCALE,
    HEAD_BYTES,
    HEADER_BYTES,
    LAYOUT,
    MAX_BODY_BYTES,
    MAX_PACKET_BYTES,
    Message,
    POSITION_ANGLES,
    POSITION_MATRIX,
    POSITION_QUATERNION,
    PROTOCOL,
    record_bytes,
)
from puppet_driver.devices.decoding import (
    ANYWHERE,
    follow,
    has_begun,
    is_plausible,
    N_COLUMNS,
    Paths,
    Reach,
    record_error_code,
    standing_error,
)
from puppet_driver.tracker import MAX_READ_BYTES, RecordBatch, RecordStream, StreamCounters

# rows of the integer state; the counters are in the order of tracker.StreamCounters
RECORDS, RESYNCS, DISCARDED, REJECTED, IMPLAUSIBLE = 0, 1, 2, 3, 4
LENGTH, FIRST_NS, IN_PHASE, IS_HELD = 5, 6, 7, 8
SEQUENCE, SECONDS, MILLISECONDS, N_OLD = 9, 10, 11, 12
STATE_SIZE = 13

NO_PACKET, INCOMPLETE = -1, 0
NORM_TOLERANCE = 0.004  # of quaternions' and matrix columns' lengths; words are exact to 2e-5

ADDRESS_MASK = 0x7F
TYPE_AT, UNIT_AT, PROTOCOL_AT, ERROR_AT, BYTES_AT = 8, 9, 10, 11, 14
DATA = int(Message.DATA)
# what else a running device sends, all without a body
ANSWERS_WHILE_RUNNING = (
    int(Message.RUN_CONTINUOUS_ANSWER),
    int(Message.STOP_DATA_ANSWER),
    int(Message.SEND_SETUP_ANSWER),
    int(Message.WAKE_UP_ANSWER),
    int(Message.SYNC_SEQUENCE_ANSWER),
    int(Message.ILLEGAL),
    int(Message.UNKNOWN),
)

NO_SEQUENCE = -1
REORDER_WINDOW = 64  # datagrams by which one may be overtaken
MAX_OLD = 3  # old ones in a row after which it is the count that has begun anew

N_ADDRESSES = 128
ROOM_BYTES = MAX_PACKET_BYTES + HEADER_BYTES + MAX_READ_BYTES
LEAST_POSE_BYTES = record_bytes(POSITION_ANGLES)


class Decoding(NamedTuple):
    """What the bytes mean on one line, and room to work."""

    layout: Ints
    """See birdnet_records.layout_table, (256, 2)."""

    ordinal_of: Ints
    """Ordinal of the sensor at each address, -1 if none of ours is there, (128,)."""

    full_scales_m: Floats
    """Distance that a full word stands for, of each sensor [m]."""

    turn: float
    """1.0, or -1.0 for a device that reports inverse rotations."""

    matrix: Floats
    """Room for a matrix, (3, 3)."""

    seen: np.ndarray
    """Room for the addresses met in a packet, uint8, (128,)."""

    paths: Paths
    """Where the sensors are."""

    faults: Ints
    """Sensor errors that packets report, see `decoding`."""


@njit(cache=True)
def big_endian(data: np.ndarray, at: int) -> int:
    """Return the unsigned 16-bit number at a place."""
    return int(data[at]) << 8 | int(data[at + 1])


@njit(cache=True)
def word(data: np.ndarray, at: int) -> float:
    """Return the signed 16-bit number at a place, as a fraction of full scale."""
    value = big_endian(data, at)
    return (value - 65536 if value >= 32768 else value) / FULL_SCALE


@njit(cache=True)
def record_length(address: int, n_words: int) -> int:
    """Return the length of a record."""
    return HEAD_BYTES + 2 * n_words + (BUTTON_BYTES if address & BUTTONS_FLAG else 0)


@njit(cache=True)
def is_answer(kind: int) -> bool:
    """Return whether a packet of this type may come between data packets."""
    for known in ANSWERS_WHILE_RUNNING:
        if kind == known:
            return True
    return False


@njit(cache=True)
def examine(data: np.ndarray, start: int, end: int, d: Decoding) -> int:
    """
    Decide whether a packet begins at `start`, from the bytes up to `end`.

    Parameters
    ----------
    data : ndarray of uint8
        The bytes.
    start, end : int
        Where the packet would begin, and where the bytes end.
    d : Decoding
        What the bytes mean.

    Returns
    -------
    n_bytes : int
        Its length; INCOMPLETE if it may be one but ends later; NO_PACKET.

    """
    n_bytes = end - start
    if n_bytes > TYPE_AT:
        kind = data[start + TYPE_AT]
        if kind != DATA and not is_answer(kind):
            return NO_PACKET
    if n_bytes > PROTOCOL_AT and data[start + PROTOCOL_AT] != PROTOCOL:
        return NO_PACKET
    if n_bytes < HEADER_BYTES:
        return INCOMPLETE
    body_bytes = big_endian(data, start + BYTES_AT)
    if data[start + TYPE_AT] != DATA:
        return HEADER_BYTES if body_bytes == 0 else NO_PACKET
    if body_bytes > MAX_BODY_BYTES:
        return NO_PACKET
    for i in range(len(d.seen)):
        d.seen[i] = 0
    at = start + HEADER_BYTES
    body_end = at + body_bytes
    while at < body_end and at + 1 < end:
        address, n_words = data[at] & ADDRESS_MASK, d.layout[data[at + 1], 1]
        if n_words < 0 or address == 0 or d.seen[address] != 0:
            return NO_PACKET
        d.seen[address] = 1
        at += record_length(data[at], n_words)
    if at > body_end:
        return NO_PACKET
    return HEADER_BYTES + body_bytes if at == body_end and body_end <= end else INCOMPLETE


@njit(cache=True)
def decode_pose(
    data: np.ndarray, at: int, code: int, ordinal: int, d: Decoding, pose: Floats
) -> bool:
    """
    Decode the words of a record into REP-103 axes.

    Parameters
    ----------
    data : ndarray of uint8
        The bytes.
    at : int
        Where the words begin.
    code : int
        Format; only those with position and orientation make a pose.
    ordinal : int
        Which sensor it is.
    d : Decoding
        What the bytes mean.
    pose : ndarray, shape (7,)
        Out: position [m] and unit quaternion (w, x, y, z).

    Returns
    -------
    is_good : bool
        Whether the words are a pose; else `pose` means nothing.

    """
    first = at + 6
    if code == POSITION_QUATERNION:
        norm2 = 0.0
        for k in range(4):
            pose[3 + k] = word(data, first + 2 * k)
            norm2 += pose[3 + k] ** 2
        norm = np.sqrt(norm2)
        if abs(norm - 1.0) > NORM_TOLERANCE:
            return False
        for k in range(4):
            pose[3 + k] /= norm
    elif code == POSITION_MATRIX:
        for k in range(9):
            # column by column
            d.matrix[k % 3, k // 3] = word(data, first + 2 * k)
        if attitude.matrix_error(d.matrix) > 2.0 * NORM_TOLERANCE:
            return False
        attitude.from_matrix(d.matrix, pose[3:])
    elif code == POSITION_ANGLES:
        z, y, x = word(data, first), word(data, first + 2), word(data, first + 4)
        attitude.from_angles(np.pi * z, np.pi * y, np.pi * x, pose[3:])
    else:
        return False
    for k in range(3):
        pose[k] = word(data, at + 2 * k) * d.full_scales_m[ordinal]
        pose[4 + k] *= d.turn
    # the device's Y and Z are REP-103's reversed, see flock_of_birds.REP103_SIGNS
    for k in (1, 2, 5, 6):
        pose[k] = -pose[k]
    return True


@njit(cache=True)
def take_records(
    data: np.ndarray,
    start: int,
    n_bytes: int,
    d: Decoding,
    state: Ints,
    ordinals: Ints,
    stamps_ns: Ints,
    poses: Floats,
    count: int,
) -> int:
    """Move the records of a whole packet into the batch; return the new count."""
    if data[start + TYPE_AT] != DATA:
        return count
    at, end = start + HEADER_BYTES, start + n_bytes
    unit, error = data[start + UNIT_AT], int(data[start + ERROR_AT])
    while at < end:
        code, n_words = d.layout[data[at + 1], 0], d.layout[data[at + 1], 1]
        ordinal = d.ordinal_of[data[at] & ADDRESS_MASK]
        n_record = record_length(data[at], n_words)
        # units that are not ours may report, too
        if ordinal >= 0:
            # unit 0 is the whole system
            is_meant = unit == 0 or unit == data[at] & ADDRESS_MASK
            record_error_code(d.faults, ordinal, 0, error if is_meant else 0, state[FIRST_NS])
            if not decode_pose(data, at + HEAD_BYTES, code, ordinal, d, poses[count]):
                state[REJECTED] += 1
                state[DISCARDED] += n_record
            elif not is_plausible(ordinal, poses[count], d.paths):
                state[IMPLAUSIBLE] += int(has_begun(ordinal, d.paths))
                state[DISCARDED] += n_record
            else:
                follow(ordinal, poses[count], d.paths)
                ordinals[count] = ordinal
                stamps_ns[count] = state[FIRST_NS]
                state[RECORDS] += 1
                count += 1
        at += n_record
    return count


@njit(cache=True)
def packet_at(pending: np.ndarray, start: int, end: int, d: Decoding) -> int:
    """Return the length of the packet at `start` if what follows allows it; see examine."""
    n_bytes = examine(pending, start, end, d)
    after = start + n_bytes
    if n_bytes > 0 and after < end:
        following = examine(pending, after, end, d)
        if following == NO_PACKET:
            return NO_PACKET
        if end - after < HEADER_BYTES:
            return INCOMPLETE
    return n_bytes


@njit(cache=True)
def scan(
    data: np.ndarray,
    n_bytes: int,
    arrival_ns: int,
    is_quiet: bool,
    pending: np.ndarray,
    d: Decoding,
    state: Ints,
    ordinals: Ints,
    stamps_ns: Ints,
    poses: Floats,
) -> int:
    """
    Decode one read of a stream; return the number of records written into the batch.

    Parameters
    ----------
    data : ndarray of uint8
        The read; its first `n_bytes` are used.
    n_bytes : int
        How many bytes arrived.
    arrival_ns : int
        When they arrived [ns].
    is_quiet : bool
        Whether the line has been quiet since the bytes before.
    pending : ndarray of uint8
        What is left of earlier reads, with room for a read more.
    d : Decoding
        What the bytes mean.
    state : ndarray, shape (STATE_SIZE,)
        Counters and the scanner's place.
    ordinals, stamps_ns, poses : ndarray
        Out: the batch.

    """
    old = state[LENGTH]
    is_aligned = old == 0
    if is_aligned:
        state[FIRST_NS] = arrival_ns
    end = old + n_bytes
    for i in range(n_bytes):
        pending[old + i] = data[i]
    state[IS_HELD] = 0
    start, count = 0, 0
    while start < end:
        n_packet = packet_at(pending, start, end, d)
        if n_packet == INCOMPLETE:
            break
        if n_packet == NO_PACKET:
            state[RESYNCS] += state[IN_PHASE]
            state[DISCARDED] += 1
            state[IN_PHASE] = 0
            is_aligned = False
            start += 1
        elif start + n_packet == end and not is_aligned and not is_quiet:
            state[IS_HELD] = 1
            break
        else:
            count = take_records(
                pending, start, n_packet, d, state, ordinals, stamps_ns, poses, count
            )
            state[IN_PHASE] = 1
            start += n_packet
        if start >= old:
            state[FIRST_NS] = arrival_ns
    for i in range(start, end):
        pending[i - start] = pending[i]
    state[LENGTH] = end - start
    return count


@njit(cache=True)
def is_old(data: np.ndarray, state: Ints) -> bool:
    """Return whether a datagram has come before or has been overtaken; remember it if not."""
    sequence = big_endian(data, 0)
    milliseconds = big_endian(data, 2)
    seconds = big_endian(data, 4) << 16 | big_endian(data, 6)
    if state[SEQUENCE] != NO_SEQUENCE:
        step = (sequence - state[SEQUENCE]) & 0xFFFF
        if step == 0 and seconds == state[SECONDS] and milliseconds == state[MILLISECONDS]:
            return True
        if step > 0x10000 - REORDER_WINDOW and state[N_OLD] < MAX_OLD:
            state[N_OLD] += 1
            return True
    state[N_OLD] = 0
    state[SEQUENCE], state[SECONDS], state[MILLISECONDS] = sequence, seconds, milliseconds
    return False


@njit(cache=True)
def take_datagram(
    data: np.ndarray,
    n_bytes: int,
    arrival_ns: int,
    d: Decoding,
    state: Ints,
    ordinals: Ints,
    stamps_ns: Ints,
    poses: Floats,
) -> int:
    """Decode one datagram, which is one packet or nothing; parameters as for `scan`."""
    if n_bytes < HEADER_BYTES or examine(data, 0, n_bytes, d) != n_bytes:
        state[RESYNCS] += 1
        state[DISCARDED] += n_bytes
        return 0
    state[FIRST_NS] = arrival_ns
    if data[TYPE_AT] != DATA:
        return 0
    if is_old(data, state):
        state[REJECTED] += 1
        state[DISCARDED] += n_bytes
        return 0
    return take_records(data, 0, n_bytes, d, state, ordinals, stamps_ns, poses, 0)


class BirdnetStream(RecordStream):
    """
    Decoder of data packets whose records have a position and an orientation.

    Parameters
    ----------
    addresses : sequence of int
        Bus addresses of the sensors in the order of their ordinals.
    full_scales_m : sequence of float
        Full scale of each sensor's positions [m]; one of 0 is not known and not listened to.
    inverted : bool
        Whether the device reports inverse rotations.
    has_datagrams : bool
        Whether each read is one datagram rather than a piece of a stream.
    reach : Reach
        How far a sensor can move between two of its records.

    """

    def __init__(
        self,
        addresses: Sequence[int],
        full_scales_m: Sequence[float],
        inverted: bool = False,
        has_datagrams: bool = False,
        reach: Reach = ANYWHERE,
    ) -> None:
        ordinal_of = np.full(N_ADDRESSES, -1, dtype=np.int64)
        ordinal_of[list(addresses)] = np.where(
            np.asarray(full_scales_m) > 0.0, np.arange(len(addresses)), -1
        )
        self._decoding = Decoding(
            LAYOUT,
            ordinal_of,
            np.array(full_scales_m, dtype=float),
            -1.0 if inverted else 1.0,
            np.zeros((3, 3)),
            np.zeros(N_ADDRESSES, dtype=np.uint8),
            reach.paths(len(addresses)),
            np.zeros((len(addresses), N_COLUMNS), dtype=np.int64),
        )
        self._has_datagrams = has_datagrams
        self.batch = RecordBatch(ROOM_BYTES // LEAST_POSE_BYTES + 1)
        self._pending = np.zeros(ROOM_BYTES, dtype=np.uint8)
        self._nothing = np.zeros(0, dtype=np.uint8)
        self._state = np.zeros(STATE_SIZE, dtype=np.int64)
        self._state[SEQUENCE] = NO_SEQUENCE

    @property
    def is_holding(self) -> bool:  # type: ignore[override]
        """Whether a complete packet waits for confirmation."""
        return bool(self._state[IS_HELD])

    @property
    def counters(self) -> StreamCounters:  # type: ignore[override]
        """Totals since the stream was opened."""
        return StreamCounters(*(int(n) for n in self._state[: len(StreamCounters._fields)]))

    def sensor_error(self, ordinal: int) -> str:
        """Return the error that data packets report for a sensor, in words, '' for nothing."""
        return error_code_text(standing_error(self._decoding.faults, ordinal, 0))

    def feed(self, data: np.ndarray, n_bytes: int, arrival_ns: int) -> int:
        """Decode the first `n_bytes` of `data`, at most MAX_READ_BYTES, into the batch."""
        batch = self.batch
        out = (self._state, batch.ordinals, batch.stamps_ns, batch.poses)
        if self._has_datagrams:
            batch.count = take_datagram(data, n_bytes, arrival_ns, self._decoding, *out)
        else:
            batch.count = scan(
                data, n_bytes, arrival_ns, False, self._pending, self._decoding, *out
            )
        return batch.count

    def skip(self) -> None:
        """Forget the packet being collected, because bytes were skipped."""
        state = self._state
        state[DISCARDED] += state[LENGTH]
        state[LENGTH] = state[IS_HELD] = state[IN_PHASE] = 0

    def flush(self) -> int:
        """Release the held packet, if any, into the batch: quiet has confirmed its end."""
        batch, state = self.batch, self._state
        batch.count = 0
        if state[IS_HELD]:
            batch.count = scan(
                self._nothing,
                0,
                state[FIRST_NS],
                True,
                self._pending,
                self._decoding,
                state,
                batch.ordinals,
                batch.stamps_ns,
                batch.poses,
            )
        return batch.count
