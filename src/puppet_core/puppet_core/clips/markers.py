# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Marker sets, and from optical markers to a skeleton and its motion.

A set (puppet-markers/1) states which markers make which joints and segments. `points` are made
in the order of the file, each from markers and points before it, by one of KINDS; where a list
of recipes is given, the first whose markers the clip has is taken. `segments` names each
segment's joint and two of its axes, by pairs of points; the first axis is exact, the second only
gives the plane. `ends` are where hands, feet and head end.

The result is a ClipFile whose joints are our segments, Z up, T-pose at zero rotation: floor
and end-effectors are then found as in any other clip. Offsets are medians over the frames, so
that noise and a marker that slips for a while do not change the body.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from puppet_core import named_files
from puppet_core.body import PARENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.body.motion_measures import runs
from puppet_core.clips.clip_file import ClipFile, TIP_SUFFIX
from puppet_core.clips.name_map import NameMap, T_POSE
from puppet_core.io import brief, InputFileError, load_yaml, Section
from puppet_core.math import Floats, from_matrix, Quats, two_axis_matrix, Vec3s
from puppet_core.math.quaternions import conjugate, multiply, rotate

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


@dataclass(frozen=True, slots=True)
class Recipe:
    kind: str  # A key of KINDS
    # Names of points or markers for each of the kind's inputs; more than one are averaged
    points: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, float]  # The kind's numbers
    parameter: str = ''  # Name of the clip's own parameter in place of a width [mm]; '' for none

    def needs(self) -> frozenset[str]:
        return frozenset(name for names in self.points.values() for name in names)


@dataclass(frozen=True, slots=True)
class MarkerSegment:
    origin: str
    axes: tuple[tuple[str, str, str], ...]  # (axis, from, to), the exact one first


@dataclass(frozen=True, slots=True)
class MarkerSet:
    name: str
    points: Mapping[str, tuple[Recipe, ...]]  # Alternatives of each point, in the order of making
    segments: Mapping[str, MarkerSegment]
    ends: Mapping[str, str]

    def names(self) -> frozenset[str]:
        """Return the markers that some recipe, axis or end names."""
        used = {n for recipes in self.points.values() for r in recipes for n in r.needs()}
        for segment in self.segments.values():
            used |= {segment.origin, *(n for axis in segment.axes for n in axis[1:])}
        return frozenset(used | set(self.ends.values())) - set(self.points)


def load_marker_set(name_or_path: str | Path) -> MarkerSet:
    """Return a marker set by its name or YAML file; or ConfigError, InputFileError."""
    return _read_set(named_files.marker_set_file(str(name_or_path)))


def _read_set(path: Path) -> MarkerSet:
    source = load_yaml(path, FORMAT)
    name = source.text('name', path.stem)
    source.text('title', '')
    section = source.section('points')
    points = {}
    for key in section.keys():
        has_many = isinstance(section.raw(key), list)
        recipes = section.sections(key) if has_many else (section.section(key),)
        points[key] = tuple(map(_recipe, recipes))
    section.finish()
    rows = source.section('segments')
    segments = {segment: _segment(rows, segment) for segment in SEGMENTS}
    rows.finish()
    ends = source.section('ends')
    tips = {segment: ends.text(segment) for segment in ENDS}
    ends.finish()
    source.finish()
    return MarkerSet(name, points, segments, tips)


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


# Joint centres.


Bools = NDArray[np.bool_]  # shape (n,)

# Harrington2007, table 3, in metres: hip from the middle of the front spines of the pelvis, in
# its axes (front, outward, up), by its width between the front spines and its depth.
_HIP_FRONT_PER_DEPTH, _HIP_FRONT_M = -0.24, -0.0099
_HIP_OUT_PER_WIDTH, _HIP_OUT_M = 0.33, 0.0073
_HIP_UP_PER_WIDTH, _HIP_UP_M = -0.30, -0.0109

MAX_GAP_S = 0.25  # bridged; the hands of a fast throw are some centimetres off after that
MARKER_RADIUS_M = 0.007  # of the usual 14 mm
_NAME_MAP = {segment: (segment,) for segment in SEGMENTS}


# Points of a body from trajectories, shape (n, 3) [m]; NaN where something is missing.


