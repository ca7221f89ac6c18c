# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Values of an edit file's entries: points of the body, rows of numbers, angles, axes."""

from collections.abc import Sequence
import math

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import Section
from puppet_core.skeleton import GENERAL_END_EFFECTORS, SEGMENT_INDEX, SEGMENTS
from puppet_retarget.editing.constraints import BodyPoint

POINTS = tuple(dict.fromkeys(GENERAL_END_EFFECTORS + SEGMENTS))


def one_of(entry: Section, ways: Sequence[str]) -> str:
    """Return which one of some keys an entry has; raise if it has none or two of them."""
    given = [way for way in ways if way in entry]
    wanted = f'one of {", ".join(ways)}'
    if len(given) > 1:
        raise entry.error(given[-1], wanted, ' and '.join(given))
    if not given:
        # a key in another unit begins with the same word
        firsts = {way.partition('_')[0] for way in ways}
        like = [key for key in entry.keys() if key.partition('_')[0] in firsts]
        key = like[0] if like else ways[0]
        raise entry.error(key, wanted, brief(key) if like else 'none of them')
    return given[0]


def read_point(entry: Section, key: str) -> BodyPoint:
    """Return the point that a key names, or the one at `offset_m` in its segment."""
    point = named_point(entry, key, entry.raw(key))
    if 'offset_m' in entry:
        return BodyPoint(point.segment, entry.numbers('offset_m', 3))
    return point


def named_point(entry: Section, key: str, name: object) -> BodyPoint:
    """Return a point of the body by its name."""
    if not isinstance(name, str) or name not in POINTS:
        raise entry.error(key, f'one of {", ".join(POINTS)}', brief(name))
    return BodyPoint.named(name)


def read_segment(entry: Section, key: str) -> int:
    """Return the index of the segment that a key names."""
    return SEGMENT_INDEX[entry.text(key, choices=SEGMENTS)]


def read_rows(
    entry: Section, key: str, count: int, default: Floats | None = None, width: int = 3
) -> Floats:
    """Return one row for all frames, shape (width,), or one for each, shape (count, width)."""
    if default is not None and key not in entry:
        return default
    value = entry.raw(key)
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return entry.numbers(key, width)
    good = len(value) == count and all(
        isinstance(row, list) and len(row) == width and all(map(_is_number, row)) for row in value
    )
    if not good:
        raise entry.error(
            key, f'{width} finite numbers, or a row of {width} for each of {count} frames',
            f'{len(value)} rows',
        )  # fmt: skip
    return np.array(value, dtype=np.float64)


def _is_number(value: object) -> bool:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return good and math.isfinite(value)  # type: ignore[arg-type]


def read_angles(entry: Section, key: str, count: int) -> Vec3s:
    """Return rows of three angles, given in degrees [rad]."""
    angles = read_rows(entry, key, count)
    if np.abs(angles).max() > 360.0:
        raise entry.error(key, 'angles in degrees, -360 .. 360', brief(entry.raw(key)))
    return np.radians(angles)


def from_rpy(angles: Vec3s) -> Quats:
    """Return rotations by roll, pitch and yaw: about x, then y, then z of the world."""
    roll, pitch, yaw = (qb.exp(angles[..., [k]] * np.eye(3)[k]) for k in range(3))
    return qb.multiply(qb.multiply(yaw, pitch), roll)


def read_axes(entry: Section) -> tuple[bool, bool, bool]:
    """Return which coordinates count; all where the entry does not say."""
    text = entry.text('axes', 'xyz')
    if not text or set(text) - set('xyz') or len(set(text)) != len(text):
        raise entry.error('axes', 'some of xyz, such as xy', brief(text))
    return ('x' in text, 'y' in text, 'z' in text)
