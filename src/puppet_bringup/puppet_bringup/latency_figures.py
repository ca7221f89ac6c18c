# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a latency run came to: percentiles end to end and hop by hop, from a frame log."""

import math
from typing import Any

import numpy as np
from puppet_bringup.frame_log import ARRIVALS, N_JOINTS, STAGES, STAMP
from puppet_core.arrays import Floats

LAST = ARRIVALS.stop - 1  # the joint states; of several puppets the last one's
PERCENTILES = {'p50': 50.0, 'p99': 99.0, 'p99_9': 99.9, 'max': 100.0}
ON_TIME = 0.5  # of a period: a stamp may be so far from its moment; no loss at the ends

Figures = dict[str, Any]


def percentiles_ms(seconds: Floats) -> dict[str, float | None]:
    """Return the percentiles of times [ms]; None without any that is finite."""
    known = seconds[np.isfinite(seconds)]
    if not len(known):
        return dict.fromkeys(PERCENTILES)
    values = 1e3 * np.percentile(known, list(PERCENTILES.values()))
    return {name: float(value) for name, value in zip(PERCENTILES, values)}


def in_window(table: Floats, begin_s: float, end_s: float) -> Floats:
    """Return the rows of the frames that were acquired in a window, the end excluded [s]."""
    return table[(table[:, STAMP] >= begin_s) & (table[:, STAMP] < end_s)]


def end_to_end(
    table: Floats, begin_s: float, end_s: float, rate_hz: float, n_puppets: int = 1
) -> Figures:  # fmt: skip
    """
    Return how long frames took from the tracker to the joint states.

    Parameters
    ----------
    table : ndarray, shape (n, frame_log.WIDTH)
        Sorted by stamp; frames of which nothing was seen have no row.
    begin_s, end_s : float
        Window of stamps, the end excluded [s].
    rate_hz : float
        Of the tracker.
    n_puppets : int
        Joint states that a frame has when it is complete.

    Returns
    -------
    figures : dict
        'frames' that were acquired, those of them without joint states of all puppets 'lost', and
        'end_to_end_ms' to the last puppet's.

    """
    rows = in_window(table, begin_s, end_s)
    solved = rows[rows[:, N_JOINTS] >= n_puppets]
    n = frames_between(rows[:, STAMP], begin_s, end_s, rate_hz)
    times = percentiles_ms(solved[:, LAST] - solved[:, STAMP])
    return {'frames': n, 'lost': n - len(solved), 'end_to_end_ms': times}


def frames_between(stamps_s: Floats, begin_s: float, end_s: float, rate_hz: float) -> int:
    """
    Return how many frames a window has: those that were seen, and those that their gaps hold.

    Parameters
    ----------
    stamps_s : ndarray, shape (n,)
        Those that were seen, ascending [s].
    begin_s, end_s : float
        The window, its end excluded [s].
    rate_hz : float
        Frames per second.

    """
    if not len(stamps_s):
        return round((end_s - begin_s) * rate_hz)
    before = max(math.floor((stamps_s[0] - begin_s) * rate_hz - ON_TIME), 0)
    after = max(math.ceil((end_s - stamps_s[-1]) * rate_hz - ON_TIME) - 1, 0)
    # not gap by gap: single stamps may be off by half a period and more
    within = 1 + round((stamps_s[-1] - stamps_s[0]) * rate_hz)
    return before + max(within, len(stamps_s)) + after


def hops(rows: Floats) -> dict[str, dict[str, float | None]]:
    """Return for each node the time from its input to its output, both as seen from outside."""
    before = np.column_stack((rows[:, STAMP], rows[:, ARRIVALS]))
    return {
        name: percentiles_ms(before[:, i + 1] - before[:, i])
        for i, name in enumerate(STAGES.values())
    }


def lines(form: str, puppets: int, rate_hz: float, measured: Figures) -> list[str]:
    """Return one run's figures as lines for people; no puppets for a chain that has none."""
    who = f' {puppets} puppet{"s" if puppets > 1 else ""},' if puppets else ''
    found = [
        f'{form},{who} {rate_hz:g} Hz: {measured["frames"]} frames, {measured["lost"]} lost, '
        f'{measured["cpu_percent"]:.1f} % of a core',
        f'  {"end to end":12}{_text(measured["end_to_end_ms"])}',
    ]
    late = measured.get('late_bytes_ms', {})
    if late and late['p50'] is not None:
        found.append(
            f'  {"of that":12}p50 {late["p50"]:.2f}, p99 {late["p99"]:.2f} ms until the first byte'
        )
    return found + [f'  {name:12}{_text(times)}' for name, times in measured['hops'].items()]


def _text(times: dict[str, float | None]) -> str:
    shown = {'p50': 'p50', 'p99': 'p99', 'p99_9': 'p99.9', 'max': 'max'}
    return ', '.join(
        f'{word} {"-" if times[key] is None else format(times[key], ".2f")}'
        for key, word in shown.items()
    ) + ' ms'
