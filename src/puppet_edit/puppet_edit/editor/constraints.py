# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What an edited motion has to do, by frame or `Plant`, and what came of it (LeeShin1999 4.2)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from puppet_core.body import (
    GENERAL_END_EFFECTORS,
    JointLimit,
    LIMB_SEGMENTS,
    Motion,
    N_SEGMENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
)
from puppet_core.io import ConfigError
from puppet_core.math import check_array, Floats, Ints, Quats, read_only, Vec3, Vec3s
from puppet_core.math import quaternions as qb

_END_SEGMENTS = LIMB_SEGMENTS[:, 2].tolist()

MAX_COORDINATE_M = 1e4  # of a goal from the origin
MAX_WEIGHT = 1e3
ON, ABOVE, BELOW = 'on', 'above', 'below'
SIDES = (ON, ABOVE, BELOW)


@dataclass(frozen=True, slots=True)
class BodyPoint:
    segment: int  # Index into SEGMENTS
    offset: Vec3 | None = None  # In the segment [m]; None for palm, sole centre or joint

    @classmethod
    def named(cls, name: str) -> 'BodyPoint':
        """Return a general end-effector, or else the joint of a segment, by name."""
        if name in GENERAL_END_EFFECTORS:
            row = GENERAL_END_EFFECTORS.index(name)
            return cls(int(LIMB_SEGMENTS[row % 4, 2 if row < 4 else 1]))
        return cls(SEGMENT_INDEX[name])

    def offset_in(self, interaction_points: Vec3s) -> Vec3s:
        """Return the point in its segment's frame by those of bodies, shape (..., 4, 3) [m]."""
        if self.offset is not None:
            return self.offset
        if self.segment in _END_SEGMENTS:
            return interaction_points[..., _END_SEGMENTS.index(self.segment), :]
        return np.zeros(3)


class Surface(Protocol):
    def height(self, x: Floats, y: Floats) -> Floats:
        """Return z of the surface [m] over places x, y [m]."""

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return how z changes with x and with y, shape (..., 2) [-]."""


def normals(surface: Surface, x: Floats, y: Floats) -> Vec3s:
    """Return unit normals that point up, shape (..., 3)."""
    slope = surface.gradient(x, y)
    upward = np.concatenate((-slope, np.ones_like(slope[..., :1])), axis=-1)
    return np.asarray(upward / np.linalg.norm(upward, axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True)
class FlatSurface:
    z: float = 0.0  # Its height [m]

    def height(self, x: Floats, y: Floats) -> Floats:
        """Return z everywhere [m]."""
        return np.full(np.broadcast(x, y).shape, self.z)

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return zeros, shape (..., 2)."""
        return np.zeros((*np.broadcast(x, y).shape, 2))


@dataclass(frozen=True, slots=True)
class _Framed:
    frames: Ints  # Frame indices, rising, shape (k,)
    weight: float = field(default=1.0, kw_only=True)  # Factor on the usual penalty, > 0

    def __post_init__(self) -> None:
        self._set('frames', read_only(self.frames, np.int64))
        self._check()

    def _check(self) -> None:
        """Refuse fields of a kind of constraint that do not fit."""

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _set_rows(self, name: str, width: int) -> Floats:
        """Give a field one row a frame, and check it."""
        n = len(self.frames)
        values = np.asarray(getattr(self, name))
        if values.ndim == 1:
            values = np.broadcast_to(values, (n, len(values)))
        rows = read_only(check_array(name, values, (n, width)))
        far = np.abs(rows).max()
        if width == 3 and far > MAX_COORDINATE_M:
            raise ConfigError(f'{name}: expected within {MAX_COORDINATE_M:g} m, got {far:g} m')
        self._set(name, rows)
        return rows


@dataclass(frozen=True, slots=True)
class PointGoal(_Framed):
    point: BodyPoint
    goals: Vec3s  # In world, shape (k, 3), or (3,) for all frames [m]
    axes: tuple[bool, bool, bool] = (True, True, True)  # Which coordinates count
    keep_orientation: bool = False  # Whether the segment keeps its orientation in world
    contact: bool = False  # Whether the root goes along from the start (section 4.5)

    def _check(self) -> None:
        self._set_rows('goals', 3)


@dataclass(frozen=True, slots=True)
class OrientationGoal(_Framed):
    segment: int  # Index into SEGMENTS
    orientations: Quats  # Of the segment in world, shape (k, 4), or (4,) for all frames

    def _check(self) -> None:
        rows = self._set_rows('orientations', 4)
        self._set('orientations', read_only(qb.normalize(rows)))


@dataclass(frozen=True, slots=True)
class LookAt(_Framed):
    point: BodyPoint  # From where, such as between the eyes
    axis: Vec3  # In the frame of the point's segment, any length but zero, shape (3,)
    targets: Vec3s  # Where to, in world, shape (k, 3), or (3,) for all frames [m]

    def _check(self) -> None:
        self._set_rows('targets', 3)
        self._set('axis', read_only(self.axis / np.linalg.norm(self.axis)))


@dataclass(frozen=True, slots=True)
class OnSurface(_Framed):
    """A point of the body is on a surface, or on one side of it."""

    point: BodyPoint
    surface: Surface
    side: str = ON  # One of SIDES
    clearance_m: float = 0.0  # Of the boundary above the surface, straight up; negative: below
    contact: bool = False  # Whether the root goes along with the surface from the start


