# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
All constraints of a motion, kept up to date with it while it is edited.

Plants relate frames to each other (LeeShin1999 section 7). The place of one is the mean of
where its points are, which moves them least; a goal that the same segment has in some of its
frames settles it there.

"""

from collections.abc import Sequence
import math

import numpy as np
from puppet_core.arrays import Floats, Ints, Quats, Vec3, Vec3s
from puppet_retarget.editing.constraint_items import (
    check_surface,
    constraint_parts,
    item_count,
    Part,
    set_planes,
)
from puppet_retarget.editing.constraints import Constraint, ON, OnSurface, Plant, PointGoal
from puppet_retarget.editing.edit_config import Bodies, EditConfig
from puppet_retarget.editing.frame_solver_kernels import (
    FrameTasks,
    item_errors,
    item_points,
)
from puppet_retarget.editing.limit_table import limit_table
from puppet_retarget.editing.moving_body import MovingBody
from puppet_retarget.editing.pose_arrays import (
    DATA,
    KIND,
    MASK,
    N_ITEM,
    ORIENTATION,
    SEGMENT,
)

DECIDED_M = 1e-5  # change of a plane or place that needs no further round
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
        self._item_frames = np.sort(frames)
        self._item_ranks = np.repeat(np.arange(len(unique)), np.diff(self.tasks.starts))
        kinds = [int(part.rows[0, KIND]) for part in self._parts]
        owners = [self._of(part) for part in self._parts]
        points = [i for i, kind in enumerate(kinds) if kind != ORIENTATION]
        self._moving = [i for i in points if isinstance(owners[i], (Plant, OnSurface))]
        self._planes = [i for i in points if isinstance(owners[i], OnSurface)]
        self._contacts = [i for i in points if _is_contact(owners[i])]
        self._goals = [
            i for i in points
            if isinstance(owners[i], PointGoal) and self._parts[i].rows[0, MASK:MASK + 3].all()
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

    def update(self, body: MovingBody) -> None:
        """Let planes and places follow a motion."""
        if self._moving:
            self._update(self._points(self._item_frames, body.q_world, body.p_world))

    def follow(self, q_world: Quats, p_world: Vec3s) -> float:
        """
        Let planes and places follow postures of the constrained frames.

        Parameters
        ----------
        q_world, p_world : ndarray, shapes (k, 16, 4) and (k, 16, 3)
            Their segments [m].

        Returns
        -------
        farthest : float
            How far off planes and places were at most [m].

        """
        lengths = np.empty(len(self._item_ranks))
        item_errors(self.tasks.items, self._item_ranks, q_world, p_world, lengths)
        if not self._planes and lengths.max(initial=0.0) < DECIDED_M:
            # all points are where the plants want them: these would stay
            return 0.0
        return self._update(self._points(self._item_ranks, q_world, p_world))

    def _points(self, places: Ints, q_world: Quats, p_world: Vec3s) -> Vec3s:
        points = np.empty((len(places), 3))
        item_points(self.tasks.items, places, q_world, p_world, points)
        return points

    def _update(self, points: Vec3s) -> float:
        farthest = 0.0
        for i in self._moving:
            part, constraint, places = self._parts[i], self._of(self._parts[i]), self._places[i]
            own = points[places]
            if isinstance(constraint, OnSurface):
                before = part.rows[:, DATA:DATA + 4].copy()
                after = set_planes(part, constraint, own)
                gaps = np.sum((after[:, :3] - before[:, :3]) * own, axis=1)
                gaps -= after[:, 3] - before[:, 3]
            elif isinstance(constraint, Plant):
                place = self._place(part, constraint, own, points)
                gaps = place - part.rows[0, DATA:DATA + 3]
                part.rows[:, DATA:DATA + 3] = place
            else:
                continue
            farthest = max(farthest, float(np.abs(gaps).max()))
            self.tasks.items[places] = part.rows
        return farthest

    def shifts(self, body: MovingBody) -> tuple[Ints, Vec3s]:
        """Return frames with contacts, and how far these have to move on average (k, 3) [m]."""
        total = np.zeros((body.n_frames, 3))
        count = np.zeros(body.n_frames)
        points = self._points(self._item_frames, body.q_world, body.p_world)
        for i in self._contacts:
            part, constraint = self._parts[i], self._of(self._parts[i])
            own = points[self._places[i]]
            if isinstance(constraint, OnSurface):
                planes = set_planes(part, constraint, own)
                gaps = planes[:, 3] - np.sum(planes[:, :3] * own, axis=1)
                total[part.frames, 2] += gaps / planes[:, 2]
            elif isinstance(constraint, Plant):
                total[part.frames] += self._place(part, constraint, own, points) - own
            else:
                mask = part.rows[:, MASK:MASK + 3]
                total[part.frames] += mask * (part.rows[:, DATA:DATA + 3] - own)
            count[part.frames] += 1.0
        frames = np.flatnonzero(count)
        return frames, total[frames] / count[frames, None]

    def errors(self, body: MovingBody) -> Floats:
        """Return the largest error of each constraint [m]."""
        self.update(body)
        lengths = np.empty(len(self._item_frames))
        item_errors(
            self.tasks.items, self._item_frames, body.q_world, body.p_world, lengths
        )
        out = np.zeros(len(self._constraints))
        np.maximum.at(out, self._owner, lengths)
        return out

    def _of(self, part: Part) -> Constraint:
        return self._constraints[part.constraint]

    def _place(self, part: Part, plant: Plant, own: Vec3s, points: Vec3s) -> Vec3:
        says: Floats | None = None
        for i in self._goals:
            goal = self._parts[i]
            if goal.rows[0, SEGMENT] != part.rows[0, SEGMENT]:
                continue
            common, mine, theirs = np.intersect1d(
                part.frames, goal.frames, assume_unique=True, return_indices=True
            )
            if len(common):
                says, own = np.ones(len(own)) if says is None else says, own.copy()
                gaps = goal.rows[:, DATA:DATA + 3] - points[self._places[i]]
                own[mine] += gaps[theirs]
                says[mine] = SETTLED
        place: Vec3 = own.mean(axis=0) if says is None else says @ own / says.sum()
        if plant.surface is not None:
            height = plant.surface.height(place[0:1], place[1:2])
            place[2] = np.asarray(height, dtype=np.float64).reshape(-1)[0] + plant.clearance_m
            if not math.isfinite(place[2]):
                check_surface(place)
        return place


def _is_contact(constraint: Constraint) -> bool:
    if isinstance(constraint, Plant):
        return True
    if isinstance(constraint, OnSurface):
        return constraint.contact and constraint.side == ON
    return isinstance(constraint, PointGoal) and constraint.contact
