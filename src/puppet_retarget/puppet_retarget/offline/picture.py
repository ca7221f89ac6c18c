# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Pictures of bodies on a floor, drawn without a display: a small ray caster for capsules.

Bodies and objects come from `picture_body`, the camera from `picture_camera`; rows of
pictures over time are made by `picture_strip`.

"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from puppet_core.arrays import Floats, Vec3
from puppet_core.errors import ConfigError
from puppet_core.image_file import Picture, TEXT_COLOUR
from puppet_retarget.offline.picture_body import Body, GAMMA, Pill, scene_arrays, Solid
from puppet_retarget.offline.picture_camera import Camera
from puppet_retarget.offline.picture_ray_kernels import SceneArrays
from puppet_retarget.offline.picture_tile_kernels import draw_rows, finish_rows, TILE_PX, TONES

MAX_SIDE_PX = 8192
SAMPLES = 3
BAND_PX = 4 * TILE_PX  # drawn by one thread at a time
_TONES = np.rint(255.0 * np.linspace(0.0, 1.0, TONES + 1) ** (2.0 / GAMMA)).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Label:
    """A text in the picture."""

    text: str
    """One or more lines."""

    anchor: Vec3 | tuple[float, float]
    """What it is centred on: a point in world, shape (3,) [m], or a column and a row."""

    size_px: int = 26
    """Height of the letters."""

    colour: tuple[int, int, int] = TEXT_COLOUR
    """Red, green, blue in 0 .. 255."""


def render_scene(
    bodies: Sequence[Body],
    camera: Camera,
    size_px: tuple[int, int] = (1600, 900),
    labels: Sequence[Label] = (),
    objects: Sequence[Solid | Pill] = (),
    samples: int = SAMPLES,
    lit_for: Camera | None = None,
    threads: int | None = None,
) -> Picture:
    """
    Return a picture of bodies and objects on the floor z = 0.

    Parameters
    ----------
    bodies : sequence of Body
        Whoever is in the picture; their titles are written at their feet.
    camera : Camera
        From where it is seen.
    size_px : tuple of int
        Width and height.
    labels : sequence of Label
        Further texts.
    objects : sequence of Solid or Pill
        Tables, steps, balls.
    samples : int
        Rays along each side of a pixel on an edge; with 1 edges stay jagged.
    lit_for : Camera, optional
        Whose left shoulder the light comes over; that of `camera` by default.
    threads : int, optional
        How many draw; by default one for each processor.

    Returns
    -------
    picture : ndarray, shape (height, width, 3)
        Red, green, blue in 0 .. 255.

    Raises
    ------
    ConfigError : if the size is not possible.

    """
    width, height = size_px
    if not (1 <= width <= MAX_SIDE_PX and 1 <= height <= MAX_SIDE_PX):
        raise ConfigError(f'size_px: expected 1 .. {MAX_SIDE_PX} each, got {size_px}')
    axes = camera.axes()
    lit = axes if lit_for is None else lit_for.axes()
    scene = scene_arrays(bodies, objects, lit[0], lit[2])
    eye = np.vstack((axes, camera.position, camera.target))
    picture = _draw(eye, camera.pixel_size(height), (width, height), scene, samples, threads)
    texts = [*labels, *(_title(body) for body in bodies if body.title)]
    return _write_labels(picture, texts, camera) if texts else picture


def _draw(
    eye: Floats, pixel: float, size_px: tuple[int, int], scene: SceneArrays, samples: int,
    threads: int | None,
) -> Picture:  # fmt: skip
    """Return the scene as screen values, shape (height, width, 3)."""
    width, height = size_px
    light = np.empty((height, width, 3), dtype=np.float32)
    kinds = np.empty((height, width), dtype=np.int64)
    picture = np.empty((height, width, 3), dtype=np.uint8)

    def draw(rows: tuple[int, int]) -> None:
        draw_rows(eye, pixel, rows, scene, light, kinds)

    def finish(rows: tuple[int, int]) -> None:
        finish_rows(eye, pixel, rows, scene, light, kinds, samples, _TONES, picture)

    if threads == 1:
        draw((0, height))
        finish((0, height))
        return picture
    bands = [(row, min(row + BAND_PX, height)) for row in range(0, height, BAND_PX)]
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        list(pool.map(draw, bands))
        list(pool.map(finish, bands))
    return picture


def _title(body: Body) -> Label:
    """Return a label in front of a body's feet, on the floor."""
    feet = body.p_world[[12, 15]].mean(axis=0)
    return Label(body.title, np.array([feet[0], feet[1], 0.0]))


def _write_labels(picture: Picture, labels: Sequence[Label], camera: Camera) -> Picture:
    height, width = picture.shape[:2]
    canvas = Image.fromarray(picture)
    draw = ImageDraw.Draw(canvas)
    for label in labels:
        anchor = np.asarray(label.anchor, dtype=np.float64)
        below = 0.0
        if anchor.shape == (3,):
            anchor = camera.project(anchor, (width, height))[0]
            below = 1.6 * label.size_px
        if np.all(np.isfinite(anchor)):
            font = ImageFont.load_default(label.size_px)
            place = (float(anchor[0]), float(anchor[1] + below))
            draw.text(place, label.text, label.colour, font, anchor='mm', align='center')
    return np.asarray(canvas)