def fill_gaps(positions: Floats, max_frames: int) -> Floats:
    """Return trajectories (n, m, 3) whose gaps, NaN, are bridged by cubics up to a length."""
    filled = np.array(positions)
    for marker in range(positions.shape[1]):
        seen = np.asarray(np.isfinite(positions[:, marker]).all(axis=1))
        filled[~seen, marker] = np.nan
        if seen.all() or seen.sum() < 2:
            continue
        for start, end in runs(~seen):
            if start > 0 and end < len(seen) and end - start <= max_frames:
                filled[start:end, marker] = _bridge(positions[:, marker], seen, start, end)
    return filled


def _bridge(points: Vec3s, seen: Bools, start: int, end: int) -> Vec3s:
    """Return the cubic Hermite curve over the gap [start, end), slopes from the neighbours."""
    from scipy.interpolate import CubicHermiteSpline  # slow to import, seldom needed

    edges = [start - 1, end]
    slopes = []
    for at, beside in zip(edges, (start - 2, end + 1)):
        has_slope = 0 <= beside < len(seen) and seen[beside]
        slopes.append((points[at] - points[beside]) * (at - beside) if has_slope else np.zeros(3))
    return CubicHermiteSpline(edges, points[edges], slopes)(np.arange(start, end))


def unit(vectors: Vec3s) -> Vec3s:
    """Return directions; NaN for vectors without one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    with np.errstate(invalid='ignore', divide='ignore'):
        return np.where(lengths > 1e-9, vectors / lengths, np.nan)


def hip_centre(left_front: Vec3s, right_front: Vec3s, back: Vec3s, is_left: bool) -> Vec3s:
    """Return a hip joint's centre (n, 3) [m] by Harrington2007 from ASIS and PSIS or sacrum."""
    middle = 0.5 * (left_front + right_front)
    left = unit(left_front - right_front)
    up = unit(np.cross(middle - back, left))
    front = np.cross(left, up)
    width = np.nanmedian(np.linalg.norm(left_front - right_front, axis=1))
    depth = np.nanmedian(np.sum((middle - back) * front, axis=1))
    out = (_HIP_OUT_PER_WIDTH * width + _HIP_OUT_M) * (1.0 if is_left else -1.0)
    return (
        middle
        + (_HIP_FRONT_PER_DEPTH * depth + _HIP_FRONT_M) * front
        + out * left
        + (_HIP_UP_PER_WIDTH * width + _HIP_UP_M) * up
    )


def chord(centre: Vec3s, marker: Vec3s, plane: Vec3s, distance_m: float) -> Vec3s:
    """
    Return the joint centre that sees the centre above and a marker beside it at a right angle.

    The chord construction of the conventional gait model (Davis1991): the joint is in the
    plane of the joint above, the marker on the joint's outside and a third point, at a given
    distance from the marker (half the joint's width and the marker's radius), on the other side of
    the line from the joint above to the marker than the third point.
    """
    to_centre = centre - marker
    length = np.linalg.norm(to_centre, axis=1, keepdims=True)
    u = unit(to_centre)
    aside = plane - marker
    v = -unit(aside - np.sum(aside * u, axis=1, keepdims=True) * u)
    with np.errstate(invalid='ignore', divide='ignore'):
        cosine = np.where(length > distance_m, distance_m / length, np.nan)
    return marker + distance_m * (cosine * u + np.sqrt(1.0 - cosine**2) * v)


def hinge_centre(
    upper: Vec3s, marker: Vec3s, lower: Vec3s, distance_m: float, is_left: bool
) -> Vec3s:
    """
    Return an elbow's centre from the marker on its outside and the joints above and below.

    From the centre, the marker is in the direction of the hinge's axis, at a right angle to
    both bones. With x from the marker to the centre this is x·(upper - marker) =
    x·(lower - marker) = |x|² = distance², two planes and a sphere. Of the two solutions the
    one counts from which the arm bends forward; for a straight arm they are the same. The left
    arm bends about the axis that points to the body.
    """
    a, b = upper - marker, lower - marker
    aa, bb, ab = (np.sum(u * v, axis=1, keepdims=True) for u, v in ((a, a), (b, b), (a, b)))
    with np.errstate(invalid='ignore', divide='ignore'):
        scale = distance_m**2 / (aa * bb - ab * ab)
        inside = scale * ((bb - ab) * a + (aa - ab) * b)
    rest = distance_m**2 - np.sum(inside * inside, axis=1, keepdims=True)
    normal = unit(np.cross(b, a)) * (1.0 if is_left else -1.0)
    return marker + inside + np.sqrt(np.maximum(rest, 0.0)) * normal


