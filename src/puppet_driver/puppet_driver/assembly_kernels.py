# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Merging the records of several lines into ticks (kernel layer).

A ring of slots holds the ticks that are still being collected, oldest first. A line starts a
new tick when its sensors begin again or after a pause. Its ticks fill the slots in order,
also when they come late, for a process that was held up delivers all it has. Only a line that
is late again and again, soonest if by just one period, has lost a tick and skips one. Ticks
that were read together are told apart by dating the earlier ones back by whole periods.

"""

from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_driver.phase_kernels import next_phase, own_phase

N_SLOTS = 32  # a quarter of a second at 120 Hz
LATE = 0.6  # of a period: from when on a line is late for a tick
ONE_PERIOD_LATE = 0.15  # of a period: how close to a whole one looks like a lost tick
MAX_LATENESS = 24  # sum over ticks in a row: 1 for a late one, more for one that looks lost
LOST_LATENESS = 8
PATIENCE = 3  # ticks in a row that a sensor may miss before nobody waits for it

# rows of `counters`
OLDEST, NEXT, STRAGGLERS, SHIFT_NS, NEWEST_NS = 0, 1, 2, 3, 4
N_COUNTERS = 5
# rows of `timing`
PERIOD_NS, TIMEOUT_NS = 0, 1


class Assembly(NamedTuple):
    """State of the ring and of the lines, all arrays."""

    counters: Ints
    """Oldest tick not handed out, next tick to open, records too late for their tick; of the last
    frame how much later than its first line the latest one measured, and when that came [ns]."""

    timing: Ints
    """Period of the ticks and longest wait for a tick's last record [ns]."""

    first_row: Ints
    """First frame row of each line, and the number of rows at the end, (lines + 1,)."""

    line_tick: Ints
    """Tick that each line is in, -1 before its first record."""

    line_ordinal: Ints
    """Ordinal of each line's last record."""

    line_ns: Ints
    """Arrival of each line's last record [ns]."""

    row_ns: Ints
    """Arrival of the tick of each row's last record [ns]."""

    missed: Ints
    """Ticks in a row that each row has been missing."""

    line_late: Ints
    """How much each line has been late in its last ticks, see MAX_LATENESS."""

    slot_ns: Ints
    """Arrival of each slot's first byte, dated back where ticks were read together [ns]."""

    slot_line_ns: Ints
    """Arrival of each line's first byte in each slot, likewise, -1 if none, (N_SLOTS, lines)."""

    phase_ns: Floats
    """How much later than the first line each line mostly comes, (lines,) [ns]."""

    has: np.ndarray
    """Whether slot and row have a record, uint8, (N_SLOTS, rows)."""

    poses: Floats
    """Shape (N_SLOTS, rows, 7)."""


def new_assembly(sensors_per_line: tuple[int, ...], period_ns: int, timeout_ns: int) -> Assembly:
    """Return the state before the first record."""
    first_row = np.concatenate(([0], np.cumsum(sensors_per_line))).astype(np.int64)
    n_lines, n_rows = len(sensors_per_line), int(first_row[-1])
    return Assembly(
        np.zeros(N_COUNTERS, dtype=np.int64),
        np.array([period_ns, timeout_ns], dtype=np.int64),
        first_row,
        np.full(n_lines, -1, dtype=np.int64),
        np.full(n_lines, -1, dtype=np.int64),
        np.zeros(n_lines, dtype=np.int64),
        np.zeros(n_rows, dtype=np.int64),
        np.zeros(n_rows, dtype=np.int64),
        np.zeros(n_lines, dtype=np.int64),
        np.zeros(N_SLOTS, dtype=np.int64),
        np.full((N_SLOTS, n_lines), -1, dtype=np.int64),
        np.zeros(n_lines),
        np.zeros((N_SLOTS, n_rows), dtype=np.uint8),
        np.full((N_SLOTS, n_rows, 7), np.nan),
    )


