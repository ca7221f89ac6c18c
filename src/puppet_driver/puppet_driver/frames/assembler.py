# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Records of all sensors, from several lines, to one stamped frame per tick.

A line starts a new tick when its sensors begin again, or after a pause that is not followed by the
sensor whose turn it is. Its ticks are filled in order, also when they come late; only a line that
is late again and again, soonest if by just one period, has lost a tick and skips one. Ticks that
were read together are separated by dating the earlier ones back, a period at least.

A frame is emitted when every sensor is in, when the missing ones cannot come any more, or after a
timeout; missing rows are NaN and have an age. Stamps are the arrival of the tick's first byte,
less its jitter by the fitted clock, less the device's latency. Lines that are persistently out of
phase measure at different times: then the latest line's counts, and the others have an age.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from puppet_core.math import Floats
from puppet_driver.frames.clock import CLOCK_STEP_NS, ClockFit, MIN_STEP
from puppet_driver.tracker import Pose, POSE_SIZE, TrackerRecord

OTHER_RATE = 0.02  # relative difference above which a device's rate is not the configured one
MAX_SKIPPED = 16  # incomplete ticks at the very start that are not frames
MAX_TICKS = 32  # that wait, a quarter of a second at 120 Hz

PHASE_MEMORY = 0.1  # weight of one tick in a line's phase
MAX_PHASE_STEP = 0.02  # of a period: the most that one tick, perhaps held up, changes it
SAME_TIME, OTHER_TIME = 0.1, 0.2  # of a period: lines so far apart measure at one time, at two

LATE = 0.6  # of a period: from when on a line is late for a tick
ONE_PERIOD_LATE = 0.15  # of a period: how close to a whole one looks like a lost tick
MAX_LATENESS = 24  # sum over ticks in a row: 1 for a late one, more for one that looks lost
LOST_LATENESS = 8
MAX_MISSED_TICKS = 3  # ticks in a row that a sensor may miss before nobody waits for it
BATCH_NS = 60_000_000  # how long adapters (16 ms) and servers on the network collect bytes
BATCH, BATCHED, MAX_BATCHED = 16, 32, 64  # what one counts against whole ticks, and when many are

HOLD = 0.25  # of a period: how long a tick at an odd time waits for others that follow at once
ODD = 0.5  # of a period: how far a step from tick to tick is from one period if it is odd

NO_POSE = (float('nan'),) * POSE_SIZE


class RawFrame(NamedTuple):
    stamp_ns: int  # When it was measured [ns]
    arrival_ns: int  # When its first byte came [ns]
    frame_index: int  # Counts from 0; a dropped one is missing in what the consumer sees
    poses: Floats  # Shape (sensors, 7), NaN where missing
    missing: np.ndarray  # Shape (sensors,), uint8, 1 where missing
    ages_s: Floats  # Shape (sensors,): how much older than the stamp the last sample is [s]


@dataclass(slots=True)
class FrameCounters:
    frames: int = 0  # Frames emitted
    incomplete_frames: int = 0  # Frames in which a sensor was missing
    missing_rows: int = 0  # Sensor samples missing in them
    late_records: int = 0  # Records that came after their frame was emitted


@dataclass(slots=True)
class Tick:
    """One being collected, or the last one emitted."""

    arrival_ns: int  # Of its first byte, dated back where ticks were read together [ns]
    # Of each line's first byte, likewise [ns]
    line_ns: dict[int, int] = field(default_factory=dict)
    poses: dict[int, Pose] = field(default_factory=dict)  # By row of the frame


@dataclass(slots=True)
class LineTicks:
    first_row: int
    n_sensors: int

    tick: int = -1  # Number of the tick that it is in, -1 before its first record
    ordinal: int = 1 << 30  # Of its last record; whatever follows the first value begins a tick
    record_ns: int = 0  # Arrival of its last record [ns]
    lateness: int = 0  # How much it has been late in its last ticks, see MAX_LATENESS
    batching: int = 0  # How often its ticks came together or in pieces, see BATCH
    phase_ns: float = 0.0  # How much later than the first line it mostly comes [ns]

    @property
    def rows(self) -> range:
        return range(self.first_row, self.first_row + self.n_sensors)

    @property
    def is_batched(self) -> bool:
        return self.batching > BATCHED

    def note_batching(self, is_batch: bool) -> None:
        change = BATCH if is_batch else -1
        self.batching = min(max(self.batching + change, 0), MAX_BATCHED)

    def follow_phase(self, delay_ns: float, period_ns: float) -> None:
        """Learn from a tick that came with some delay after the first line's."""
        limit_ns = MAX_PHASE_STEP * period_ns
        change_ns = PHASE_MEMORY * (delay_ns - self.phase_ns)
        self.phase_ns += min(max(change_ns, -limit_ns), limit_ns)

    def own_phase(self, period_ns: float) -> float:
        """Return the part of its phase that delays cannot explain [ns]."""
        certainty = (self.phase_ns / period_ns - SAME_TIME) / (OTHER_TIME - SAME_TIME)
        return self.phase_ns * min(max(certainty, 0.0), 1.0)