# From markers to a ClipFile.


@dataclass(frozen=True, slots=True)
class MarkerData:
    """Trajectories of labelled markers, in metres, axes as in the file."""

    path: Path  # Where they were read from, for errors
    rate_hz: float  # Frames per second
    labels: tuple[str, ...]  # As in the file, length m
    positions: Floats  # Shape (n, m, 3) [m]; NaN where not seen
    widths_m: Mapping[str, float]  # The subject's measures that the file has, by name [m]
    unit_m: float = 1.0  # Length of the file's unit [m]

    def in_unit(self, unit_m: float) -> 'MarkerData':
        """Return the markers of a file with that unit [m]."""
        return replace(self, positions=self.positions * (unit_m / self.unit_m), unit_m=unit_m)

    def without_beyond(self, distance_m: float) -> 'MarkerData':
        """Return the markers without what is further from the origin along an axis [m]."""
        with np.errstate(invalid='ignore'):
            far = (np.abs(self.positions) > distance_m).any(axis=2, keepdims=True)
        return replace(self, positions=np.where(far, np.nan, self.positions))


def plain_label(label: str) -> str:
    """Return a label without subject, case and separators: 'Anna:L.Knee' is 'lknee'."""
    return ''.join(c for c in label.rpartition(':')[2].lower() if c.isalnum())


def missing_markers(data: MarkerData, marker_set: MarkerSet) -> list[str]:
    """Return the points of a set that the markers cannot give, empty if it fits."""
    seen = np.isfinite(data.positions).all(axis=2).any(axis=0)
    made = {plain_label(data.labels[k]) for k in np.flatnonzero(seen)}
    missing = []
    for name, recipes in marker_set.points.items():
        if any(_has(recipe, made) for recipe in recipes):
            made.add(plain_label(name))
        else:
            missing += sorted(recipes[-1].needs())
    for segment in marker_set.segments.values():
        missing += [segment.origin, *(n for axis in segment.axes for n in axis[1:])]
    missing += marker_set.ends.values()
    known = made | set(map(plain_label, marker_set.points))
    return [n for n in dict.fromkeys(missing) if plain_label(n) not in known]


def body_points(data: MarkerData, marker_set: MarkerSet) -> dict[str, Vec3s]:
    """Return all points and markers of a set that fits, by plain label, shape (n, 3) [m]."""
    filled = fill_gaps(data.positions, round(MAX_GAP_S * data.rate_hz))
    points: dict[str, Vec3s] = {}
    for column, label in enumerate(data.labels):
        points.setdefault(plain_label(label), filled[:, column])
    for name, recipes in marker_set.points.items():
        recipe = next(r for r in recipes if _has(r, set(points)))
        points[plain_label(name)] = _make(recipe, points, data.widths_m)
    return points


