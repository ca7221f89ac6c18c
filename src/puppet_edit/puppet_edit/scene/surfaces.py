# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Surfaces that feet stand on: heights over the floor's plane, with their slopes, and their files.

A grid of measured heights, drawn smooth by a cubic spline, or a named function. Beyond a grid's
edge its last height holds. Files are .npy and .csv in metres or .png as grey values, rows along y
from its least; a picture's first row is the one of greatest y, black to white 0 to `white_m`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math
from pathlib import Path
import warnings

import numpy as np
from PIL import Image
from puppet_core.clips import read_text
from puppet_core.io import brief, ConfigError, cut, InputFileError, require_file
from puppet_core.math import check_array, Floats, read_only
from puppet_core.procedural import smooth_step
from puppet_edit.editor import FlatSurface, Surface
from scipy.interpolate import BSpline, RectBivariateSpline

MIN_GRID = 4  # heights along each side: a cubic needs so many
ROUGH_SPACING = 0.8  # of the body's height, between control points (LeeShin1999 section 6)
ROUGH_RANGE = 1.2  # of the body's height, over which control points vary (ditto)

FLOOR: Surface = FlatSurface()

MAX_CELLS = 4_000_000
MAX_FILE_BYTES = 32 * MAX_CELLS  # a height of numpy's own text takes 25
_REASON_LENGTH = 120
_GREY_DEPTHS = {'L': 255.0, 'I;16': 65535.0, 'I': 65535.0, '1': 1.0}


@dataclass(frozen=True, slots=True)
class HeightField:
    heights: Floats  # Rows along y, columns along x, at least 4 of each, shape (rows, columns) [m]
    cell_m: float  # Distance of neighbouring points [m]
    origin_m: tuple[float, float] = (0.0, 0.0)  # Place of the first row's first point [m]
    # Of the heights, over (y, x)
    spline: RectBivariateSpline = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        heights = read_only(check_array('heights', self.heights, (None, None)))
        rows, columns = heights.shape
        if min(rows, columns) < MIN_GRID:
            wanted = f'at least {MIN_GRID} rows and columns'
            raise ConfigError(f'heights: expected {wanted}, got {rows} x {columns}')
        if not 1e-4 <= self.cell_m <= 1e4:
            raise ConfigError(f'cell_m: expected 0.0001 <= value <= 10000, got {self.cell_m:g}')
        check_array('origin_m', self.origin_m, (2,))
        object.__setattr__(self, 'heights', heights)
        x = self.origin_m[0] + self.cell_m * np.arange(columns)
        y = self.origin_m[1] + self.cell_m * np.arange(rows)
        object.__setattr__(self, 'spline', RectBivariateSpline(y, x, heights))

    def height(self, x: Floats, y: Floats) -> Floats:
        x, y = self._inside(x, y)
        return np.asarray(self.spline.ev(y, x))

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return slopes along x and y, shape (..., 2) [-]; beyond the edge 0 across it."""
        inner = self._inside(x, y)
        slopes = [self.spline.ev(inner[1], inner[0], dx=dy, dy=dx) for dx, dy in ((1, 0), (0, 1))]
        beyond = [np.asarray(given) != held for given, held in zip((x, y), inner)]
        return np.stack([np.where(out, 0.0, s) for out, s in zip(beyond, slopes)], axis=-1)

    def _inside(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        low = np.asarray(self.origin_m)
        high = low + self.cell_m * (np.array(self.heights.shape[::-1]) - 1)
        return np.clip(x, low[0], high[0]), np.clip(y, low[1], high[1])


@dataclass(frozen=True, slots=True)
class Profile:
    along: Callable[[Floats], Floats]  # Height over the way [m]
    slope: Callable[[Floats], Floats]  # Its derivative [-]
    heading_rad: float = 0.0  # Direction of the way, from +x to +y

    def height(self, x: Floats, y: Floats) -> Floats:
        """Return heights at places of any equal shape [m]."""
        return np.asarray(self.along(self._way(x, y)))

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return slopes along x and y, shape (..., 2) [-]."""
        slope = np.asarray(self.slope(self._way(x, y)))
        turn = self.heading_rad
        return np.stack((np.cos(turn) * slope, np.sin(turn) * slope), axis=-1)

    def _way(self, x: Floats, y: Floats) -> Floats:
        turn = self.heading_rad
        return np.asarray(np.cos(turn) * np.asarray(x) + np.sin(turn) * np.asarray(y))


def sine(height_m: float = 0.15, length_m: float = 2.0, heading_rad: float = 0.0) -> Surface:
    """Return waves, `height_m` from their middle to their top."""
    k = 2.0 * np.pi / _positive('length_m', length_m)
    return Profile(
        lambda way: height_m * np.sin(k * way),
        lambda way: height_m * k * np.cos(k * way),
        heading_rad,
    )


def ramp(slope_deg: float = 10.0, heading_rad: float = 0.0) -> Surface:
    """Return a plane that rises from the origin on, and falls behind it."""
    if not -60.0 <= slope_deg <= 60.0:
        raise ConfigError(f'slope_deg: expected -60 <= value <= 60, got {slope_deg:g}')
    slope = float(np.tan(np.radians(slope_deg)))
    return Profile(lambda way: slope * way, lambda way: np.full(np.shape(way), slope), heading_rad)


