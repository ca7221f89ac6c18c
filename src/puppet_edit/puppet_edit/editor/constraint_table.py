# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
All constraints of a motion as rows for the kernels, kept up to date while it is edited.

A surface counts as the plane that touches it next to the point. The place of a plant (LeeShin1999
section 7) is the mean of where its points are, or a goal that the segment has.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from puppet_core.body import JointLimit, N_SEGMENTS, segment_axis, Skeleton, swing_axes
from puppet_core.math import Floats, Ints, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraint_kernels import (
    DISTANCE,
    ITEM,
    LIMIT,
    LOOK,
    ORIENTATION,
    PLANE,
    POINT,
    VECTOR,
)
from puppet_edit.editor.constraints import (
    ABOVE,
    BELOW,
    Bodies,
    BodyPoint,
    Constraint,
    EditConfig,
    LookAt,
    normals,
    ON,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
)
from puppet_edit.editor.pose_solver_kernels import FrameTasks, item_errors

_SIDES = {ON: 0.0, ABOVE: 1.0, BELOW: -1.0}
# how many numbers each kind constrains; of a place its mask says so
_COUNTS = {POINT: 0, PLANE: 1, ORIENTATION: 3, LOOK: 2, VECTOR: 3, DISTANCE: 1}

DECIDED_M = 1e-5  # change of a plane or place that needs no further round
SETTLED = 1e4  # weight of a frame in which a goal settles a plant's place, where others have 1


def limit_table(limits: Sequence[JointLimit], skeleton: Skeleton) -> np.ndarray:
    table = np.zeros(N_SEGMENTS, LIMIT)
    for limit in limits:
        axis = segment_axis(skeleton, limit.segment)
        axes, centre = swing_axes(axis), qb.conjugate(limit.centre)
        table[limit.segment] = (1, axis, *axes, centre, limit.swing, limit.twist)
    return table


