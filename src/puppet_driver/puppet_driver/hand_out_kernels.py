# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The oldest tick as a frame with its stamp, counted (kernel layer).

From merged records to a frame is one call: what a process that has slept since the tick before
does in small steps takes it many times as long. (References to arrays are counted here, as they
are in `clock_kernels`, which finds periods with arrays of its own.)

"""

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver import clock_kernels as clocks
from puppet_driver.assembly_kernels import take_frame
from puppet_driver.clock_kernels import Clock, CLOCK_STEP_NS, MIN_STEP, stamp_tick
from puppet_driver.tick_kernels import (
    Assembly,
    BEGUN_NS,
    is_lumped,
    NEWEST_NS,
    NEXT,
    OLDEST,
    PERIOD_NS,
    SHIFT_NS,
)

OTHER_RATE = 0.02  # from when on a device runs at another rate than it is said to
MAX_SKIPPED = 16  # incomplete ticks at the very start that are not frames

# rows of `handed`
STAMP_NS, ARRIVAL_NS, TICK_NS, FRAMES, INCOMPLETE, MISSING_ROWS, SKIPPED = range(7)
N_HANDED = 7


def new_handed() -> Ints:
    """Return the state before the first frame."""
    handed = np.zeros(N_HANDED, dtype=np.int64)
    handed[[STAMP_NS, ARRIVAL_NS, TICK_NS]] = -1
    return handed


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
    Return when the latest line of a tick has measured; mend the ages to fit.

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
    stamp_ns = stamp_tick(c, arrival_ns, is_lumped(a, of_all=False)) + a.counters[SHIFT_NS]
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
def hand_out(
    a: Assembly, c: Clock, now_ns: int, force: bool, latency_ns: int, handed: Ints,
    missing_by_row: Ints, poses: Floats, missing: np.ndarray, ages_s: Floats,
) -> bool:  # fmt: skip
    """
    Hand out the oldest tick as a frame if it is due; return whether it was.

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
    handed : ndarray of int, shape (N_HANDED,)
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
        tick_ns = tick_stamp(a, c, arrival_ns, handed[TICK_NS], ages_s)
        handed[ARRIVAL_NS], handed[TICK_NS] = arrival_ns, tick_ns
        handed[STAMP_NS] = tick_ns - latency_ns
        period_ns = c.floats[clocks.PERIOD_NS]
        if abs(period_ns / a.timing[PERIOD_NS] - 1.0) > OTHER_RATE:
            a.timing[PERIOD_NS] = round(period_ns)
        n_missing = 0
        for row in range(len(missing)):
            n_missing += missing[row]
        if n_missing == 0 or handed[FRAMES] > 0 or handed[SKIPPED] >= MAX_SKIPPED:
            break
        # lines that have just been opened do not begin with the same tick
        handed[SKIPPED] += 1
    handed[FRAMES] += 1
    if n_missing > 0:
        handed[INCOMPLETE] += 1
        handed[MISSING_ROWS] += n_missing
        for row in range(len(missing)):
            missing_by_row[row] += missing[row]
    return True
