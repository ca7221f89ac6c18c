# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which tick a record belongs to, and the ring of ticks being collected (kernels).

A line starts a new tick when its sensors begin again, or after a pause that is not followed by the
sensor whose turn it is. Its ticks fill the slots in order, also when they come late, for a process
that was held up, or an adapter that collects bytes, delivers all it has. Only a line that is late
again and again, soonest if by just one period, has lost a tick and skips one. Ticks that were read
together are separated by dating the earlier ones back, at least one period before the next.

Devices that share a clock send their ticks at one time, and what differs is delay on the way;
devices that do not are out of phase, which differs from delays by its persistence.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.math import copy, Floats, Ints, kernel

MEMORY = 0.1  # weight of one tick in a line's phase
MAX_STEP = 0.02  # of a period: the most that one tick, perhaps held up, changes it
SAME_TIME, OTHER_TIME = 0.1, 0.2  # of a period: lines so far apart measure at one time, at two

N_SLOTS = 32  # a quarter of a second at 120 Hz
LATE = 0.6  # of a period: from when on a line is late for a tick
ONE_PERIOD_LATE = 0.15  # of a period: how close to a whole one looks like a lost tick
MAX_LATENESS = 24  # sum over ticks in a row: 1 for a late one, more for one that looks lost
LOST_LATENESS = 8
MAX_MISSED_TICKS = 3  # ticks in a row that a sensor may miss before nobody waits for it
BATCH_NS = 60_000_000  # how long adapters (16 ms) and servers on the network collect bytes
BATCH, BATCHED, MAX_BATCHED = 16, 32, 64  # what one counts against whole ticks, and when many are

NO_ORDINAL = 1 << 30  # whatever follows it begins a tick

# rows of `counters`
OLDEST, NEXT, STRAGGLERS, SHIFT_NS, NEWEST_NS = 0, 1, 2, 3, 4
LAST_NS, BEGUN_NS, HELD_UNTIL_NS = 5, 6, 7
N_COUNTERS = 8
# rows of `timing`
PERIOD_NS, TIMEOUT_NS = 0, 1

HOLD = 0.25  # of a period: how long a tick at an odd time waits for others that follow at once
ODD = 0.5  # of a period: how far a step from tick to tick is from one period if it is odd


@kernel
def next_phase(phase_ns: float, delay_ns: float, period_ns: float) -> float:
    """Return a line's phase after a tick that came with some delay after the first line's."""
    change_ns = MEMORY * (delay_ns - phase_ns)
    return phase_ns + min(max(change_ns, -MAX_STEP * period_ns), MAX_STEP * period_ns)


@kernel
def own_phase(phase_ns: float, period_ns: float) -> float:
    """Return the part of a phase that is the device's own, 0 for what delays can explain [ns]."""
    certainty = (phase_ns / period_ns - SAME_TIME) / (OTHER_TIME - SAME_TIME)
    return phase_ns * min(max(certainty, 0.0), 1.0)


class Assembly(NamedTuple):
    """State of the ring and of the lines, all arrays."""

    counters: Ints
    """Oldest tick not emitted, next tick to open, records too late for their tick; of the last
    frame how much later than its first line the latest one measured, when that came, and its
    own date; arrival of the newest tick; until when the oldest is held back, 0 if not [ns]."""

    timing: Ints
    """Period of the ticks and longest wait for a tick's last record [ns]."""

    first_row: Ints
    """First frame row of each line, and the number of rows at the end, (lines + 1,)."""

    line_tick: Ints
    """Tick that each line is in, -1 before its first record."""

    line_ordinal: Ints
    """Ordinal of each line's last record, NO_ORDINAL before the first."""

    line_ns: Ints
    """Arrival of each line's last record [ns]."""

    row_ns: Ints
    """Arrival of the tick of each row's last record [ns]."""

    missed: Ints
    """Ticks in a row that each row has been missing."""

    line_late: Ints
    """How much each line has been late in its last ticks, see MAX_LATENESS."""

    line_batched: Ints
    """How often ticks of each line came together or in pieces, see BATCH."""

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
        np.full(n_lines, NO_ORDINAL, dtype=np.int64),
        np.zeros(n_lines, dtype=np.int64),
        np.zeros(n_rows, dtype=np.int64),
        np.zeros(n_rows, dtype=np.int64),
        np.zeros(n_lines, dtype=np.int64),
        np.zeros(n_lines, dtype=np.int64),
        np.zeros(N_SLOTS, dtype=np.int64),
        np.full((N_SLOTS, n_lines), -1, dtype=np.int64),
        np.zeros(n_lines),
        np.zeros((N_SLOTS, n_rows), dtype=np.uint8),
        np.full((N_SLOTS, n_rows, 7), np.nan),
    )


