# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Records of all sensors, from several lines, to one stamped frame per tick.

A frame is handed out as soon as every sensor is in, or as soon as the missing ones cannot
come any more, or after a timeout; missing rows are NaN and have an age. Stamps are the arrival
of the tick's first byte, less its jitter by the fitted clock, less the device's latency. Where
lines measure at different times, it is that of the latest line, and the others have an age.

"""

from collections.abc import Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
from puppet_driver import hand_out_kernels
from puppet_driver import tick_kernels as ticks
from puppet_driver.assembly_kernels import add_records
from puppet_driver.clock_fit import ClockFit
from puppet_driver.frame_queue import QueuedFrame
from puppet_driver.hand_out_kernels import hand_out
from puppet_driver.tracker import POSE_SIZE, RecordBatch

_COUNTED = slice(hand_out_kernels.FRAMES, hand_out_kernels.MISSING_ROWS + 1)


class FrameCounters(NamedTuple):
    """What has become of the ticks so far."""

    frames: int
    """Frames handed out."""

    incomplete_frames: int
    """Frames in which a sensor was missing."""

    missing_rows: int
    """Sensor samples missing in them."""

    late_records: int
    """Records that came after their frame was handed out."""


class FrameAssembler:
    """
    Collects records and hands out frames in the arrays of its attributes.

    Parameters
    ----------
    sensors_per_line : sequence of int
        How many sensors report on each line; rows of a frame are the lines' in this order.
    rate_hz : float
        Ticks per second of the device.
    timeout_s : float
        Longest wait for the records of a tick after its first byte [s].
    latency_s : float
        Time from the measurement to the arrival of its first byte [s].

    """

    def __init__(
        self,
        sensors_per_line: Sequence[int],
        rate_hz: float,
        timeout_s: float,
        latency_s: float = 0.0,
    ) -> None:
        period_ns, timeout_ns = round(1e9 / rate_hz), round(1e9 * timeout_s)
        self._layout = tuple(sensors_per_line), period_ns, timeout_ns
        self._state = ticks.new_assembly(*self._layout)
        self._latency_ns = round(1e9 * latency_s)
        self.timeout_ns = timeout_ns
        self.clock = ClockFit(rate_hz)
        n_rows = sum(sensors_per_line)
        self.poses = np.full((n_rows, POSE_SIZE), np.nan)
        self.missing = np.ones(n_rows, dtype=np.uint8)
        self.ages_s = np.zeros(n_rows)
        self._handed = hand_out_kernels.new_handed()
        self.missing_by_row = np.zeros(n_rows, dtype=np.int64)

    @property
    def frame_index(self) -> int:
        """Index of the frame handed out last, from 0; -1 before the first."""
        return int(self._handed[hand_out_kernels.FRAMES]) - 1

    @property
    def stamp_ns(self) -> int:
        """When the frame handed out last was measured [ns]."""
        return int(self._handed[hand_out_kernels.STAMP_NS])

    @property
    def arrival_ns(self) -> int:
        """When its first byte came [ns]."""
        return int(self._handed[hand_out_kernels.ARRIVAL_NS])

    @property
    def period_ns(self) -> int:
        """From one tick to the next, as configured until the clock says otherwise [ns]."""
        return int(self._state.timing[ticks.PERIOD_NS])

    @property
    def counters(self) -> FrameCounters:
        """Totals since construction."""
        late = int(self._state.counters[ticks.STRAGGLERS])
        frames, incomplete, missing = self._handed[_COUNTED].tolist()
        return FrameCounters(frames, incomplete, missing, late)

    @property
    def is_collecting(self) -> bool:
        """Whether a tick has begun that has not been handed out."""
        counters = self._state.counters
        return bool(counters[ticks.NEXT] > counters[ticks.OLDEST])

    def restart(self) -> None:
        """Forget ticks that have begun, because the lines are opened anew; totals go on."""
        late, period_ns = self._state.counters[ticks.STRAGGLERS], self.period_ns
        self._state = ticks.new_assembly(*self._layout)
        self._state.timing[ticks.PERIOD_NS] = period_ns
        self._state.counters[ticks.STRAGGLERS] = late

    def successor(self) -> 'FrameAssembler':
        """Return a copy to go on with, while this one is left to a thread that does not end."""
        return deepcopy(self)

    def frame(self) -> QueuedFrame:
        """Return a copy of the frame handed out last."""
        return QueuedFrame(
            self.stamp_ns,
            self.arrival_ns,
            self.frame_index,
            self.poses.copy(),
            self.missing.copy(),
            self.ages_s.copy(),
        )

    def wait_ns(self, now_ns: int) -> int:
        """Return how long until the oldest tick is due though none follows, 0 or more [ns]."""
        counters = self._state.counters
        slot = counters[ticks.OLDEST] % ticks.N_SLOTS
        due_ns = int(self._state.slot_ns[slot]) + self.timeout_ns
        if counters[ticks.HELD_UNTIL_NS] > 0:
            due_ns = min(due_ns, int(counters[ticks.HELD_UNTIL_NS]))
        return max(due_ns - now_ns, 0)

    def add(self, line: int, batch: RecordBatch, start: int = 0) -> int:
        """
        Place a batch of a line's records.

        Returns
        -------
        n_placed : int
            `batch.count`, or less if frames must be taken first: then take one by
            `take(now_ns, force=True)` and add the rest from there.

        """
        return add_records(
            self._state, line, batch.ordinals, batch.stamps_ns, batch.poses, start, batch.count
        )

    def take(self, now_ns: int, force: bool = False) -> bool:
        """
        Hand out the next frame if one is due.

        Returns
        -------
        has_frame : bool
            Whether `stamp_ns`, `poses`, `missing` and `ages_s` hold a new frame.

        """
        return hand_out(
            self._state, self.clock.state, now_ns, force, self._latency_ns, self._handed,
            self.missing_by_row, self.poses, self.missing, self.ages_s,
        )  # fmt: skip
