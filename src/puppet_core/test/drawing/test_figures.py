# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Charts: lines where their values are, panels below each other, the same bytes every time."""

from benchmarks.line_chart import Line, line_chart
import numpy as np
from puppet_core.drawing import new_figure, save, styled
import pytest

RED, BLUE = '#ff0000', '#0000ff'
TIMES = np.linspace(0.0, 2.0, 50)


def rows_of(picture, colour):
    """Return rows and columns of pixels of nearly a colour below the legend, shape (n, 2)."""
    found = np.argwhere(np.abs(picture.astype(int) - colour).max(axis=2) < 60)
    return found[found[:, 0] > 40]


def test_lines_are_drawn_where_their_values_are():
    lines = (Line('r', TIMES, RED, 3.0), Line('b', np.full(50, 0.5), BLUE, 3.0))
    picture = line_chart(TIMES, {'both': lines}, 300)
    assert picture.shape == (300, 1000, 3) and picture.dtype == np.uint8
    red, blue = rows_of(picture, (255, 0, 0)), rows_of(picture, (0, 0, 255))
    left, right = red[red[:, 1] < 250], red[red[:, 1] > 800]
    assert left[:, 0].mean() > right[:, 0].mean() + 100
    assert np.ptp(blue[:, 0]) < 8 and np.ptp(blue[:, 1]) > 800


@pytest.mark.parametrize('suffix', ['.png', '.svg', '.pdf'])
def test_files_have_no_date(suffix, tmp_path):
    files = []
    for name in 'ab':
        with styled():
            figure, ((axes,),) = new_figure([1.0], 300, 'title')
            axes.plot(TIMES, TIMES)
            save(figure, tmp_path / f'{name}{suffix}')
        files.append((tmp_path / f'{name}{suffix}').read_bytes())
    assert files[0] == files[1]
