# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a latency run came to: percentiles end to end and hop by hop, from a frame log."""

from typing import Any

import numpy as np
from puppet_bringup.frame_log import ARRIVALS, STAGES, STAMP
from puppet_core.arrays import Floats

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


def end_to_end(rows: Floats) -> Figures:
    """
    Return how long frames took from the tracker to the joint states.

    Parameters
    ----------
    rows : ndarray, shape (n, frame_log.WIDTH)
        Of a window.

    Returns
    -------
    figures : dict
        'frames', those without joint states 'lost', and 'end_to_end_ms'.

    """
    times = rows[:, LAST] - rows[:, STAMP]
    lost = int(np.count_nonzero(~np.isfinite(times)))
    return {'frames': len(rows), 'lost': lost, 'end_to_end_ms': percentiles_ms(times)}


def hops(rows: Floats) -> dict[str, dict[str, float | None]]:
    """Return for each node the time from its input to its output, both as seen from outside."""
    before = np.column_stack((rows[:, STAMP], rows[:, ARRIVALS]))
    return {
        name: percentiles_ms(before[:, i + 1] - before[:, i])
        for i, name in enumerate(STAGES.values())
    }


def lines(form: str, puppets: int, rate_hz: float, measured: Figures) -> list[str]:
    """Return one run's figures as lines for people."""
    who = f'{puppets} puppet{"s" if puppets > 1 else ""}'
    found = [
        f'{form}, {who}, {rate_hz:g} Hz: {measured["frames"]} frames, {measured["lost"]} lost, '
        f'{measured["cpu_percent"]:.1f} % of a core',
        f'  {"end to end":12}{_text(measured["end_to_end_ms"])}',
    ]
    return found + [f'  {name:12}{_text(times)}' for name, times in measured['hops'].items()]


def _text(times: dict[str, float | None]) -> str:
    shown = {'p50': 'p50', 'p99': 'p99', 'p99_9': 'p99.9', 'max': 'max'}
    return ', '.join(
        f'{word} {"-" if times[key] is None else format(times[key], ".2f")}'
        for key, word in shown.items()
    ) + ' ms'
