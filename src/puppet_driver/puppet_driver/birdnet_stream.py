# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bytes of a running MotionStar to validated records, with counters.

Owns the decoder's state for one run of a line. See birdnet_kernels for what makes a packet
believable.

"""

from collections.abc import Sequence

import numpy as np
from puppet_driver import birdnet_kernels as kernels
from puppet_driver import birdnet_scan_kernels as scanning
from puppet_driver.birdnet import error_code_text, HEADER_BYTES, MAX_PACKET_BYTES
from puppet_driver.birdnet_records import LAYOUT, POSITION_ANGLES, record_bytes
from puppet_driver.fault_kernels import N_COLUMNS, standing_error
from puppet_driver.plausible_path import ANYWHERE, Reach
from puppet_driver.record_stream import MAX_READ_BYTES
from puppet_driver.tracker import RecordBatch, StreamCounters

N_ADDRESSES = 128
ROOM_BYTES = MAX_PACKET_BYTES + HEADER_BYTES + MAX_READ_BYTES
LEAST_POSE_BYTES = record_bytes(POSITION_ANGLES)


class BirdnetStream:
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
        self._decoding = kernels.Decoding(
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
        self._state = np.zeros(kernels.STATE_SIZE, dtype=np.int64)
        self._state[kernels.SEQUENCE] = scanning.NO_SEQUENCE

    @property
    def is_holding(self) -> bool:
        """Whether a complete packet waits for confirmation."""
        return bool(self._state[kernels.IS_HELD])

    @property
    def counters(self) -> StreamCounters:
        """Totals since the stream was opened."""
        return StreamCounters(*(int(n) for n in self._state[:len(StreamCounters._fields)]))

    def sensor_error(self, ordinal: int) -> str:
        """Return what data packets say is wrong with a sensor, in words, '' for nothing."""
        return error_code_text(standing_error(self._decoding.faults, ordinal, 0))

    def feed(self, data: np.ndarray, n_bytes: int, arrival_ns: int) -> int:
        """Decode the first `n_bytes` of `data`, at most MAX_READ_BYTES, into the batch."""
        batch = self.batch
        out = (self._state, batch.ordinals, batch.stamps_ns, batch.poses)
        if self._has_datagrams:
            batch.count = scanning.take_datagram(
                data, n_bytes, arrival_ns, self._decoding, *out
            )
        else:
            batch.count = scanning.scan(
                data, n_bytes, arrival_ns, False, self._pending, self._decoding, *out
            )
        return batch.count

    def feed_bytes(self, data: bytes, arrival_ns: int = 0) -> int:
        """Decode a byte string of at most MAX_READ_BYTES; for tests and tools."""
        return self.feed(np.frombuffer(bytearray(data), dtype=np.uint8), len(data), arrival_ns)

    def skip(self) -> None:
        """Forget the packet being collected, because bytes were skipped."""
        state = self._state
        state[kernels.DISCARDED] += state[kernels.LENGTH]
        state[kernels.LENGTH] = state[kernels.IS_HELD] = state[kernels.IN_PHASE] = 0

    def flush(self) -> int:
        """Release the held packet, if any, into the batch: quiet has confirmed its end."""
        batch, state = self.batch, self._state
        batch.count = 0
        if state[kernels.IS_HELD]:
            batch.count = scanning.scan(
                self._nothing, 0, state[kernels.FIRST_NS], True, self._pending, self._decoding,
                state, batch.ordinals, batch.stamps_ns, batch.poses,
            )  # fmt: skip
        return batch.count