@kernel
def is_due(a: Assembly, line: int, previous: int, ordinal: int) -> bool:
    """Return whether a line's sensor is the next one of those that report."""
    for row in range(a.first_row[line] + previous + 1, a.first_row[line] + ordinal):
        if a.missed[row] < MAX_MISSED_TICKS:
            return False
    return True


@kernel
def starts_tick(a: Assembly, line: int, previous: int, ordinal: int, pause_ns: int) -> bool:
    """
    Return whether a record is the first of a new tick on its line.

    A loss of just as many records as the line has sensors would join two ticks to one.

    """
    if ordinal <= previous:
        return True
    if 2 * pause_ns <= a.timing[PERIOD_NS]:
        return False
    return pause_ns > a.timing[PERIOD_NS] + BATCH_NS or not is_due(a, line, previous, ordinal)


@kernel
def note_batching(a: Assembly, line: int, is_batch: bool) -> None:
    """Count for or against a line whose bytes come in batches."""
    change = BATCH if is_batch else -1
    a.line_batched[line] = min(max(a.line_batched[line] + change, 0), MAX_BATCHED)


@kernel
def is_batched(a: Assembly, of_all: bool) -> bool:
    """Return whether any line's bytes come in batches, or those of all do."""
    for line in range(len(a.line_batched)):
        if (a.line_batched[line] > BATCHED) != of_all:
            return not of_all
    return of_all


@kernel
def next_lateness(a: Assembly, line: int, delay_ns: int) -> int:
    """
    Return how much a line has been late in a row if its next tick has some delay.

    What comes in batches is up to a period late. So ticks of two such lines that belong together
    come later on the one as often as on the other; after a line without batches, never more.

    """
    late, period_ns = a.line_late[line], a.timing[PERIOD_NS]
    if a.line_batched[line] > BATCHED:
        usual = 0.5 if is_batched(a, of_all=True) else 1.0
        return late + 1 if delay_ns >= usual * period_ns else max(late - 1, 0)
    if delay_ns < LATE * period_ns:
        return 0
    looks_lost = abs(delay_ns - period_ns) < ONE_PERIOD_LATE * period_ns
    return late + (LOST_LATENESS if looks_lost else 1)


@kernel
def tick_in_time(a: Assembly, arrival_ns: int) -> int:
    """Return the newest tick, emitted or not, that began about then; -1 if none did."""
    newest = a.counters[NEXT] - 1
    for tick in range(newest, max(min(newest, a.counters[OLDEST]), 0) - 1, -1):
        if abs(arrival_ns - a.slot_ns[tick % N_SLOTS]) < LATE * a.timing[PERIOD_NS]:
            return tick
    return -1


@kernel
def tick_in_order(a: Assembly, line: int, arrival_ns: int) -> int:
    """Return the tick that follows the line's last one, later if the line has lost one."""
    has_lost = a.line_late[line] >= MAX_LATENESS
    first = a.line_tick[line] + 1
    if has_lost and a.line_batched[line] > BATCHED:
        # in the dark about more than one, for delays say little
        has_lost, first, a.line_late[line] = False, first + 1, 0
    for tick in range(first, a.counters[NEXT]):
        late = next_lateness(a, line, arrival_ns - a.slot_ns[tick % N_SLOTS])
        if late == 0 or not has_lost:
            a.line_late[line] = late
            return tick
    return -1


