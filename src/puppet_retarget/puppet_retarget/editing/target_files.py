# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Files of measured end-effector positions.

CSV: the first line names the columns; `frame` (from 0) or `time_s` (from the first frame), and
`<end-effector>_<x, y or z>_<m, cm or mm>`; an empty cell was not measured. YAML
(`puppet-targets/1`): positions frame by frame, keyframes, and pairs that meet. The axes are
the suite's: X forward, Y left, Z up, as the clip is read.

"""

import csv
import math
from pathlib import Path
import re
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Vec3s
from puppet_core.clip_text import read_text
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import load_yaml, Section
from puppet_core.skeleton import GENERAL_END_EFFECTORS
from puppet_retarget.editing.targets import (
    end_effector_row,
    is_measured,
    Meeting,
    resampled,
    Targets,
)

FORMAT = 'puppet-targets/1'
SUFFIXES = ('.csv', '.yaml', '.yml')
_UNITS_M = {'m': 1.0, 'cm': 0.01, 'mm': 0.001}
_COLUMN = re.compile(r'(\w+)_([xyz])_(m|cm|mm)')
_FRAME, _TIME = 'frame', 'time_s'


class TargetFile(NamedTuple):
    """What a file says."""

    targets: Targets
    """Positions and meetings."""

    keyframes: tuple[int, ...] | None
    """Frames where they have to be right; None if the file does not say."""


def read_targets(path: str | Path, n_frames: int, rate_hz: float) -> TargetFile:
    """
    Return the targets of a motion of a given length.

    Raises
    ------
    InputFileError : naming file, line, column or key, and what was expected.

    """
    path = Path(path)
    if path.suffix.lower() == '.csv':
        return TargetFile(_read_csv(path, n_frames, rate_hz), None)
    return _read_yaml(path, n_frames)


def _read_csv(path: Path, n_frames: int, rate_hz: float) -> Targets:
    try:
        rows = list(csv.reader(read_text(path, 'CSV').splitlines()))
    except csv.Error as err:
        raise InputFileError(path, 'lines of cells with commas between', str(err)) from err
    header = [name.strip() for name in rows[0]]
    places = _columns(path, header)
    last_time_s = (n_frames - 1) / rate_hz
    stamps: list[float] = []
    positions: list[Vec3s] = []
    for line, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise InputFileError(path, f'{len(header)} cells', f'{len(row)}', line)
        stamp = _number(path, line, header[0], row[0])
        if math.isnan(stamp) or (stamps and stamp <= stamps[-1]):
            after = f' above {stamps[-1]:g}' if stamps else ''
            raise InputFileError(path, f'a number{after}', repr(row[0]), line, header[0])
        position = np.full((8, 3), np.nan)
        for column, (place, unit_m) in places.items():
            position[place] = unit_m * _number(path, line, header[column], row[column])
        stamps.append(stamp)
        positions.append(position)
    if not stamps:
        raise InputFileError(path, 'a line of positions', 'none')
    times, measured = np.array(stamps), np.array(positions)
    if header[0] == _FRAME:
        whole = _whole_frames(path, times, n_frames)
        out = np.full((n_frames, 8, 3), np.nan)
        out[whole] = measured
    else:
        out = resampled(times, measured, np.arange(n_frames) / rate_hz)
    return _targets(path, out, f'positions within 0 .. {last_time_s:g} s')


def _columns(path: Path, header: list[str]) -> dict[int, tuple[tuple[int, int], float]]:
    """Return end-effector, axis and unit of each column but the first."""
    first = header[0] if header else ''
    if first not in (_FRAME, _TIME):
        raise InputFileError(path, f'{_FRAME} or {_TIME} as the first column', repr(first), 1)
    places: dict[int, tuple[tuple[int, int], float]] = {}
    for column, name in enumerate(header[1:], start=1):
        match = _COLUMN.fullmatch(name)
        if match is None or match[1] not in GENERAL_END_EFFECTORS:
            raise InputFileError(
                path, 'a column such as left_hand_x_m', repr(name), 1,
                hint=f'end-effectors: {", ".join(GENERAL_END_EFFECTORS)}',
            )  # fmt: skip
        place = (GENERAL_END_EFFECTORS.index(match[1]), 'xyz'.index(match[2]))
        if any(place == other for other, _ in places.values()):
            raise InputFileError(path, 'each column once', f'{name!r} again', 1)
        places[column] = (place, _UNITS_M[match[3]])
    return places


def _number(path: Path, line: int, name: str, cell: str) -> float:
    """Return a cell's number, NaN if it is empty."""
    if not cell.strip() or cell.strip().lower() == 'nan':
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise InputFileError(path, 'a number or nothing', repr(cell), line, name)
    return value