def steps(
    rise_m: float = 0.12, tread_m: float = 0.6, edge_m: float = 0.08, heading_rad: float = 0.0
) -> Surface:
    """Return stairs without end; each riser takes `edge_m` of the way, as a smooth step."""
    _positive('tread_m', tread_m)
    if not 0.0 < edge_m <= tread_m:
        raise ConfigError(f'edge_m: expected 0 < value <= tread_m, got {edge_m:g}')

    def along(way: Floats) -> Floats:
        whole = np.floor(way / tread_m)
        share = (way - whole * tread_m - (tread_m - edge_m)) / edge_m
        return np.asarray(rise_m * (whole + smooth_step(share)))

    def slope(way: Floats) -> Floats:
        u = (way - np.floor(way / tread_m) * tread_m - (tread_m - edge_m)) / edge_m
        u = np.clip(u, 0.0, 1.0)
        # derivative of the quintic smooth step
        return np.asarray(rise_m / edge_m * 30.0 * (u * (1.0 - u)) ** 2)

    return Profile(along, slope, heading_rad)


def rough(
    seed: float = 1, body_height_m: float = 1.75, size_m: float = 40.0, roughness: float = 1.0
) -> Surface:
    """Return hills as of LeeShin1999's first experiment: a B-spline of random control points."""
    spacing = ROUGH_SPACING * _positive('body_height_m', body_height_m)
    count = int(np.ceil(_positive('size_m', size_m) / spacing)) + 4
    rng = np.random.default_rng(int(seed))
    control = ROUGH_RANGE * body_height_m * roughness * rng.uniform(-0.5, 0.5, (count, count))
    # sampled where the cubic grid through the samples is the surface itself, nearly
    fine = 6
    at = np.arange(fine * (count - 3) + 1) / fine
    basis = BSpline(np.arange(-3.0, count + 1.0), np.eye(count), 3)(at)
    heights = basis @ control @ basis.T
    half = 0.5 * spacing * at[-1]
    return HeightField(heights, spacing / fine, (-half, -half))


FUNCTIONS: Mapping[str, Callable[..., Surface]] = {
    'sine': sine,
    'ramp': ramp,
    'steps': steps,
    'rough': rough,
}


def _positive(name: str, value: float) -> float:
    if not 1e-3 <= value <= 1e4:
        raise ConfigError(f'{name}: expected 0.001 <= value <= 10000, got {value:g}')
    return value


def read_height_field(
    path: str | Path,
    cell_m: float,
    origin_m: tuple[float, float] = (0.0, 0.0),
    white_m: float = 1.0,
) -> HeightField:
    """Return a file's heights, `cell_m` apart, with the given least x and y; or InputFileError."""
    heights = read_heights(path, white_m)
    try:
        return HeightField(heights, cell_m, origin_m)
    except ConfigError as err:
        raise InputFileError(path, 'a field of heights', f'an invalid one: {err}') from err


def read_heights(path: str | Path, white_m: float = 1.0) -> Floats:
    """Return the heights of a file, rows along y and columns along x [m]; raise InputFileError."""
    path = Path(path)
    readers = {'.npy': _read_npy, '.csv': _read_csv, '.png': _read_png}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputFileError(path, f'a {", ".join(readers)} file', brief(path.suffix))
    try:
        size = require_file(path)
        if size > MAX_FILE_BYTES:
            raise InputFileError(path, f'at most {MAX_FILE_BYTES} bytes', f'{size}')
        # old headers, odd literals and sizes; what is too large for a float is refused later
        with warnings.catch_warnings(), np.errstate(all='ignore'):
            warnings.simplefilter('ignore')
            heights = readers[suffix](path)
    except InputFileError:
        raise
    except Exception as err:  # whatever damaged data make numpy, Python's tokenizer and PIL raise
        reason = cut(' '.join(str(err).split()) or 'damaged data', _REASON_LENGTH)
        raise InputFileError(path, f'a readable {suffix} file', reason) from err
    return white_m * heights[::-1] if suffix == '.png' else heights


def _read_npy(path: Path) -> Floats:
    # mapped, so that its shape is known before there is memory for it
    found = np.load(path, mmap_mode='r')
    if not isinstance(found, np.ndarray) or found.dtype.kind not in 'fiu':
        raise InputFileError(path, 'an array of real numbers', 'another file of numpy')
    _check_shape(path, found.shape)
    return np.array(found, dtype=np.float64, order='C')


def _read_csv(path: Path) -> Floats:
    rows: list[Floats] = []
    text = read_text(path, 'heights')
    if text.count(',') >= MAX_CELLS:
        raise InputFileError(path, f'at most {MAX_CELLS} heights', 'more')
    for line, row in enumerate(text.splitlines(), start=1):
        if not row.strip():
            continue
        try:
            rows.append(np.array([float(cell) for cell in row.split(',')]))
        except ValueError as err:
            raise InputFileError(path, 'numbers with commas between', brief(row), line) from err
        if len(rows[-1]) != len(rows[0]):
            raise InputFileError(path, f'{len(rows[0])} heights', str(len(rows[-1])), line)
    if not rows:
        raise InputFileError(path, 'rows of heights', 'none')
    return np.array(rows)


def _read_png(path: Path) -> Floats:
    with Image.open(path, formats=('PNG',)) as picture:
        mode = picture.mode
        _check_shape(path, picture.size[::-1])
        if mode not in _GREY_DEPTHS:
            raise InputFileError(path, 'a grey picture of 8 or 16 bits', f'mode {mode}')
        picture.load()
        return np.asarray(picture, dtype=np.float64) / _GREY_DEPTHS[mode]


def _check_shape(path: Path, shape: tuple[int, ...]) -> None:
    fits = len(shape) == 2 and min(shape) >= MIN_GRID and math.prod(shape) <= MAX_CELLS
    if not fits:
        wanted = f'at least {MIN_GRID} rows and columns, of at most {MAX_CELLS} heights'
        raise InputFileError(path, wanted, cut('shape ' + brief(list(shape))))
