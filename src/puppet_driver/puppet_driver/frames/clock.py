# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A device's clock, fitted to the earliest arrivals of its ticks: stamps without jitter.

A device measures by its own steady clock; what reaches us is late, by a delay that changes from
tick to tick and is never negative. So the true times lie on the lower envelope of the arrivals.
Ticks are taken in blocks: the earliest arrival of a block, against the line, is one measurement of
it, and a g-h filter whose memory grows to N_BLOCKS follows offset and period. The rate is found
from the arrivals, whatever it is configured to be.

Lost and late ticks are separated by arrival alone, without a memory of the count, so that a wrong
guess costs the stamp of one tick and never the line.

"""

from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.math import Floats, Ints
from puppet_driver.frames.tick_period import (
    CLEAR,
    is_too_fast,
    MAX_USUAL,
    measured_period,
    shortest_step,
    time_keeping,
    UNCLEAR,
    usual_step,
)

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
NEVER_NS = 1e18
MIN_STEP = 0.25  # of a period, between stamps that would else repeat or go back
CLOCK_STEP_NS = 1_000_000_000  # a clock set back by more than this restarts the stamps
JITTER_MEMORY = 0.01  # weight of one tick in the mean square of the delays

# rows of `ints`
STAMP_NS, ARRIVAL_NS, LINE_NS, N_SEEN, STATE, IN_BLOCK = 0, 1, 2, 3, 4, 5
PHASE_BLOCKS, PERIOD_BLOCKS, FAR_COUNT, WATCHED, RESTARTS = 6, 7, 8, 9, 10
SUSPECTED, SUSPECTED_LOST, LOSSES, DENIALS, SEEN_BATCHES, IN_BATCHES = 11, 12, 13, 14, 15, 16
N_INTS = 17
# rows of `floats`
FRACTION_NS, PERIOD_NS, NOMINAL_NS, FIRST_PERIOD_NS, EARLIEST_NS, MEAN_SQUARE = 0, 1, 2, 3, 4, 5
USUAL_NS = 6
N_FLOATS = 7
# values of STATE
ACQUIRING, SETTLING, TRACKING = 0, 1, 2


class Clock(NamedTuple):
    """State of the fit."""

    ints: Ints
    floats: Floats

    watched_ns: Ints
    """Arrivals since the period was last checked, (WATCHED_TICKS,)."""


def new_clock(period_ns: float) -> Clock:
    """Return the state before the first tick of a device with a nominal period [ns]."""
    ints, watched_ns = np.zeros(N_INTS, np.int64), np.zeros(WATCHED_TICKS, np.int64)
    clock = Clock(ints, np.zeros(N_FLOATS), watched_ns)
    clock.ints[STAMP_NS] = -1
    clock.floats[PERIOD_NS] = clock.floats[NOMINAL_NS] = clock.floats[FIRST_PERIOD_NS] = period_ns
    return clock


@njit(cache=True)
def move_line(c: Clock, step_ns: float) -> None:
    """Move the line by some nanoseconds; whole ones are kept apart, for they exceed a float."""
    fraction = c.floats[FRACTION_NS] + step_ns
    whole = np.floor(fraction)
    c.ints[LINE_NS] += int(whole)
    c.floats[FRACTION_NS] = fraction - whole


@njit(cache=True)
def begin_phase(c: Clock, arrival_ns: int) -> None:
    """Let the line begin anew at an arrival, with the period that it has."""
    c.ints[LINE_NS] = arrival_ns
    c.floats[FRACTION_NS] = 0.0
    c.floats[EARLIEST_NS] = NEVER_NS
    c.ints[STATE] = SETTLING
    c.ints[PHASE_BLOCKS] = c.ints[IN_BLOCK] = c.ints[FAR_COUNT] = 0
    c.ints[SUSPECTED] = 0


@njit(cache=True)
def begin_line(c: Clock, arrival_ns: int, period_ns: float) -> None:
    """Let the line begin anew with a period."""
    c.floats[PERIOD_NS] = c.floats[FIRST_PERIOD_NS] = period_ns
    c.ints[PERIOD_BLOCKS] = FIRST_BLOCKS
    begin_phase(c, arrival_ns)


@njit(cache=True)
def find_period(c: Clock) -> float:
    """Return the period of the watched ticks, -1 if there is none; see whether they batch."""
    nominal_ns = c.floats[NOMINAL_NS]
    period_ns = measured_period(c.watched_ns, nominal_ns)
    is_counted = period_ns == nominal_ns and time_keeping(c.watched_ns, nominal_ns) <= UNCLEAR
    c.ints[SEEN_BATCHES] = is_counted
    return period_ns


@njit(cache=True)
def watch(c: Clock, arrival_ns: int) -> None:
    """Find the period by the first WATCHED_TICKS; correct or drop it if later ones deny it."""
    c.watched_ns[c.ints[WATCHED]] = arrival_ns
    c.ints[WATCHED] += 1
    if c.ints[WATCHED] < WATCHED_TICKS:
        return
    c.ints[WATCHED] = 0
    c.floats[USUAL_NS] = usual_step(c.watched_ns)
    if c.ints[STATE] == ACQUIRING:
        period_ns = find_period(c)
        if period_ns > 0.0:
            begin_line(c, arrival_ns, period_ns)
        return
    keeping = time_keeping(c.watched_ns, c.floats[PERIOD_NS])
    # a device that has become slower by a whole factor keeps the old time too
    is_slower = shortest_step(c.watched_ns) > MAX_USUAL * c.floats[PERIOD_NS]
    is_slower |= is_too_fast(c.watched_ns, c.floats[PERIOD_NS], c.floats[NOMINAL_NS])
    if keeping >= UNCLEAR and not is_slower:
        c.ints[DENIALS] = c.ints[SEEN_BATCHES] = 0
        return
    period_ns = find_period(c)
    is_other = abs(period_ns / c.floats[PERIOD_NS] - 1.0) > WRONG_PERIOD
    # the nominal period is believed on less evidence, see measured_period
    needed = UNCLEAR if period_ns == c.floats[NOMINAL_NS] and is_slower else CLEAR
    if period_ns > 0.0 and is_other and time_keeping(c.watched_ns, period_ns) > needed:
        c.ints[RESTARTS] += 1
        begin_line(c, arrival_ns, period_ns)
    c.ints[DENIALS] = c.ints[DENIALS] + 1 if period_ns < 0.0 else 0
    if c.ints[DENIALS] >= MAX_DENIALS:
        c.ints[RESTARTS] += 1
        c.ints[DENIALS] = 0
        c.ints[STATE] = ACQUIRING
        c.floats[PERIOD_NS] = c.floats[NOMINAL_NS]


@njit(cache=True)
def end_block(c: Clock) -> None:
    """Correct the line by the earliest arrival of the block."""
    error_ns = c.floats[EARLIEST_NS]
    period_ns = c.floats[PERIOD_NS]
    n_ticks = c.ints[IN_BLOCK]
    c.ints[IN_BLOCK] = 0
    c.floats[EARLIEST_NS] = NEVER_NS
    if c.ints[PHASE_BLOCKS] > 0 and abs(error_ns) > FAR * period_ns:
        c.ints[FAR_COUNT] += 1
        if c.ints[FAR_COUNT] < FAR_BLOCKS:
            return
        # the host's clock was set, or the device began its ticks anew
        move_line(c, error_ns)
        c.ints[PHASE_BLOCKS] = 1
        c.ints[FAR_COUNT] = 0
        c.ints[RESTARTS] += 1
        return
    c.ints[FAR_COUNT] = 0
    c.ints[PHASE_BLOCKS] = min(c.ints[PHASE_BLOCKS] + 1, N_BLOCKS)
    n = c.ints[PHASE_BLOCKS]
    # gains of a least-squares line through n equidistant points, fixed from N_BLOCKS on
    move_line(c, 2.0 * (2.0 * n - 1.0) / (n * (n + 1.0)) * error_ns)
    if n > 1:
        c.ints[PERIOD_BLOCKS] = min(c.ints[PERIOD_BLOCKS] + 1, N_BLOCKS)
        m = c.ints[PERIOD_BLOCKS]
        period_ns += 6.0 / (m * (m + 1.0)) * error_ns / n_ticks
        limit_ns = MAX_CORRECTION * c.floats[FIRST_PERIOD_NS]
        first_ns = c.floats[FIRST_PERIOD_NS]
        c.floats[PERIOD_NS] = min(max(period_ns, first_ns - limit_ns), first_ns + limit_ns)
    c.ints[STATE] = TRACKING


@njit(cache=True)
def lost_ticks(c: Clock, late: float) -> int:
    """
    Return how many ticks were lost before one that is late by some periods.

    Negative: an earlier one was taken for lost and was not. Whether a tick is late or follows
    a lost one is only known at the next; what it mostly was in the past decides.

    """
    was_suspected = c.ints[SUSPECTED] != 0
    c.ints[SUSPECTED] = 0
    if c.ints[IN_BATCHES]:
        c.ints[SUSPECTED] = late >= LATE_IN_BATCHES
        is_lost = late < EARLY_IN_BATCHES or (was_suspected and c.ints[SUSPECTED] != 0)
        return int(np.floor(late)) if is_lost else 0
    if late < LATE - 1.0:
        c.ints[LOSSES] = max(c.ints[LOSSES] - 1, -MAX_LOSSES)
        return int(np.floor(late + 1.0 - LATE))
    if late < LATE:
        if was_suspected:
            is_loss = c.ints[SUSPECTED_LOST] != 0
            change = 1 if is_loss else -1
            c.ints[LOSSES] = min(max(c.ints[LOSSES] + change, -MAX_LOSSES), MAX_LOSSES)
        return 0
    c.ints[SUSPECTED] = 1
    if was_suspected:
        c.ints[LOSSES] = min(c.ints[LOSSES] + 1, MAX_LOSSES)
    c.ints[SUSPECTED_LOST] = was_suspected or c.ints[LOSSES] >= 0
    return int(np.floor(late + 1.0 - LATE)) if c.ints[SUSPECTED_LOST] else 0


@njit(cache=True)
def track(c: Clock, arrival_ns: int) -> int:
    """Place a tick on the line; return its time [ns]."""
    period_ns = c.floats[PERIOD_NS]
    move_line(c, period_ns)
    late_ns = (arrival_ns - c.ints[LINE_NS]) - c.floats[FRACTION_NS]
    lost = lost_ticks(c, late_ns / period_ns)
    if lost != 0:
        move_line(c, lost * period_ns)
        late_ns -= lost * period_ns
    line_ns = c.ints[LINE_NS]
    if lost <= 0:
        # one that seemed a whole period late would as well pass for early
        c.floats[EARLIEST_NS] = min(c.floats[EARLIEST_NS], late_ns)
    c.ints[IN_BLOCK] += max(1 + lost, 0)
    was_settling = c.ints[STATE] == SETTLING
    block = BATCHED_BLOCK if c.ints[IN_BATCHES] else BLOCK_TICKS
    if c.ints[IN_BLOCK] >= block and c.floats[EARLIEST_NS] < NEVER_NS:
        end_block(c)
    return arrival_ns if was_settling else min(line_ns, arrival_ns)


@njit(cache=True)
def stamp_tick(c: Clock, arrival_ns: int, in_batches: bool) -> int:
    """
    Return when a tick was sent, from when it came.

    Parameters
    ----------
    c : Clock
        The fit, which is corrected.
    arrival_ns : int
        Arrival of the tick's first byte, in ticks' order [ns].
    in_batches : bool
        Whether bytes are known to be collected on the way; without it, what arrivals show.

    Returns
    -------
    stamp_ns : int
        Not after the arrival, and after the stamp of the tick before, except where the
        host's clock was set back [ns].

    """
    c.ints[IN_BATCHES] = in_batches or c.ints[SEEN_BATCHES] != 0
    step_ns = arrival_ns - c.ints[ARRIVAL_NS]
    gap_ns = max(GAP_PERIODS * c.floats[PERIOD_NS], MIN_GAP_NS)
    if c.ints[N_SEEN] == 0 or abs(step_ns) > gap_ns:
        stamp_ns = arrival_ns
        c.ints[RESTARTS] += c.ints[N_SEEN] > 0
        c.ints[WATCHED] = 0
        if c.ints[STATE] != ACQUIRING:
            begin_phase(c, arrival_ns)
    else:
        stamp_ns = arrival_ns if c.ints[STATE] == ACQUIRING else track(c, arrival_ns)
    watch(c, arrival_ns)
    last_ns = c.ints[STAMP_NS]
    if c.ints[N_SEEN] > 0 and last_ns - CLOCK_STEP_NS < stamp_ns <= last_ns:
        stamp_ns = last_ns + int(MIN_STEP * c.floats[PERIOD_NS])
    delay_ns = float(arrival_ns - stamp_ns)
    c.floats[MEAN_SQUARE] += JITTER_MEMORY * (delay_ns * delay_ns - c.floats[MEAN_SQUARE])
    c.ints[N_SEEN] += 1
    c.ints[ARRIVAL_NS] = arrival_ns
    c.ints[STAMP_NS] = stamp_ns
    return stamp_ns


class ClockStatus(NamedTuple):
    """The fit for diagnostics."""

    is_tracking: bool
    """Whether stamps come from the fit; else they are the arrivals."""

    rate_hz: float
    """Ticks a second by the host's clock; the nominal ones until they have been counted."""

    drift_ppm: float
    """How much faster than its nominal rate the device is."""

    jitter_s: float
    """Root mean square of what was taken off the arrivals lately [s]."""

    restarts: int
    """Times that the line began anew: gaps, clocks that were set, wrong rates."""

    is_known: bool
    """Whether `rate_hz` comes from the arrivals, be they tracked or not."""

    is_unsteady: bool
    """Whether no period was found that the arrivals keep time with."""


