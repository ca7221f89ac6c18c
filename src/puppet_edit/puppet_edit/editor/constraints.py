# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What an edited motion has to do, and in which frames (LeeShin1999 section 4.2).

Each constraint holds in a list of frames; one over an interval lists all of them. All but one
are of single frames. `Plant` relates frames to each other: points stay where they are over the
interval, and where that is the editor decides.

"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from puppet_core.body import (
    END_EFFECTORS,
    GENERAL_END_EFFECTORS,
    LIMB_SEGMENTS,
    N_SEGMENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
)
from puppet_core.io import ConfigError
from puppet_core.math import check_array, Floats, Ints, Quats, read_only, Vec3, Vec3s
from puppet_core.math import quaternions as qb

_END_SEGMENTS = LIMB_SEGMENTS[:, 2].tolist()

__all__ = [
    'ABOVE',
    'BELOW',
    'BodyPoint',
    'check_frames',
    'Constraint',
    'FlatSurface',
    'frame_range',
    'LookAt',
    'ON',
    'OnSurface',
    'OrientationGoal',
    'Plant',
    'PointGoal',
    'Relative',
    'Surface',
]

MAX_COORDINATE_M = 1e4  # of a goal from the origin
MAX_WEIGHT = 1e3
ON, ABOVE, BELOW = 'on', 'above', 'below'
SIDES = (ON, ABOVE, BELOW)


@dataclass(frozen=True, slots=True)
class BodyPoint:
    """A point fixed in a segment."""

    segment: int
    """Index into SEGMENTS."""

    offset: Vec3 | None = None
    """In the segment's frame [m]; None for the palm or sole centre, or else the joint."""

    def __post_init__(self) -> None:
        check_segment(self.segment)
        if self.offset is not None:
            object.__setattr__(self, 'offset', read_only(check_array('offset', self.offset, (3,))))

    @classmethod
    def named(cls, name: str) -> 'BodyPoint':
        """Return a general end-effector, or else the joint of a segment, by name."""
        if name in GENERAL_END_EFFECTORS:
            row = GENERAL_END_EFFECTORS.index(name)
            return cls(int(LIMB_SEGMENTS[row % 4, 2 if row < 4 else 1]))
        if name in SEGMENT_INDEX:
            return cls(SEGMENT_INDEX[name])
        known = ', '.join(dict.fromkeys(GENERAL_END_EFFECTORS + SEGMENTS))
        raise ConfigError(f'point: expected one of {known}, got {name!r}')

    @property
    def name(self) -> str:
        """Return how reports name the point."""
        if self.offset is None and self.segment in _END_SEGMENTS:
            return END_EFFECTORS[_END_SEGMENTS.index(self.segment)]
        return SEGMENTS[self.segment]

    def offset_in(self, skeleton: Skeleton) -> Vec3:
        """Return the point in its segment's frame of a body, shape (3,) [m]."""
        if self.offset is not None:
            return self.offset
        if self.segment in _END_SEGMENTS:
            return skeleton.interaction_points[_END_SEGMENTS.index(self.segment)]
        return np.zeros(3)


def check_segment(segment: int) -> None:
    """Raise ConfigError if there is no such segment."""
    if not 0 <= segment < N_SEGMENTS:
        raise ConfigError(f'segment: expected 0 .. {N_SEGMENTS - 1}, got {segment}')


class Surface(Protocol):
    """Ground or another height field; both methods broadcast."""

    def height(self, x: Floats, y: Floats) -> Floats:
        """Return z of the surface [m] over places x, y [m]."""
        ...

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return how z changes with x and with y, shape (..., 2) [-]."""
        ...


@dataclass(frozen=True, slots=True)
class FlatSurface:
    """A level floor or ceiling."""

    z: float = 0.0
    """Its height [m]."""

    def height(self, x: Floats, y: Floats) -> Floats:
        """Return z everywhere [m]."""
        return np.full(np.broadcast(x, y).shape, self.z)

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return zeros, shape (..., 2)."""
        return np.zeros((*np.broadcast(x, y).shape, 2))