@kernel
def tick_at(a: Assembly, line: int, arrival_ns: int) -> int:
    """Return the tick that a line's next records belong to; opens one if there is none."""
    last = a.line_tick[line]
    if last >= 0 and last + 1 >= a.counters[OLDEST]:
        tick = tick_in_order(a, line, arrival_ns)
    else:
        # new, or left behind: order means nothing
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


@kernel
def later_ticks(
    a: Assembly, line: int, ordinals: Ints, stamps_ns: Ints, n: int
) -> tuple[int, int]:
    """Return how many of a batch's records begin another tick, and when the last of them came."""
    ticks, begun_ns = 0, 0
    previous, previous_ns = a.line_ordinal[line], a.line_ns[line]
    for i in range(n):
        if starts_tick(a, line, previous, ordinals[i], stamps_ns[i] - previous_ns):
            ticks += 1
            begun_ns = stamps_ns[i]
        previous, previous_ns = ordinals[i], stamps_ns[i]
    return ticks, begun_ns


@kernel
def begin_tick(a: Assembly, line: int, stamp_ns: int, arrival_ns: int) -> None:
    """Let a line go on to its next tick, which came at a time and has another as its date."""
    newest = a.counters[NEXT]
    tick = tick_at(a, line, arrival_ns)
    a.line_tick[line] = tick
    if a.counters[NEXT] > newest:
        a.counters[BEGUN_NS] = stamp_ns
    if tick >= a.counters[OLDEST]:
        a.slot_line_ns[tick % N_SLOTS, line] = arrival_ns


@kernel
def add_records(
    a: Assembly, line: int, ordinals: Ints, stamps_ns: Ints, poses: Floats, start: int, n: int
) -> int:
    """Place records start .. n of a batch; return where it stopped because the ring is full."""
    to_come, begun_ns = later_ticks(a, line, ordinals[start:n], stamps_ns[start:n], n - start)
    for i in range(start, n):
        ordinal, stamp_ns = ordinals[i], stamps_ns[i]
        pause_ns = stamp_ns - a.line_ns[line]
        if starts_tick(a, line, a.line_ordinal[line], ordinal, pause_ns):
            if a.counters[NEXT] - a.counters[OLDEST] >= N_SLOTS:
                return i
            to_come = max(to_come - 1, 0)
            note_batching(a, line, to_come > 0)
            dated_ns = min(stamp_ns, begun_ns - to_come * a.timing[PERIOD_NS])
            begin_tick(a, line, stamp_ns, dated_ns)
        elif 2 * pause_ns > a.timing[PERIOD_NS]:
            note_batching(a, line, True)
        a.line_ordinal[line] = ordinal
        a.line_ns[line] = stamp_ns
        row = a.first_row[line] + ordinal
        a.missed[row] = 0
        if a.line_tick[line] < a.counters[OLDEST]:
            a.counters[STRAGGLERS] += 1
            a.row_ns[row] = stamp_ns
            continue
        slot = a.line_tick[line] % N_SLOTS
        # measured at the tick, wherever in its packet it comes
        a.row_ns[row] = a.slot_ns[slot]
        a.has[slot, row] = 1
        copy(poses[i], a.poses[slot, row])
    return n


@kernel
def is_awaited(a: Assembly, tick: int, line: int, row: int) -> bool:
    """Return whether a row's record can still come and is worth waiting for."""
    if a.has[tick % N_SLOTS, row] != 0 or a.missed[row] >= MAX_MISSED_TICKS:
        return False
    passed = a.line_tick[line] > tick or (
        a.line_tick[line] == tick and a.line_ordinal[line] >= row - a.first_row[line]
    )
    return not passed


