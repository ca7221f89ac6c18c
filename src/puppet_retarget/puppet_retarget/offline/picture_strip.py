# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Strips of pictures: one row for each body, one column for each instant."""

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Ints
from puppet_core.errors import ConfigError
from puppet_core.image_file import Picture
from puppet_retarget.offline.picture import Label, render_scene
from puppet_retarget.offline.picture_body import Body, Pill, Solid
from puppet_retarget.offline.picture_camera import Camera, camera_around

GUTTER_PX = 4
_TITLE_MARGIN_PX = 26


@dataclass(frozen=True, slots=True)
class StripRow:
    """What one row shows, from the first instant to the last."""

    title: str
    """Written into its first picture."""

    cells: Sequence[Sequence[Body]]
    """The bodies of each instant; the camera follows the first of them."""

    objects: Sequence[Solid | Pill] = ()
    """Solids that stand in all of them."""

    marks: Sequence[Sequence[Solid | Pill]] = ()
    """Solids of each instant; none if empty."""


def even_instants(n_frames: int, count: int) -> Ints:
    """Return `count` frame indices spread evenly over a clip, its very ends left out."""
    shares = (np.arange(count) + 0.5) / count
    return np.minimum((shares * n_frames).astype(np.int64), n_frames - 1)


def render_strip(
    rows: Sequence[StripRow],
    captions: Sequence[str] = (),
    cell_px: tuple[int, int] = (380, 420),
    azimuth_deg: float = 55.0,
    elevation_deg: float = 8.0,
) -> Picture:
    """
    Return one picture with a cell for each row and instant.

    All cells have one direction of view, those of a row one scale; the camera follows the first
    body over the floor, but not up and down, so that steps and jumps show.

    Parameters
    ----------
    rows : sequence of StripRow
        At least one, all with as many cells.
    captions : sequence of str
        One for each column, such as its time.
    cell_px : tuple of int
        Width and height of a cell.
    azimuth_deg : float
        Direction of view, from where the first row's first body faces in the middle of the row;
        90 shows it from its left.
    elevation_deg : float
        How far above the level of the body.

    Raises
    ------
    ConfigError : if rows are missing or of different lengths.

    """
    counts = sorted({len(row.cells) for row in rows})
    if len(counts) != 1 or counts[0] == 0:
        raise ConfigError(f'rows: expected the same number of cells > 0 in each, got {counts}')
    lines = []
    azimuth_deg += _heading_deg(rows[0])
    for number, row in enumerate(rows):
        cameras = _cameras(row, cell_px, azimuth_deg, elevation_deg)
        cells = []
        for column, (bodies, camera) in enumerate(zip(row.cells, cameras)):
            labels = []
            if number == 0 and column < len(captions):
                labels.append(Label(captions[column], (0.5 * cell_px[0], _TITLE_MARGIN_PX), 20))
            if column == 0 and row.title:
                # left of the head: at the bottom it would lie over the feet
                place = (0.22 * cell_px[0], 2.4 * _TITLE_MARGIN_PX)
                labels.append(Label(row.title, place, 24))
            solids = [*row.objects, *(row.marks[column] if row.marks else ())]
            cells.append(render_scene(bodies, camera, cell_px, labels, solids))
        lines.append(_joined(cells, axis=1))
    return _joined(lines, axis=0)


def _cameras(
    row: StripRow, cell_px: tuple[int, int], azimuth_deg: float, elevation_deg: float
) -> list[Camera]:
    """Return the camera of each cell: one distance and one height for the row."""
    views = [
        camera_around(cell[:1], cell_px, azimuth_deg, elevation_deg, margin=0.08)
        for cell in row.cells
    ]
    back = max((view.position - view.target for view in views), key=lambda v: float(v @ v))
    height = float(np.mean([view.target[2] for view in views]))
    cameras = []
    for cell in row.cells:
        pelvis = cell[0].p_world[0]
        target = np.array([pelvis[0], pelvis[1], height])
        cameras.append(Camera(target + 1.04 * back, target, views[0].view_angle_deg))
    return cameras


def _heading_deg(row: StripRow) -> float:
    """Return where a row's first body faces in the middle of the row."""
    middle = row.cells[len(row.cells) // 2][0]
    facing = quaternion_batch.rotate(middle.q_world[0], np.array([1.0, 0.0, 0.0]))
    return math.degrees(math.atan2(facing[1], facing[0]))


def _joined(pictures: Sequence[Picture], axis: int) -> Picture:
    """Return pictures side by side (axis 1) or one below the other (axis 0)."""
    shape = list(pictures[0].shape)
    shape[axis] = GUTTER_PX
    gutter = np.full(shape, 255, dtype=np.uint8)
    parts = [pictures[0]]
    for picture in pictures[1:]:
        parts += [gutter, picture]
    return np.concatenate(parts, axis=axis)
