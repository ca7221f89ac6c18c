# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Sample points on a body's surface: forty a segment, eight rings of five (Shin2002 4.2, fig. 4.4).

Rings stand evenly along a segment's axis, square to it. Each point is where a ray from the axis
leaves the capsules for the last time; where it meets nothing the point is on the axis. Pelvis,
spine and chest are one body for the rays. Files of `puppet-surface/1` have measured points
instead.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from puppet_core.body.capsules import Capsule, crossings
from puppet_core.body.skeleton import N_SEGMENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.io import ConfigError, dump_yaml, load_yaml, Section, write_text
from puppet_core.math import check_array, Vec3, Vec3s

N_RINGS, N_ROUND = 8, 5  # Shin2002 4.2
N_SAMPLES = N_RINGS * N_ROUND
FORMAT = 'puppet-surface/1'
FARTHEST_M = 3.0  # of a point from its segment's joint; catches millimetres given as metres

_DECIMALS = 6  # a micrometre

_TORSO = ('pelvis', 'spine', 'chest')
_SHARES = (np.arange(N_RINGS) + 0.5) / N_RINGS
_FRONT, _UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
_KNOWN: dict[bytes, Vec3s] = {}  # by the numbers of a body: a tenth of a second each
_MOST_KNOWN = 16
_PARALLEL_SINE = 0.1  # [-]; below it two directions do not span a plane well


def surface_samples(skeleton: Skeleton, capsules: Sequence[Capsule]) -> Vec3s:
    """
    Return finite sample points on each segment's surface, in its frame, shape (16, 40, 3) [m].

    The axis of an arm's or leg's segment runs from its joint to the next; of the pelvis, from the
    hips' level to the spine's joint; of spine and chest, up to the next joint; of the head, to its
    top; of a hand, to the fingertips; of a foot, from heel to toe, at half the foot's height
    there.

    Point k of ring i is row 5 i + k; k = 0 is in front, on a foot on top. From there they go round
    to the left on torso and head, upwards on arms, and outwards on legs and feet: the right side
    of a symmetric body mirrors the left row by row, and on the torso row k mirrors row 5 - k.
    """
    numbers = [skeleton.offsets, skeleton.interaction_points]
    numbers += [np.array([c.segment, *c.start, *c.end, c.radius]) for c in capsules]
    key = b''.join(array.tobytes() for array in numbers)
    if key not in _KNOWN:
        while len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.pop(next(iter(_KNOWN)))
        _KNOWN[key] = _surface_samples(skeleton, capsules)
    return _KNOWN[key].copy()


def _surface_samples(skeleton: Skeleton, capsules: Sequence[Capsule]) -> Vec3s:
    samples = np.empty((N_SEGMENTS, N_SAMPLES, 3))
    torso = _torso_capsules(skeleton, capsules)
    rest = skeleton.rest_positions()
    for index, segment in enumerate(SEGMENTS):
        own = tuple(c for c in capsules if c.segment == index)
        starts, axis = _axis(skeleton, segment, own)
        if segment in _TORSO:
            # torso capsules are in the pelvis' frame, which at rest differs by a shift alone
            samples[index] = _ring_points(starts + rest[index], axis, segment, torso) - rest[index]
        else:
            samples[index] = _ring_points(starts, axis, segment, own)
    return samples


def read_surface(path: str | Path) -> dict[str, Vec3s]:
    """Return the measured points by segment name, shape (40, 3) each [m], as in the file."""
    source = load_yaml(path, FORMAT)
    points = source.section('points_m')
    source.finish()
    found = {name: _points(points, name) for name in SEGMENTS if name in points}
    points.finish()
    return found


def save_surface(samples: Vec3s, path: str | Path, segments: Sequence[str] = SEGMENTS) -> None:
    """Write the points of some segments of samples (16, 40, 3) [m]; or ConfigError."""
    tree = {}
    for name in segments:
        if name not in SEGMENT_INDEX:
            raise ConfigError(f'segments: expected some of {", ".join(SEGMENTS)}, got {name!r}')
        points = check_array(name, samples[SEGMENT_INDEX[name]], (N_SAMPLES, 3))
        if np.max(np.abs(points)) > FARTHEST_M:
            raise ConfigError(
                f'{name}: expected coordinates within {FARTHEST_M:g} m, '
                f'got {np.max(np.abs(points)):g} m'
            )
        tree[name] = np.round(points, _DECIMALS).tolist()
    ordered = {name: tree[name] for name in SEGMENTS if name in tree}
    write_text(path, dump_yaml({'format': FORMAT, 'points_m': ordered}))


