# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
All constraints of a motion as rows for the kernels, kept up to date while it is edited.

Most rows never change. A surface counts as the plane that touches it next to the point; a plant
relates frames to each other (LeeShin1999 section 7): its place is the mean of where its points
are, which moves them least, and a goal that the same segment has in some of its frames settles
it there. Both depend on the motion so far.

"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    end_effector_positions,
    JointLimit,
    LIMB_SEGMENTS,
    Motion,
    N_SEGMENTS,
    segment_axis,
    Skeleton,
    swing_axes,
)
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, kernel, Quats, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraint_kernels import (
    CENTRE,
    DATA,
    DISTANCE,
    FIRST,
    HAS,
    keep_limits,
    KIND,
    LOOK,
    MASK,
    N_ITEM,
    N_LIMIT,
    OFFSET,
    ORIENTATION,
    OTHER,
    PLANE,
    POINT,
    SCALAR,
    SECOND,
    SEGMENT,
    SWING_SECOND,
    SWINGS,
    TWIST_AXIS,
    TWISTS,
    VECTOR,
    WEIGHT,
)
from puppet_edit.editor.constraints import (
    ABOVE,
    BELOW,
    BodyPoint,
    Constraint,
    LookAt,
    ON,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
)
from puppet_edit.editor.displacement_map import displace
from puppet_edit.editor.edit_config import Bodies, EditConfig
from puppet_edit.editor.pose_solver_kernels import (
    FrameTasks,
    item_errors,
    item_points,
    place_frames,
)

_SIDES = {ABOVE: 1.0, BELOW: -1.0}

_COUNTS = {ORIENTATION: 3, PLANE: 1, LOOK: 2, VECTOR: 3, DISTANCE: 1}

DECIDED_M = 1e-5  # change of a plane or place that needs no further round
SETTLED = 1e4  # weight of a frame in which a goal settles a plant's place, where others have 1


def limit_table(limits: Sequence[JointLimit], skeleton: Skeleton) -> Floats:
    """Return the limits of all joints, shape (16, N_LIMIT)."""
    table = np.zeros((N_SEGMENTS, N_LIMIT))
    for limit in limits:
        row = table[limit.segment]
        axis = segment_axis(skeleton, limit.segment)
        first, second = swing_axes(axis)
        row[HAS] = 1.0
        row[TWIST_AXIS : TWIST_AXIS + 3] = axis
        row[FIRST : FIRST + 3], row[SWING_SECOND : SWING_SECOND + 3] = first, second
        row[CENTRE : CENTRE + 4] = qb.conjugate(limit.centre)
        row[SWINGS : SWINGS + 2], row[TWISTS : TWISTS + 2] = limit.swing, limit.twist
    return table


class MovingBody:
    """Root positions, rotations, and where all segments are; changed by displacement maps."""

    def __init__(self, motion: Motion, bodies: Bodies) -> None:
        self._motion, self._bodies = motion, bodies
        self._offsets, self._before = np.array(bodies.offsets), np.array(motion.rotations)
        self.roots: Vec3s = np.array(motion.root_positions)
        self.rotations: Quats = np.array(motion.rotations)
        self.q_world: Quats = np.empty_like(self.rotations)
        self.p_world: Vec3s = np.empty((*self.rotations.shape[:2], 3))
        self._place()

    @property
    def n_frames(self) -> int:
        """Return the number of frames."""
        return len(self.roots)

    @property
    def skeleton(self) -> Skeleton:
        """Return the body, or what stands for it where it changes."""
        return self._motion.skeleton

    def displace(self, displacements: Floats) -> None:
        """Apply a displacement map, shape (n, 51)."""
        displace(displacements, self.roots, self.rotations)
        self._place()

    def keep_limits(self, limits: Floats) -> None:
        """Bring displaced joints back to their limits, as in PoseTask."""
        keep_limits(limits, self._before, self.rotations)
        self._place()

    def placed(self, frames: Ints, roots: Vec3s, rotations: Quats) -> tuple[Quats, Vec3s]:
        """Return where the segments are in other postures of some frames."""
        q_world, p_world = np.empty_like(rotations), np.empty((len(frames), N_SEGMENTS, 3))
        place_frames(self._offsets[frames], roots, rotations, q_world, p_world)
        return q_world, p_world

    def motion(self) -> Motion:
        """Return what has become of the motion, with the end-effectors of its angles."""
        points = np.empty((self.n_frames, 8, 3))
        interaction = np.array(self._bodies.interaction_points)
        _end_effectors(interaction, self.q_world, self.p_world, points)
        return Motion(
            self.skeleton, self._motion.rate_hz, self.roots.copy(), self.rotations.copy(), points
        )

    def _place(self) -> None:
        place_frames(self._offsets, self.roots, self.rotations, self.q_world, self.p_world)


@kernel
def _end_effectors(interaction: Vec3s, q_world: Quats, p_world: Vec3s, out: Vec3s) -> None:
    for frame in range(len(out)):
        end_effector_positions(interaction[frame], q_world[frame], p_world[frame], out[frame])


_ENDS = {int(segment): i for i, segment in enumerate(LIMB_SEGMENTS[:, 2])}


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
    total = int(np.count_nonzero(rows[rows[:, KIND] == POINT, MASK : MASK + 3]))
    for kind, count in _COUNTS.items():
        total += count * int(np.count_nonzero(rows[:, KIND] == kind))
    return total


