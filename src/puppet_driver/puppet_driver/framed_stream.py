# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bytes of a running Polhemus line to validated records, with counters.

Owns the decoder's state for one run of a line. See framed_kernels for what makes a record
believable.

"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from puppet_driver import framed_kernels as kernels
from puppet_driver.fault_kernels import standing_error
from puppet_driver.plausible_path import Reach
from puppet_driver.polhemus_kernels import MAX_VALUES
from puppet_driver.polhemus_records import NO_ERROR, RecordLayout
from puppet_driver.record_stream import MAX_READ_BYTES
from puppet_driver.tracker import RecordBatch, StreamCounters

# Four decimals put the length of a quaternion off by 1e-4, a matrix by 2e-4 at most.
NORM_TOLERANCE = 1e-3


class StationStatus(NamedTuple):
    """What a sensor's last record said beside its pose."""

    error: str
    """The device's error character, '' for none."""

    is_pressed: bool
    """Whether the stylus' button is; false if the records do not say."""

    time_stamp_ms: int
    """The device's clock [ms], 0 if the records do not say."""

    frame_count: int
    """The device's frame, 0 if the records do not say."""


class FramedRecordStream:
    """
    Decoder of records of one layout.

    Parameters
    ----------
    layout : RecordLayout
        What a record looks like.
    metres_per_unit : float
        Scale of positions [m].
    reach : Reach
        How far a sensor can move between two of its records.
    inverted : bool
        Whether the device reports the inverse rotation.
    error_text : callable
        Puts the device's error characters into words, '' for none.

    """

    def __init__(
        self,
        layout: RecordLayout,
        metres_per_unit: float,
        reach: Reach,
        inverted: bool = False,
        error_text: Callable[[str], str] = str,
    ) -> None:
        n_sensors = len(layout.stations)
        self._error_text = error_text
        self.record_bytes = layout.record_bytes
        self.batch = RecordBatch(MAX_READ_BYTES // self.record_bytes + 3)
        self._nothing = np.zeros(1, dtype=np.uint8)
        self._shape = layout.shape()
        self._decoding = (metres_per_unit, -1.0 if inverted else 1.0, NORM_TOLERANCE)
        self._scanner = kernels.Scanner(
            np.zeros(kernels.STATE_SIZE, dtype=np.int64),
            np.zeros(self.record_bytes + 1, dtype=np.uint8),
            np.zeros(self.record_bytes + 1, dtype=np.int64),
            reach.paths(n_sensors),
            np.zeros((n_sensors, kernels.N_EXTRAS), dtype=np.int64),
            np.zeros(MAX_VALUES),
        )
        self._scanner.state[kernels.LAST_ORDINAL] = n_sensors - 1
        self._scanner.last_extras[:, kernels.STATUS] = NO_ERROR

    @property
    def is_holding(self) -> bool:
        """Whether a complete record waits for confirmation."""
        return bool(self._scanner.state[kernels.HELD])

    @property
    def counters(self) -> StreamCounters:
        """Totals since the stream was opened."""
        state = self._scanner.state
        return StreamCounters(*(int(n) for n in state[:len(StreamCounters._fields)]))

    def station(self, ordinal: int) -> StationStatus:
        """Return what a sensor's last record said beside its pose."""
        extras = self._scanner.last_extras[ordinal, :kernels.FAULT]
        status, stylus, time_ms, frame = (int(n) for n in extras)
        error = '' if status in (NO_ERROR, 0) else chr(status)
        return StationStatus(error, stylus != 0, time_ms, frame)

    def sensor_error(self, ordinal: int) -> str:
        """Return what a sensor's records say is wrong, in words, '' for nothing."""
        code = standing_error(self._scanner.last_extras, ordinal, kernels.FAULT)
        return self._error_text(chr(code)) if code else ''

    def feed(self, data: np.ndarray, n_bytes: int, arrival_ns: int) -> int:
        """Decode the first `n_bytes` of `data`, at most MAX_READ_BYTES, into the batch."""
        batch = self.batch
        batch.count = kernels.scan(
            data, n_bytes, arrival_ns, self._shape, self._scanner, self._decoding,
            batch.ordinals, batch.stamps_ns, batch.poses,
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
        state = self._scanner.state
        state[kernels.DISCARDED] += state[kernels.LENGTH]
        state[kernels.LENGTH] = state[kernels.HELD] = state[kernels.IN_PHASE] = 0

    def flush(self) -> int:
        """Release the held record, if any, into the batch: quiet has confirmed its end."""
        batch = self.batch
        batch.count = kernels.release(
            self._shape, self._scanner, self._decoding,
            batch.ordinals, batch.stamps_ns, batch.poses,
        )  # fmt: skip
        return batch.count
