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
from puppet_driver import assembly_kernels as kernels
from puppet_driver import tick_kernels as ticks
from puppet_driver.clock_fit import ClockFit
from puppet_driver.clock_kernels import CLOCK_STEP_NS, MIN_STEP
from puppet_driver.frame_queue import QueuedFrame
from puppet_driver.tracker import POSE_SIZE, RecordBatch

OTHER_RATE = 0.02  # from when on a device runs at another rate than it is said to
MAX_SKIPPED = 16  # incomplete ticks at the very start that are not frames


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
        self.stamp_ns = self.arrival_ns = -1
        self.poses = np.full((n_rows, POSE_SIZE), np.nan)
        self.missing = np.ones(n_rows, dtype=np.uint8)
        self.ages_s = np.zeros(n_rows)
        self._tick_ns = -1
        self._skipped = 0
        self._frames = 0
        self._incomplete = 0
        self._missing_rows = 0
        self.missing_by_row = np.zeros(n_rows, dtype=np.int64)

    @property
    def frame_index(self) -> int:
        """Index of the frame handed out last, from 0; -1 before the first."""
        return self._frames - 1

    @property
    def period_ns(self) -> int:
        """From one tick to the next, as configured until the clock says otherwise [ns]."""
        return int(self._state.timing[ticks.PERIOD_NS])

    @property
    def counters(self) -> FrameCounters:
        """Totals since construction."""
        late = int(self._state.counters[ticks.STRAGGLERS])
        return FrameCounters(self._frames, self._incomplete, self._missing_rows, late)

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
        return kernels.add_records(
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
        arrival_ns = kernels.take_frame(
            self._state, now_ns, force, self.poses, self.missing, self.ages_s
        )
        if arrival_ns < 0:
            return False
        self.arrival_ns = arrival_ns
        self.stamp_ns = self._stamp(arrival_ns)
        if abs(self.clock.period_ns / self.period_ns - 1.0) > OTHER_RATE:
            self._state.timing[ticks.PERIOD_NS] = round(self.clock.period_ns)
        n_missing = int(self.missing.sum())
        if n_missing and self._frames == 0 and self._skipped < MAX_SKIPPED:
            # lines that have just been opened do not begin with the same tick
            self._skipped += 1
            return self.take(now_ns, force)
        self._frames += 1
        if n_missing:
            self._incomplete += 1
            self._missing_rows += n_missing
            self.missing_by_row += self.missing
        return True

    def _stamp(self, arrival_ns: int) -> int:
        """Return when the latest line of a frame has measured, by the first line's arrival."""
        counters = self._state.counters
        in_lumps = bool(self._state.line_lumped.max() > ticks.LUMPED)
        stamp_ns = self.clock.stamp(arrival_ns, in_lumps) + int(counters[ticks.SHIFT_NS])
        early_ns = stamp_ns - int(counters[ticks.NEWEST_NS])
        if early_ns > 0:  # the line's phase is a mean; no stamp is after the arrival
            stamp_ns -= early_ns
            np.maximum(self.ages_s - 1e-9 * early_ns, 0.0, out=self.ages_s)
        late_ns = self._tick_ns + self._least_step_ns() - stamp_ns
        if 0 < late_ns < CLOCK_STEP_NS:
            stamp_ns += late_ns
            self.ages_s += 1e-9 * late_ns
        self._tick_ns = stamp_ns
        return stamp_ns - self._latency_ns

    def _least_step_ns(self) -> int:
        """
        Return by how much a stamp exceeds the last one at least.

        Bodies do not move in no time, so it is MIN_STEP of a period; less where that many ticks
        that wait would come more than a period after the last arrival.

        """
        counters, period_ns = self._state.counters, self.clock.period_ns
        n_ticks = 1 + int(counters[ticks.NEXT] - counters[ticks.OLDEST])
        room_ns = int(counters[ticks.BEGUN_NS]) + period_ns - self._tick_ns
        return max(int(min(MIN_STEP * period_ns, room_ns / n_ticks)), 1)
