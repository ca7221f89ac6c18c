# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Marker sets: which markers make which joints and segments (puppet-markers/1).

`points` are made in the order of the file, each from markers and points before it, by one of
KINDS; where a list of recipes is given, the first whose markers the clip has is taken.
`segments` names each segment's joint and two of its axes, by pairs of points; the first axis
is exact, the second only gives the plane. `ends` are where hands, feet and head end.

"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import os
from pathlib import Path
from typing import Any

from puppet_core.body import SEGMENTS
from puppet_core.io import brief, ConfigError, load_yaml, Section

FORMAT = 'puppet-markers/1'
AXES = ('front', 'left', 'up')
# What each kind of recipe needs: points, and numbers.
KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    'mean': (('of',), ()),
    'between': (('from', 'to'), ('share',)),
    'step': (('from', 'start', 'end'), ('distance_m',)),
    'left_hip': (('left_front', 'right_front', 'back'), ()),
    'right_hip': (('left_front', 'right_front', 'back'), ()),
    'chord': (('centre', 'marker', 'plane'), ('distance_m',)),
    'left_hinge': (('upper', 'marker', 'lower'), ('distance_m',)),
    'right_hinge': (('upper', 'marker', 'lower'), ('distance_m',)),
}
ENDS = ('head', 'left_hand', 'right_hand', 'left_foot', 'right_foot')
_FOLDER = Path('config') / 'markersets'


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a point is made."""

    kind: str
    """A key of KINDS."""

    points: Mapping[str, tuple[str, ...]]
    """Names of points or markers for each of the kind's inputs; more than one are averaged."""

    numbers: Mapping[str, float]
    """The kind's numbers."""

    parameter: str = ''
    """Name of the clip's own parameter in place of a width [mm]; '' for none."""

    def needs(self) -> frozenset[str]:
        """Return all points and markers it is made from."""
        return frozenset(name for names in self.points.values() for name in names)


@dataclass(frozen=True, slots=True)
class MarkerSegment:
    """A segment's joint and two of its axes."""

    origin: str
    axes: tuple[tuple[str, str, str], ...]
    """(axis, from, to), the exact one first."""


@dataclass(frozen=True, slots=True)
class MarkerSet:
    """All of a file."""

    name: str
    points: Mapping[str, tuple[Recipe, ...]]
    """Alternatives of each point, in the order of making."""
    segments: Mapping[str, MarkerSegment]
    ends: Mapping[str, str]

    def names(self) -> frozenset[str]:
        """Return the markers that some recipe, axis or end names."""
        used = {n for recipes in self.points.values() for r in recipes for n in r.needs()}
        for segment in self.segments.values():
            used |= {segment.origin, *(n for axis in segment.axes for n in axis[1:])}
        return frozenset(used | set(self.ends.values())) - set(self.points)


def built_in_folder() -> Path | None:
    """Return the folder of the installed marker sets, or of the repository's."""
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    shares = [Path(prefix) / 'share' / 'puppet_bringup' / _FOLDER for prefix in prefixes]
    here = [parent / _FOLDER for parent in Path(__file__).resolve().parents]
    return next((folder for folder in (*shares, *here) if folder.is_dir()), None)


def built_in_sets() -> tuple[str, ...]:
    """Return the names of the built-in sets."""
    folder = built_in_folder()
    return tuple(sorted(path.stem for path in folder.glob('*.yaml'))) if folder else ()


def load_marker_set(name_or_path: str | Path) -> MarkerSet:
    """
    Read a marker set, by its name or as a YAML file.

    Raises
    ------
    ConfigError : if there is none of the name.
    InputFileError : naming file, line and key.

    """
    if Path(name_or_path).suffix.lower() in ('.yaml', '.yml'):
        return _read(Path(name_or_path))
    folder = built_in_folder()
    if folder is None or str(name_or_path) not in built_in_sets():
        known = ', '.join(built_in_sets()) or 'none'
        raise ConfigError(
            f'markers: expected one of {known} or a YAML file, got {str(name_or_path)!r}'
        )
    return _read(folder / f'{name_or_path}.yaml')


def _read(path: Path) -> MarkerSet:
    source = load_yaml(path, FORMAT)
    name = source.text('name', path.stem)
    source.text('title', '')
    section = source.section('points')
    points = {key: _recipes(section, key) for key in section.keys()}
    section.finish()
    rows = source.section('segments')
    segments = {segment: _segment(rows, segment) for segment in SEGMENTS}
    rows.finish()
    ends = source.section('ends')
    tips = {segment: ends.text(segment) for segment in ENDS}
    ends.finish()
    source.finish()
    return MarkerSet(name, points, segments, tips)


def _recipes(section: Section, key: str) -> tuple[Recipe, ...]:
    rows = section.sections(key) if isinstance(section.raw(key), list) else (section.section(key),)
    return tuple(_recipe(row) for row in rows)


def _recipe(row: Section) -> Recipe:
    kind = row.text('kind', choices=tuple(KINDS))
    inputs, figures = KINDS[kind]
    points = {name: _names(row, name) for name in inputs}
    numbers = {name: row.number(name, low=-2.0, high=2.0) for name in figures}
    parameter = row.text('parameter', '') if 'marker' in inputs else ''
    row.finish()
    return Recipe(kind, points, numbers, parameter)


def _segment(rows: Section, name: str) -> MarkerSegment:
    row = rows.section(name)
    origin = row.text('origin')
    axes = [(axis, *_pair(row, axis)) for axis in row.keys() if axis in AXES]
    row.finish()
    if len(axes) != 2:
        raise rows.error(name, f'two of {", ".join(AXES)}', f'{len(axes)}')
    return MarkerSegment(origin, tuple(axes))


def _pair(row: Section, key: str) -> tuple[str, str]:
    names = _names(row, key)
    if len(names) != 2:
        raise row.error(key, 'two points, from and to', f'{len(names)}')
    return names[0], names[1]


def _names(row: Section, key: str) -> tuple[str, ...]:
    value: Any = row.raw(key)
    names: Sequence[Any] = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise row.error(key, 'the name of a point or marker, or a list of them', brief(value))
    return tuple(names)