def constraint_items(c: Constraint, bodies: Bodies, poses: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the items of a constraint, one array for each of its points and segments."""

    def items(kind: int, segment: int, **fields: object) -> np.ndarray:
        out = np.zeros(len(c.frames), ITEM)
        fields |= {'frame': c.frames, 'kind': kind, 'segment': segment, 'weight': c.weight}
        for name, value in fields.items():
            out[name] = value
        return out

    def offset(point: BodyPoint) -> Vec3s:
        return point.offset_in(bodies.interaction_points[c.frames])

    def at(point: BodyPoint, kind: int, **fields: object) -> np.ndarray:
        return items(kind, point.segment, offset=offset(point), **fields)

    kept: set[int] = set()
    if isinstance(c, OrientationGoal):
        yield items(ORIENTATION, c.segment, goal=c.orientations)
    elif isinstance(c, PointGoal):
        yield at(c.point, POINT, goal=_four(c.goals), mask=c.axes)
        kept = {c.point.segment}
    elif isinstance(c, Plant):
        for point in c.points:
            yield at(point, POINT, mask=1.0)
        kept = {point.segment for point in c.points}
    elif isinstance(c, LookAt):
        yield at(c.point, LOOK, second=c.axis, goal=_four(c.targets))
    elif isinstance(c, OnSurface):
        yield at(c.point, PLANE, scalar=_SIDES[c.side])
    elif isinstance(c, Relative):
        pair = {'other': c.second.segment, 'second': offset(c.second)}
        if c.vectors is not None:
            yield at(c.first, VECTOR, goal=_four(c.vectors), **pair)
        else:
            yield at(c.first, DISTANCE, scalar=c.distances, **pair)
    if isinstance(c, (PointGoal, Plant)) and c.keep_orientation:
        for segment in sorted(kept):
            yield items(ORIENTATION, segment, goal=poses['q_world'][c.frames, segment])


def _four(vectors: Vec3s) -> Floats:
    return np.pad(vectors, ((0, 0), (0, 1)))


def planes_at(constraint: OnSurface, points: Vec3s) -> Floats:
    """Return the planes that touch a surface next to points (k, 3): normal and level (k, 4)."""
    x, y = points[:, 0], points[:, 1]
    heights = constraint.surface.height(x, y) + constraint.clearance_m
    upward = normals(constraint.surface, x, y)
    levels = np.sum(upward * np.stack((x, y, heights), axis=1), axis=1, keepdims=True)
    return np.concatenate((upward, levels), axis=1)


class ConstraintTable:
    """Items of all constraints, sorted by frame."""

    def __init__(
        self,
        constraints: Sequence[Constraint],
        poses: np.ndarray,
        bodies: Bodies,
        config: EditConfig,
        skeleton: Skeleton,
    ) -> None:
        self._n_constraints = len(constraints)
        parts: list[tuple[int, np.ndarray]] = []
        for index, constraint in enumerate(constraints):
            parts += ((index, found) for found in constraint_items(constraint, bodies, poses))
        lengths = [len(found) for _, found in parts]
        items = np.concatenate([np.zeros(0, ITEM), *(found for _, found in parts)])
        order = np.argsort(items['frame'], kind='stable')
        items = items[order]
        self._items, self._frames = items, np.ascontiguousarray(items['frame'])
        owners = np.array([index for index, _ in parts], dtype=np.int64)
        self._owners = np.repeat(owners, lengths)[order]
        frames, starts, self._ranks = np.unique(
            items['frame'], return_index=True, return_inverse=True
        )
        self.tasks = FrameTasks(
            frames,
            np.append(starts, len(items)),
            items,
            np.array(bodies.offsets),
            np.concatenate(([config.root_rigidity], config.joint_rigidity)),
            limit_table(config.joint_limits, skeleton),
        )
        # places and planes: constraint, and rows of the items
        rows = np.split(np.argsort(order), np.cumsum(lengths, dtype=np.int64))
        self._points: list[tuple[Constraint, Ints]] = [
            (constraints[index], places)
            for (index, found), places in zip(parts, rows)
            if found['kind'][0] != ORIENTATION
        ]
        self._surfaces_move = any(isinstance(c, OnSurface) for c, _ in self._points)
        # Whether anything has to be decided again as the motion changes
        self.moves = self._surfaces_move or any(isinstance(c, Plant) for c, _ in self._points)

    @property
    def count(self) -> int:
        kinds, mask = self._items['kind'], self._items['mask']
        of_places = np.count_nonzero(mask[kinds == POINT])
        return int(of_places + sum(n * np.sum(kinds == kind) for kind, n in _COUNTS.items()))

    def update(self, poses: np.ndarray) -> None:
        """Let planes and places follow a motion."""
        if self.moves:
            self._update(self._where(self._frames, poses))

    def follow(self, poses: np.ndarray) -> float:
        """Let planes and places follow solved frames; return how far off they were [m]."""
        if not self._surfaces_move and self._lengths(self._ranks, poses).max() < DECIDED_M:
            # all points are where the plants want them: these would stay
            return 0.0
        return self._update(self._where(self._ranks, poses))

    def _lengths(self, places: Ints, poses: np.ndarray) -> Floats:
        out = np.zeros(len(places))
        item_errors(self._items, places, poses, out)
        return out

    def _where(self, places: Ints, poses: np.ndarray) -> Vec3s:
        """Return where the point of each item is, shape (m, 3) [m]."""
        segments = self._items['segment']
        turned = qb.rotate(poses['q_world'][places, segments], self._items['offset'])
        return np.asarray(poses['p_world'][places, segments] + turned)

    def _update(self, points: Vec3s) -> float:
        farthest, goals = 0.0, self._items['goal']
        for constraint, rows in self._points:
            own = points[rows]
            gaps = np.zeros(1)
            if isinstance(constraint, OnSurface):
                planes = planes_at(constraint, own)
                change = planes - goals[rows]
                gaps = np.sum(change[:, :3] * own, axis=1) - change[:, 3]
                goals[rows] = planes
            elif isinstance(constraint, Plant):
                place = self._place(constraint, rows, points)
                gaps = place - goals[rows[0], :3]
                goals[rows, :3] = place
            farthest = max(farthest, float(np.abs(gaps).max()))
        return farthest

    def shifts(self, poses: np.ndarray) -> tuple[Ints, Vec3s]:
        """Return frames with contacts, and how far these have to move on average (k, 3) [m]."""
        total, count = np.zeros((len(poses), 3)), np.zeros(len(poses))
        points = self._where(self._frames, poses)
        for constraint, rows in self._points:
            frames, own = self._frames[rows], points[rows]
            if isinstance(constraint, Plant):
                total[frames] += self._place(constraint, rows, points) - own
            elif isinstance(constraint, PointGoal) and constraint.contact:
                total[frames] += constraint.axes * (constraint.goals - own)
            elif (
                isinstance(constraint, OnSurface) and constraint.contact and constraint.side == ON
            ):
                planes = planes_at(constraint, own)
                gaps = planes[:, 3] - np.sum(planes[:, :3] * own, axis=1)
                total[frames, 2] += gaps / planes[:, 2]
            else:
                continue
            count[frames] += 1.0
        chosen = np.flatnonzero(count)
        return chosen, total[chosen] / count[chosen, None]

    def errors(self, poses: np.ndarray) -> Floats:
        """Return the largest error of each constraint [m]."""
        self.update(poses)
        out = np.zeros(self._n_constraints)
        np.maximum.at(out, self._owners, self._lengths(self._frames, poses))
        return out

    def _place(self, plant: Plant, rows: Ints, points: Vec3s) -> Vec3:
        """Return where a plant's point stays: its mean, or where a goal puts the segment."""
        own, weights = points[rows], np.ones(len(rows))
        for goal, others in self._points:
            segments = self._items['segment'][[others[0], rows[0]]]
            if not isinstance(goal, PointGoal) or not all(goal.axes) or np.ptp(segments):
                continue
            _, mine, theirs = np.intersect1d(
                plant.frames, goal.frames, assume_unique=True, return_indices=True
            )
            own[mine] += goal.goals[theirs] - points[others[theirs]]
            weights[mine] = SETTLED
        place: Vec3 = weights @ own / weights.sum()
        if plant.surface is not None:
            height = plant.surface.height(place[0:1], place[1:2])
            place[2] = np.asarray(height, dtype=np.float64).reshape(-1)[0] + plant.clearance_m
        return place