def _torso_capsules(skeleton: Skeleton, capsules: Sequence[Capsule]) -> tuple[Capsule, ...]:
    """Return the capsules of pelvis, spine and chest in the pelvis' frame at rest."""
    rest = skeleton.rest_positions()
    torso = {SEGMENT_INDEX[name] for name in _TORSO}
    return tuple(
        Capsule(0, c.start + rest[c.segment], c.end + rest[c.segment], c.radius)
        for c in capsules
        if c.segment in torso
    )


def _axis(skeleton: Skeleton, segment: str, own: Sequence[Capsule]) -> tuple[Vec3s, Vec3]:
    """Return the rings' centres (8, 3) and the axis' direction, not unit, in the frame."""
    part = segment.split('_', 1)[-1] if '_' in segment else segment
    if part == 'foot':
        return _foot_axis(own)
    start, end = np.zeros(3), np.zeros(3)
    if part == 'pelvis':
        hips = skeleton.offsets[[SEGMENT_INDEX['left_thigh'], SEGMENT_INDEX['right_thigh']]]
        start, end = hips.mean(axis=0), skeleton.offsets[SEGMENT_INDEX['spine']]
    elif part == 'head':
        _, leave = crossings(np.zeros((1, 3)), _UP[np.newaxis], own)
        end[2] = np.max(leave, initial=0.0)
    elif part == 'hand':
        side = -1.0 if segment.startswith('right_') else 1.0
        tips = [max(side * c.start[1], side * c.end[1]) + c.radius for c in own]
        end[1] = side * max(tips, default=0.0)
    else:
        end = skeleton.offsets[SEGMENT_INDEX[segment] + 1]
    centres = start + _SHARES[:, np.newaxis] * (end - start)
    if np.array_equal(start, end):
        return centres, _straight(segment)
    return centres, end - start


def _straight(segment: str) -> Vec3:
    """Return the direction that a segment without length has at rest."""
    if segment.endswith(('arm', 'hand')):
        return np.array([0.0, -1.0 if segment.startswith('right_') else 1.0, 0.0])
    return -_UP if segment.endswith(('thigh', 'shank')) else _UP


def _foot_axis(own: Sequence[Capsule]) -> tuple[Vec3s, Vec3]:
    """Return the rings' centres and the axis of a foot: each at half the height it has there."""
    if not own:
        return np.zeros((N_RINGS, 3)), _FRONT
    ends = np.array([(c.start, c.end) for c in own])
    radii = np.array([[c.radius] * 2 for c in own])[..., np.newaxis]
    low, high = (ends - radii).min(axis=(0, 1)), (ends + radii).max(axis=(0, 1))
    centres = np.zeros((N_RINGS, 3))
    centres[:, 0] = low[0] + _SHARES * (high[0] - low[0])
    enter, leave = crossings(centres, np.tile(_UP, (N_RINGS, 1)), own)
    bottom, top = enter.min(axis=1), leave.max(axis=1)
    hit = bottom <= top
    centres[:, 2] = 0.5 * (low[2] + high[2])
    centres[hit, 2] = 0.5 * (bottom[hit] + top[hit])
    return centres, _FRONT


def _ring_points(centres: Vec3s, axis: Vec3, segment: str, capsules: Sequence[Capsule]) -> Vec3s:
    """Return the points (40, 3) where the rays from the rings' centres leave the capsules."""
    along = axis / np.linalg.norm(axis)
    front = _UP if segment.endswith('foot') else _FRONT
    if np.linalg.norm(np.cross(front, along)) < _PARALLEL_SINE:
        front = _FRONT if segment.endswith('foot') else _UP
    front = front - (front @ along) * along
    front = front / np.linalg.norm(front)
    # a mirror turns a cross product round
    beside = np.cross(front, along) * (1.0 if segment.startswith('left_') else -1.0)
    angles = np.arange(N_ROUND) * (2.0 * np.pi / N_ROUND)
    round_ = np.cos(angles)[:, np.newaxis] * front + np.sin(angles)[:, np.newaxis] * beside
    origins = np.repeat(centres, N_ROUND, axis=0)
    directions = np.tile(round_, (N_RINGS, 1))
    _, leave = crossings(origins, directions, capsules)
    reach = np.max(leave, axis=1, initial=0.0)
    return origins + reach[:, np.newaxis] * directions


def _points(section: Section, segment: str) -> Vec3s:
    wanted = f'{N_SAMPLES} points of three numbers within {FARTHEST_M:g} m'
    rows = section.raw(segment)
    if not isinstance(rows, list) or len(rows) != N_SAMPLES:
        got = f'{len(rows)} of them' if isinstance(rows, list) else 'no list'
        raise section.error(segment, wanted, got)
    for i, row in enumerate(rows):
        good = isinstance(row, list) and len(row) == 3
        # a truth value is an integer to Python
        if not good or not all(
            type(value) in (int, float) and abs(value) <= FARTHEST_M for value in row
        ):
            raise section.error(segment, wanted, f'{str(row):.60} as point {i}')
    return np.array(rows, dtype=np.float64)
