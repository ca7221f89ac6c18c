# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The style of all charts, and how they and pictures become files: the same bytes every time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from puppet_core.io import ConfigError, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Picture = NDArray[np.uint8]  # shape (height, width, 3), screen values

TEXT_COLOUR = (45, 50, 58)
WIDTH_PX, DPI = 1000, 100
SUFFIXES = ('.png', '.svg', '.pdf')
# Distinguishable with every kind of colour vision: Okabe and Ito's palette.
BLUE, RED, GREEN, PURPLE, SKY = '#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9'
DARK, GREY, PALE = '#2d323a', '#868c95', '#dde1e6'
NO_DATES: dict[str, dict[str, Any]] = {
    '.png': {'Software': None},
    '.svg': {'Date': None, 'Creator': None, 'Format': None, 'Type': None},
    '.pdf': {'CreationDate': None, 'Creator': None, 'Producer': None},
}
STYLE: dict[Any, Any] = {
    'font.family': 'DejaVu Sans',
    'font.size': 9.5,
    'axes.titlesize': 10.0,
    'axes.titlelocation': 'left',
    'axes.labelsize': 9.5,
    'text.color': DARK,
    'axes.labelcolor': DARK,
    'axes.edgecolor': GREY,
    'xtick.color': DARK,
    'ytick.color': DARK,
    'axes.grid': True,
    'grid.color': PALE,
    'grid.linewidth': 0.8,
    'axes.axisbelow': True,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'legend.frameon': False,
    'lines.linewidth': 1.4,
    'svg.hashsalt': 'puppet',
    'svg.fonttype': 'path',
    'path.simplify': True,
    'agg.path.chunksize': 20000,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw and write in the suite's style, whatever the user's; ConfigError without matplotlib."""
    try:
        import matplotlib
    except ModuleNotFoundError as err:
        raise ConfigError(
            'matplotlib: expected it for plots, found none; install it, for example with '
            'python3 -m pip install matplotlib'
        ) from err
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def new_figure(
    heights: Sequence[float],
    height_px: int,
    title: str = '',
    columns: Sequence[float] = (1.0,),
    is_shared: bool = True,
) -> tuple['Figure', list[list['Axes']]]:
    """Return a figure with panels below each other, of relative heights, on one time axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_PX / DPI, height_px / DPI), dpi=DPI, layout='constrained')
    if title:
        figure.suptitle(title, x=0.01, ha='left', fontsize=12.0, fontweight='bold')
    grid = figure.subplots(
        len(heights),
        len(columns),
        sharex='col' if is_shared else 'none',
        squeeze=False,
        gridspec_kw={'height_ratios': list(heights), 'width_ratios': list(columns)},
    )
    grid[-1, 0].set_xlabel('time [s]')
    return figure, [list(row) for row in grid]


def legend_above(axes: 'Axes', columns: int = 6) -> None:
    """Put the legend over the panel, at the right, where no data is."""
    axes.legend(
        loc='lower right',
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        borderaxespad=0.1,
        handlelength=1.6,
        columnspacing=1.2,
        fontsize=9.0,
    )


def svg_text(figure: 'Figure') -> str:
    stream = StringIO()
    figure.savefig(stream, format='svg', metadata=NO_DATES['.svg'])
    return stream.getvalue()


def save(figure: 'Figure', path: Path) -> None:
    suffix = path.suffix.lower()
    with replacing(path) as temporary:
        figure.savefig(temporary, format=suffix[1:], metadata=NO_DATES[suffix])


def save_png(path: str | Path, picture: Picture) -> None:
    with replacing(path) as temporary:
        Image.fromarray(picture).save(temporary, format='PNG', optimize=True)


def png_bytes(picture: Picture) -> bytes:
    data = BytesIO()
    Image.fromarray(picture).save(data, format='PNG', optimize=True)
    return data.getvalue()
