# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Files of heights: .npy and .csv in metres, .png as grey values, rows along y from its least.

A picture's first row is the one of greatest y, as a map is drawn, and black to white is 0 to
`white_m`.

"""

import csv
import io
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError
from puppet_core.arrays import Floats
from puppet_core.clip_text import read_text
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.regular_file import require_file
from puppet_retarget.editing.surfaces import HeightField

SUFFIXES = ('.npy', '.csv', '.png')
MAX_CELLS = 4_000_000
_GREY_DEPTHS = {'L': 255.0, 'I;16': 65535.0, 'I': 65535.0, '1': 1.0}


def read_height_field(
    path: str | Path, cell_m: float, origin_m: tuple[float, float] = (0.0, 0.0),
    white_m: float = 1.0,
) -> HeightField:  # fmt: skip
    """
    Return the heights of a file.

    Parameters
    ----------
    path : str or Path
        One of SUFFIXES.
    cell_m : float
        Distance of neighbouring heights [m].
    origin_m : tuple of float
        Place of the height with least x and y [m].
    white_m : float
        Height of a picture's white [m].

    Raises
    ------
    InputFileError : naming file, line and what was expected.

    """
    path = Path(path)
    readers = {'.npy': _read_npy, '.csv': _read_csv, '.png': _read_png}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputFileError(path, f'a {", ".join(SUFFIXES)} file', repr(path.suffix))
    heights = reader(path)
    if heights.ndim != 2 or heights.size > MAX_CELLS:
        raise InputFileError(
            path, f'rows and columns of at most {MAX_CELLS} heights', f'shape {heights.shape}'
        )
    if path.suffix.lower() == '.png':
        heights = white_m * heights[::-1]
    try:
        return HeightField(heights, cell_m, origin_m)
    except ConfigError as err:
        raise InputFileError(path, 'a field of heights', f'one that is refused: {err}') from err


def _read_npy(path: Path) -> Floats:
    try:
        require_file(path)
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as err:
        raise InputFileError(path, 'a numpy array', _reason(err)) from err
    if not isinstance(values, np.ndarray) or values.dtype.kind not in 'fiu':
        raise InputFileError(path, 'an array of real numbers', type(values).__name__)
    return np.asarray(values, dtype=np.float64)


def _read_csv(path: Path) -> Floats:
    rows: list[list[float]] = []
    for line, cells in enumerate(csv.reader(io.StringIO(read_text(path, 'heights'))), start=1):
        if not cells:
            continue
        try:
            row = [float(cell) for cell in cells]
        except ValueError as err:
            raise InputFileError(path, 'numbers with commas between', repr(','.join(cells)[:60]),
                                 line) from err  # fmt: skip
        if rows and len(row) != len(rows[0]):
            raise InputFileError(path, f'{len(rows[0])} heights', str(len(row)), line)
        rows.append(row)
    if not rows:
        raise InputFileError(path, 'rows of heights', 'none')
    return np.array(rows)


def _read_png(path: Path) -> Floats:
    try:
        with Image.open(path) as picture:
            mode = picture.mode
            values = np.asarray(picture, dtype=np.float64)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as err:
        raise InputFileError(path, 'a PNG picture', _reason(err)) from err
    if mode not in _GREY_DEPTHS:
        raise InputFileError(path, 'a grey picture of 8 or 16 bits', f'mode {mode}')
    return values / _GREY_DEPTHS[mode]


def _reason(err: Exception) -> str:
    return ' '.join(str(err).split()) or type(err).__name__
