# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Strips of instants of a clip before and after an edit or an enhancement."""

from collections.abc import Sequence

import numpy as np
from puppet_core.body import Character, Motion, person
from puppet_core.drawing import Picture
from puppet_core.math import Ints, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from puppet_edit.edit_file import BodyTrack, EditPlan
from puppet_edit.editor import Constraint, FlatSurface, OnSurface, Plant, PointGoal, Surface
from puppet_view.render import Body, Capsule, even_instants, render_strip, Solid, StripRow, View

MEASURED_MARK_M = 0.035  # edge of the cube where an end-effector was measured

INSTANTS = 5
MARK_M = 0.045  # radius of the ball at a goal
DISC_M = np.array([0.17, 0.17, 0.012])  # radii and height of the disc below a planted point
GOAL_COLOUR, PLANT_COLOUR = (0.85, 0.12, 0.10), (0.10, 0.42, 0.75)
GROUND_COLOUR = (0.70, 0.68, 0.60)
GROUND_M, PLATE_M, PLATE_THICK_M = 0.8, 0.32, 0.02  # of plates drawn around a body
AZIMUTH_DEG = 35.0
CELL_PX = (320, 360)


def before_and_after(
    character: Character,
    motions: tuple[Motion, Motion],
    goals: Vec3s,
    keyframes: Sequence[int] = (),
) -> Picture:
    """Return a row as measured and one enhanced, cubes at goals (n, 8, 3) [m], NaN for none."""
    frames = _instants(len(goals), keyframes)
    marks = [
        [
            Solid(place, np.full(3, MEASURED_MARK_M), colour=GOAL_COLOUR)
            for place in goals[frame]
            if np.isfinite(place).all()
        ]
        for frame in frames
    ]
    rows = [
        StripRow(
            title, [[Body.in_posture(character, motion.posture(f))] for f in frames], (), marks
        )
        for title, motion in zip(('Measured', 'Enhanced'), motions)
    ]
    captions = [f'{frame / motions[0].rate_hz:.2f} s' for frame in frames]
    return render_strip(rows, captions, CELL_PX, View(AZIMUTH_DEG))


def _instants(n_frames: int, keyframes: Sequence[int]) -> list[int]:
    inner = [frame for frame in keyframes if 0 < frame < n_frames - 1]
    if len(inner) < INSTANTS:
        return [int(frame) for frame in even_instants(n_frames, INSTANTS)]
    return [inner[int(i)] for i in even_instants(len(inner), INSTANTS)]


def edit_preview(character: Character, before: Motion, plan: EditPlan, after: Motion) -> Picture:
    """Return a row before and one after; before is the clip, or what tasks made of it."""
    if before.n_frames != after.n_frames:
        before = plan.before
    frames = instants(plan, after.n_frames)
    track = BodyTrack(after)
    wanted = [entry.constraint for entry in plan.entries]
    ground = _ground_of(plan)
    x, y, _ = after.root_positions[frames].T
    low = 0.0 if ground is None else float(ground.height(x, y).min())
    lift = np.array([0.0, 0.0, max(-low, 0.0)])  # the floor is drawn at zero
    solids = [
        [
            *_marks(wanted, int(frame), track, lift),
            *_plates(ground, after.root_positions[frame], lift),
        ]
        for frame in frames
    ]
    rows = []
    for title, motion in (('Before', before), ('After', after)):
        body = person(character.name, motion.skeleton, character.colour)
        cells = [[Body.in_posture(body, motion.posture(int(frame)), lift)] for frame in frames]
        rows.append(StripRow(title, cells, (), solids))
    captions = [f'frame {frame}, {frame / after.rate_hz:.2f} s' for frame in frames]
    return render_strip(rows, captions, CELL_PX, View(AZIMUTH_DEG))


def instants(plan: EditPlan, n_frames: int) -> Ints:
    """Return the frames to draw: single ones that entries name, others spread over theirs."""
    single = sorted(
        {
            int(entry.constraint.frames[0])
            for entry in plan.entries
            if len(entry.constraint.frames) == 1
        }
    )
    if len(single) >= INSTANTS:
        return np.array([single[int(i)] for i in even_instants(len(single), INSTANTS)])
    found = [c.frames for c in plan.constraints] or [np.arange(n_frames)]
    first = min(int(frames[0]) for frames in found)
    last = max(int(frames[-1]) for frames in found)
    margin = max(8, (last - first) // 4)
    low, high = max(first - margin, 0), min(last + margin, n_frames - 1)
    others = [low + int(i) for i in even_instants(high - low + 1, INSTANTS)]
    for frame in single:
        # the nearest other instant gives way
        others = sorted(others, key=lambda other: abs(other - frame))[1:]
    return np.array(sorted({*single, *others}))


def _marks(
    constraints: Sequence[Constraint], frame: int, track: BodyTrack, lift: Vec3
) -> list[Solid | Capsule]:
    found: list[Solid | Capsule] = []
    for constraint in constraints:
        at = np.flatnonzero(constraint.frames == frame)
        if not len(at):
            continue
        if isinstance(constraint, PointGoal):
            own = track.places(constraint.point, np.array([frame]))[0]
            goal = np.where(constraint.axes, constraint.goals[at[0]], own)
            found.append(Capsule(goal + lift, goal + lift, MARK_M, GOAL_COLOUR))
        elif isinstance(constraint, Plant):
            for point in constraint.points:
                place = track.places(point, np.array([frame]))[0]
                found.append(Solid(place + lift, DISC_M, is_cylinder=True, colour=PLANT_COLOUR))
    return found


def _ground_of(plan: EditPlan) -> Surface | None:
    """Return the surface that the body walks on, or the first that an entry names."""
    if plan.ground is not None:
        return plan.ground
    for constraint in plan.constraints:
        surface = constraint.surface if isinstance(constraint, (OnSurface, Plant)) else None
        if surface is not None and surface != FlatSurface():
            return surface
    return None


def _plates(surface: Surface | None, centre: Vec3, lift: Vec3) -> list[Solid]:
    """Return plates that lie on a surface around a place, as steep as it is there."""
    if surface is None:
        return []
    steps = np.arange(-GROUND_M, GROUND_M + 0.5 * PLATE_M, PLATE_M)
    corner = PLATE_M * np.round(centre[:2] / PLATE_M)
    x, y = (grid.ravel() for grid in np.meshgrid(corner[0] + steps, corner[1] + steps))
    z, slopes = surface.height(x, y), surface.gradient(x, y)
    # the shortest turn of the plate's upright to the surface's
    tilt = np.stack((slopes[:, 1], -slopes[:, 0], np.zeros(len(x))), axis=-1)
    steep = np.linalg.norm(tilt, axis=-1, keepdims=True)
    turns = qb.exp(np.arctan(steep) * tilt / np.maximum(steep, 1e-12))
    lengths = PLATE_M * np.sqrt(1.0 + np.abs(slopes).max(axis=-1) ** 2)
    return [
        Solid(place + lift, np.array([side, side, PLATE_THICK_M]), turn, colour=GROUND_COLOUR)
        for place, side, turn in zip(
            np.stack((x, y, z - 0.5 * PLATE_THICK_M), axis=-1), lengths, turns
        )
    ]