@dataclass(frozen=True, slots=True)
class PointGoal:
    """A point of the body is at a place."""

    frames: Ints
    """Frame indices, shape (k,)."""

    point: BodyPoint
    """What."""

    goals: Vec3s
    """Where, in world, shape (k, 3), or (3,) for all frames [m]."""

    axes: tuple[bool, bool, bool] = (True, True, True)
    """Which coordinates count."""

    keep_orientation: bool = False
    """Whether the segment also keeps the orientation in world that it had before editing."""

    contact: bool = False
    """Whether the root goes along with the goal from the start (LeeShin1999 section 4.5)."""

    weight: float = 1.0
    """Factor on the usual penalty, > 0."""

    def __post_init__(self) -> None:
        _check_common(self, self.weight)
        _set_rows(self, 'goals', 3)
        axes = tuple(bool(axis) for axis in self.axes)
        if len(axes) != 3 or not any(axes):
            raise ConfigError(f'axes: expected three, not all false, got {self.axes}')
        object.__setattr__(self, 'axes', axes)


@dataclass(frozen=True, slots=True)
class OrientationGoal:
    """A segment is turned in a given way."""

    frames: Ints
    """Frame indices, shape (k,)."""

    segment: int
    """Index into SEGMENTS."""

    orientations: Quats
    """Of the segment in world, shape (k, 4), or (4,) for all frames."""

    weight: float = 1.0
    """Factor on the usual penalty, > 0."""

    def __post_init__(self) -> None:
        _check_common(self, self.weight)
        check_segment(self.segment)
        rows = _set_rows(self, 'orientations', 4)
        if np.any(np.linalg.norm(rows, axis=-1) < 1e-6):
            raise ConfigError('orientations: expected unit quaternions, got a zero one')
        object.__setattr__(self, 'orientations', read_only(qb.normalize(rows)))


@dataclass(frozen=True, slots=True)
class LookAt:
    """An axis of a segment points to a place."""

    frames: Ints
    """Frame indices, shape (k,)."""

    point: BodyPoint
    """From where, such as between the eyes."""

    axis: Vec3
    """In the frame of the point's segment, any length but zero, shape (3,)."""

    targets: Vec3s
    """Where to, in world, shape (k, 3), or (3,) for all frames [m]."""

    weight: float = 1.0
    """Factor on the usual penalty, > 0."""

    def __post_init__(self) -> None:
        _check_common(self, self.weight)
        _set_rows(self, 'targets', 3)
        axis = check_array('axis', self.axis, (3,))
        length = float(np.linalg.norm(axis))
        if length < 1e-6:
            raise ConfigError('axis: expected a direction, got zero')
        object.__setattr__(self, 'axis', read_only(axis / length))


@dataclass(frozen=True, slots=True)
class OnSurface:
    """A point of the body is on a surface, or on one side of it."""

    frames: Ints
    """Frame indices, shape (k,)."""

    point: BodyPoint
    """What."""

    surface: Surface
    """Of what."""

    side: str = ON
    """One of SIDES."""

    clearance_m: float = 0.0
    """How far above the surface the boundary is, straight up; negative for below."""

    contact: bool = False
    """Whether the root goes along with the surface from the start."""

    weight: float = 1.0
    """Factor on the usual penalty, > 0."""

    def __post_init__(self) -> None:
        _check_common(self, self.weight)
        if self.side not in SIDES:
            raise ConfigError(f'side: expected one of {", ".join(SIDES)}, got {self.side!r}')
        check_array('clearance_m', [self.clearance_m], (1,))