def to_clip_file(
    data: MarkerData, marker_set: MarkerSet, points: Mapping[str, Vec3s], q_world_file: Floats
) -> tuple[ClipFile, NameMap, str]:
    """
    Return the body of the markers as a clip file, its name map, and a note on dropped frames.

    `points` are the markers' `body_points`; `q_world_file` turns the file's axes to ones whose Z
    is up.

    Raise InputFileError if no two frames in a row have all points.
    """
    world = {name: rotate(q_world_file, point) for name, point in points.items()}
    segments = [marker_set.segments[name] for name in SEGMENTS]
    q_world = np.stack([_orientation(segment, world) for segment in segments], axis=1)
    origins = [segment.origin for segment in segments]
    ends = [marker_set.ends[name] for name in ENDS]
    p_world = np.stack([world[plain_label(name)] for name in (*origins, *ends)], axis=1)
    # A sum is finite where all its parts are.
    sums = q_world.sum(axis=(1, 2)) + p_world.sum(axis=(1, 2))
    whole = runs(np.asarray(np.isfinite(sums)))
    frames = slice(*max(whole, key=lambda run: run[1] - run[0], default=(0, 0)))
    n_kept = frames.stop - frames.start
    if n_kept < 2:
        worst = min(world, key=lambda name: int(np.isfinite(world[name]).all(axis=1).sum()))
        wanted, got = 'frames with all markers of the set', f'none for {worst}'
        raise InputFileError(data.path, wanted, got, field='POINT')
    note = ''
    if n_kept < len(q_world):
        note = f'frames {frames.start + 1} to {frames.stop} of {len(q_world)}: '
        note += f'elsewhere markers are missing for more than {MAX_GAP_S} s'
    clip = _clip_file(data, q_world[frames], p_world[frames])
    return clip, NameMap(marker_set.name, _NAME_MAP, T_POSE), note


def _clip_file(data: MarkerData, q_world: Quats, p_world: Vec3s) -> ClipFile:
    names = (*SEGMENTS, *(segment + TIP_SUFFIX for segment in ENDS))
    parents = np.array([*PARENTS, *(SEGMENT_INDEX[segment] for segment in ENDS)])
    n_frames = len(q_world)
    rotations = np.zeros((n_frames, len(names), 4))
    rotations[..., 0] = 1.0
    translations = np.array(p_world)
    rotations[:, 0] = q_world[:, 0]
    for joint in range(1, len(names)):
        parent = int(parents[joint])
        to_parent = conjugate(q_world[:, parent])
        translations[:, joint] = rotate(to_parent, p_world[:, joint] - p_world[:, parent])
        if joint < len(SEGMENTS):
            rotations[:, joint] = multiply(to_parent, q_world[:, joint])
    offsets = np.median(translations, axis=0)
    offsets[0] = 0.0
    return ClipFile(data.path, data.rate_hz, names, parents, offsets, rotations, translations)


def _has(recipe: Recipe, made: set[str]) -> bool:
    return all(plain_label(name) in made for name in recipe.needs())


def _make(recipe: Recipe, points: Mapping[str, Vec3s], widths_m: Mapping[str, float]) -> Vec3s:
    groups = [[points[plain_label(n)] for n in names] for names in recipe.points.values()]
    inputs = [np.mean(group, axis=0) for group in groups]
    numbers = recipe.numbers
    if recipe.kind == 'mean':
        return inputs[0]
    if recipe.kind == 'between':
        return inputs[0] + numbers['share'] * (inputs[1] - inputs[0])
    if recipe.kind == 'step':
        return inputs[0] + numbers['distance_m'] * unit(inputs[2] - inputs[1])
    is_left = recipe.kind.startswith('left')
    if recipe.kind.endswith('hip'):
        return hip_centre(inputs[0], inputs[1], inputs[2], is_left)
    width = widths_m.get(recipe.parameter.lower())
    distance = numbers['distance_m'] if not width else 0.5 * width + MARKER_RADIUS_M
    if recipe.kind.endswith('hinge'):
        return hinge_centre(inputs[0], inputs[1], inputs[2], distance, is_left)
    return chord(inputs[0], inputs[1], inputs[2], distance)


def _orientation(segment: MarkerSegment, points: Mapping[str, Vec3s]) -> Quats:
    """Return the segment's orientation in world, shape (n, 4); NaN where points are missing."""
    (first, *ends_1), (second, *ends_2) = segment.axes
    directions = [
        points[plain_label(end)] - points[plain_label(start)] for start, end in (ends_1, ends_2)
    ]
    i, j = AXES.index(first), AXES.index(second)
    k = 3 - i - j
    matrix = np.empty((len(directions[0]), 3, 3))
    matrix[:, :, [i, j, k]] = two_axis_matrix(*directions)
    matrix[:, :, k] *= 1.0 if (j - i) % 3 == 1 else -1.0
    quats = np.full((len(matrix), 4), np.nan)
    good = np.asarray(np.isfinite(matrix).all(axis=(1, 2)))
    if good.any():
        quats[good] = from_matrix(matrix[good])
    return quats
