# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Cutting a stream of BIRDNET bytes into data packets that were really sent (kernel layer).

There is no checksum, but a packet tells its own length, each of its records tells its format
and so its length, no unit reports twice, and the records fill the packet exactly. A packet is
accepted when all that holds and it is followed by the beginning of another one, or by quiet.
To wait for quiet would cost time, so a packet that ends where a read ends is accepted at once
if that read holds nothing but whole packets. What bytes lost at the very end of a packet do
when a read is cut at just that place, and the one before at the packet's beginning, cannot be
told from data; TCP loses none.

"""

from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver import attitude_kernels as attitude
from puppet_driver.birdnet import HEADER_BYTES, MAX_BODY_BYTES, Message, PROTOCOL
from puppet_driver.birdnet_records import (
    BUTTON_BYTES,
    BUTTONS_FLAG,
    FULL_SCALE,
    HEAD_BYTES,
    POSITION_ANGLES,
    POSITION_MATRIX,
    POSITION_QUATERNION,
)
from puppet_driver.fault_kernels import hear
from puppet_driver.path_kernels import follow, has_begun, is_plausible, Paths

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
# what else a running device says, all without a body
ANSWERS_WHILE_RUNNING = (
    int(Message.RUN_CONTINUOUS_ANSWER), int(Message.STOP_DATA_ANSWER),
    int(Message.SEND_SETUP_ANSWER), int(Message.WAKE_UP_ANSWER),
    int(Message.SYNC_SEQUENCE_ANSWER), int(Message.ILLEGAL), int(Message.UNKNOWN),
)  # fmt: skip


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
    """What packets say is wrong with the sensors, see fault_kernels."""


@njit(cache=True)
def big_endian(data: np.ndarray, at: int) -> int:
    """Return the unsigned 16-bit number at a place."""
    return int(data[at]) << 8 | int(data[at + 1])


@njit(cache=True)
def word(data: np.ndarray, at: int) -> float:
    """Return the signed 16-bit number at a place, as a share of full scale."""
    value = big_endian(data, at)
    return (value - 65536 if value >= 32768 else value) / FULL_SCALE


@njit(cache=True)
def record_bytes(address: int, n_words: int) -> int:
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
    Judge whether a packet begins at `start`, from the bytes up to `end`.

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
        at += record_bytes(data[at], n_words)
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
    data: np.ndarray, start: int, n_bytes: int, d: Decoding, state: Ints, ordinals: Ints,
    stamps_ns: Ints, poses: Floats, count: int,
) -> int:  # fmt: skip
    """Move the records of a whole packet into the batch; return the new count."""
    if data[start + TYPE_AT] != DATA:
        return count
    at, end = start + HEADER_BYTES, start + n_bytes
    unit, error = data[start + UNIT_AT], int(data[start + ERROR_AT])
    while at < end:
        code, n_words = d.layout[data[at + 1], 0], d.layout[data[at + 1], 1]
        ordinal = d.ordinal_of[data[at] & ADDRESS_MASK]
        n_record = record_bytes(data[at], n_words)
        # units that are not ours may report, too
        if ordinal >= 0:
            # unit 0 is the whole system
            is_meant = unit == 0 or unit == data[at] & ADDRESS_MASK
            hear(d.faults, ordinal, 0, error if is_meant else 0, state[FIRST_NS])
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
