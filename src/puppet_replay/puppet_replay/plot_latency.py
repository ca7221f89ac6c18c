# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How late the messages of each topic were recorded, over time and as histograms."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from puppet_core.arrays import Floats
from puppet_replay.plot_figure import (
    BLUE,
    DARK,
    legend_above,
    mark_beyond,
    new_figure,
    RED,
    span_of,
)
from puppet_replay.plot_series import Latency, Series

ROW_PX, REST_PX = 132, 80
COLUMNS = (3.4, 1.0)
HIGHEST_SHARE = 99.5  # percent of the values that the scale shows; those beyond are marked
HEADROOM = 1.25
N_BINS = 48
MANY = 500  # values, from which on the dots are small


def latency_series(latencies: Sequence[Latency]) -> list[Series]:
    """Return what is drawn."""
    found = []
    for one in latencies:
        found.append(Series(f'{one.topic} since the stamp', 'ms', one.age_ms))
        if one.source:
            found.append(Series(f'{one.topic} since {one.source}', 'ms', one.hop_ms))
    return found


def draw_latency(latencies: Sequence[Latency], title: str) -> Figure:
    """Return the figure: a row for each topic, its time line and its histogram."""
    figure, grid = new_figure(
        [1.0] * len(latencies), ROW_PX * len(latencies) + REST_PX, title, COLUMNS
    )
    for one, (line, counts) in zip(latencies, grid):
        counts.sharey(line)
        _row(one, line, counts)
    grid[-1][0].set_xlim(*span_of(*(one.times_s for one in latencies)))
    grid[-1][1].set_xlabel('messages')
    figure.align_ylabels([row[0] for row in grid])
    return figure


def _row(one: Latency, line: Axes, counts: Axes) -> None:
    heading = f'{one.topic}   {_summary(one.age_ms)}'
    curves = [('since the stamp', one.times_s, one.age_ms, BLUE, 'o')]
    if one.source:
        heading += f'\nsince {one.source}   {_summary(one.hop_ms)}'
        curves.append((f'since {one.source}', one.hop_times_s, one.hop_ms, RED, 's'))
    shown = np.concatenate([values for _, _, values, _, _ in curves])
    top = HEADROOM * max(float(np.percentile(shown, HIGHEST_SHARE)), 0.05)
    low = min(0.0, HEADROOM * float(np.percentile(shown, 100.0 - HIGHEST_SHARE)))
    line.set_title(heading, fontsize=9.5)
    for label, times_s, values, colour, marker in curves:
        size = 1.6 if len(values) > MANY else 3.0
        line.plot(times_s, values, linestyle='', marker=marker, markersize=size, color=colour,
                  label=label)  # fmt: skip
        mark_beyond(line, times_s, values[:, None], top)
        edges = np.linspace(low, top, N_BINS + 1)
        counts.hist(np.clip(values, low, top), bins=edges.tolist(), orientation='horizontal',
                    histtype='stepfilled', color=colour, alpha=0.45)  # fmt: skip
        counts.hist(np.clip(values, low, top), bins=edges.tolist(), orientation='horizontal',
                    histtype='step', color=colour)  # fmt: skip
    line.set_ylim(low, top)
    line.set_ylabel('ms', color=DARK)
    if one.source:
        legend_above(line, 1)
    counts.tick_params(labelleft=False)


def _summary(values: Floats) -> str:
    p50, p99 = np.percentile(values, (50, 99))
    return f'p50 {p50:.2f}  p99 {p99:.2f}  max {values.max():.2f} ms'
