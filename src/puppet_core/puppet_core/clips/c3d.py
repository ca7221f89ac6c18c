# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Reader of C3D marker files by ezc3d, an optional dependency; unlabelled points are left out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core import named_files
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.detect import (
    choose_unit,
    CLEAR_FRACTION,
    Finding,
    LEG_PER_STATURE,
    signed_axis,
)
from puppet_core.clips.markers import (
    body_points,
    load_marker_set,
    MarkerData,
    MarkerSet,
    missing_markers,
    plain_label,
    to_clip_file,
)
from puppet_core.clips.name_map import NameMap
from puppet_core.clips.options import AUTO, ClipOptions, UP_AXES
from puppet_core.clips.reading import read_isolated
from puppet_core.clips.skeleton_map import Q_WORLD_FILE
from puppet_core.io import InputFileError, require_file

SUFFIX = '.c3d'
UNIT_NAMES_M = {'m': 1.0, 'cm': 0.01, 'mm': 0.001, 'in': 0.0254, 'inch': 0.0254, 'inches': 0.0254}
_FAR_M = 1e4  # what lies beyond is no marker


def read_c3d(
    path: Path, options: ClipOptions
) -> tuple[ClipFile, NameMap, Finding, Finding, tuple[str, ...]]:
    """
    Return the body in a C3D file: clip, its name map, unit, vertical, and notes.

    Raise InputFileError naming the field, ConfigError without ezc3d or for an unknown marker set.
    """
    data, unit, screen_up = _read(path, options)
    marker_set = _fitting_set(data, options.marker_set)
    if options.unit_m is None:
        data, unit = _in_human_unit(data, marker_set, unit)
    points = body_points(data.without_beyond(_FAR_M), marker_set)
    up_axis = _up_axis(options.up_axis, screen_up, marker_set, points)
    clip, names, note = to_clip_file(data, marker_set, points, Q_WORLD_FILE[up_axis.value])
    return clip, names, unit, up_axis, (note,) if note else ()


def _read(path: Path, options: ClipOptions) -> tuple[MarkerData, Finding, str]:
    _check_header(path)
    content = read_isolated(path, 'C3D', 'ezc3d', read_content)
    n_frames, n_points = content['points'].shape[:2]
    if not n_points or n_frames < 2:
        got = f'{n_points} labels and {n_frames} frames'
        raise InputFileError(path, 'labelled points over two frames or more', got, field='POINT')
    rate_hz = options.rate_hz or float(content['rate_hz'])
    if not 0.1 <= rate_hz <= 1e4:
        wanted, field, hint = 'a rate in 0.1 .. 10000', 'POINT:RATE', 'or give the rate, --rate-hz'
        raise InputFileError(path, wanted, f'{rate_hz:g}', field=field, hint=hint)
    unit_m, unit = _unit(path, str(content['unit']), options.unit_m)
    positions = content['points'] * unit_m
    with np.errstate(invalid='ignore'):
        # By the format a negative residual marks a point that was not seen; zeros do so too.
        unseen = ~np.isfinite(positions).all(axis=2) | ~positions.any(axis=2)
        unseen |= content['residuals'] < 0.0
    positions[unseen] = np.nan
    widths = dict(zip(content['names'].tolist(), (0.001 * content['numbers']).tolist()))
    labels = tuple(content['labels'].tolist())
    data = MarkerData(path, rate_hz, labels, positions, widths, unit_m)
    return data, unit, str(content['y_screen'])


def _check_header(path: Path) -> None:
    """Refuse what is no C3D, or promises more than the file has, before memory is taken."""
    try:
        require_file(path)
        with path.open('rb') as file:
            head = file.read(512)
            file.seek(512 * (max(head[0], 1) - 1) if head else 0)
            section = file.read(4)
            size = file.seek(0, 2)
    except OSError as err:
        raise InputFileError(path, 'a readable C3D file', err.strerror or str(err)) from err
    if len(head) < 512 or head[1] != 0x50 or head[0] == 0:
        raise InputFileError(path, 'a C3D file', 'other or missing data')
    if len(section) < 4 or section[3] not in (84, 85, 86):
        got = 'no parameter section' if len(section) < 4 else f'processor type {section[3]}'
        raise InputFileError(path, 'a C3D file', got, field='parameters')
    order = '>' if section[3] == 86 else '<'
    points, _, first, last = np.frombuffer(head[2:10], f'{order}u2').astype(int)
    if points * max(last - first + 1, 1) * 8 > size * 1.01 + 8 * points and last < 65535:
        got = f'{size} bytes for {points} points over {last - first + 1} frames'
        raise InputFileError(path, 'a whole C3D file', got, field='header')


def _unit(path: Path, text: str, given_m: float | None) -> tuple[float, Finding]:
    if given_m is not None:
        return given_m, Finding(f'{given_m:g} m', 'as given')
    if text.lower() in UNIT_NAMES_M:
        return UNIT_NAMES_M[text.lower()], Finding(text, 'POINT:UNITS')
    if not text:
        return 0.001, Finding('mm', 'usual in C3D; POINT:UNITS is empty', is_sure=False)
    known = ', '.join(UNIT_NAMES_M)
    raise InputFileError(
        path, f'one of {known}', repr(text), field='POINT:UNITS', hint='or give the unit, --unit'
    )


