# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Merging the records of several lines into ticks (kernel layer).

A ring of slots holds the ticks that are still being collected, oldest first; tick_kernels says
which one a record belongs to. Ticks that were read together are told apart by dating the earlier
ones back: each was measured at least one period before the next.

"""

import numpy as np
from puppet_core.arrays import Floats, Ints
from puppet_core.kernel import copy, kernel
from puppet_driver.phase_kernels import next_phase, own_phase
from puppet_driver.tick_kernels import (
    Assembly,
    BEGUN_NS,
    HELD_UNTIL_NS,
    LAST_NS,
    LUMPED,
    N_SLOTS,
    NEWEST_NS,
    NEXT,
    note_lumps,
    OLDEST,
    PATIENCE,
    PERIOD_NS,
    SHIFT_NS,
    starts_tick,
    STRAGGLERS,
    tick_at,
    TIMEOUT_NS,
)

HOLD = 0.25  # of a period: how long a tick at an odd time waits for others that follow at once
ODD = 0.5  # of a period: how far a step from tick to tick is from one period if it is odd


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
            note_lumps(a, line, to_come > 0)
            dated_ns = min(stamp_ns, begun_ns - to_come * a.timing[PERIOD_NS])
            begin_tick(a, line, stamp_ns, dated_ns)
        elif 2 * pause_ns > a.timing[PERIOD_NS]:
            note_lumps(a, line, True)
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
        copy(poses[i], a.poses[slot, row])
    return n


@kernel
def is_awaited(a: Assembly, tick: int, line: int, row: int) -> bool:
    """Return whether a row's record can still come and is worth waiting for."""
    if a.has[tick % N_SLOTS, row] != 0 or a.missed[row] >= PATIENCE:
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
        # lumps are late by themselves, which hides the phase
        delay_ns = 0 if a.line_lumped[line] > LUMPED else own_ns - a.slot_ns[slot]
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

    After a pause it is either late, and what comes behind it says by how much, or others were
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