@dataclass(frozen=True, slots=True)
class Relative:
    """Two points of the body are a vector or a distance apart."""

    frames: Ints
    """Frame indices, shape (k,)."""

    first: BodyPoint
    """From here."""

    second: BodyPoint
    """To here."""

    vectors: Vec3s | None = None
    """From first to second, in world, shape (k, 3), or (3,) for all frames [m]."""

    distances: Floats | None = None
    """Or how far, shape (k,), or () for all frames, > 0 [m]; for none a vector of zero."""

    weight: float = 1.0
    """Factor on the usual penalty, > 0."""

    def __post_init__(self) -> None:
        _check_common(self, self.weight)
        if self.first.segment == self.second.segment:
            raise ConfigError(
                f'relative: expected two segments, got {SEGMENTS[self.first.segment]} twice'
            )
        if (self.vectors is None) == (self.distances is None):
            raise ConfigError('relative: expected either vectors or distances')
        if self.vectors is not None:
            _set_rows(self, 'vectors', 3)
            return
        distances = np.asarray(self.distances, dtype=np.float64)
        if distances.ndim == 0:
            distances = np.full(len(self.frames), float(distances))
        distances = check_array('distances', distances, (len(self.frames),))
        if np.any(distances <= 0.0):
            raise ConfigError('distances: expected > 0, for touching use a vector of zero')
        object.__setattr__(self, 'distances', read_only(distances))


@dataclass(frozen=True, slots=True)
class Plant:
    """Points of the body stay in one place, which is free (LeeShin1999 section 7)."""

    frames: Ints
    """Frame indices of one interval, shape (k,)."""

    points: tuple[BodyPoint, ...]
    """What, such as a sole's centre or its heel and toe."""

    surface: Surface | None = None
    """What the place is on; None leaves its height free too."""

    clearance_m: float = 0.0
    """How far above the surface, straight up."""

    keep_orientation: bool = True
    """Whether the segments keep the orientation in world that they had before editing."""

    weight: float = 1.0
    """Factor on the usual penalty, > 0."""

    def __post_init__(self) -> None:
        _check_common(self, self.weight)
        points = tuple(self.points)
        if not points:
            raise ConfigError('plant: expected at least one point, got none')
        object.__setattr__(self, 'points', points)
        check_array('clearance_m', [self.clearance_m], (1,))


Constraint = PointGoal | OrientationGoal | LookAt | OnSurface | Relative | Plant


def frame_range(first: int, last: int) -> Ints:
    """Return all frames of an interval, both ends among them."""
    return np.arange(first, last + 1, dtype=np.int64)


def check_frames(frames: ArrayLike) -> Ints:
    """Return frame indices, rising, as a read-only array; raise ConfigError if they are not."""
    values: NDArray = np.asarray(frames)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in 'iu':
        raise ConfigError(f'frames: expected a list of whole numbers, got {frames!r}')
    if values[0] < 0 or np.any(np.diff(values.astype(np.int64)) <= 0):
        raise ConfigError('frames: expected rising numbers from 0')
    return read_only(values, np.int64)


def _check_common(constraint: Constraint, weight: float) -> None:
    object.__setattr__(constraint, 'frames', check_frames(constraint.frames))
    if not 0.0 < weight <= MAX_WEIGHT:
        raise ConfigError(f'weight: expected 0 < value <= {MAX_WEIGHT:g}, got {weight}')


def _set_rows(constraint: Constraint, name: str, width: int) -> Floats:
    """Give a field one row a frame, and check it."""
    n = len(constraint.frames)
    values = np.asarray(getattr(constraint, name))
    if values.ndim == 1:
        values = np.broadcast_to(values, (n, len(values)))
    rows = read_only(check_array(name, values, (n, width)))
    if width == 3 and np.abs(rows).max() > MAX_COORDINATE_M:
        raise ConfigError(
            f'{name}: expected within {MAX_COORDINATE_M:g} m, got {np.abs(rows).max():g} m'
        )
    object.__setattr__(constraint, name, rows)
    return rows