def _whole_frames(path: Path, stamps: Floats, n_frames: int) -> np.ndarray:
    wrong = (stamps < 0.0) | (stamps > n_frames - 1) | (stamps != np.floor(stamps))
    if wrong.any():
        got = f'{stamps[np.argmax(wrong)]:g}'
        raise InputFileError(path, f'whole frames 0 .. {n_frames - 1}', got, field=_FRAME)
    return stamps.astype(np.int64)


def _read_yaml(path: Path, n_frames: int) -> TargetFile:
    tree = load_yaml(path, FORMAT)
    positions = np.full((n_frames, 8, 3), np.nan)
    for entry in tree.sections('positions'):
        frame = _frame(entry, 'frame', entry.raw('frame'), n_frames)
        for name in entry.keys():
            if name != 'frame':
                if name not in GENERAL_END_EFFECTORS:
                    raise entry.error(
                        name, f'frame or one of {", ".join(GENERAL_END_EFFECTORS)}', brief(name)
                    )
                row = GENERAL_END_EFFECTORS.index(name)
                if is_measured(positions[frame, row]):
                    raise entry.error(name, 'each end-effector once a frame', f'{name} again')
                positions[frame, row] = entry.numbers(name, 3)
        entry.finish()
    meetings = _meetings(tree) if 'meet' in tree else ()
    keyframes = None
    if 'keyframes' in tree:
        given = tree.raw('keyframes')
        if not isinstance(given, list) or not given:
            raise tree.error('keyframes', 'a list of frames', brief(given))
        keyframes = tuple(_frame(tree, 'keyframes', frame, n_frames) for frame in given)
    tree.finish()
    return TargetFile(_targets(path, positions, 'positions', meetings), keyframes)


def _meetings(tree: Section) -> tuple[Meeting, ...]:
    meetings = []
    for entry in tree.sections('meet'):
        pair = entry.raw('pair')
        if not isinstance(pair, list) or len(pair) != 2:
            raise entry.error('pair', 'two end-effectors', brief(pair))
        distance = entry.number('distance_m', 0.0)
        try:
            rows = (end_effector_row(str(pair[0])), end_effector_row(str(pair[1])))
            meetings.append(Meeting(rows, distance))
        except ConfigError as err:
            raise InputFileError(tree.path, *_split(err), entry.line, entry.name) from err
        entry.finish()
    return tuple(meetings)


def _split(err: ConfigError) -> tuple[str, str]:
    """Return what an error expected and got."""
    expected, _, got = str(err).partition('expected ')[2].rpartition(', got ')
    return expected, got


def _frame(section: Section, key: str, value: object, n_frames: int) -> int:
    good = isinstance(value, int) and not isinstance(value, bool)
    if not good or not 0 <= value < n_frames:  # type: ignore[operator]
        raise section.error(key, f'a frame 0 .. {n_frames - 1}', brief(value))
    return int(value)  # type: ignore[call-overload]


def _targets(
    path: Path, positions: Vec3s, wanted: str, meetings: tuple[Meeting, ...] = ()
) -> Targets:
    if not is_measured(positions).any():
        raise InputFileError(path, wanted, 'none with all of x, y and z')
    try:
        return Targets(positions, meetings)
    except ConfigError as err:
        raise InputFileError(path, *_split(err)) from err