@njit(cache=True)
def starts_tick(a: Assembly, line: int, ordinal: int, stamp_ns: int) -> bool:
    """Return whether a record is the first of a new tick on its line."""
    pause_ns = stamp_ns - a.line_ns[line]
    return (
        a.line_tick[line] < 0
        or ordinal <= a.line_ordinal[line]
        or 2 * pause_ns > a.timing[PERIOD_NS]
    )


@njit(cache=True)
def lateness_of(delay_ns: int, period_ns: int) -> int:
    """Return 0 for a line in time for a tick, else how much its delay looks like a lost tick."""
    if delay_ns < LATE * period_ns:
        return 0
    return LOST_LATENESS if abs(delay_ns - period_ns) < ONE_PERIOD_LATE * period_ns else 1


@njit(cache=True)
def tick_in_time(a: Assembly, arrival_ns: int) -> int:
    """Return the newest tick, handed out or not, that began about then; -1 if none did."""
    newest = a.counters[NEXT] - 1
    for tick in range(newest, max(min(newest, a.counters[OLDEST]), 0) - 1, -1):
        if abs(arrival_ns - a.slot_ns[tick % N_SLOTS]) < LATE * a.timing[PERIOD_NS]:
            return tick
    return -1


@njit(cache=True)
def tick_in_order(a: Assembly, line: int, arrival_ns: int) -> int:
    """Return the tick that follows the line's last one, later if the line has lost one."""
    for tick in range(a.line_tick[line] + 1, a.counters[NEXT]):
        delay_ns = arrival_ns - a.slot_ns[tick % N_SLOTS]
        lateness = lateness_of(delay_ns, a.timing[PERIOD_NS])
        if lateness == 0 or a.line_late[line] < MAX_LATENESS:
            a.line_late[line] = a.line_late[line] + lateness if lateness > 0 else 0
            return tick
    return -1


@njit(cache=True)
def tick_at(a: Assembly, line: int, arrival_ns: int) -> int:
    """Return the tick that a line's next records belong to; opens one if there is none."""
    last = a.line_tick[line]
    if last >= 0 and last + 1 >= a.counters[OLDEST]:
        tick = tick_in_order(a, line, arrival_ns)
    else:
        # new, or left behind: order says nothing
        tick = tick_in_time(a, arrival_ns)
    if tick > last:
        slot = tick % N_SLOTS
        a.slot_ns[slot] = min(a.slot_ns[slot], arrival_ns)
        return tick
    a.line_late[line] = 0
    tick = a.counters[NEXT]
    a.counters[NEXT] += 1
    a.slot_ns[tick % N_SLOTS] = arrival_ns
    if tick == 0:
        a.row_ns[:] = arrival_ns
    return tick


@njit(cache=True)
def later_ticks(a: Assembly, line: int, ordinals: Ints, stamps_ns: Ints, n: int) -> int:
    """Return how many of the batch's records begin another tick of their line."""
    ticks = 0
    previous = a.line_ordinal[line]
    for i in range(n):
        if ordinals[i] <= previous or (i == 0 and starts_tick(a, line, ordinals[0], stamps_ns[0])):
            ticks += 1
        previous = ordinals[i]
    return ticks


@njit(cache=True)
def add_records(
    a: Assembly, line: int, ordinals: Ints, stamps_ns: Ints, poses: Floats, start: int, n: int
) -> int:
    """Place records start .. n of a batch; return where it stopped because the ring is full."""
    to_come = later_ticks(a, line, ordinals[start:n], stamps_ns[start:n], n - start)
    for i in range(start, n):
        ordinal, stamp_ns = ordinals[i], stamps_ns[i]
        if starts_tick(a, line, ordinal, stamp_ns):
            if a.counters[NEXT] - a.counters[OLDEST] >= N_SLOTS:
                return i
            to_come -= 1
            arrival_ns = stamp_ns - to_come * a.timing[PERIOD_NS]
            a.line_tick[line] = tick_at(a, line, arrival_ns)
            if a.line_tick[line] >= a.counters[OLDEST]:
                a.slot_line_ns[a.line_tick[line] % N_SLOTS, line] = arrival_ns
        a.line_ordinal[line] = ordinal
        a.line_ns[line] = stamp_ns
        row = a.first_row[line] + ordinal
        a.missed[row] = 0
        if a.line_tick[line] < a.counters[OLDEST]:
            a.counters[STRAGGLERS] += 1
            a.row_ns[row] = stamp_ns
            continue
        slot = a.line_tick[line] % N_SLOTS
        # measured at the tick, wherever in its burst it comes
        a.row_ns[row] = a.slot_ns[slot]
        a.has[slot, row] = 1
        a.poses[slot, row] = poses[i]
    return n


