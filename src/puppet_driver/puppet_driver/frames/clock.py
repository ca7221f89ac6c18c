# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A device's clock, fitted to the earliest arrivals of its ticks: stamps without jitter.

A device measures by its own steady clock; what reaches us is late, never early, so the true times
lie on the lower envelope of the arrivals. The earliest arrival of a block of ticks is one
measurement for a g-h filter of offset and period, whose memory grows to N_BLOCKS. Lost and late
ticks are separated by arrival alone, so that a wrong guess costs the stamp of one tick only.
"""

from enum import Enum
import math
from typing import NamedTuple

import numpy as np
from puppet_core.math import Ints

BLOCK_TICKS = 16
N_BLOCKS = 64  # memory of the filter: 9 s at 120 Hz
FIRST_BLOCKS = 4  # what a measured or configured period is worth at the start
WATCHED_TICKS = 128  # by which the period is found and monitored
WRONG_PERIOD = 0.01
MAX_DENIALS = 2  # times in a row without any period until arrivals are the stamps again
MAX_CORRECTION = 0.02  # of the period that the line began with
LATE = 0.93  # of a period: a tick later than this is the next one
LATE_IN_BATCHES, EARLY_IN_BATCHES = 1.1, -0.5  # where any delay up to a period is as likely
BATCHED_BLOCK = 64  # ticks among which there is one that came almost at once
MAX_LOSSES = 8
FAR = 0.2  # of a period: a block so far off means that the phase has changed
FAR_BLOCKS = 3  # in a row
GAP_PERIODS = 30
MIN_GAP_NS = 250_000_000
MIN_STEP = 0.25  # of a period, between stamps that would else repeat or go back
CLOCK_STEP_NS = 1_000_000_000  # a clock set back by more than this restarts the stamps
JITTER_MEMORY = 0.01  # weight of one tick in the mean square of the delays

MIN_USUAL, MAX_USUAL = 0.6, 1.6  # of a period: a step between arrivals that may be one
STEP = 0.002  # from one period that is tried to the next; a third of what 128 ticks resolve
FINE_STEPS = 8  # into which the best of those steps is divided
LONGEST = 1.25  # of the usual step or of the nominal period: the longest that is tried
MAX_BUNCH, MAX_DIVISOR = 4.0, 4.5  # how far the usual step may be from the period, either way
AS_WELL = 0.85  # of the best time-keeping: what is as good
MIN_PERIOD_NS = 500_000.0  # a device at twice the highest rate_hz
NOMINAL_TOLERANCE = 0.005  # a period so close to the configured one is the configured one
CLEAR, UNCLEAR = 0.4, 0.2  # how well arrivals keep time with a period, of 1
COUNT_TOLERANCE = 0.018  # ticks of the nominal rate are counted so well
OTHER = 0.02  # from when on a period is another one than the nominal
FASTER = 0.9  # of the nominal period: a shorter one means a device faster than configured


class State(Enum):
    ACQUIRING = 'no period yet'
    SETTLING = 'the line has just begun'
    TRACKING = 'stamps come from the line'


def time_keeping(arrivals_ns: Ints, period_ns: float) -> float:
    """Return how well arrivals keep time with a period: 1 exactly, 0 not at all."""
    turns = np.exp((2j * np.pi / period_ns) * (arrivals_ns - arrivals_ns[0]))
    return float(abs(turns.mean()))


def steps_of(arrivals_ns: Ints) -> tuple[float, float, float]:
    """Return the median step between arrivals, one that nine in ten exceed, the mean [ns]."""
    steps = np.diff(arrivals_ns).astype(np.float64)
    return float(np.median(steps)), float(np.quantile(steps, 0.1)), float(steps.mean())


def is_too_fast(mean_ns: float, period_ns: float, nominal_ns: float) -> bool:
    """
    Return whether a period is short for a reason that arrivals do not bear out.

    What a held up host reads at once keeps time with halves and thirds of the period too.
    """
    return period_ns < FASTER * nominal_ns and mean_ns > MAX_USUAL * period_ns


def longest_kept(arrivals_ns: Ints, longest_ns: float, shortest_ns: float) -> tuple[float, float]:
    """Return the longest period kept about as well as any (so are its half and third), and how."""
    n = int(math.log(longest_ns / shortest_ns) / STEP) + 1
    periods_ns = longest_ns * np.exp(-STEP * np.arange(n))
    keepings = np.array([time_keeping(arrivals_ns, period_ns) for period_ns in periods_ns])
    is_good = keepings >= AS_WELL * keepings.max()
    first = int(is_good.argmax())
    stop = first + int((~np.append(is_good[first:], False)).argmax())
    middle_ns = periods_ns[first + int(keepings[first:stop].argmax())]
    near_ns = middle_ns * (1.0 + STEP / FINE_STEPS * np.arange(1 - FINE_STEPS, FINE_STEPS))
    kept = [time_keeping(arrivals_ns, period_ns) for period_ns in near_ns]
    best = int(np.argmax(kept))
    return float(near_ns[best]), kept[best]


def measured_period(arrivals_ns: Ints, nominal_ns: float) -> float | None:
    """
    Return the period that the arrivals keep time with, None if there is none [ns].

    Lost ticks do not matter to a periodogram. The nominal period is believed on less evidence:
    adapters that deliver at times of their own make arrivals keep time with these.
    """
    median_ns, _, mean_ns = steps_of(arrivals_ns)
    usual_ns = max(median_ns, MIN_PERIOD_NS)
    longest_ns = min(max(LONGEST * usual_ns, LONGEST * nominal_ns), MAX_BUNCH * usual_ns)
    shortest_ns = max(usual_ns / MAX_DIVISOR, MIN_PERIOD_NS)
    period_ns, keeping = longest_kept(arrivals_ns, longest_ns, shortest_ns)
    if keeping <= CLEAR or is_too_fast(mean_ns, period_ns, nominal_ns):
        is_usual = MIN_USUAL * nominal_ns < usual_ns < MAX_USUAL * nominal_ns
        is_kept = time_keeping(arrivals_ns, nominal_ns) > UNCLEAR
        return nominal_ns if is_usual and is_kept else None
    difference = abs(period_ns / nominal_ns - 1.0)
    is_counted = abs(mean_ns / nominal_ns - 1.0) < COUNT_TOLERANCE
    if difference < NOMINAL_TOLERANCE or (is_counted and difference > OTHER):
        return nominal_ns
    return period_ns


class ClockStatus(NamedTuple):
    is_tracking: bool  # Whether stamps come from the fit; else they are the arrivals
    # Ticks a second by the host's clock; the nominal ones until they have been counted
    rate_hz: float
    drift_ppm: float  # How much faster than its nominal rate the device is
    jitter_s: float  # Root mean square of what was taken off the arrivals lately [s]
    restarts: int  # Times that the line began anew: gaps, clocks that were set, wrong rates
    is_known: bool  # Whether `rate_hz` comes from the arrivals, be they tracked or not
    is_unsteady: bool  # Whether no period was found that the arrivals keep time with


class ClockFit:
    """The clock of one device, from its nominal ticks per second."""

    def __init__(self, rate_hz: float) -> None:
        self._nominal_ns = 1e9 / rate_hz
        self._arrival_ns: int | None = None  # of the last tick
        self._stamp_ns = -1
        self._watched_ns: list[int] = []  # arrivals since the period was last checked
        self._usual_ns = 0.0  # median step of those
        self._restarts = self._denials = 0
        self._mean_square = 0.0
        self._in_batches = self._seen_batches = False
        self._losses = 0  # whether late ticks mostly followed lost ones
        self._begin_line(0, self._nominal_ns)
        self._state = State.ACQUIRING

    def stamp(self, arrival_ns: int, in_batches: bool = False) -> int:
        """
        Return when a tick was sent, from its first byte's arrival [ns].

        `in_batches`: bytes are collected on the way. Stamps increase strictly and are not later
        than the arrival, unless a host's clock is set back.
        """
        self._in_batches = in_batches or self._seen_batches
        is_first = self._arrival_ns is None
        step_ns = 0 if self._arrival_ns is None else arrival_ns - self._arrival_ns
        stamp_ns = arrival_ns
        if is_first or abs(step_ns) > max(GAP_PERIODS * self.period_ns, MIN_GAP_NS):
            self._restarts += not is_first
            self._watched_ns.clear()
            if self._state is not State.ACQUIRING:
                self._begin_phase(arrival_ns)
        elif self._state is not State.ACQUIRING:
            stamp_ns = self._track(arrival_ns)
        self._watched_ns.append(arrival_ns)
        if len(self._watched_ns) == WATCHED_TICKS:
            self._check_period(arrival_ns)
        if not is_first and self._stamp_ns - CLOCK_STEP_NS < stamp_ns <= self._stamp_ns:
            stamp_ns = self._stamp_ns + int(MIN_STEP * self.period_ns)
        delay_ns = float(arrival_ns - stamp_ns)
        self._mean_square += JITTER_MEMORY * (delay_ns * delay_ns - self._mean_square)
        self._arrival_ns, self._stamp_ns = arrival_ns, stamp_ns
        return stamp_ns

    @property
    def status(self) -> ClockStatus:
        """Where the fit stands; may be read from another thread."""
        is_tracking, usual_ns = self._state is State.TRACKING, self._usual_ns
        period_ns = usual_ns if not is_tracking and usual_ns > 0.0 else self.period_ns
        return ClockStatus(
            is_tracking,
            1e9 / period_ns,
            1e6 * (self._nominal_ns / period_ns - 1.0),
            1e-9 * self._mean_square**0.5,
            self._restarts,
            is_tracking or usual_ns > 0.0,
            self._state is State.ACQUIRING and usual_ns > 0.0,
        )

    def _begin_phase(self, arrival_ns: int) -> None:
        """Let the line begin anew at an arrival, with the period that it has."""
        self._state = State.SETTLING
        # the line is at origin + offset; the sum would exceed what a float holds
        self._origin_ns, self._offset_ns = arrival_ns, 0.0
        self._earliest_ns = math.inf  # of the block
        self._in_block = self._phase_blocks = self._far_blocks = 0
        self._is_suspected = self._is_suspected_lost = False

    def _begin_line(self, arrival_ns: int, period_ns: float) -> None:
        self.period_ns = period_ns  # Of the fit, the nominal one until it has begun [ns]
        self._first_period_ns = period_ns
        self._period_blocks = FIRST_BLOCKS
        self._begin_phase(arrival_ns)

    def _track(self, arrival_ns: int) -> int:
        """Place a tick on the line; return its time [ns]."""
        self._offset_ns += self.period_ns
        late_ns = (arrival_ns - self._origin_ns) - self._offset_ns
        lost = self._lost_ticks(late_ns / self.period_ns)
        self._offset_ns += lost * self.period_ns
        late_ns -= lost * self.period_ns
        line_ns = self._origin_ns + math.floor(self._offset_ns)
        if lost <= 0:
            # one that seemed a whole period late would as well pass for early
            self._earliest_ns = min(self._earliest_ns, late_ns)
        self._in_block += max(1 + lost, 0)
        was_settling = self._state is State.SETTLING
        block = BATCHED_BLOCK if self._in_batches else BLOCK_TICKS
        if self._in_block >= block and self._earliest_ns < math.inf:
            self._end_block()
        return arrival_ns if was_settling else min(line_ns, arrival_ns)

    def _lost_ticks(self, late: float) -> int:
        """Return how many ticks were lost before one so late, negative if one was not."""
        was_suspected, self._is_suspected = self._is_suspected, False
        if self._in_batches:
            self._is_suspected = late >= LATE_IN_BATCHES
            is_lost = late < EARLY_IN_BATCHES or (was_suspected and self._is_suspected)
            return math.floor(late) if is_lost else 0
        if late < LATE - 1.0:
            self._count_loss(False)
            return math.floor(late + 1.0 - LATE)
        if late < LATE:
            if was_suspected:
                self._count_loss(self._is_suspected_lost)
            return 0
        self._is_suspected = True
        if was_suspected:
            self._count_loss(True)
        self._is_suspected_lost = was_suspected or self._losses >= 0
        return math.floor(late + 1.0 - LATE) if self._is_suspected_lost else 0

    def _count_loss(self, is_loss: bool) -> None:
        self._losses = min(max(self._losses + (1 if is_loss else -1), -MAX_LOSSES), MAX_LOSSES)

    def _end_block(self) -> None:
        error_ns, n_ticks = self._earliest_ns, self._in_block
        self._earliest_ns, self._in_block = math.inf, 0
        if self._phase_blocks > 0 and abs(error_ns) > FAR * self.period_ns:
            self._far_blocks += 1
            if self._far_blocks >= FAR_BLOCKS:
                # the host's clock was set, or the device began its ticks anew
                self._offset_ns += error_ns
                self._phase_blocks, self._far_blocks = 1, 0
                self._restarts += 1
            return
        self._far_blocks = 0
        n = self._phase_blocks = min(self._phase_blocks + 1, N_BLOCKS)
        # gains of a least-squares line through n equidistant points, fixed from N_BLOCKS on
        self._offset_ns += 2.0 * (2.0 * n - 1.0) / (n * (n + 1.0)) * error_ns
        if n > 1:
            m = self._period_blocks = min(self._period_blocks + 1, N_BLOCKS)
            period_ns = self.period_ns + 6.0 / (m * (m + 1.0)) * error_ns / n_ticks
            first_ns = self._first_period_ns
            limit_ns = MAX_CORRECTION * first_ns
            self.period_ns = min(max(period_ns, first_ns - limit_ns), first_ns + limit_ns)
        self._state = State.TRACKING

    def _check_period(self, arrival_ns: int) -> None:
        """Find the period by the watched ticks; correct or drop it if they deny it."""
        watched_ns = np.array(self._watched_ns)
        self._watched_ns.clear()
        self._usual_ns, shortest_ns, mean_ns = steps_of(watched_ns)
        if self._state is State.ACQUIRING:
            period_ns = self._find_period(watched_ns)
            if period_ns is not None:
                self._begin_line(arrival_ns, period_ns)
            return
        # a device that has become slower by a whole factor keeps the old time too
        is_slower = shortest_ns > MAX_USUAL * self.period_ns
        is_slower |= is_too_fast(mean_ns, self.period_ns, self._nominal_ns)
        if time_keeping(watched_ns, self.period_ns) >= UNCLEAR and not is_slower:
            self._denials, self._seen_batches = 0, False
            return
        period_ns = self._find_period(watched_ns)
        if period_ns is None:
            self._denials += 1
            if self._denials >= MAX_DENIALS:
                self._restarts += 1
                self._denials, self._state = 0, State.ACQUIRING
                self.period_ns = self._nominal_ns
            return
        self._denials = 0
        is_other = abs(period_ns / self.period_ns - 1.0) > WRONG_PERIOD
        # the nominal period is believed on less evidence, see measured_period
        needed = UNCLEAR if period_ns == self._nominal_ns and is_slower else CLEAR
        if is_other and time_keeping(watched_ns, period_ns) > needed:
            self._restarts += 1
            self._begin_line(arrival_ns, period_ns)

    def _find_period(self, watched_ns: Ints) -> float | None:
        """Return the period of the watched ticks, if any; see whether they come in batches."""
        nominal_ns = self._nominal_ns
        period_ns = measured_period(watched_ns, nominal_ns)
        is_nominal = period_ns == nominal_ns
        self._seen_batches = is_nominal and time_keeping(watched_ns, nominal_ns) <= UNCLEAR
        return period_ns