class ClockFit:
    """
    The clock of one device.

    Parameters
    ----------
    rate_hz : float
        Nominal ticks per second.

    """

    def __init__(self, rate_hz: float) -> None:
        self._nominal_ns = 1e9 / rate_hz
        self._clock = new_clock(self._nominal_ns)

    def stamp(self, arrival_ns: int, in_batches: bool = False) -> int:
        """
        Return when a tick was sent, from its first byte's arrival [ns].

        `in_batches`: bytes are known to be collected on the way. Ticks are given in their
        order. Stamps increase strictly, and are not later than the arrival; only a host's clock
        that is set back breaks one of both.

        """
        return int(stamp_tick(self._clock, arrival_ns, in_batches))

    @property
    def state(self) -> Clock:
        """Return what the kernels work on."""
        return self._clock

    @property
    def status(self) -> ClockStatus:
        """Where the fit stands; may be read from another thread."""
        ints, floats = self._clock.ints, self._clock.floats
        state = int(ints[STATE])
        is_tracking = state == TRACKING
        usual_ns = float(floats[USUAL_NS])
        period_ns = float(floats[PERIOD_NS])
        if not is_tracking and usual_ns > 0.0:
            period_ns = usual_ns
        return ClockStatus(
            is_tracking,
            1e9 / period_ns,
            1e6 * (self._nominal_ns / period_ns - 1.0),
            1e-9 * float(floats[MEAN_SQUARE]) ** 0.5,
            int(ints[RESTARTS]),
            is_tracking or usual_ns > 0.0,
            state == ACQUIRING and usual_ns > 0.0,
        )

    @property
    def period_ns(self) -> float:
        """Return the period of the fit, the nominal one until it has begun [ns]."""
        return float(self._clock.floats[PERIOD_NS])
