# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Curves over time as pictures: panels below each other with one common horizontal axis."""

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from puppet_core.arrays import Floats
from puppet_core.errors import ConfigError
from puppet_core.image_file import Picture, TEXT_COLOUR

FINER = 3  # drawn so much larger, then reduced: smooth lines
LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX, GAP_PX = 66, 20, 34, 46, 44
LETTER_PX = 15
DASH_PX = 7
GRID_COLOUR = (222, 225, 229)
N_TICKS = 5
_PADDING = 0.06  # of the height of the curves, above and below


@dataclass(frozen=True, slots=True)
class Curve:
    """A line with a name."""

    label: str
    """Written in the legend."""

    values: Floats
    """One for each time, shape (n,)."""

    colour: tuple[int, int, int]
    """Red, green, blue in 0 .. 255."""

    width_px: float = 2.0
    """Of the line."""

    is_dashed: bool = False
    """Whether the line is broken."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves with one vertical axis."""

    title: str
    """What the axis is, with its unit."""

    curves: Sequence[Curve]
    """At least one."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a panel is in the picture and what it spans."""

    box: tuple[float, float, float, float]
    times: tuple[float, float]
    values: tuple[float, float]

    def place(self, t: Floats, value: Floats) -> Floats:
        left, top, right, bottom = self.box
        x = left + (t - self.times[0]) / (self.times[1] - self.times[0]) * (right - left)
        share = (value - self.values[0]) / (self.values[1] - self.values[0])
        return np.stack((x, bottom - share * (bottom - top)), axis=-1)


def draw_chart(
    times_s: Floats, panels: Sequence[Panel], size_px: tuple[int, int] = (1000, 760)
) -> Picture:
    """
    Return the panels as a picture.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        The common horizontal axis, rising [s].
    panels : sequence of Panel
        From top to bottom.
    size_px : tuple of int
        Width and height of the picture.

    Raises
    ------
    ConfigError : if there is nothing to draw, or a curve is not as long as the times.

    """
    if not panels or len(times_s) < 2:
        raise ConfigError(f'chart: expected panels and two times, got {len(times_s)} times')
    for curve in (curve for panel in panels for curve in panel.curves):
        if np.shape(curve.values) != np.shape(times_s):
            raise ConfigError(
                f'{curve.label}: expected shape {np.shape(times_s)}, got {np.shape(curve.values)}'
            )
    width, height = size_px
    image = Image.new('RGB', (width * FINER, height * FINER), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    inner = (height - TOP_PX - BOTTOM_PX - GAP_PX * (len(panels) - 1)) / len(panels)
    for number, panel in enumerate(panels):
        top = TOP_PX + number * (inner + GAP_PX)
        box = (float(LEFT_PX), top, float(width - RIGHT_PX), top + inner)
        frame = _Frame(box, (float(times_s[0]), float(times_s[-1])), _span(panel))
        _draw_axes(draw, frame, panel.title)
        for curve in panel.curves:
            _draw_curve(draw, frame.place(times_s, np.asarray(curve.values)), curve)
        _draw_legend(draw, frame, panel)
    _text(draw, ((LEFT_PX + width - RIGHT_PX) / 2, height - 0.6 * LETTER_PX), 'time, s', 'mm')
    return np.asarray(image.resize(size_px, Image.Resampling.LANCZOS))


def even_ticks(low: float, high: float) -> list[float]:
    """Return about N_TICKS round numbers between two ends."""
    raw = (high - low) / N_TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((s * power for s in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(s - raw))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def _span(panel: Panel) -> tuple[float, float]:
    low = min(float(np.min(curve.values)) for curve in panel.curves)
    high = max(float(np.max(curve.values)) for curve in panel.curves)
    padding = _PADDING * (high - low) or 0.5
    return low - padding, high + padding


def _draw_axes(draw: ImageDraw.ImageDraw, frame: _Frame, title: str) -> None:
    left, top, right, bottom = frame.box
    for tick in even_ticks(*frame.values):
        _, y = frame.place(np.array(frame.times[0]), np.array(tick))
        _line(draw, [(left, y), (right, y)], GRID_COLOUR, 1.0)
        _text(draw, (left - 8, y), f'{tick:g}', 'rm')
    for tick in even_ticks(*frame.times):
        x, _ = frame.place(np.array(tick), np.array(frame.values[0]))
        _line(draw, [(x, top), (x, bottom)], GRID_COLOUR, 1.0)
        _text(draw, (x, bottom + 0.8 * LETTER_PX), f'{tick:g}', 'mm')
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    _line(draw, corners, (150, 155, 160), 1.0)
    _text(draw, (left, top - 0.9 * LETTER_PX), title, 'lm')


def _draw_curve(draw: ImageDraw.ImageDraw, points: Floats, curve: Curve) -> None:
    if not curve.is_dashed:
        _line(draw, [tuple(p) for p in points], curve.colour, curve.width_px)
        return
    way = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    fine = np.linspace(0.0, way[-1], max(int(way[-1]), 2))
    along = np.stack([np.interp(fine, way, points[:, k]) for k in range(2)], axis=-1)
    for start in range(0, len(along), 2 * DASH_PX):
        end = start + DASH_PX + 1
        dash = along[start:end]
        _line(draw, [tuple(p) for p in dash], curve.colour, curve.width_px)


def _draw_legend(draw: ImageDraw.ImageDraw, frame: _Frame, panel: Panel) -> None:
    """Write the names of the curves above the panel, from right to left."""
    _, top, right, _ = frame.box
    y = top - 0.9 * LETTER_PX
    for curve in reversed(panel.curves):
        right -= draw.textlength(curve.label, _font()) / FINER
        _text(draw, (right, y), curve.label, 'lm')
        _draw_curve(draw, np.array([[right - 34.0, y], [right - 6.0, y]]), curve)
        right -= 54.0


def _line(
    draw: ImageDraw.ImageDraw, points: Sequence[tuple[float, float]],
    colour: tuple[int, int, int], width_px: float,
) -> None:  # fmt: skip
    finer = [(FINER * x, FINER * y) for x, y in points]
    draw.line(finer, colour, round(FINER * width_px), joint='curve')


def _text(
    draw: ImageDraw.ImageDraw, place: tuple[float, float], text: str, anchor: str
) -> None:
    x, y = place
    draw.text((FINER * x, FINER * y), text, TEXT_COLOUR, _font(), anchor=anchor)


def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(FINER * LETTER_PX)
