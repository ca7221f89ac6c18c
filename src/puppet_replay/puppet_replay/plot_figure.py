# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The look of all plots of bags, and how they become files: the same bytes every time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from puppet_core.arrays import Floats
from puppet_core.atomic_file import replacing

WIDTH_PX, DPI = 1000, 100
SUFFIXES = ('.png', '.svg', '.pdf')
# Told apart with every kind of colour vision: Okabe and Ito's palette.
BLUE, RED, GREEN, PURPLE, SKY = '#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9'
DARK, GREY, PALE = '#2d323a', '#868c95', '#dde1e6'
AXES_COLOURS = (BLUE, RED, GREEN)  # x, y, z
NO_DATES = {
    '.png': {'Software': None}, '.svg': {'Date': None, 'Creator': None},
    '.pdf': {'CreationDate': None, 'Creator': None, 'Producer': None},
}  # fmt: skip
STYLE: dict[Any, Any] = {
    'font.family': 'DejaVu Sans', 'font.size': 9.5, 'axes.titlesize': 10.0,
    'axes.titlelocation': 'left', 'axes.labelsize': 9.5, 'text.color': DARK,
    'axes.labelcolor': DARK, 'axes.edgecolor': GREY, 'xtick.color': DARK, 'ytick.color': DARK,
    'axes.grid': True, 'grid.color': PALE, 'grid.linewidth': 0.8, 'axes.axisbelow': True,
    'axes.spines.top': False, 'axes.spines.right': False, 'legend.frameon': False,
    'lines.linewidth': 1.4, 'svg.hashsalt': 'puppet', 'svg.fonttype': 'path',
    'path.simplify': True, 'agg.path.chunksize': 20000,
}  # fmt: skip


@contextmanager
def styled() -> Iterator[None]:
    """Draw and write in the style of the suite, whatever the user's settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def new_figure(
    heights: Sequence[float], height_px: int, title: str, columns: Sequence[float] = (1.0,)
) -> tuple[Figure, list[list[Axes]]]:
    """
    Return a figure with panels below each other that share the time axis of their column.

    Parameters
    ----------
    heights : sequence of float
        Of the panels, relative to each other.
    height_px : int
        Of the whole at the width of WIDTH_PX.
    title : str
        Above all.
    columns : sequence of float, optional
        Widths, relative to each other.

    """
    figure = Figure(figsize=(WIDTH_PX / DPI, height_px / DPI), dpi=DPI, layout='constrained')
    figure.suptitle(title, x=0.01, ha='left', fontsize=12.0, fontweight='bold')
    grid = figure.subplots(
        len(heights), len(columns), sharex='col', squeeze=False,
        gridspec_kw={'height_ratios': list(heights), 'width_ratios': list(columns)},
    )  # fmt: skip
    grid[-1, 0].set_xlabel('time [s]')
    return figure, [list(row) for row in grid]


def save(figure: Figure, path: Path) -> None:
    """Write a figure as its suffix says, all or nothing."""
    suffix = path.suffix.lower()
    with replacing(path) as temporary:
        figure.savefig(temporary, format=suffix[1:], metadata=NO_DATES[suffix])


def legend_above(axes: Axes, columns: int = 6) -> None:
    """Put the legend over the panel, at the right, where no data is."""
    axes.legend(
        loc='lower right', bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.1,
        handlelength=1.6, columnspacing=1.2, fontsize=9.0,
    )  # fmt: skip


def span_of(*times_s: Floats) -> tuple[float, float]:
    """Return the ends of the time axis for all these times (n,) [s]."""
    ends = [(float(t[0]), float(t[-1])) for t in times_s if len(t)]
    low, high = min(a for a, _ in ends), max(b for _, b in ends)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def mark_beyond(axes: Axes, times_s: Floats, values: Floats, limit: float) -> int:
    """Mark at the edge the times (n,) at which values (n, k) leave +-limit; return how many."""
    with np.errstate(invalid='ignore'):
        beyond = np.abs(values).max(axis=-1) > limit
    axes.plot(
        times_s[beyond], np.full(beyond.sum(), 0.96 * limit), linestyle='', marker='^',
        markersize=4.0, color=DARK, clip_on=True,
    )  # fmt: skip
    return int(beyond.sum())
