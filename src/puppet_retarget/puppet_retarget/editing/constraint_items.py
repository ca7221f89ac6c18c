# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Constraints as the rows that kernels work on, by frame, and what has to be decided again.

Most rows never change. A surface counts as the plane that touches it next to the point, and
the place of a plant is wherever its points are on average; both depend on the motion so far.

"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints, Quats, Vec3s
from puppet_core.errors import ConfigError
from puppet_core.skeleton import LIMB_SEGMENTS
from puppet_retarget.editing.constraints import (
    ABOVE,
    BELOW,
    BodyPoint,
    Constraint,
    LookAt,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
)
from puppet_retarget.editing.edit_config import Bodies
from puppet_retarget.editing.pose_arrays import (
    DATA,
    DISTANCE,
    KIND,
    LOOK,
    MASK,
    N_ITEM,
    OFFSET,
    ORIENTATION,
    OTHER,
    PLANE,
    POINT,
    SCALAR,
    SECOND,
    SEGMENT,
    VECTOR,
    WEIGHT,
)

_SIDES = {ABOVE: 1.0, BELOW: -1.0}
_ENDS = {int(segment): i for i, segment in enumerate(LIMB_SEGMENTS[:, 2])}
_COUNTS = {ORIENTATION: 3, PLANE: 1, LOOK: 2, VECTOR: 3, DISTANCE: 1}


class Part(NamedTuple):
    """Rows of one point or segment of one constraint."""

    constraint: int
    """Whose."""

    frames: Ints
    """Frame of each row, shape (k,)."""

    rows: Floats
    """As for the kernels, shape (k, N_ITEM)."""


def point_offsets(point: BodyPoint, bodies: Bodies, frames: Ints) -> Vec3s:
    """Return a point in its segment's frame, in some frames, shape (k, 3) [m]."""
    if point.offset is None and point.segment in _ENDS:
        return bodies.interaction_points[frames, _ENDS[point.segment]]
    offset = np.zeros(3) if point.offset is None else point.offset
    return np.broadcast_to(offset, (len(frames), 3))


def constraint_parts(
    constraints: Sequence[Constraint], bodies: Bodies, q_world: Quats
) -> list[Part]:
    """
    Return the rows of all constraints, one part for each point or segment.

    Parameters
    ----------
    constraints : sequence of Constraint
        In their order.
    bodies : Bodies
        Lengths of each frame.
    q_world : ndarray, shape (n, 16, 4)
        Orientations before editing.

    Raises
    ------
    ConfigError : for a frame that the motion does not have, or something else than a constraint.

    """
    parts = []
    for index, constraint in enumerate(constraints):
        if not isinstance(constraint, Constraint):
            raise ConfigError(f'constraints: expected constraints, got {constraint!r}')
        if constraint.frames[-1] >= len(q_world):
            raise ConfigError(
                f'constraint {index}: expected frames of 0 .. {len(q_world) - 1}, '
                f'got {constraint.frames[-1]}'
            )
        parts += _parts_of(index, constraint, bodies, q_world)
    return parts


def item_count(rows: Floats) -> int:
    """Return how many numbers some rows constrain."""
    total = int(np.count_nonzero(rows[rows[:, KIND] == POINT, MASK:MASK + 3]))
    for kind, count in _COUNTS.items():
        total += count * int(np.count_nonzero(rows[:, KIND] == kind))
    return total


def _parts_of(index: int, c: Constraint, bodies: Bodies, q_world: Quats) -> list[Part]:
    if isinstance(c, OrientationGoal):
        return [_orientation(index, c.frames, c.segment, c.orientations, c.weight)]
    if isinstance(c, Plant):
        parts = [_point_part(index, c, point, POINT, bodies) for point in c.points]
        for part in parts:
            part.rows[:, MASK:MASK + 3] = 1.0
        return parts + _kept(index, c, {point.segment for point in c.points}, q_world)
    part = _point_part(index, c, c.first if isinstance(c, Relative) else c.point, POINT, bodies)
    rows = part.rows
    if isinstance(c, PointGoal):
        rows[:, DATA:DATA + 3] = c.goals
        rows[:, MASK:MASK + 3] = c.axes
        return [part] + _kept(index, c, {c.point.segment}, q_world)
    if isinstance(c, LookAt):
        rows[:, KIND], rows[:, SECOND:SECOND + 3], rows[:, DATA:DATA + 3] = LOOK, c.axis, c.targets
    elif isinstance(c, OnSurface):
        rows[:, KIND], rows[:, SCALAR] = PLANE, _SIDES.get(c.side, 0.0)
    else:
        rows[:, OTHER] = c.second.segment
        rows[:, SECOND:SECOND + 3] = point_offsets(c.second, bodies, c.frames)
        if c.vectors is not None:
            rows[:, KIND], rows[:, DATA:DATA + 3] = VECTOR, c.vectors
        else:
            rows[:, KIND], rows[:, SCALAR] = DISTANCE, c.distances
    return [part]


def _point_part(
    index: int, c: Constraint, point: BodyPoint, kind: int, bodies: Bodies
) -> Part:
    rows = np.zeros((len(c.frames), N_ITEM))
    rows[:, KIND], rows[:, SEGMENT], rows[:, WEIGHT] = kind, point.segment, c.weight
    rows[:, OFFSET:OFFSET + 3] = point_offsets(point, bodies, c.frames)
    return Part(index, c.frames, rows)


def _orientation(
    index: int, frames: Ints, segment: int, goals: Quats, weight: float
) -> Part:
    rows = np.zeros((len(frames), N_ITEM))
    rows[:, KIND], rows[:, SEGMENT], rows[:, WEIGHT] = ORIENTATION, segment, weight
    rows[:, DATA:DATA + 4] = goals
    return Part(index, frames, rows)


def _kept(
    index: int, c: PointGoal | Plant, segments: set[int], q_world: Quats
) -> list[Part]:
    if not c.keep_orientation:
        return []
    return [
        _orientation(index, c.frames, segment, q_world[c.frames, segment], c.weight)
        for segment in sorted(segments)
    ]


def set_planes(part: Part, constraint: OnSurface, points: Vec3s) -> Floats:
    """Let a part's planes touch the surface next to points (k, 3); return them (k, 4)."""
    x, y = points[:, 0], points[:, 1]
    heights = constraint.surface.height(x, y) + constraint.clearance_m
    slopes = np.reshape(constraint.surface.gradient(x, y), (-1, 2))
    normals = np.concatenate((-slopes, np.ones((len(x), 1))), axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    places = np.stack((x, y, heights), axis=1)
    levels = np.sum(normals * places, axis=1, keepdims=True)
    planes = np.concatenate((normals, levels), axis=1)
    check_surface(planes)
    part.rows[:, DATA:DATA + 4] = planes
    return planes


def check_surface(values: Floats) -> None:
    """Raise ConfigError if what was made of a surface is not finite."""
    if not np.all(np.isfinite(values)):
        raise ConfigError('surface: expected finite heights and gradients')