@njit(cache=True)
def is_awaited(a: Assembly, tick: int, line: int, row: int) -> bool:
    """Return whether a row's record can still come and is worth waiting for."""
    if a.has[tick % N_SLOTS, row] != 0 or a.missed[row] >= PATIENCE:
        return False
    passed = a.line_tick[line] > tick or (
        a.line_tick[line] == tick and a.line_ordinal[line] >= row - a.first_row[line]
    )
    return not passed


@njit(cache=True)
def follow_phases(a: Assembly, slot: int) -> None:
    """Learn the lines' phases from a slot; write the frame's SHIFT_NS and NEWEST_NS."""
    shift_ns, newest_ns = 0.0, a.slot_ns[slot]
    for line in range(len(a.phase_ns)):
        own_ns = a.slot_line_ns[slot, line]
        a.slot_line_ns[slot, line] = -1
        if own_ns < 0:
            continue
        phase_ns, period_ns = a.phase_ns[line], a.timing[PERIOD_NS]
        a.phase_ns[line] = next_phase(phase_ns, own_ns - a.slot_ns[slot], period_ns)
        shift_ns = max(shift_ns, own_phase(a.phase_ns[line], period_ns))
        newest_ns = max(newest_ns, own_ns)
    a.counters[SHIFT_NS] = int(shift_ns)
    a.counters[NEWEST_NS] = newest_ns


@njit(cache=True)
def take_frame(
    a: Assembly, now_ns: int, force: bool, poses: Floats, missing: np.ndarray, ages_s: Floats
) -> int:
    """
    Hand out the oldest tick if it is complete, cannot become so, or has waited too long.

    Parameters
    ----------
    a : Assembly
        The ring.
    now_ns : int
        Present time, in the clock of the stamps [ns].
    force : bool
        Whether to hand it out in any case.
    poses, missing, ages_s : ndarray, shapes (rows, 7), (rows,) and (rows,)
        Out: poses, NaN where missing; 1 where missing; how much older the last
        sample is than the latest line's [s].

    Returns
    -------
    stamp_ns : int
        Arrival of the tick's first byte, or -1 if nothing is due; SHIFT_NS says how much
        later than its measurement the latest line's is.

    """
    tick = a.counters[OLDEST]
    if tick == a.counters[NEXT]:
        return -1
    slot = tick % N_SLOTS
    stamp_ns = a.slot_ns[slot]
    if not force and now_ns - stamp_ns < a.timing[TIMEOUT_NS]:
        for line in range(len(a.line_tick)):
            for row in range(a.first_row[line], a.first_row[line + 1]):
                if is_awaited(a, tick, line, row):
                    return -1
    follow_phases(a, slot)
    for line in range(len(a.line_tick)):
        newer_ns = a.counters[SHIFT_NS] - int(own_phase(a.phase_ns[line], a.timing[PERIOD_NS]))
        for row in range(a.first_row[line], a.first_row[line + 1]):
            is_missing = a.has[slot, row] == 0
            missing[row] = is_missing
            a.missed[row] += is_missing
            age_ns = newer_ns + (stamp_ns - a.row_ns[row] if is_missing else 0)
            ages_s[row] = 1e-9 * max(age_ns, 0)
            poses[row] = a.poses[slot, row]
            a.poses[slot, row] = np.nan
            a.has[slot, row] = 0
    a.counters[OLDEST] += 1
    return stamp_ns
