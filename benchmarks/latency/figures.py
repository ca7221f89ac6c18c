# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a latency run came to: percentiles end to end and hop by hop, from a frame log."""

from typing import Any

import numpy as np
from puppet_bringup.monitor import ARRIVALS, INDEX, N_JOINTS, STAGES, STAMP
from puppet_core.math import Floats

LAST = ARRIVALS.stop - 1  # the joint states; of several puppets the last one's
PERCENTILES = {'p50': 50.0, 'p99': 99.0, 'p99_9': 99.9, 'max': 100.0}

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


def end_to_end(table: Floats, begin_s: float, end_s: float, n_puppets: int = 1) -> Figures:
    """
    Return how long frames took from the tracker to the joint states, and how many did not come.

    Parameters
    ----------
    table : ndarray, shape (n, frame_log.WIDTH)
        Sorted by stamp; with the index of a frame before the window and of one after it.
    begin_s, end_s : float
        Window of stamps whose times count, the end excluded [s].
    n_puppets : int
        Joint states that a frame has when it is complete.

    Returns
    -------
    figures : dict
        'frames' that the driver has counted from the first to the last index that was seen, those
        of them without joint states of all puppets 'lost', and 'end_to_end_ms' to the last
        puppet's, in the window.

    """
    rows = in_window(table, begin_s, end_s)
    solved = rows[rows[:, N_JOINTS] >= n_puppets]
    times = percentiles_ms(solved[:, LAST] - solved[:, STAMP])
    # not by stamps: where a machine has stalled their clock may move by half a period
    known = np.flatnonzero(np.isfinite(table[:, INDEX]))
    first, last = known[0], known[-1]
    n = int(table[last, INDEX] - table[first, INDEX])
    came = int(np.count_nonzero(table[first + 1 : last + 1, N_JOINTS] >= n_puppets))
    return {'frames': n, 'lost': n - came, 'end_to_end_ms': times}


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
    return (
        ', '.join(
            f'{word} {"-" if times[key] is None else format(times[key], ".2f")}'
            for key, word in shown.items()
        )
        + ' ms'
    )
