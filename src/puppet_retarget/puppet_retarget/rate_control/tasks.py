# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Primary tasks of inverse rate control: points to be placed, segments to be oriented.

As rows of the stacked Jacobian (ChoiKo2000 eqs. 2-3, `rate_control.jacobian`): tasks that are
not active are left out, so the number of rows changes with them. A row is in metres or radians
times the task's weight. The Jacobian of an orientation is that of its angular velocity, which
for small errors is that of the rotation vector to the goal.
"""

from dataclasses import dataclass

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import (
    check_array,
    Floats,
    read_only,
    Vec3,
)

POSITION, ORIENTATION = 0, 1
MAX_TASKS, MAX_ROWS = 16, 32
ALL_AXES = np.eye(3)
HORIZONTAL = np.eye(3)[:2]
"""The transverse plane: what of a pelvis' motion does not depend on how tall the body is."""


@dataclass(frozen=True, slots=True)
class Task:
    """A point or an orientation of a segment that is to follow a goal, along some axes."""

    segment: int
    """Index in the tree."""

    kind: int = POSITION
    """POSITION of a point, or ORIENTATION of the segment."""

    point: Vec3 = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    """The point in the segment's frame, shape (3,) [m]."""

    axes: Floats | None = None
    """
    Directions that count, shape (1 to 3, 3), square to each other, of unit length; None: all.

    They are given in the task's frame, which is the world's until the caller turns it.

    """

    weight: float = 1.0
    """Of its rows where goals contradict each other or the damping acts [-]; 1 rad is 1 m."""

    def __post_init__(self) -> None:
        if self.kind not in {POSITION, ORIENTATION}:
            raise ConfigError(f'kind: expected {POSITION} or {ORIENTATION}, got {self.kind}')
        if not 0.0 < self.weight < np.inf:
            raise ConfigError(f'weight: expected a number > 0, got {self.weight}')
        object.__setattr__(self, 'point', read_only(check_array('point', self.point, (3,))))
        axes = check_array('axes', ALL_AXES if self.axes is None else self.axes, (None, 3))
        if not 1 <= len(axes) <= 3 or np.abs(axes @ axes.T - np.eye(len(axes))).max() > 1e-6:
            raise ConfigError('axes: expected one to three unit vectors square to each other')
        object.__setattr__(self, 'axes', read_only(axes))

    @property
    def n_rows(self) -> int:
        """Return how many constraints the task makes."""
        assert self.axes is not None
        return len(self.axes)
