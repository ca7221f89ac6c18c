# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Lines over time as a picture, in the style of the suite."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.drawing import legend_above, new_figure, Picture, styled
from puppet_core.math import Floats


class Line(NamedTuple):
    """A curve with a name."""

    label: str  # Written in the legend
    values: Floats  # One for each time, shape (n,)
    colour: str  # As matplotlib reads it
    width: float = 1.4  # Of the line [pt]
    dash: str = '-'  # Style of the line, as matplotlib reads it


def line_chart(
    times_s: Floats, panels: Mapping[str, Sequence[Line]], height_px: int = 760
) -> Picture:
    """Return a picture of lines over rising times (n,) [s]; panels by axis name and unit."""
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figure, grid = new_figure([1.0] * len(panels), height_px)
        for (axes,), (title, lines) in zip(grid, panels.items()):
            for line in lines:
                axes.plot(
                    times_s,
                    line.values,
                    color=line.colour,
                    linewidth=line.width,
                    linestyle=line.dash,
                    label=line.label,
                )
            axes.set_title(title)
            legend_above(axes)
        grid[-1][0].set_xlim(times_s[0], times_s[-1])
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()
