# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Strips of pictures, a row a body, a column an instant; texts have bands of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from puppet_core.drawing import Picture, TEXT_COLOUR
from puppet_core.marker_spec import importance_colour
from puppet_core.math import Floats, Ints, quaternions
from puppet_view.render.camera import cameras_along, View
from puppet_view.render.image import GRIDS, render_scene
from puppet_view.render.scene import Body, SceneObject

GREY, WHITE = (105, 112, 122), (255, 255, 255)
_LARGEST_PX, _LARGEST_OF_STRIP_PX, _SMALLEST_PX = 26, 24, 9  # letters
LEGEND, SCALE = 'importance', f'grid {GRIDS[0][0]:g} m, fine {100.0 * GRIDS[1][0]:g} cm'
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Texts:
    size_px: tuple[int, int]  # width and height
    titles: tuple[str, ...] = ()  # one for each body
    has_legend: bool = False  # whether the colours of importance are explained
    has_scale: bool = True  # whether the grid's scale is labelled

    @property
    def letters_px(self) -> int:
        wanted = min(self.size_px[0] / 32.0, self.size_px[1] / 18.0)
        longest = sum(len(title) + 2 for title in self.titles)
        wanted = min(wanted, 1.7 * self.size_px[0] / max(longest, 1))
        return int(min(max(wanted, _SMALLEST_PX), _LARGEST_PX))

    @property
    def margins_px(self) -> tuple[float, float, float, float]:
        """Left, above, right, below: what bodies keep clear of."""
        side, band = 0.05 * min(self.size_px), 2.2 * self.letters_px
        return side, band, side, band if self.titles else side

    def boxes(self, columns: Floats, caption: str = '') -> list[tuple[str, Box]]:
        """Return each text with its box: left, upper, right, lower [px]; titles at columns."""
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


GUTTER_PX = 4
USUAL_VIEW = View(55.0)


@dataclass(frozen=True, slots=True)
class StripRow:
    title: str  # written into its first picture
    cells: Sequence[Sequence[Body]]
    """The bodies of each instant; the camera follows the first of them."""

    objects: Sequence[SceneObject] = ()  # solids that stand in all of them
    marks: Sequence[Sequence[SceneObject]] = ()  # solids of each instant; none if empty


def even_instants(n_frames: int, count: int) -> Ints:
    """Return `count` frame indices spread evenly over a clip, its very ends left out."""
    shares = (np.arange(count) + 0.5) / count
    return np.minimum((shares * n_frames).astype(np.int64), n_frames - 1)


def render_strip(
    rows: Sequence[StripRow],
    captions: Sequence[str] = (),
    cell_px: tuple[int, int] = (380, 420),
    view: View = USUAL_VIEW,
    has_legend: bool = False,
) -> Picture:
    """
    Return one picture with a cell for each row and instant, the captions in a band above.

    All cells of a row have one scale; a camera that follows does so over the floor, not up and
    down. Azimuth counts from where the first row's first body faces in the middle; 90 shows it
    from its left. Raises ConfigError if a cell has no room for bodies.
    """
    lines = []
    letters = _letters_px(cell_px)
    middle = rows[0].cells[len(rows[0].cells) // 2][0]
    facing = quaternions.rotate(middle.q_world[0], np.array([1.0, 0.0, 0.0]))
    azimuth_deg = view.azimuth_deg + math.degrees(math.atan2(facing[1], facing[0]))
    for row in rows:
        high = 1.5 * letters * (1 + row.title.count('\n')) if row.title else 0.04 * cell_px[1]
        margins = (0.06 * cell_px[0], high, 0.06 * cell_px[0], 0.06 * cell_px[1])
        own = replace(view, azimuth_deg=azimuth_deg, margins_px=margins)
        path = np.array([cell[0].p_world[0] for cell in row.cells])
        cameras = cameras_along([cell[:1] for cell in row.cells], path, own, cell_px)
        cells = []
        for column, (bodies, camera) in enumerate(zip(row.cells, cameras)):
            solids = [*row.objects, *(row.marks[column] if row.marks else ())]
            cell = render_scene(bodies, camera, cell_px, solids, lit_for=cameras[0])
            if column == 0 and row.title:
                font = ImageFont.load_default(letters)
                width = font.getlength(_longest_line(row.title))
                place = (0.5 * (width + letters), 0.5 * high + 0.2 * letters)
                canvas = Image.fromarray(cell)
                draw = ImageDraw.Draw(canvas)
                draw.text(place, row.title, TEXT_COLOUR, font, anchor='mm', align='center')
                cell = np.asarray(canvas)
            cells.append(cell)
        lines.append(_joined(cells, axis=1))
    bands = [_joined(lines, axis=0)]
    width = bands[0].shape[1]
    if captions:
        bands.insert(0, _caption_band(captions, cell_px, width))
    if has_legend:
        band = Image.new('RGB', (width, 2 * letters), WHITE)
        _draw_legend(ImageDraw.Draw(band), width, letters)
        bands.append(np.asarray(band))
    return np.concatenate(bands)


def _letters_px(cell_px: tuple[int, int]) -> int:
    return int(min(max(cell_px[0] / 15.0, _SMALLEST_PX), _LARGEST_OF_STRIP_PX))


def _longest_line(text: str) -> str:
    return max(text.split('\n'), key=len)


def _caption_band(captions: Sequence[str], cell_px: tuple[int, int], width: int) -> Picture:
    """Return a white band with a caption over each column, shape (height, width, 3)."""
    letters = _letters_px(cell_px)
    widest = max(ImageFont.load_default(letters).getlength(_longest_line(c)) for c in captions)
    letters = max(int(letters * min(1.0, 0.94 * cell_px[0] / max(widest, 1.0))), 6)
    lines = 1 + max(caption.count('\n') for caption in captions)
    high = int(1.25 * letters * lines + 0.45 * letters)
    band = Image.new('RGB', (width, high), WHITE)
    draw, font = ImageDraw.Draw(band), ImageFont.load_default(letters)
    for column, caption in enumerate(captions):
        place = (column * (cell_px[0] + GUTTER_PX) + 0.5 * cell_px[0], 0.5 * high)
        draw.text(place, caption, TEXT_COLOUR, font, anchor='mm', align='center')
    return np.asarray(band)


def _joined(pictures: Sequence[Picture], axis: int) -> Picture:
    """Return pictures side by side (axis 1) or one below the other (axis 0)."""
    shape = list(pictures[0].shape)
    shape[axis] = GUTTER_PX
    gutter = np.full(shape, 255, dtype=np.uint8)
    parts = [pictures[0]]
    for picture in pictures[1:]:
        parts += [gutter, picture]
    return np.concatenate(parts, axis=axis)
