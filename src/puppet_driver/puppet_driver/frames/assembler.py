# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Records of all sensors, from several lines, to one stamped frame per tick.

A frame is emitted as soon as every sensor is in, or as soon as the missing ones cannot come any
more, or after a timeout; missing rows are NaN and have an age. Stamps are the arrival of the
tick's first byte, less its jitter by the fitted clock, less the device's latency. Where lines
measure at different times, it is that of the latest line, and the others have an age.

"""

from collections.abc import Sequence
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.math import Floats, Ints
from puppet_driver.frames import clock as clocks
from puppet_driver.frames import ticks
from puppet_driver.frames.clock import Clock, CLOCK_STEP_NS, ClockFit, MIN_STEP, stamp_tick
from puppet_driver.frames.frame_queue import QueuedFrame
from puppet_driver.frames.ticks import (
    add_records,
    Assembly,
    BEGUN_NS,
    is_batched,
    NEWEST_NS,
    NEXT,
    OLDEST,
    PERIOD_NS,
    SHIFT_NS,
    take_frame,
)
from puppet_driver.tracker import POSE_SIZE, RecordBatch

OTHER_RATE = 0.02  # relative difference above which a device's rate is not the configured one
MAX_SKIPPED = 16  # incomplete ticks at the very start that are not frames

# rows of `emitted`
STAMP_NS, ARRIVAL_NS, TICK_NS, FRAMES, INCOMPLETE, MISSING_ROWS, SKIPPED = range(7)
N_EMITTED = 7

_COUNTED = slice(FRAMES, MISSING_ROWS + 1)


def new_emitted() -> Ints:
    """Return the state before the first frame."""
    emitted = np.zeros(N_EMITTED, dtype=np.int64)
    emitted[[STAMP_NS, ARRIVAL_NS, TICK_NS]] = -1
    return emitted


@njit(cache=True)
def least_step_ns(a: Assembly, period_ns: float, tick_ns: int) -> int:
    """
    Return by how much a stamp exceeds the last one at least.

    Bodies do not move in no time, so it is MIN_STEP of a period; less where that many ticks
    that wait would come more than a period after the last arrival.

    """
    n_ticks = 1 + a.counters[NEXT] - a.counters[OLDEST]
    room_ns = (a.counters[BEGUN_NS] - tick_ns) + period_ns
    return max(int(min(MIN_STEP * period_ns, room_ns / n_ticks)), 1)


@njit(cache=True)
def tick_stamp(a: Assembly, c: Clock, arrival_ns: int, last_ns: int, ages_s: Floats) -> int:
    """
    Return when the latest line of a tick has measured; correct the ages to fit.

    Parameters
    ----------
    a : Assembly
        The ring, of which the tick has just been taken.
    c : Clock
        The device's.
    arrival_ns : int
        Arrival of the tick's first byte [ns].
    last_ns : int
        What this returned for the tick before, -1 for none [ns].
    ages_s : ndarray, shape (rows,)
        How much older than the latest line each sample is, changed in place [s].

    """
    stamp_ns = stamp_tick(c, arrival_ns, is_batched(a, of_all=False)) + a.counters[SHIFT_NS]
    early_ns = stamp_ns - a.counters[NEWEST_NS]
    if early_ns > 0:  # the line's phase is a mean; no stamp is after the arrival
        stamp_ns -= early_ns
        for row in range(len(ages_s)):
            ages_s[row] = max(ages_s[row] - 1e-9 * early_ns, 0.0)
    late_ns = last_ns + least_step_ns(a, c.floats[clocks.PERIOD_NS], last_ns) - stamp_ns
    if 0 < late_ns < CLOCK_STEP_NS:
        stamp_ns += late_ns
        for row in range(len(ages_s)):
            ages_s[row] += 1e-9 * late_ns
    return stamp_ns


@njit(cache=True)
def emit_frame(
    a: Assembly,
    c: Clock,
    now_ns: int,
    force: bool,
    latency_ns: int,
    emitted: Ints,
    missing_by_row: Ints,
    poses: Floats,
    missing: np.ndarray,
    ages_s: Floats,
) -> bool:
    """
    Emit the oldest tick as a frame if it is due; return whether it was.

    Parameters
    ----------
    a : Assembly
        The ring.
    c : Clock
        The device's.
    now_ns : int
        Present time, in the clock of the stamps [ns].
    force : bool
        Whether to hand it out in any case.
    latency_ns : int
        Time from the measurement to the arrival of its first byte [ns].
    emitted : ndarray of int, shape (N_EMITTED,)
        Stamp, arrival and tick of the last frame, counts of all; changed.
    missing_by_row : ndarray of int, shape (rows,)
        In how many frames each row was missing; changed.
    poses, missing, ages_s : ndarray, shapes (rows, 7), (rows,) and (rows,)
        Out, as of `take_frame`.

    """
    while True:
        arrival_ns = take_frame(a, now_ns, force, poses, missing, ages_s)
        if arrival_ns < 0:
            return False
        tick_ns = tick_stamp(a, c, arrival_ns, emitted[TICK_NS], ages_s)
        emitted[ARRIVAL_NS], emitted[TICK_NS] = arrival_ns, tick_ns
        emitted[STAMP_NS] = tick_ns - latency_ns
        period_ns = c.floats[clocks.PERIOD_NS]
        if abs(period_ns / a.timing[PERIOD_NS] - 1.0) > OTHER_RATE:
            a.timing[PERIOD_NS] = round(period_ns)
        n_missing = 0
        for row in range(len(missing)):
            n_missing += missing[row]
        if n_missing == 0 or emitted[FRAMES] > 0 or emitted[SKIPPED] >= MAX_SKIPPED:
            break
        # lines that have just been opened do not begin with the same tick
        emitted[SKIPPED] += 1
    emitted[FRAMES] += 1
    if n_missing > 0:
        emitted[INCOMPLETE] += 1
        emitted[MISSING_ROWS] += n_missing
        for row in range(len(missing)):
            missing_by_row[row] += missing[row]
    return True


class FrameCounters(NamedTuple):
    """What has become of the ticks so far."""

    frames: int
    """Frames emitted."""

    incomplete_frames: int
    """Frames in which a sensor was missing."""

    missing_rows: int
    """Sensor samples missing in them."""

    late_records: int
    """Records that came after their frame was emitted."""


class FrameAssembler:
    """
    Collects records and emits frames in the arrays of its attributes.

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
        self._emitted = new_emitted()
        self.missing_by_row = np.zeros(n_rows, dtype=np.int64)

    @property
    def frame_index(self) -> int:
        """Index of the frame emitted last, from 0; -1 before the first."""
        return int(self._emitted[FRAMES]) - 1

    @property
    def stamp_ns(self) -> int:
        """When the frame emitted last was measured [ns]."""
        return int(self._emitted[STAMP_NS])

    @property
    def arrival_ns(self) -> int:
        """When its first byte came [ns]."""
        return int(self._emitted[ARRIVAL_NS])

    @property
    def period_ns(self) -> int:
        """From one tick to the next, as configured until the clock has measured it [ns]."""
        return int(self._state.timing[ticks.PERIOD_NS])

    @property
    def counters(self) -> FrameCounters:
        """Totals since construction."""
        late = int(self._state.counters[ticks.STRAGGLERS])
        frames, incomplete, missing = self._emitted[_COUNTED].tolist()
        return FrameCounters(frames, incomplete, missing, late)

    @property
    def is_collecting(self) -> bool:
        """Whether a tick has begun that has not been emitted."""
        counters = self._state.counters
        return bool(counters[ticks.NEXT] > counters[ticks.OLDEST])

    def restart(self) -> None:
        """Forget ticks that have begun, because the lines are opened anew; totals go on."""
        late, period_ns = self._state.counters[ticks.STRAGGLERS], self.period_ns
        self._state = ticks.new_assembly(*self._layout)
        self._state.timing[ticks.PERIOD_NS] = period_ns
        self._state.counters[ticks.STRAGGLERS] = late

    def frame(self) -> QueuedFrame:
        """Return a copy of the frame emitted last."""
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
        Emit the next frame if one is due.

        Returns
        -------
        has_frame : bool
            Whether `stamp_ns`, `poses`, `missing` and `ages_s` hold a new frame.

        """
        return emit_frame(
            self._state,
            self.clock.state,
            now_ns,
            force,
            self._latency_ns,
            self._emitted,
            self.missing_by_row,
            self.poses,
            self.missing,
            self.ages_s,
        )