@dataclass(frozen=True, slots=True)
class Relative(_Framed):
    """Two points of the body are a vector or a distance apart."""

    first: BodyPoint
    second: BodyPoint
    vectors: Vec3s | None = None  # First to second, in world, (k, 3), or (3,) for all [m]
    distances: Floats | None = None  # Or how far, (k,), or () for all, > 0 [m]

    def _check(self) -> None:
        if self.first.segment == self.second.segment:
            name = SEGMENTS[self.first.segment]
            raise ConfigError(f'relative: expected two segments, got {name} twice')
        if self.vectors is not None:
            self._set_rows('vectors', 3)
            return
        n = len(self.frames)
        distances = np.asarray(self.distances, dtype=np.float64)
        distances = np.full(n, distances) if distances.ndim == 0 else distances
        distances = check_array('distances', distances, (n,))
        if np.any(distances <= 0.0):
            raise ConfigError('distances: expected > 0, for touching use a vector of zero')
        self._set('distances', read_only(distances))


@dataclass(frozen=True, slots=True)
class Plant(_Framed):
    """Points of the body stay in one place, which is free, in an interval (section 7)."""

    points: tuple[BodyPoint, ...]  # What, such as a sole's centre or its heel and toe
    surface: Surface | None = None  # What the place is on; None leaves its height free too
    clearance_m: float = 0.0  # How far above the surface, straight up
    keep_orientation: bool = True  # Whether the segments keep theirs in world

    def _check(self) -> None:
        if not self.points:
            raise ConfigError('plant: expected at least one point, got none')


Constraint = PointGoal | OrientationGoal | LookAt | OnSurface | Relative | Plant


HYBRID, FULL = 'hybrid', 'full'
SOLVERS = (HYBRID, FULL)
MAX_LEVELS = 12
# of the orientations of pelvis, spine and chest, with which much turns, where a joint of a limb
# has 1 [1/rad^2]
TORSO_RIGIDITY = (10.0, 8.0, 8.0)
HEAD_JOINT_HEIGHT = 0.87  # of the body's height, where the head turns [-]


@dataclass(frozen=True, slots=True)
class EditConfig:
    levels: int = 4  # Of the hierarchy; 0 for the exact pass alone
    frames_per_knot: float = 16.0  # At the first level; each level halves it
    tolerance_percent: float = 0.0  # Error that needs no further level, of the height
    exact: bool = True  # Whether a last pass brings every constrained frame in place
    root_shift: bool = True  # Whether the root goes along with contacts (section 4.5)
    solver: str = HYBRID  # One of SOLVERS
    root_rigidity: float = 100.0  # alpha_0 of eq. 4: a decimetre is like a radian [1/m^2]

    joint_rigidity: Floats = field(
        default_factory=lambda: np.array([*TORSO_RIGIDITY, *[1.0] * (N_SEGMENTS - 3)])
    )
    """What turning each joint costs, shape (16,) [1/rad^2]; row 0 the root's orientation."""

    joint_limits: Sequence[JointLimit] = ()  # Of the character, if they are to be kept
    max_iterations: int = 40  # Of the inverse kinematics, for one frame
    body_height_m: float = 0.0  # What errors are compared with; 0 for that of the skeleton

    def __post_init__(self) -> None:
        for name, low, high in (
            ('levels', 0, MAX_LEVELS),
            ('frames_per_knot', 1e-3, 1e6),
            ('tolerance_percent', 0.0, 100.0),
            ('root_rigidity', 1e-6, 1e6),
            ('max_iterations', 1, 10_000),
            ('body_height_m', 0.0, 100.0),
        ):
            if not low <= (value := getattr(self, name)) <= high:
                raise ConfigError(f'{name}: expected {low:g} .. {high:g}, got {value}')


@dataclass(frozen=True, slots=True)
class Bodies:
    """A body whose lengths change from frame to frame."""

    offsets: Vec3s  # As of a skeleton, in each frame, shape (n, 16, 3) [m]
    interaction_points: Vec3s  # As of a skeleton, in each frame, shape (n, 4, 3) [m]

    @classmethod
    def constant(cls, skeleton: Skeleton, n_frames: int) -> 'Bodies':
        return cls(
            np.broadcast_to(skeleton.offsets, (n_frames, N_SEGMENTS, 3)),
            np.broadcast_to(skeleton.interaction_points, (n_frames, 4, 3)),
        )


@dataclass(frozen=True, slots=True)
class LevelReport:
    """What one level of the hierarchy came to: a column of LeeShin1999 table 1."""

    frames_per_knot: float  # Spacing of its knots
    knots: int  # Control points of each curve
    time_s: float  # Of the level
    max_error_percent: float  # Largest error of a constraint after it, of the body's height


@dataclass(frozen=True, slots=True)
class EditResult:
    motion: Motion  # End-effectors are those of its angles, on the frame's body
    levels: tuple[LevelReport, ...]
    exact_max_error_percent: float | None  # After the exact pass, if there is one
    total_time_s: float
    frames_constrained: int  # Frames with at least one constraint
    constraint_count: int  # Numbers, as LeeShin1999 table 1 counts: three for a place
    constraint_errors_m: Floats  # Largest of each at the end [m]; see `motion_edit`
    initial_max_error_percent: float = 0.0


def body_height(skeleton: Skeleton) -> float:
    """Return how tall a body is that stands upright [m]."""
    head = skeleton.rest_positions()[3, 2] + skeleton.rest_root_height
    return float(head / HEAD_JOINT_HEIGHT)
