# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
An articulated tree for inverse rate control: any segments, any joints, any base.

A segment's frame is at its joint with its parent, whose name is the segment's; the rotation maps
vectors of the child into the parent. The base can change without anything moving. Rates of a ball
are a rotation vector in the child's frame; a hinge has one about its axis. A joint of two axes is
two hinges in the same place, one of three a ball.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from puppet_core.body import PARENTS, SEGMENTS, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import check_array, Floats, Ints, read_only, Vec3, Vec3s

FIXED, HINGE, BALL = 0, 1, 3
"""Kinds of joints: their degrees of freedom."""

MAX_SEGMENTS = 32
BASE_DOFS = 6  # shift of the base segment and its turn, both by world axes
_AXIS = (0.0, 1.0, 0.0)  # where a tree gives none


@dataclass(frozen=True, slots=True)
class BodyTree:
    """Segments, each after its parent, and the joints between them."""

    names: tuple[str, ...]  # Of the segments, at most MAX_SEGMENTS
    parents: Ints  # Index of each segment's parent, shape (n,); -1 for the first, the root
    # Joint of each segment in its parent's frame, shape (n, 3) [m]; row 0 is not used
    offsets: Vec3s
    kinds: Ints = ()  # type: ignore[assignment]
    """FIXED, HINGE or BALL, shape (n,); row 0 is not used. Empty: all balls."""

    axes: Vec3s = ()  # type: ignore[assignment]
    """Unit axes of hinges, shape (n, 3). Empty: all Y."""

    def __post_init__(self) -> None:
        n = len(self.names)
        if not 1 <= n <= MAX_SEGMENTS or len(set(self.names)) < n:
            raise ConfigError(f'names: expected 1 to {MAX_SEGMENTS} different ones, got {n}')
        put = object.__setattr__
        put(self, 'parents', _indices('parents', self.parents, n))
        put(self, 'offsets', read_only(check_array('offsets', self.offsets, (n, 3))))
        kinds = self.kinds if len(self.kinds) else np.full(n, BALL)
        put(self, 'kinds', _indices('kinds', kinds, n))
        axes = self.axes if len(self.axes) else np.tile(_AXIS, (n, 1))
        axes = check_array('axes', axes, (n, 3))
        lengths = np.linalg.norm(axes, axis=1, keepdims=True)
        if np.any(np.abs(lengths - 1.0) > 1e-6):
            raise ConfigError('axes: expected unit vectors')
        put(self, 'axes', read_only(axes / lengths))
        if self.parents[0] != -1 or any(not 0 <= p < i for i, p in enumerate(self.parents) if i):
            raise ConfigError(
                f'parents: expected -1, then earlier segments, got {self.parents.tolist()}'
            )
        if not np.isin(self.kinds, (FIXED, HINGE, BALL)).all():
            known = f'{FIXED}, {HINGE} or {BALL}'
            raise ConfigError(f'kinds: expected {known}, got {self.kinds.tolist()}')

    @classmethod
    def of_skeleton(cls, skeleton: Skeleton) -> 'BodyTree':
        """Return the suite's own skeleton: 15 ball joints, 51 degrees of freedom."""
        return cls(SEGMENTS, PARENTS, skeleton.offsets)

    def index(self, name: str) -> int:
        """Return the index of a segment; a ConfigError lists the known ones."""
        if name not in self.names:
            raise ConfigError(f'segment: expected one of {", ".join(self.names)}, got {name!r}')
        return self.names.index(name)

    @property
    def first_dofs(self) -> Ints:
        """Return the first degree of freedom of each joint, shape (n,); row 0 the base's."""
        counts = np.concatenate(([BASE_DOFS], self.kinds[1:]))
        return np.concatenate(([0], np.cumsum(counts)[:-1]))

    @property
    def n_dofs(self) -> int:
        """Return the number of degrees of freedom, six of them the base's."""
        return int(BASE_DOFS + self.kinds[1:].sum())


def _indices(name: str, values: Ints | Sequence[int], n: int) -> Ints:
    array: Floats = check_array(name, np.asarray(values, dtype=np.float64), (n,))
    return read_only(array, np.int64)


# Primary tasks: points to be placed, segments to be oriented.
#
# As rows of the stacked Jacobian (ChoiKo2000 eqs. 2-3): tasks that are not active are left out, so
# the number of rows changes with them. A row is in metres or radians times the task's weight. The
# Jacobian of an orientation is that of its angular velocity, which for small errors is that of the
# rotation vector to the goal.


POSITION, ORIENTATION = 0, 1
MAX_TASKS, MAX_ROWS = 16, 32
ALL_AXES = np.eye(3)
HORIZONTAL = np.eye(3)[:2]
"""The transverse plane: what of a pelvis' motion does not depend on how tall the body is."""


@dataclass(frozen=True, slots=True)
class Task:
    """A point or an orientation of a segment that is to follow a goal, along some axes."""

    segment: int  # Index in the tree
    kind: int = POSITION  # POSITION of a point, or ORIENTATION of the segment
    point: Vec3 = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    """The point in the segment's frame, shape (3,) [m]."""

    axes: Floats | None = None
    """Directions in world that count, (1 to 3, 3), square, of unit length; None: all."""

    # Of its rows where goals contradict each other or the damping acts [-]; 1 rad is 1 m
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in {POSITION, ORIENTATION}:
            raise ConfigError(f'kind: expected {POSITION} or {ORIENTATION}, got {self.kind}')
        if not 0.0 < self.weight < np.inf:
            raise ConfigError(f'weight: expected a number > 0, got {self.weight}')
        object.__setattr__(self, 'point', read_only(check_array('point', self.point, (3,))))
        axes = check_array('axes', ALL_AXES if self.axes is None else self.axes, (None, 3))
        if not 1 <= len(axes) <= 3 or np.abs(axes @ axes.T - np.eye(len(axes))).max() > 1e-6:
            raise ConfigError('axes: expected one to three perpendicular unit vectors')
        object.__setattr__(self, 'axes', read_only(axes))

    @property
    def n_rows(self) -> int:
        assert self.axes is not None
        return len(self.axes)
