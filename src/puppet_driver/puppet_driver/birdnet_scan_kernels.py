# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Reads of a MotionStar's connection to records: a stream of bytes, or datagrams (kernels)."""

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver import birdnet_kernels as kernels
from puppet_driver.birdnet import HEADER_BYTES
from puppet_driver.birdnet_kernels import (
    Decoding,
    DISCARDED,
    FIRST_NS,
    IN_PHASE,
    INCOMPLETE,
    IS_HELD,
    LENGTH,
    MILLISECONDS,
    N_OLD,
    NO_PACKET,
    REJECTED,
    RESYNCS,
    SECONDS,
    SEQUENCE,
)

NO_SEQUENCE = -1
REORDER_WINDOW = 64  # datagrams by which one may be overtaken
MAX_OLD = 3  # old ones in a row after which it is the count that has begun anew


@njit(cache=True)
def packet_at(pending: np.ndarray, start: int, end: int, d: Decoding) -> int:
    """Return the length of the packet at `start` if what follows allows it; see examine."""
    n_bytes = kernels.examine(pending, start, end, d)
    after = start + n_bytes
    if n_bytes > 0 and after < end:
        following = kernels.examine(pending, after, end, d)
        if following == NO_PACKET:
            return NO_PACKET
        if end - after < HEADER_BYTES:
            return INCOMPLETE
    return n_bytes


@njit(cache=True)
def scan(
    data: np.ndarray, n_bytes: int, arrival_ns: int, is_quiet: bool, pending: np.ndarray,
    d: Decoding, state: Ints, ordinals: Ints, stamps_ns: Ints, poses: Floats,
) -> int:  # fmt: skip
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
            count = kernels.take_records(
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
    sequence = kernels.big_endian(data, 0)
    milliseconds = kernels.big_endian(data, 2)
    seconds = kernels.big_endian(data, 4) << 16 | kernels.big_endian(data, 6)
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
    data: np.ndarray, n_bytes: int, arrival_ns: int, d: Decoding, state: Ints, ordinals: Ints,
    stamps_ns: Ints, poses: Floats,
) -> int:  # fmt: skip
    """Decode one datagram, which is one packet or nothing; parameters as for `scan`."""
    if n_bytes < HEADER_BYTES or kernels.examine(data, 0, n_bytes, d) != n_bytes:
        state[RESYNCS] += 1
        state[DISCARDED] += n_bytes
        return 0
    state[FIRST_NS] = arrival_ns
    if data[kernels.TYPE_AT] != kernels.DATA:
        return 0
    if is_old(data, state):
        state[REJECTED] += 1
        state[DISCARDED] += n_bytes
        return 0
    return kernels.take_records(data, 0, n_bytes, d, state, ordinals, stamps_ns, poses, 0)
