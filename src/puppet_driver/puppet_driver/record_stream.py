# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bytes of a running Flock of Birds line to validated records, with counters.

Owns the decoder's state for one run of a line. See record_kernels for what makes a record
believable.

"""

from collections.abc import Sequence

import numpy as np
from puppet_driver import record_kernels as kernels
from puppet_driver.flock_of_birds import (
    FULL_SCALE,
    full_scale_m,
    MAX_ADDRESS,
    POSITION_QUATERNION,
    RECORD_FORMATS,
)
from puppet_driver.plausible_path import Reach, USUAL
from puppet_driver.tracker import RecordBatch, StreamCounters

MAX_READ_BYTES = 4096  # what a tty hands over at once
# 14-bit components put the length off by 1.3e-4 at most; the rest is the device's own.
NORM_TOLERANCE = 0.004


class PhasedRecordStream:
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
        self._nothing = np.zeros(1, dtype=np.uint8)
        self._pending = np.zeros(self.record_bytes, dtype=np.uint8)
        self._paths = reach.paths(n_sensors)
        self._state = np.zeros(kernels.STATE_SIZE, dtype=np.int64)
        self._state[kernels.LAST_ORDINAL] = n_sensors - 1

    @property
    def is_holding(self) -> bool:
        """Whether a complete record waits for confirmation."""
        return bool(self._state[kernels.HELD])

    @property
    def counters(self) -> StreamCounters:
        """Totals since the stream was opened."""
        return StreamCounters(*(int(n) for n in self._state[:len(StreamCounters._fields)]))

    def feed(self, data: np.ndarray, n_bytes: int, arrival_ns: int) -> int:
        """Decode the first `n_bytes` of `data`, at most MAX_READ_BYTES, into the batch."""
        batch = self.batch
        batch.count = kernels.scan(
            data, n_bytes, arrival_ns, self._pending, self._ordinal_of, self._decoding,
            self._paths, self._state, batch.ordinals, batch.stamps_ns, batch.poses,
        )  # fmt: skip
        return batch.count

    def feed_bytes(self, data: bytes, arrival_ns: int = 0) -> int:
        """Decode a byte string of at most MAX_READ_BYTES; for tests and tools."""
        return self.feed(np.frombuffer(bytearray(data), dtype=np.uint8), len(data), arrival_ns)

    def rehearse(self) -> None:
        """Do what `feed` does, with no bytes."""
        self.feed(self._nothing, 0, 0)

    def skip(self) -> None:
        """Forget the record being collected, because bytes were skipped."""
        kernels.reject(self._state, -1)

    def flush(self) -> int:
        """Release the held record, if any, into the batch: quiet has confirmed its end."""
        batch, state = self.batch, self._state
        batch.count = 0
        if state[kernels.HELD]:
            ordinal = state[kernels.HELD] - 1
            kernels.complete(self._pending, self._ordinal_of, self._decoding, batch.poses[0])
            batch.count = kernels.accept(
                ordinal, self._paths, state, batch.ordinals, batch.stamps_ns, batch.poses, 0
            )
        return batch.count
