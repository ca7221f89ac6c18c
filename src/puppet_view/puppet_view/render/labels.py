# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Texts of a picture: titles below the bodies, the time above, a legend, the grid's scale.

They have bands of their own at the upper and lower edge, which cameras keep free of bodies.

"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from puppet_core.drawing import Picture, TEXT_COLOUR
from puppet_core.marker_spec import importance_colour
from puppet_core.math import Floats
from puppet_view.render.image import GRIDS

GREY = (105, 112, 122)
_LARGEST_PX, _SMALLEST_PX = 26, 9
LEGEND, SCALE = 'importance', f'grid {GRIDS[0][0]:g} m, fine {100.0 * GRIDS[1][0]:g} cm'
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Texts:
    """What is written into pictures of one size."""

    size_px: tuple[int, int]
    """Width and height."""

    titles: tuple[str, ...] = ()
    """One for each body."""

    has_legend: bool = False
    """Whether the colours of importance are explained."""

    has_scale: bool = True
    """Whether the grid's scale is labelled."""

    @property
    def letters_px(self) -> int:
        """Height of the letters."""
        wanted = min(self.size_px[0] / 32.0, self.size_px[1] / 18.0)
        longest = sum(len(title) + 2 for title in self.titles)
        return int(
            min(
                max(min(wanted, 1.7 * self.size_px[0] / max(longest, 1)), _SMALLEST_PX),
                _LARGEST_PX,
            )
        )

    @property
    def margins_px(self) -> tuple[float, float, float, float]:
        """Left, above, right, below: what bodies keep clear of."""
        side, band = 0.05 * min(self.size_px), 2.2 * self.letters_px
        return side, band, side, band if self.titles else side

    def boxes(self, columns: Floats, caption: str = '') -> list[tuple[str, Box]]:
        """
        Return each text with the box that it fills: left, upper, right, lower [px].

        `columns`, shape (titles,), are where the bodies are; titles move aside for each other.

        """
        font = ImageFont.load_default(self.letters_px)
        small = ImageFont.load_default(self._small_px)
        width, height = self.size_px
        pad = 0.6 * self.letters_px
        placed = [
            (title, _box(font, title, column, height - 1.1 * self.letters_px))
            for title, column in zip(self.titles, _apart(columns, self.titles, font, width))
        ]
        found = [(text, box) for text, box in placed if text]
        if caption:
            right = font.getlength(caption)
            found.append((caption, _box(font, caption, pad + 0.5 * right, 1.1 * self.letters_px)))
        if self.has_scale:
            place = width - pad - 0.5 * small.getlength(SCALE)
            found.append((SCALE, _box(small, SCALE, place, 1.1 * self.letters_px)))
        return found

    @property
    def _small_px(self) -> int:
        return max(int(0.62 * self.letters_px), _SMALLEST_PX)

    def write(self, picture: Picture, columns: Floats, caption: str = '') -> Picture:
        """Return the picture with its texts, and the legend if it has one."""
        canvas = Image.fromarray(picture)
        draw = ImageDraw.Draw(canvas)
        for text, box in self.boxes(columns, caption):
            size, colour = self.letters_px, TEXT_COLOUR
            if text == SCALE:
                size, colour = self._small_px, GREY
            place = (0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3]))
            draw.text(place, text, colour, ImageFont.load_default(size), anchor='mm')
        if self.has_legend:
            _draw_legend(draw, self.size_px[0], self.letters_px)
        return np.asarray(canvas)


def legend_band(width: int, letters_px: int) -> Picture:
    """Return a white band with the legend of importance, shape (height, width, 3)."""
    band = Image.new('RGB', (width, 2 * letters_px), (255, 255, 255))
    _draw_legend(ImageDraw.Draw(band), width, letters_px)
    return np.asarray(band)


def _draw_legend(draw: ImageDraw.ImageDraw, width: int, letters_px: int) -> None:
    """Draw a bar from no importance to full, in the middle of an upper band."""
    small = max(int(0.75 * letters_px), _SMALLEST_PX)
    font = ImageFont.load_default(small)
    length, middle = 5 * letters_px, 1.0 * letters_px
    left, half, gap = 0.5 * (width - length), 0.3 * small, 0.5 * small
    for k in range(length):
        red, green, blue = (round(255 * c) for c in importance_colour(k / (length - 1)))
        draw.line((left + k, middle - half, left + k, middle + half), (red, green, blue))
    draw.text((left - gap, middle), f'{LEGEND} 0', GREY, font, anchor='rm')
    draw.text((left + length + gap, middle), '1', GREY, font, anchor='lm')


def _box(font: Font, text: str, column: float, row: float) -> Box:
    half_width, half_height = 0.5 * font.getlength(text), 0.6 * _letters(font)
    return column - half_width, row - half_height, column + half_width, row + half_height


def _letters(font: Font) -> float:
    return float(getattr(font, 'size', _SMALLEST_PX))  # a bitmap font has none


def _apart(columns: Floats, titles: Sequence[str], font: Font, width: int) -> Floats:
    """Return columns near the given ones at which titles neither meet nor leave the picture."""
    places = np.array(columns[: len(titles)], dtype=np.float64)
    halves = np.array([0.5 * font.getlength(title) + 0.3 * _letters(font) for title in titles])
    order = np.argsort(places, kind='stable')
    right = 0.0
    for i in order:
        places[i] = max(places[i], right + halves[i])
        right = places[i] + halves[i]
    left = float(width)
    for i in order[::-1]:
        places[i] = min(places[i], left - halves[i])
        left = places[i] - halves[i]
    return places