def _in_human_unit(
    data: MarkerData, marker_set: MarkerSet, stated: Finding
) -> tuple[MarkerData, Finding]:
    """Return the markers in the unit that gives a human's size, the stated one if it does."""

    def stature_m(unit_m: float) -> float:
        points = body_points(data.in_unit(unit_m).without_beyond(_FAR_M), marker_set)
        legs = []
        for side in ('left', 'right'):
            hip, knee, ankle = (
                points[plain_label(marker_set.segments[f'{side}_{name}'].origin)]
                for name in ('thigh', 'shank', 'foot')
            )
            lengths = np.linalg.norm(knee - hip, axis=1) + np.linalg.norm(ankle - knee, axis=1)
            lengths = lengths[np.isfinite(lengths)]
            legs.append(float(np.median(lengths)) if len(lengths) else 0.0)
        return 0.5 * sum(legs) / LEG_PER_STATURE

    unit_m, finding = choose_unit(data.unit_m, stature_m)
    if unit_m == data.unit_m and finding.is_sure:
        return data, stated
    why = f'{stated.why} says {stated.value}; {finding.why}'
    return data.in_unit(unit_m), finding._replace(why=why)


def _fitting_set(data: MarkerData, name: str | None) -> MarkerSet:
    names = [name] if name is not None else named_files.available('markersets')
    trials = [(missing_markers(data, found), found) for found in map(load_marker_set, names)]
    fitting = [found for missing, found in trials if not missing]
    if fitting:
        return max(fitting, key=lambda found: len(found.names()))
    missing, nearest = min(trials, key=lambda trial: len(trial[0]))
    named = [(n, k) for k, n in enumerate(data.labels) if not plain_label(n).startswith('*')]
    seen = np.any(np.isfinite(data.positions).all(axis=2), axis=0).tolist()
    here, unseen = (', '.join(n for n, k in named if seen[k] == is_seen) for is_seen in (1, 0))
    wanted, got = f'the markers of {nearest.name}', f'none for {", ".join(missing)}'
    hint = f'markers here: {here}; never seen: {unseen or "none"}; or give a marker set, --markers'
    raise InputFileError(data.path, wanted, got, field='POINT:LABELS', hint=hint)


def _up_axis(
    given: str, screen_up: str, marker_set: MarkerSet, points: Mapping[str, np.ndarray]
) -> Finding:
    if given != AUTO:
        return Finding(given, 'as given')
    head = points[plain_label(marker_set.segments['head'].origin)]
    pelvis = points[plain_label(marker_set.segments['pelvis'].origin)]
    body = np.nanmedian(head - pelvis, axis=0)
    body /= np.linalg.norm(body)
    axis, fraction = signed_axis(body)
    stated = screen_up.strip().lower().lstrip('+')
    if stated not in UP_AXES or stated == AUTO:
        # Of labs none is X up: then somebody lies.
        is_sure = fraction > CLEAR_FRACTION and axis.strip('-') != 'x'
        return Finding(axis, 'the trunk stands along it', is_sure)
    along = body['xyz'.index(stated[-1])] * (-1.0 if stated.startswith('-') else 1.0)
    if along < -CLEAR_FRACTION:
        return Finding(stated, f'POINT:Y_SCREEN; the trunk stands along {axis}', is_sure=False)
    return Finding(stated, 'POINT:Y_SCREEN')


# The library, in a process of its own.


def _values(parameters: Mapping[str, Any], group: str, name: str) -> list[Any]:
    entry = parameters.get(group, {}).get(name)
    return list(entry['value']) if isinstance(entry, Mapping) and 'value' in entry else []


def _text(parameters: Mapping[str, Any], name: str) -> str:
    values = _values(parameters, 'POINT', name)
    return str(values[0]).strip() if values else ''


def read_content(path: str) -> dict[str, Any]:
    """
    Return a file's content in the file's unit.

    labels (m,), points (n, m, 3), residuals (n, m), negative where a point was not seen, rate_hz;
    unit and y_screen, '' where POINT has none; names and numbers of the group PROCESSING.
    """
    import ezc3d

    content = ezc3d.c3d(path)
    parameters = content['parameters']
    # More than 255 labels go on in LABELS2, LABELS3 ..
    names = ('LABELS', *(f'LABELS{number}' for number in range(2, 100)))
    labels = [str(text).strip() for name in names for text in _values(parameters, 'POINT', name)]
    points = np.asarray(content['data']['points'], dtype=np.float64)
    labels = labels[: points.shape[1]]
    measures = {}
    for key in parameters.get('PROCESSING', {}):
        values = _values(parameters, 'PROCESSING', key)
        if len(values) == 1 and isinstance(values[0], (int, float, np.number)):
            measures[key.lower()] = float(values[0])
    residuals = np.asarray(content['data']['meta_points']['residuals'], dtype=np.float64)
    return {
        'labels': np.array(labels, dtype=str),
        'points': points[:3, : len(labels)].transpose(2, 1, 0),
        'residuals': residuals[0, : len(labels)].T,
        'rate_hz': float(content['header']['points']['frame_rate']),
        'unit': _text(parameters, 'UNITS'),
        'y_screen': _text(parameters, 'Y_SCREEN'),
        'names': np.array(list(measures), dtype=str),
        'numbers': np.array(list(measures.values())),
    }
