# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a run, from its frame log: the demo's JSON and its summary table."""

from typing import Any

import numpy as np
from puppet_bringup.frame_log import (
    ARRIVALS,
    IMPORTANCES,
    INDEX,
    PENETRATION,
    PERFORMER_SOLES,
    PUPPET_SOLES,
    STAGES,
    STAMP,
)
from puppet_core import foot_slide
from puppet_core.arrays import Floats
from puppet_core.skeleton import END_EFFECTORS

LAST = ARRIVALS.stop - 1  # /joint_states

Figures = dict[str, Any]


def figures(
    table: Floats, begin_s: float, end_s: float, is_composed: bool = False
) -> Figures:
    """
    Return the figures of the frames acquired in a time window.

    Parameters
    ----------
    table : ndarray, shape (n, WIDTH)
        Of a FrameLog.
    begin_s, end_s : float
        Window of stamps, end excluded [s].
    is_composed : bool
        Whether the nodes share a process, which sends what is on the way after the result, so
        that stages cannot be told apart from outside.

    Returns
    -------
    figures : dict
        Keys and units as in the demo's JSON; None where nothing was measured.

    """
    rows = table[(table[:, STAMP] >= begin_s) & (table[:, STAMP] < end_s)]
    indexed = rows[np.isfinite(rows[:, INDEX])]
    solved = rows[np.isfinite(rows[:, LAST])]
    published = int(np.ptp(indexed[:, INDEX])) + 1 if len(indexed) else 0
    return {
        'frames_published': published,
        'frames_solved': len(solved),
        'rate_hz': _rate_hz(solved[:, LAST]),
        'latency_ms': _percentiles_ms(solved[:, LAST] - solved[:, STAMP]),
        'stage_ms': {} if is_composed else _stages(solved),
        'dropped': max(published - len(solved), 0),
        'planted_foot_slide_mm_s': _slides(indexed),
        'penetration_mm_max': _greatest(1000.0 * rows[:, PENETRATION]),
        'importance_max': {
            name: _greatest(rows[:, IMPORTANCES.start + i])
            for i, name in enumerate(END_EFFECTORS)
        },
    }


def summary(measured: Figures) -> list[str]:
    """Return the figures as lines for people."""
    latency, slide = measured['latency_ms'], measured['planted_foot_slide_mm_s']
    lines = [
        f'frames       {measured["frames_solved"]} solved of {measured["frames_published"]}, '
        f'{measured["dropped"]} dropped, {_text(measured["rate_hz"], 2)} Hz',
        'latency      first tracker byte to /joint_states: '
        + ', '.join(f'{name} {_text(latency[name], 2)} ms' for name in latency),
    ]
    for stage, values in measured['stage_ms'].items():
        spread = ', '.join(f'{name} {_text(value, 2)} ms' for name, value in values.items())
        lines.append(f'  {stage:10} {spread}')
    lines += [
        f'planted feet slide {_text(slide["performer"], 0)} mm/s (performer), '
        f'{_text(slide["puppet"], 0)} mm/s (puppet)',
        f'penetration  {_text(measured["penetration_mm_max"], 2)} mm at most',
        'importance   at most: '
        + ', '.join(f'{k} {_text(v, 2)}' for k, v in measured['importance_max'].items()),
    ]
    return lines


def _stages(rows: Floats) -> dict[str, dict[str, float | None]]:
    """Return for each node the time from its input to its output, both as seen from outside."""
    before = np.column_stack((rows[:, STAMP], rows[:, ARRIVALS]))
    return {
        name: _percentiles_ms(before[:, i + 1] - before[:, i])
        for i, name in enumerate(STAGES.values())
    }


def _slides(rows: Floats) -> dict[str, float | None]:
    both = np.isfinite(rows[:, PERFORMER_SOLES]).all(axis=1)
    both &= np.isfinite(rows[:, PUPPET_SOLES]).all(axis=1)
    rows = rows[both]
    if len(rows) < 2:
        return {'performer': None, 'puppet': None}
    rate_hz = 1.0 / float(np.median(np.diff(rows[:, STAMP])))
    performer = rows[:, PERFORMER_SOLES].reshape(-1, 2, 3)
    puppet = rows[:, PUPPET_SOLES].reshape(-1, 2, 3)
    planted = foot_slide.planted_soles(performer, rate_hz)
    planted[1:][np.diff(rows[:, INDEX]) != 1] = False  # a frame between was lost
    return {
        'performer': _number(foot_slide.slide_mm_s(performer, planted, rate_hz)),
        'puppet': _number(foot_slide.slide_mm_s(puppet, planted, rate_hz)),
    }


def _rate_hz(times_s: Floats) -> float | None:
    span_s = float(np.ptp(times_s)) if len(times_s) > 1 else 0.0
    return (len(times_s) - 1) / span_s if span_s > 0.0 else None


def _percentiles_ms(seconds: Floats) -> dict[str, float | None]:
    seconds = seconds[np.isfinite(seconds)]
    if not len(seconds):
        return dict.fromkeys(('p50', 'p99', 'max'))
    p50, p99, top = 1000.0 * np.percentile(seconds, (50, 99, 100))
    return {'p50': float(p50), 'p99': float(p99), 'max': float(top)}


def _greatest(values: Floats) -> float | None:
    values = values[np.isfinite(values)]
    return float(np.max(values)) if len(values) else None


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _text(value: float | None, digits: int) -> str:
    return '-' if value is None else f'{value:.{digits}f}'
