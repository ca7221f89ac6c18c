# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Files of heights: .npy and .csv in metres, .png as grey values, rows along y from its least.

A picture's first row is the one of greatest y, as a map is drawn, and black to white is 0 to
`white_m`. The number of heights that a file states is looked at before room is made for them.

"""

from array import array
from collections.abc import Iterator
import csv
import math
from pathlib import Path
import re
import struct
import tokenize
from typing import BinaryIO
import warnings

import numpy as np
from PIL import Image
from puppet_core.arrays import Floats
from puppet_core.clip_text import read_text
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.io.files import require_file
from puppet_core.io.text import brief, cut
from puppet_retarget.editing.surfaces import HeightField, MIN_GRID

SUFFIXES = ('.npy', '.csv', '.png')
MAX_CELLS = 4_000_000
MAX_FILE_BYTES = 32 * MAX_CELLS  # a height of numpy's own text takes 25
_MAX_HEADER = 10_000  # characters; numpy's own bound, as Python reads them as a literal
_REASON_LENGTH = 120
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0,
}  # fmt: skip
# of what damaged files make numpy and Python's tokenizer raise in a header
_HEADER_ERRORS = (
    ValueError, TypeError, LookupError, SyntaxError, tokenize.TokenError, MemoryError,
    RecursionError, OverflowError,
)  # fmt: skip
# of what damaged chunks make PIL raise
_PNG_ERRORS = (
    OSError, ValueError, SyntaxError, EOFError, LookupError, struct.error,
    Image.DecompressionBombError,
)  # fmt: skip
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
    heights = read_heights(path, white_m)
    try:
        return HeightField(heights, cell_m, origin_m)
    except ConfigError as err:
        raise InputFileError(path, 'a field of heights', f'one that is refused: {err}') from err


def read_heights(path: str | Path, white_m: float = 1.0) -> Floats:
    """
    Return the heights of a file, rows along y and columns along x [m].

    Raises
    ------
    InputFileError : naming file, line and what was expected.

    """
    path = Path(path)
    readers = {'.npy': _read_npy, '.csv': _read_csv, '.png': _read_png}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputFileError(path, f'a {", ".join(SUFFIXES)} file', brief(path.suffix))
    try:
        size = require_file(path)
    except InputFileError:
        raise
    except (OSError, ValueError) as err:  # such as a zero in the name
        raise InputFileError(path, 'a readable file', _reason(err)) from err
    if size > MAX_FILE_BYTES:
        raise InputFileError(path, f'at most {MAX_FILE_BYTES} bytes', f'{size}')
    heights = readers[suffix](path)
    return white_m * heights[::-1] if suffix == '.png' else heights


def _read_npy(path: Path) -> Floats:
    try:
        with open(path, 'rb') as file:
            shape, is_fortran, dtype = _npy_header(path, file)
            size = math.prod(shape) * dtype.itemsize
            data = file.read(size)
    except OSError as err:
        raise InputFileError(path, 'a numpy array', _reason(err)) from err
    if len(data) < size:
        raise InputFileError(path, f'{size} bytes of heights', f'{len(data)}')
    values = np.frombuffer(data, dtype).reshape(shape, order='F' if is_fortran else 'C')
    with np.errstate(all='ignore'):  # what is too large for a float is infinite, and refused
        return np.ascontiguousarray(values, dtype=np.float64)


def _npy_header(path: Path, file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, order and type, as the beginning of a file of numpy's states them."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise InputFileError(path, 'a numpy array of version 1.0 or 2.0',
                                 '{}.{}'.format(*version))  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # of Python 2's headers, and of odd literals
            shape, is_fortran, dtype = _HEADERS[version](file, max_header_size=_MAX_HEADER)
    except InputFileError:
        raise
    except _HEADER_ERRORS as err:
        raise InputFileError(path, 'a numpy array', 'no header of one') from err
    if dtype.kind not in 'fiu':
        raise InputFileError(path, 'an array of real numbers', cut(f'one of {dtype}'))
    _check_shape(path, shape)
    return shape, is_fortran, dtype


def _read_csv(path: Path) -> Floats:
    text = read_text(path, 'heights')
    if text.count(',') >= MAX_CELLS:
        raise InputFileError(path, f'at most {MAX_CELLS} heights', 'more')
    heights, width = array('d'), 0
    for line, row in _csv_rows(path, text):
        width = width or len(row)
        if len(row) != width:
            raise InputFileError(path, f'{width} heights', str(len(row)), line)
        heights.extend(row)
        if len(heights) > MAX_CELLS:
            raise InputFileError(path, f'at most {MAX_CELLS} heights', 'more', line)
    if not width:
        raise InputFileError(path, 'rows of heights', 'none')
    return np.array(heights).reshape(-1, width)


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, list[float]]]:
    """Yield the rows of a text that are not empty, with their lines."""
    # not by a StringIO, which takes four bytes for each character
    rows = csv.reader(found.group() for found in re.finditer(r'.*\n?', text))
    while True:
        try:
            cells = next(rows, None)
        except csv.Error as err:
            raise InputFileError(
                path, 'numbers with commas between', _reason(err), rows.line_num
            ) from err
        if cells is None:
            return
        try:
            row = [float(cell) for cell in cells]
        except ValueError as err:
            raise InputFileError(path, 'numbers with commas between', brief(','.join(cells)),
                                 rows.line_num) from err  # fmt: skip
        if row:
            yield rows.line_num, row


def _read_png(path: Path) -> Floats:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # of sizes, which are refused here
            with Image.open(path, formats=('PNG',)) as picture:
                mode = picture.mode
                _check_shape(path, picture.size[::-1])
                if mode not in _GREY_DEPTHS:
                    raise InputFileError(path, 'a grey picture of 8 or 16 bits', f'mode {mode}')
                picture.load()
                return np.asarray(picture, dtype=np.float64) / _GREY_DEPTHS[mode]
    except InputFileError:
        raise
    except _PNG_ERRORS as err:
        raise InputFileError(path, 'a PNG picture', _reason(err)) from err


def _check_shape(path: Path, shape: tuple[int, ...]) -> None:
    fits = len(shape) == 2 and min(shape) >= MIN_GRID and math.prod(shape) <= MAX_CELLS
    if not fits:
        wanted = f'at least {MIN_GRID} rows and columns, of at most {MAX_CELLS} heights'
        raise InputFileError(path, wanted, cut('shape ' + brief(list(shape))))


def _reason(err: Exception) -> str:
    return cut(' '.join(str(err).split()) or 'damaged data', _REASON_LENGTH)
