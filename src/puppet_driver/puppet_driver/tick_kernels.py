# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which tick a record belongs to, and the ring of ticks being collected (kernel layer).

A line starts a new tick when its sensors begin again, or after a pause that is not followed by
the very sensor whose turn it is. Its ticks fill the slots in order, also when they come late, for
a process that was held up, or an adapter that collects bytes, delivers all it has. Only a line
that is late again and again, soonest if by just one period, has lost a tick and skips one.

"""

from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_core.kernel import kernel

N_SLOTS = 32  # a quarter of a second at 120 Hz
LATE = 0.6  # of a period: from when on a line is late for a tick
ONE_PERIOD_LATE = 0.15  # of a period: how close to a whole one looks like a lost tick
MAX_LATENESS = 24  # sum over ticks in a row: 1 for a late one, more for one that looks lost
LOST_LATENESS = 8
PATIENCE = 3  # ticks in a row that a sensor may miss before nobody waits for it
LUMP_NS = 60_000_000  # how long adapters (16 ms) and servers on the network collect bytes
LUMP, LUMPED, MAX_LUMPED = 16, 32, 64  # what one counts against whole ticks, and when many are

NO_ORDINAL = 1 << 30  # whatever follows it begins a tick

# rows of `counters`
OLDEST, NEXT, STRAGGLERS, SHIFT_NS, NEWEST_NS = 0, 1, 2, 3, 4
LAST_NS, BEGUN_NS, HELD_UNTIL_NS = 5, 6, 7
N_COUNTERS = 8
# rows of `timing`
PERIOD_NS, TIMEOUT_NS = 0, 1


class Assembly(NamedTuple):
    """State of the ring and of the lines, all arrays."""

    counters: Ints
    """Oldest tick not handed out, next tick to open, records too late for their tick; of the last
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

    line_lumped: Ints
    """How often ticks of each line came together or in pieces, see LUMP."""

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
        if a.missed[row] < PATIENCE:
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
    return pause_ns > a.timing[PERIOD_NS] + LUMP_NS or not is_due(a, line, previous, ordinal)


@kernel
def note_lumps(a: Assembly, line: int, is_lump: bool) -> None:
    """Count for or against a line whose bytes come in lumps."""
    change = LUMP if is_lump else -1
    a.line_lumped[line] = min(max(a.line_lumped[line] + change, 0), MAX_LUMPED)


@kernel
def is_lumped(a: Assembly, of_all: bool) -> bool:
    """Return whether any line's bytes come in lumps, or those of all do."""
    for line in range(len(a.line_lumped)):
        if (a.line_lumped[line] > LUMPED) != of_all:
            return not of_all
    return of_all


@kernel
def next_lateness(a: Assembly, line: int, delay_ns: int) -> int:
    """
    Return how much a line has been late in a row if its next tick has some delay.

    What comes in lumps is up to a period late. So ticks of two such lines that belong together
    come later on the one as often as on the other; after a line without lumps, never more.

    """
    late, period_ns = a.line_late[line], a.timing[PERIOD_NS]
    if a.line_lumped[line] > LUMPED:
        usual = 0.5 if is_lumped(a, of_all=True) else 1.0
        return late + 1 if delay_ns >= usual * period_ns else max(late - 1, 0)
    if delay_ns < LATE * period_ns:
        return 0
    looks_lost = abs(delay_ns - period_ns) < ONE_PERIOD_LATE * period_ns
    return late + (LOST_LATENESS if looks_lost else 1)


@kernel
def tick_in_time(a: Assembly, arrival_ns: int) -> int:
    """Return the newest tick, handed out or not, that began about then; -1 if none did."""
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
    if has_lost and a.line_lumped[line] > LUMPED:
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