@kernel
def follow_phases(a: Assembly, slot: int) -> None:
    """Learn the lines' phases from a slot; write the frame's SHIFT_NS and NEWEST_NS."""
    shift_ns, newest_ns = 0.0, a.slot_ns[slot]
    for line in range(len(a.phase_ns)):
        own_ns = a.slot_line_ns[slot, line]
        a.slot_line_ns[slot, line] = -1
        if own_ns < 0:
            continue
        phase_ns, period_ns = a.phase_ns[line], a.timing[PERIOD_NS]
        # batches are late by themselves, which hides the phase
        delay_ns = 0 if a.line_batched[line] > BATCHED else own_ns - a.slot_ns[slot]
        a.phase_ns[line] = next_phase(phase_ns, delay_ns, period_ns)
        shift_ns = max(shift_ns, own_phase(a.phase_ns[line], period_ns))
        newest_ns = max(newest_ns, own_ns)
    a.counters[SHIFT_NS] = int(shift_ns)
    a.counters[NEWEST_NS] = newest_ns


@kernel
def date_back(a: Assembly) -> None:
    """Date the oldest tick at least one period before each one that waits behind it."""
    oldest = a.counters[OLDEST]
    slot = oldest % N_SLOTS
    for tick in range(oldest + 1, a.counters[NEXT]):
        latest_ns = a.slot_ns[tick % N_SLOTS] - (tick - oldest) * a.timing[PERIOD_NS]
        a.slot_ns[slot] = min(a.slot_ns[slot], latest_ns)


@kernel
def is_held(a: Assembly, now_ns: int) -> bool:
    """
    Return whether the oldest tick waits for others that may follow at once.

    After a pause it is either late, and what comes after it shows by how much, or others were
    lost. It waits until nothing has followed for a while; HELD_UNTIL_NS is when that will be.

    """
    step_ns = a.slot_ns[a.counters[OLDEST] % N_SLOTS] - a.counters[LAST_NS]
    period_ns = a.timing[PERIOD_NS]
    if not ODD * period_ns < abs(step_ns - period_ns) < N_SLOTS * period_ns:
        return False
    a.counters[HELD_UNTIL_NS] = a.counters[BEGUN_NS] + int(HOLD * period_ns)
    return now_ns < a.counters[HELD_UNTIL_NS]


@kernel
def take_frame(
    a: Assembly, now_ns: int, force: bool, poses: Floats, missing: np.ndarray, ages_s: Floats
) -> int:
    """
    Emit the oldest tick if it is complete, cannot become so, or has waited too long.

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
        Arrival of the tick's first byte, or -1 if nothing is due; SHIFT_NS is how much
        later than its measurement the latest line's is.

    """
    tick = a.counters[OLDEST]
    if tick == a.counters[NEXT]:
        return -1
    slot = tick % N_SLOTS
    a.counters[HELD_UNTIL_NS] = 0
    if not force and now_ns - a.slot_ns[slot] < a.timing[TIMEOUT_NS]:
        for line in range(len(a.line_tick)):
            for row in range(a.first_row[line], a.first_row[line + 1]):
                if is_awaited(a, tick, line, row):
                    return -1
    date_back(a)
    if not force and is_held(a, now_ns):
        return -1
    stamp_ns = a.slot_ns[slot]
    follow_phases(a, slot)
    for line in range(len(a.line_tick)):
        newer_ns = a.counters[SHIFT_NS] - int(own_phase(a.phase_ns[line], a.timing[PERIOD_NS]))
        for row in range(a.first_row[line], a.first_row[line + 1]):
            is_missing = a.has[slot, row] == 0
            missing[row] = is_missing
            a.missed[row] += is_missing
            age_ns = newer_ns + (stamp_ns - a.row_ns[row] if is_missing else 0)
            ages_s[row] = 1e-9 * max(age_ns, 0)
            copy(a.poses[slot, row], poses[row])
            a.poses[slot, row] = np.nan
            a.has[slot, row] = 0
    a.counters[OLDEST] += 1
    a.counters[LAST_NS] = stamp_ns
    return stamp_ns
