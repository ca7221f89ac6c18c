# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Measured positions of end-effectors, and their files (doc/edit.md): world [m], NaN for none."""

from collections.abc import Sequence
import csv
from dataclasses import dataclass, replace
import math
from pathlib import Path
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import GENERAL_END_EFFECTORS
from puppet_core.clips import read_text
from puppet_core.io import brief, ConfigError, InputFileError, load_yaml, Section
from puppet_core.math import Floats, read_only, Vec3s

MAX_GAP_S = 0.1  # between samples that are interpolated
MEETING_WITHIN_M = 0.05  # more than the distance that is given: a keyframe so near is a meeting
MAX_MEETING_M = 1.0
MAX_DISTANCE_M = 1e4  # of a position from the origin

FORMAT = 'puppet-targets/1'
SUFFIXES = ('.csv', '.yaml', '.yml')
_UNITS_M = {'m': 1.0, 'cm': 0.01, 'mm': 0.001}
_COLUMN = re.compile(r'(\w+)_([xyz])_(m|cm|mm)')
_FRAME, _TIME = 'frame', 'time_s'


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two end-effectors that are known to meet, such as fists or clapping palms."""

    pair: tuple[int, int]  # Rows of GENERAL_END_EFFECTORS
    distance_m: float = 0.0  # Between them when they meet

    def __post_init__(self) -> None:
        if self.pair[0] == self.pair[1]:
            name = GENERAL_END_EFFECTORS[self.pair[0]]
            raise ConfigError(f'meet: expected two different end-effectors, got {name} twice')
        if not 0.0 <= self.distance_m <= MAX_MEETING_M:
            wanted = f'a distance of 0 .. {MAX_MEETING_M:g} m'
            raise ConfigError(f'meet: expected {wanted}, got {self.distance_m:g}')

    def distances(self, positions: Vec3s) -> Floats:
        """Return the distance of the two in each frame, shape (n,) [m]."""
        first, second = self.pair
        return np.linalg.norm(positions[:, first] - positions[:, second], axis=-1)


@dataclass(frozen=True, slots=True)
class Targets:
    positions: Vec3s  # General end-effectors in world, shape (n, 8, 3) [m]; NaN where not measured
    meetings: tuple[Meeting, ...] = ()  # Pairs that meet

    def __post_init__(self) -> None:
        positions = np.array(self.positions, dtype=np.float64)
        # two coordinates are no position
        positions[~is_measured(positions)] = np.nan
        object.__setattr__(self, 'positions', read_only(positions))
        if not self.rows.any():
            raise ConfigError('targets: expected measured positions, got none')
        farthest = np.nanmax(np.abs(positions))
        if farthest > MAX_DISTANCE_M:
            wanted = f'positions within {MAX_DISTANCE_M:g} m'
            raise ConfigError(f'targets: expected {wanted}, got {farthest:g} m')
        for row in {row for meeting in self.meetings for row in meeting.pair}:
            if not self.rows[row]:
                name = GENERAL_END_EFFECTORS[row]
                raise ConfigError(f'meet: expected end-effectors with targets, got {name}')

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Return where there is a position, shape (n, 8)."""
        return is_measured(self.positions)

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Return which end-effectors have any target, shape (8,)."""
        return np.asarray(self.measured.any(axis=0))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, has in zip(GENERAL_END_EFFECTORS, self.rows) if has)

    def only(self, names: Sequence[str]) -> 'Targets':
        """Return the targets of some end-effectors; raise ConfigError if one has none."""
        rows = [end_effector_row(name) for name in names]
        for name, row in zip(names, rows):
            if not self.rows[row]:
                known = ', '.join(self.names)
                raise ConfigError(f'end-effectors: expected some of {known}, got {name!r}')
        positions = np.full_like(self.positions, np.nan)
        positions[:, rows] = self.positions[:, rows]
        return replace(self, positions=positions)

    def goals(self, frames: Sequence[int]) -> Vec3s:
        """
        Return where end-effectors have to be in some frames, shape (k, 8, 3) [m].

        Those that meet are each moved by half along their line, to the distance that is known.
        """
        goals = np.array(self.positions[frames])
        for meeting in self.meetings:
            first, second = meeting.pair
            apart = goals[:, first] - goals[:, second]
            distance = np.linalg.norm(apart, axis=-1, keepdims=True)
            meets = distance < meeting.distance_m + MEETING_WITHIN_M
            # two that lie on each other have no line between them: they stay
            way = apart / np.where(distance > 1e-9, distance, np.inf)
            shift = np.where(meets, 0.5 * (meeting.distance_m - distance) * way, 0.0)
            goals[:, first] += shift
            goals[:, second] -= shift
        return goals


def is_measured(positions: Vec3s) -> NDArray[np.bool_]:
    """Return where all three coordinates are numbers, shape of positions but for the last."""
    return np.asarray(np.isfinite(positions).all(axis=-1))


def end_effector_row(name: str) -> int:
    """Return the row of an end-effector by its name; raise ConfigError if there is none."""
    if name not in GENERAL_END_EFFECTORS:
        known = ', '.join(GENERAL_END_EFFECTORS)
        raise ConfigError(f'end-effectors: expected some of {known}, got {brief(name)}')
    return GENERAL_END_EFFECTORS.index(name)


def resampled(times_s: Floats, positions: Vec3s, frame_times_s: Floats) -> Vec3s:
    """
    Return positions (m, 8, 3) of rising times at other times, NaN where no two samples are near.

    Linear between neighbouring samples at most MAX_GAP_S apart; as they are at samples.
    """
    out = np.full((len(frame_times_s), *positions.shape[1:]), np.nan)
    close = 1e-6 + 1e-9 * np.abs(frame_times_s)  # stamps are written with some digits
    for row in range(positions.shape[1]):
        good = is_measured(positions[:, row])
        t, p = times_s[good], positions[good, row]
        if not len(t):
            continue
        after = np.minimum(np.searchsorted(t, frame_times_s), len(t) - 1)
        before = np.maximum(after - 1, 0)
        known = (t[0] <= frame_times_s) & (frame_times_s <= t[-1])
        known &= t[after] - t[before] <= MAX_GAP_S + 1e-9
        for sample in (before, after):
            known |= np.abs(frame_times_s - t[sample]) <= close
        for k in range(3):
            out[known, row, k] = np.interp(frame_times_s[known], t, p[:, k])
    return out


class TargetFile(NamedTuple):
    targets: Targets
    keyframes: tuple[int, ...] | None  # None if the file does not name them


def read_targets(path: str | Path, n_frames: int, rate_hz: float) -> TargetFile:
    """Return the targets of a motion of a given length; raise InputFileError."""
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
    stamps: list[float] = []
    positions: list[Vec3s] = []
    for line, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise InputFileError(path, f'{len(header)} cells', f'{len(row)}', line)
        values = [_number(path, line, *cell) for cell in zip(header, row)]
        if math.isnan(values[0]) or (stamps and values[0] <= stamps[-1]):
            after = f' above {stamps[-1]:g}' if stamps else ''
            raise InputFileError(path, f'a number{after}', repr(row[0]), line, header[0])
        stamps.append(values[0])
        positions.append(np.full((8, 3), np.nan))
        for (end_effector, axis, unit_m), value in zip(places, values[1:]):
            positions[-1][end_effector, axis] = unit_m * value
    if not stamps:
        raise InputFileError(path, 'a line of positions', 'none')
    times, measured = np.array(stamps), np.array(positions)
    if header[0] == _TIME:
        out = resampled(times, measured, np.arange(n_frames) / rate_hz)
    else:
        wrong = (times < 0.0) | (times > n_frames - 1) | (times != np.floor(times))
        if wrong.any():
            got = f'{times[np.argmax(wrong)]:g}'
            raise InputFileError(path, f'whole frames 0 .. {n_frames - 1}', got, field=_FRAME)
        out = np.full((n_frames, 8, 3), np.nan)
        out[times.astype(np.int64)] = measured
    return _targets(path, out, f'positions within 0 .. {(n_frames - 1) / rate_hz:g} s')


def _columns(path: Path, header: list[str]) -> list[tuple[int, int, float]]:
    """Return end-effector, axis and unit of each column but the first."""
    first = header[0] if header else ''
    if first not in (_FRAME, _TIME):
        raise InputFileError(path, f'{_FRAME} or {_TIME} as the first column', repr(first), 1)
    places: list[tuple[int, int, float]] = []
    for name in header[1:]:
        match = _COLUMN.fullmatch(name)
        if match is None or match[1] not in GENERAL_END_EFFECTORS:
            wanted, hint = 'a column such as left_hand_x_m', ', '.join(GENERAL_END_EFFECTORS)
            raise InputFileError(path, wanted, repr(name), 1, hint=f'end-effectors: {hint}')
        place = (GENERAL_END_EFFECTORS.index(match[1]), 'xyz'.index(match[2]))
        if any(place == other[:2] for other in places):
            raise InputFileError(path, 'each column once', f'{name!r} again', 1)
        places.append((*place, _UNITS_M[match[3]]))
    return places


def _number(path: Path, line: int, name: str, cell: str) -> float:
    if not cell.strip() or cell.strip().lower() == 'nan':
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise InputFileError(path, 'a number or nothing', repr(cell), line, name)
    return value


def _read_yaml(path: Path, n_frames: int) -> TargetFile:
    tree = load_yaml(path, FORMAT)
    positions = np.full((n_frames, 8, 3), np.nan)
    for entry in tree.sections('positions'):
        frame = _frame(entry, 'frame', entry.raw('frame'), n_frames)
        for name in (key for key in entry.keys() if key != 'frame'):
            if name not in GENERAL_END_EFFECTORS:
                known = ', '.join(GENERAL_END_EFFECTORS)
                raise entry.error(name, f'frame or one of {known}', brief(name))
            row = GENERAL_END_EFFECTORS.index(name)
            if is_measured(positions[frame, row]):
                raise entry.error(name, 'each end-effector once per frame', f'{name} again')
            positions[frame, row] = entry.numbers(name, 3)
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
            first, second = (end_effector_row(str(name)) for name in pair)
            meetings.append(Meeting((first, second), distance))
        except ConfigError as err:
            raise InputFileError(tree.path, *_split(err), entry.line, entry.name) from err
        entry.finish()
    return tuple(meetings)


def _split(err: ConfigError) -> tuple[str, str]:
    expected, _, got = str(err).partition('expected ')[2].rpartition(', got ')
    return expected, got


def _frame(section: Section, key: str, value: Any, n_frames: int) -> int:
    if type(value) is not int or not 0 <= value < n_frames:
        raise section.error(key, f'a frame 0 .. {n_frames - 1}', brief(value))
    return value


def _targets(
    path: Path, positions: Vec3s, wanted: str, meetings: tuple[Meeting, ...] = ()
) -> Targets:
    if not is_measured(positions).any():
        raise InputFileError(path, wanted, 'none with all of x, y and z')
    try:
        return Targets(positions, meetings)
    except ConfigError as err:
        raise InputFileError(path, *_split(err)) from err
