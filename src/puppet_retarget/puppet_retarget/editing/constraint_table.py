# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
All constraints of a motion, kept up to date with it while it is edited.

Plants relate frames to each other (LeeShin1999 section 7). The place of one is the mean of
where its points are, which moves them least; a goal that the same segment has in some of its
frames settles it there.

"""

from collections.abc import Sequence

import numpy as np
from puppet_core.arrays import Floats, Ints, Vec3s
from puppet_retarget.editing.constraint_items import (
    constraint_parts,
    item_count,
    Part,
    set_planes,
    world_points,
)
from puppet_retarget.editing.constraints import Constraint, ON, OnSurface, Plant, PointGoal
from puppet_retarget.editing.edit_config import Bodies, EditConfig
from puppet_retarget.editing.frame_solver_kernels import FrameTasks, item_errors
from puppet_retarget.editing.limit_table import limit_table
from puppet_retarget.editing.moving_body import MovingBody
from puppet_retarget.editing.pose_arrays import (
    DATA,
    KIND,
    MASK,
    N_ITEM,
    ORIENTATION,
    POINT,
    SEGMENT,
)

SETTLED = 1e4  # say of a frame in which a goal settles a plant's place, where others have 1


class ConstraintTable:
    """Rows of all constraints, sorted by frame."""

    def __init__(
        self, constraints: Sequence[Constraint], body: MovingBody, bodies: Bodies,
        config: EditConfig,
    ) -> None:  # fmt: skip
        self._constraints = tuple(constraints)
        self._parts = constraint_parts(constraints, bodies, body.q_world)
        frames = np.concatenate([part.frames for part in self._parts] or [np.zeros(0, np.int64)])
        order = np.argsort(frames, kind='stable')
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        ends = np.cumsum([len(part.frames) for part in self._parts])
        self._places = np.split(place, ends[:-1]) if self._parts else []
        self._owner = np.zeros(len(order), np.int64)
        items = np.zeros((len(order), N_ITEM))
        for part, places in zip(self._parts, self._places):
            items[places] = part.rows
            self._owner[places] = part.constraint
        unique, starts = np.unique(frames[order], return_index=True)
        rigidity = np.concatenate(([config.root_rigidity], config.joint_rigidity))
        self.tasks = FrameTasks(
            unique, np.append(starts, len(order)), items, np.array(bodies.offsets), rigidity,
            limit_table(config.joint_limits, body.skeleton),
        )  # fmt: skip
        self._moving = [
            i for i, part in enumerate(self._parts)
            if isinstance(self._of(part), (Plant, OnSurface)) and part.rows[0, KIND] != ORIENTATION
        ]
        self._contacts = [
            i for i, part in enumerate(self._parts)
            if part.rows[0, KIND] != ORIENTATION and _is_contact(self._of(part))
        ]
        self._goals = [
            i for i, part in enumerate(self._parts)
            if isinstance(self._of(part), PointGoal) and part.rows[0, KIND] == POINT
            and part.rows[0, MASK:MASK + 3].all()
        ]

    @property
    def frames(self) -> Ints:
        """Return the constrained frames, rising."""
        return self.tasks.frames

    @property
    def count(self) -> int:
        """Return how many numbers are constrained."""
        return item_count(self.tasks.items)

    @property
    def moves(self) -> bool:
        """Return whether anything has to be decided again as the motion changes."""
        return bool(self._moving)

    def update(self, body: MovingBody) -> float:
        """Let planes and places follow a motion; return how far off they were at most [m]."""
        farthest = 0.0
        for i in self._moving:
            part, constraint = self._parts[i], self._of(self._parts[i])
            points = world_points(part, body.q_world, body.p_world)
            if isinstance(constraint, OnSurface):
                before = part.rows[:, DATA:DATA + 4].copy()
                after = set_planes(part, constraint, points)
                gaps = np.sum((after[:, :3] - before[:, :3]) * points, axis=1)
                gaps -= after[:, 3] - before[:, 3]
                farthest = max(farthest, float(np.abs(gaps).max()))
            else:
                place = self._place(part, constraint, points, body)
                farthest = max(farthest, float(np.abs(place - part.rows[0, DATA:DATA + 3]).max()))
                part.rows[:, DATA:DATA + 3] = place
            self.tasks.items[self._places[i]] = part.rows
        return farthest

    def shifts(self, body: MovingBody) -> tuple[Ints, Vec3s]:
        """Return frames with contacts, and how far these have to move on average (k, 3) [m]."""
        total = np.zeros((body.n_frames, 3))
        count = np.zeros(body.n_frames)
        for i in self._contacts:
            part, constraint = self._parts[i], self._of(self._parts[i])
            points = world_points(part, body.q_world, body.p_world)
            if isinstance(constraint, OnSurface):
                planes = set_planes(part, constraint, points)
                gaps = planes[:, 3] - np.sum(planes[:, :3] * points, axis=1)
                total[part.frames, 2] += gaps / planes[:, 2]
            elif isinstance(constraint, Plant):
                total[part.frames] += self._place(part, constraint, points, body) - points
            else:
                mask = part.rows[:, MASK:MASK + 3]
                total[part.frames] += mask * (part.rows[:, DATA:DATA + 3] - points)
            count[part.frames] += 1.0
        frames = np.flatnonzero(count)
        return frames, total[frames] / count[frames, None]

    def errors(self, body: MovingBody) -> Floats:
        """Return the largest error of each constraint [m]."""
        self.update(body)
        lengths = np.zeros(len(self.tasks.items))
        item_errors(
            self.tasks, body.roots, body.rotations, body.q_world, body.p_world, lengths
        )
        out = np.zeros(len(self._constraints))
        np.maximum.at(out, self._owner, lengths)
        return out

    def _of(self, part: Part) -> Constraint:
        return self._constraints[part.constraint]

    def _place(self, part: Part, plant: Plant, points: Vec3s, body: MovingBody) -> Floats:
        says = np.ones(len(points))
        for i in self._goals:
            goal = self._parts[i]
            if goal.rows[0, SEGMENT] != part.rows[0, SEGMENT]:
                continue
            common, mine, theirs = np.intersect1d(
                part.frames, goal.frames, assume_unique=True, return_indices=True
            )
            if len(common):
                now = world_points(goal, body.q_world, body.p_world)
                points = points.copy()
                points[mine] += (goal.rows[:, DATA:DATA + 3] - now)[theirs]
                says[mine] = SETTLED
        place = says @ points / says.sum()
        if plant.surface is not None:
            height = plant.surface.height(place[0:1], place[1:2])
            place[2] = np.asarray(height, dtype=np.float64).reshape(-1)[0] + plant.clearance_m
        return place


def _is_contact(constraint: Constraint) -> bool:
    if isinstance(constraint, Plant):
        return True
    if isinstance(constraint, OnSurface):
        return constraint.contact and constraint.side == ON
    return isinstance(constraint, PointGoal) and constraint.contact
