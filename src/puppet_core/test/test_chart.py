# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Charts: curves where their values are, round ticks, and what cannot be drawn."""

import numpy as np
from puppet_core.chart import Curve, draw_chart, even_ticks, Panel
from puppet_core.errors import ConfigError
import pytest

RED, BLUE = (255, 0, 0), (0, 0, 255)
TIMES = np.linspace(0.0, 2.0, 50)


def where(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Return rows and columns of pixels of nearly a colour, shape (n, 2)."""
    return np.argwhere(np.abs(picture.astype(int) - colour).max(axis=2) < 60)


def test_curves_are_drawn_where_their_values_are() -> None:
    rising = Curve('r', TIMES, RED, 3.0)
    level = Curve('b', np.full(50, 0.5), BLUE, 3.0)
    picture = draw_chart(TIMES, [Panel('both', (rising, level))], (400, 300))
    assert picture.shape == (300, 400, 3) and picture.dtype == np.uint8
    red, blue = where(picture, RED), where(picture, BLUE)
    red, blue = red[red[:, 0] > 40], blue[blue[:, 0] > 40]  # below the legend
    left, right = red[red[:, 1] < 120], red[red[:, 1] > 330]
    assert left[:, 0].mean() > right[:, 0].mean() + 100
    assert np.ptp(blue[:, 0]) < 8 and np.ptp(blue[:, 1]) > 250


def test_panels_are_below_each_other() -> None:
    panels = [Panel('up', (Curve('a', TIMES, RED),)), Panel('down', (Curve('b', TIMES, BLUE),))]
    picture = draw_chart(TIMES, panels, (400, 400))
    assert where(picture, RED)[:, 0].max() < where(picture, BLUE)[:, 0].min()


def test_dashed_lines_have_gaps() -> None:
    counts = []
    for is_dashed in (False, True):
        curve = Curve('c', np.zeros(50), RED, 3.0, is_dashed)
        counts.append(len(where(draw_chart(TIMES, [Panel('p', (curve,))], (400, 300)), RED)))
    assert 0.3 * counts[0] < counts[1] < 0.8 * counts[0]


@pytest.mark.parametrize(
    ('low', 'high', 'expected'),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-0.02, 0.11, [-0.02, 0.0, 0.02, 0.04, 0.06, 0.08, 0.1]),
        (3.0, 27.0, [5.0, 10.0, 15.0, 20.0, 25.0]),
    ],
)
def test_ticks_are_round_and_inside(low: float, high: float, expected: list[float]) -> None:
    np.testing.assert_allclose(even_ticks(low, high), expected, atol=1e-12)


def test_curves_of_another_length_are_refused() -> None:
    with pytest.raises(ConfigError, match=r'short: expected shape \(50,\), got \(3,\)'):
        draw_chart(TIMES, [Panel('p', (Curve('short', np.zeros(3), RED),))])
    with pytest.raises(ConfigError, match='expected panels and two times, got 1 times'):
        draw_chart(TIMES[:1], [Panel('p', ())])