def _parts_of(index: int, c: Constraint, bodies: Bodies, q_world: Quats) -> list[Part]:
    if isinstance(c, OrientationGoal):
        return [_orientation(index, c.frames, c.segment, c.orientations, c.weight)]
    if isinstance(c, Plant):
        parts = [_point_part(index, c, point, POINT, bodies) for point in c.points]
        for part in parts:
            part.rows[:, MASK : MASK + 3] = 1.0
        return parts + _kept(index, c, {point.segment for point in c.points}, q_world)
    part = _point_part(index, c, c.first if isinstance(c, Relative) else c.point, POINT, bodies)
    rows = part.rows
    if isinstance(c, PointGoal):
        rows[:, DATA : DATA + 3] = c.goals
        rows[:, MASK : MASK + 3] = c.axes
        return [part] + _kept(index, c, {c.point.segment}, q_world)
    if isinstance(c, LookAt):
        rows[:, KIND], rows[:, SECOND : SECOND + 3], rows[:, DATA : DATA + 3] = (
            LOOK,
            c.axis,
            c.targets,
        )
    elif isinstance(c, OnSurface):
        rows[:, KIND], rows[:, SCALAR] = PLANE, _SIDES.get(c.side, 0.0)
    else:
        rows[:, OTHER] = c.second.segment
        rows[:, SECOND : SECOND + 3] = point_offsets(c.second, bodies, c.frames)
        if c.vectors is not None:
            rows[:, KIND], rows[:, DATA : DATA + 3] = VECTOR, c.vectors
        else:
            rows[:, KIND], rows[:, SCALAR] = DISTANCE, c.distances
    return [part]


def _point_part(index: int, c: Constraint, point: BodyPoint, kind: int, bodies: Bodies) -> Part:
    rows = np.zeros((len(c.frames), N_ITEM))
    rows[:, KIND], rows[:, SEGMENT], rows[:, WEIGHT] = kind, point.segment, c.weight
    rows[:, OFFSET : OFFSET + 3] = point_offsets(point, bodies, c.frames)
    return Part(index, c.frames, rows)


def _orientation(index: int, frames: Ints, segment: int, goals: Quats, weight: float) -> Part:
    rows = np.zeros((len(frames), N_ITEM))
    rows[:, KIND], rows[:, SEGMENT], rows[:, WEIGHT] = ORIENTATION, segment, weight
    rows[:, DATA : DATA + 4] = goals
    return Part(index, frames, rows)


def _kept(index: int, c: PointGoal | Plant, segments: set[int], q_world: Quats) -> list[Part]:
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
    part.rows[:, DATA : DATA + 4] = planes
    return planes


def check_surface(values: Floats) -> None:
    """Raise ConfigError if what was made of a surface is not finite."""
    if not np.all(np.isfinite(values)):
        raise ConfigError('surface: expected finite heights and gradients')


class ConstraintTable:
    """Rows of all constraints, sorted by frame."""

    def __init__(
        self,
        constraints: Sequence[Constraint],
        body: MovingBody,
        bodies: Bodies,
        config: EditConfig,
    ) -> None:
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
            unique,
            np.append(starts, len(order)),
            items,
            np.array(bodies.offsets),
            rigidity,
            limit_table(config.joint_limits, body.skeleton),
        )
        self._item_frames = np.sort(frames)
        self._item_ranks = np.repeat(np.arange(len(unique)), np.diff(self.tasks.starts))
        kinds = [int(part.rows[0, KIND]) for part in self._parts]
        owners = [self._of(part) for part in self._parts]
        points = [i for i, kind in enumerate(kinds) if kind != ORIENTATION]
        self._moving = [i for i in points if isinstance(owners[i], (Plant, OnSurface))]
        self._planes = [i for i in points if isinstance(owners[i], OnSurface)]
        self._contacts = [i for i in points if _is_contact(owners[i])]
        self._goals = [
            i
            for i in points
            if isinstance(owners[i], PointGoal) and self._parts[i].rows[0, MASK : MASK + 3].all()
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
                before = part.rows[:, DATA : DATA + 4].copy()
                after = set_planes(part, constraint, own)
                gaps = np.sum((after[:, :3] - before[:, :3]) * own, axis=1)
                gaps -= after[:, 3] - before[:, 3]
            elif isinstance(constraint, Plant):
                place = self._place(part, constraint, own, points)
                gaps = place - part.rows[0, DATA : DATA + 3]
                part.rows[:, DATA : DATA + 3] = place
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
                mask = part.rows[:, MASK : MASK + 3]
                total[part.frames] += mask * (part.rows[:, DATA : DATA + 3] - own)
            count[part.frames] += 1.0
        frames = np.flatnonzero(count)
        return frames, total[frames] / count[frames, None]

    def errors(self, body: MovingBody) -> Floats:
        """Return the largest error of each constraint [m]."""
        self.update(body)
        lengths = np.empty(len(self._item_frames))
        item_errors(self.tasks.items, self._item_frames, body.q_world, body.p_world, lengths)
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
                gaps = goal.rows[:, DATA : DATA + 3] - points[self._places[i]]
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