class FrameAssembler:
    """
    Collects records and emits frames, whose rows are the lines' sensors in order.

    `rate_hz` is the device's ticks per second; `timeout_s` the longest wait for the records of a
    tick after its first byte, `latency_s` the time from the measurement to that byte [s].
    """

    def __init__(
        self,
        sensors_per_line: Sequence[int],
        rate_hz: float,
        timeout_s: float,
        latency_s: float = 0.0,
    ) -> None:
        self._sensors_per_line = tuple(sensors_per_line)
        self._n_rows = sum(sensors_per_line)
        # From one tick to the next, as configured until the clock has measured it [ns]
        self.period_ns = round(1e9 / rate_hz)
        self.timeout_ns = round(1e9 * timeout_s)
        self._latency_ns = round(1e9 * latency_s)
        self.clock = ClockFit(rate_hz)
        self.ages_s = np.zeros(self._n_rows)  # Of the last frame
        self.missing_by_row = np.zeros(self._n_rows, dtype=np.int64)
        self.counters = FrameCounters()  # Totals since construction
        self._n_skipped = 0
        self._stamp_ns = -1  # of the last tick, before the latency
        self.restart()

    def restart(self) -> None:
        """Forget ticks that have begun, because the lines are opened anew; totals go on."""
        self._lines: list[LineTicks] = []
        for n_sensors in self._sensors_per_line:
            first_row = self._lines[-1].rows.stop if self._lines else 0
            self._lines.append(LineTicks(first_row, n_sensors))
        self._ticks: deque[Tick] = deque()
        self._oldest = 0  # number of the first of them
        self._emitted: Tick | None = None
        self._row_ns = [0] * self._n_rows  # arrival of the tick of each row's last record
        self._missed = [0] * self._n_rows  # ticks in a row that each row has been missing
        self._begun_ns = 0  # arrival of the newest tick
        self._held_until_ns = 0  # when the oldest tick is due that waits for others, 0 if not

    @property
    def frame_index(self) -> int:
        """Index of the frame emitted last, from 0; -1 before the first."""
        return self.counters.frames - 1

    @property
    def is_collecting(self) -> bool:
        return bool(self._ticks)

    def wait_ns(self, now_ns: int) -> int:
        """Return how long until the oldest tick is due though none follows, 0 or more [ns]."""
        due_ns = self._ticks[0].arrival_ns + self.timeout_ns
        if self._held_until_ns > 0:
            due_ns = min(due_ns, self._held_until_ns)
        return max(due_ns - now_ns, 0)

    def add(self, line: int, records: Sequence[TrackerRecord]) -> None:
        one = self._lines[line]
        to_come, begun_ns = self._later_ticks(one, records)
        for ordinal, stamp_ns, pose in records:
            pause_ns = stamp_ns - one.record_ns
            if self._starts_tick(one, one.ordinal, ordinal, pause_ns):
                to_come = max(to_come - 1, 0)
                one.note_batching(to_come > 0)
                dated_ns = min(stamp_ns, begun_ns - to_come * self.period_ns)
                n_before = len(self._ticks)
                one.tick = self._tick_at(one, dated_ns)
                if len(self._ticks) > n_before:
                    self._begun_ns = stamp_ns
                if one.tick >= self._oldest:
                    self._ticks[one.tick - self._oldest].line_ns[line] = dated_ns
            elif 2 * pause_ns > self.period_ns:
                one.note_batching(True)
            one.ordinal, one.record_ns = ordinal, stamp_ns
            row = one.first_row + ordinal
            self._missed[row] = 0
            if one.tick < self._oldest:
                self.counters.late_records += 1
                self._row_ns[row] = stamp_ns
            else:
                # measured at the tick, wherever in its packet it comes
                tick = self._ticks[one.tick - self._oldest]
                self._row_ns[row] = tick.arrival_ns
                tick.poses[row] = pose

    def take(self, now_ns: int) -> RawFrame | None:
        """Return the next frame if one is due, complete or not."""
        while True:
            tick = self._next_tick(now_ns)
            if tick is None:
                return None
            shift_ns, newest_ns = self._follow_phases(tick)
            missing = [row not in tick.poses for row in range(self._n_rows)]
            ages_ns = self._ages(tick, missing, shift_ns)
            stamp_ns, later_ns = self._stamp(tick.arrival_ns, shift_ns, newest_ns)
            period_ns = self.clock.period_ns
            if abs(period_ns / self.period_ns - 1.0) > OTHER_RATE:
                self.period_ns = round(period_ns)
            n_missing, counters = sum(missing), self.counters
            if n_missing == 0 or counters.frames > 0 or self._n_skipped >= MAX_SKIPPED:
                break
            # lines that have just been opened do not begin with the same tick
            self._n_skipped += 1
        counters.frames += 1
        counters.incomplete_frames += n_missing > 0
        counters.missing_rows += n_missing
        self.ages_s = np.array([1e-9 * max(age_ns + later_ns, 0) for age_ns in ages_ns])
        if n_missing:
            self.missing_by_row += missing
        return RawFrame(
            stamp_ns - self._latency_ns,
            tick.arrival_ns,
            self.frame_index,
            np.array([tick.poses.get(row, NO_POSE) for row in range(self._n_rows)]),
            np.array(missing, np.uint8),
            self.ages_s,
        )

    def _starts_tick(self, line: LineTicks, previous: int, ordinal: int, pause_ns: int) -> bool:
        """Return whether a record is the first of a new tick on its line."""
        if ordinal <= previous:
            return True
        if 2 * pause_ns <= self.period_ns:
            return False
        between = self._missed[line.first_row + previous + 1 : line.first_row + ordinal]
        is_due = all(missed >= MAX_MISSED_TICKS for missed in between)
        return pause_ns > self.period_ns + BATCH_NS or not is_due

    def _later_ticks(self, line: LineTicks, records: Sequence[TrackerRecord]) -> tuple[int, int]:
        """Return how many records begin another tick, and when the last of them came."""
        n_ticks, begun_ns = 0, 0
        previous, previous_ns = line.ordinal, line.record_ns
        for ordinal, stamp_ns, _ in records:
            if self._starts_tick(line, previous, ordinal, stamp_ns - previous_ns):
                n_ticks, begun_ns = n_ticks + 1, stamp_ns
            previous, previous_ns = ordinal, stamp_ns
        return n_ticks, begun_ns

    def _tick_at(self, line: LineTicks, arrival_ns: int) -> int:
        """Return the tick that a line's next records belong to; opens one if there is none."""
        if line.tick >= 0 and line.tick + 1 >= self._oldest:
            number = self._tick_in_order(line, arrival_ns)
        else:
            # new, or left behind: order means nothing
            number = self._tick_in_time(arrival_ns)
        if number > line.tick:
            if number >= self._oldest:
                tick = self._ticks[number - self._oldest]
                tick.arrival_ns = min(tick.arrival_ns, arrival_ns)
            return number
        line.lateness = 0
        number = self._oldest + len(self._ticks)
        self._ticks.append(Tick(arrival_ns))
        if number == 0:
            self._row_ns = [arrival_ns] * self._n_rows
        return number

    def _tick_in_time(self, arrival_ns: int) -> int:
        """Return the newest tick, emitted or not, that began about then; -1 if none did."""
        known = list(self._ticks) or ([self._emitted] if self._emitted is not None else [])
        newest = self._oldest + len(self._ticks) - 1
        for i, tick in enumerate(reversed(known)):
            if abs(arrival_ns - tick.arrival_ns) < LATE * self.period_ns:
                return newest - i
        return -1

    def _tick_in_order(self, line: LineTicks, arrival_ns: int) -> int:
        """Return the tick that follows the line's last one, later if the line has lost one."""
        has_lost = line.lateness >= MAX_LATENESS
        first = line.tick + 1
        if has_lost and line.is_batched:
            # in the dark about more than one, for delays say little
            has_lost, first, line.lateness = False, first + 1, 0
        for number in range(first, self._oldest + len(self._ticks)):
            delay_ns = arrival_ns - self._ticks[number - self._oldest].arrival_ns
            lateness = self._next_lateness(line, delay_ns)
            if lateness == 0 or not has_lost:
                line.lateness = lateness
                return number
        return -1

    def _next_lateness(self, line: LineTicks, delay_ns: int) -> int:
        """
        Return how much a line has been late in a row if its next tick has some delay.

        What comes in batches is up to a period late, of two such lines on one as often as on the
        other.
        """
        late, period_ns = line.lateness, self.period_ns
        if line.is_batched:
            usual = 0.5 if all(one.is_batched for one in self._lines) else 1.0
            return late + 1 if delay_ns >= usual * period_ns else max(late - 1, 0)
        if delay_ns < LATE * period_ns:
            return 0
        looks_lost = abs(delay_ns - period_ns) < ONE_PERIOD_LATE * period_ns
        return late + (LOST_LATENESS if looks_lost else 1)

    def _next_tick(self, now_ns: int) -> Tick | None:
        """Return the oldest tick if it is complete, cannot become so, or has waited too long."""
        if not self._ticks:
            return None
        tick, is_flood = self._ticks[0], len(self._ticks) > MAX_TICKS
        self._held_until_ns = 0
        is_late = is_flood or now_ns - tick.arrival_ns >= self.timeout_ns
        if not is_late and self._is_awaited(tick):
            return None
        for n_later, later in enumerate(self._ticks):
            # at least one period before each one that waits behind it
            dated_ns = later.arrival_ns - n_later * self.period_ns
            tick.arrival_ns = min(tick.arrival_ns, dated_ns)
        if not is_flood and self._is_held(tick, now_ns):
            return None
        self._oldest += 1
        self._emitted = self._ticks.popleft()
        return tick

    def _is_awaited(self, tick: Tick) -> bool:
        """Return whether a record of the oldest tick can still come and is worth waiting for."""
        for line in self._lines:
            if line.tick > self._oldest:
                continue
            passed = line.ordinal + 1 if line.tick == self._oldest else 0
            for row in line.rows[passed:]:
                if row not in tick.poses and self._missed[row] < MAX_MISSED_TICKS:
                    return True
        return False

    def _is_held(self, tick: Tick, now_ns: int) -> bool:
        """
        Return whether the oldest tick waits for others that may follow at once.

        After a pause it is either late, and what comes after it shows by how much, or others were
        lost.
        """
        last_ns = self._emitted.arrival_ns if self._emitted is not None else 0
        odd_ns = abs(tick.arrival_ns - last_ns - self.period_ns)
        if not ODD * self.period_ns < odd_ns < MAX_TICKS * self.period_ns:
            return False
        self._held_until_ns = self._begun_ns + int(HOLD * self.period_ns)
        return now_ns < self._held_until_ns

    def _follow_phases(self, tick: Tick) -> tuple[int, int]:
        """Learn the lines' phases; return the latest line's, and when its bytes came [ns]."""
        shift_ns, newest_ns = 0.0, tick.arrival_ns
        for index, own_ns in tick.line_ns.items():
            line = self._lines[index]
            # batches are late by themselves, which hides the phase
            delay_ns = 0 if line.is_batched else own_ns - tick.arrival_ns
            line.follow_phase(delay_ns, self.period_ns)
            shift_ns = max(shift_ns, line.own_phase(self.period_ns))
            newest_ns = max(newest_ns, own_ns)
        return int(shift_ns), newest_ns

    def _ages(self, tick: Tick, missing: list[bool], shift_ns: int) -> list[int]:
        """Return how much older each row's last sample is than the latest line's [ns]."""
        ages_ns = []
        for line in self._lines:
            newer_ns = shift_ns - int(line.own_phase(self.period_ns))
            for row in line.rows:
                age_ns = newer_ns
                if missing[row]:
                    self._missed[row] += 1
                    age_ns += tick.arrival_ns - self._row_ns[row]
                ages_ns.append(max(age_ns, 0))
        return ages_ns

    def _stamp(self, arrival_ns: int, shift_ns: int, newest_ns: int) -> tuple[int, int]:
        """Return when the latest line of a tick has measured, and what to add to ages [ns]."""
        in_batches = any(line.is_batched for line in self._lines)
        phased_ns = self.clock.stamp(arrival_ns, in_batches) + shift_ns
        # the line's phase is a mean; no stamp is after the arrival
        stamp_ns = min(phased_ns, newest_ns)
        late_ns = self._stamp_ns + self._least_step_ns() - stamp_ns
        if 0 < late_ns < CLOCK_STEP_NS:
            stamp_ns += late_ns
        self._stamp_ns = stamp_ns
        return stamp_ns, stamp_ns - phased_ns

    def _least_step_ns(self) -> int:
        """
        Return by how much a stamp exceeds the last one at least: MIN_STEP of a period.

        Less where that many waiting ticks would come more than a period after the last arrival.
        """
        period_ns = self.clock.period_ns
        room_ns = (self._begun_ns - self._stamp_ns) + period_ns
        return max(int(min(MIN_STEP * period_ns, room_ns / (1 + len(self._ticks)))), 1)
