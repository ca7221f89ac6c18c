# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Strips of the edit benchmark's experiments before and after, with ground, doors and rope."""

from collections.abc import Sequence

from benchmarks.edit.experiments import ROPE, TERRAIN
from benchmarks.edit.results import Bench
from benchmarks.edit.rope import Rope
import numpy as np
from puppet_core.body import LIMB_SEGMENTS, Motion, person, SEGMENT_INDEX, Skeleton
from puppet_core.drawing import Picture
from puppet_core.math import Floats, Vec3
from puppet_core.math import quaternions as qb
from puppet_edit.editor import (
    Bodies,
    BodyPoint,
    Constraint,
    edit_motion,
    EditConfig,
    normals,
    OrientationGoal,
    PointGoal,
    Surface,
)
from puppet_edit.scene import Doorway
from puppet_view.render import Body, Capsule, even_instants, render_strip, Solid, StripRow, View

CHEST = SEGMENT_INDEX['chest']
INSTANTS = 7
CELL_PX = (230, 300)
TILE_M, TILE_REACH_M, TILE_THICKNESS_M = 0.16, 1.1, 0.03
GROUND_COLOUR, LIGHTER = (0.55, 0.62, 0.45), (0.62, 0.69, 0.52)
DOOR_COLOUR, ROPE_COLOUR = (0.66, 0.50, 0.36), (0.75, 0.62, 0.42)
POST_M, ROPE_RADIUS_M, ROPE_LENGTH_M = 0.07, 0.014, 6.0
AZIMUTH_DEG = 65.0
KNOT_SPACINGS, STOOP_FRAMES = (4, 6, 12), (-18, -12, -6, 0, 6, 12, 18)
STOOP_RAD, LOWERED_M = 0.6, 0.15
ROPE_CYCLE_FRAMES = 70  # a strip of a climb shows about one cycle


def knot_spacings(walk: Motion, colour: tuple[float, float, float]) -> Picture:
    """
    Return a walk that stoops at one frame, a row for each knot spacing (LeeShin1999 fig. 2).

    One level without the exact pass: the denser the knots, the shorter the stoop.
    """
    middle = walk.n_frames // 2
    q_world, p_world = (part[middle] for part in walk.world_segments())
    stooped = qb.multiply(qb.from_rpy(np.array([0.0, STOOP_RAD, 0.0])), q_world[CHEST])
    at = np.array([middle])
    constraints: list[Constraint] = [
        PointGoal(at, BodyPoint(0), p_world[0] - [0.0, 0.0, LOWERED_M]),
        OrientationGoal(at, CHEST, stooped),
        *(
            PointGoal(at, BodyPoint(int(foot)), sole, keep_orientation=True)
            for foot, sole in zip(LIMB_SEGMENTS[2:, 2], walk.end_effectors[middle, 2:4])
        ),
    ]
    frames = [middle + int(f) for f in STOOP_FRAMES]
    rows = [StripRow('before', _bodies(walk, None, frames, np.zeros(3), colour))]
    for spacing in KNOT_SPACINGS:
        config = EditConfig(levels=1, frames_per_knot=spacing, exact=False)
        edited = edit_motion(walk, constraints, config).motion
        row = _bodies(edited, None, frames, np.zeros(3), colour)
        rows.append(StripRow(f'{spacing} frames a knot', row))
    captions = [f'{frame - middle:+d}' if frame != middle else 'edited' for frame in frames]
    return render_strip(rows, captions, CELL_PX, View(AZIMUTH_DEG))


def strip(bench: Bench, colour: tuple[float, float, float]) -> Picture:
    """Return a row of the motion before and one after editing."""
    before, after = bench.experiment.before, bench.result.motion
    frames = [int(frame) for frame in _instants(bench)]
    raised = _lowest_ground(bench)
    rows = [
        StripRow('before', _bodies(before, None, frames, np.zeros(3), colour), _rope(bench, True)),
        StripRow(
            'after',
            _bodies(after, bench.experiment.bodies, frames, raised, colour),
            _rope(bench, False),
            [_scenery(bench, after, frame, raised) for frame in frames],
        ),
    ]
    captions = [f'{frame / after.rate_hz:.2f} s' for frame in frames]
    return render_strip(rows, captions, CELL_PX, View(AZIMUTH_DEG))


def _instants(bench: Bench) -> Sequence[int]:
    n = bench.experiment.start.n_frames
    if bench.experiment.name == ROPE:
        return (50 + even_instants(ROPE_CYCLE_FRAMES, INSTANTS)).tolist()
    frames = even_instants(n, INSTANTS)
    if bench.experiment.name == TERRAIN:
        # two of them in the doors
        way = bench.experiment.before.root_positions[:, :2]
        for doorway in bench.experiment.doorways:
            there = int(np.argmin(np.linalg.norm(way - doorway.place_m, axis=1)))
            frames[int(np.argmin(np.abs(frames - there)))] = there
    return sorted(frames.tolist())


def _lowest_ground(bench: Bench) -> Vec3:
    """Return the lift that keeps all ground of a scene above the picture's floor [m]."""
    surface = bench.experiment.surface
    if surface is None:
        return np.zeros(3)
    x, y = bench.result.motion.root_positions[:, :2].T
    spread = np.linspace(-TILE_REACH_M, TILE_REACH_M, 7)
    heights = [surface.height(x + dx, y + dy).min() for dx in spread for dy in spread]
    return np.array([0.0, 0.0, 0.05 - min(heights)])


def _bodies(
    motion: Motion,
    bodies: Bodies | None,
    frames: Sequence[int],
    raised: Vec3,
    colour: tuple[float, float, float],
) -> list[list[Body]]:
    cells = []
    for frame in frames:
        skeleton = motion.skeleton
        if bodies is not None:
            skeleton = Skeleton(bodies.offsets[frame], bodies.interaction_points[frame])
        character = person('body', skeleton, colour)
        cells.append([Body.in_posture(character, motion.posture(frame), shift=raised)])
    return cells


def _rope(bench: Bench, is_before: bool) -> list[Solid | Capsule]:
    rope = bench.experiment.rope
    if rope is None:
        return []
    if is_before:
        rope = Rope(rope.point, np.array([0.0, 0.0, 1.0]))
    return [
        Capsule(
            rope.point, rope.point + ROPE_LENGTH_M * rope.direction, ROPE_RADIUS_M, ROPE_COLOUR
        )
    ]


def _scenery(bench: Bench, motion: Motion, frame: int, raised: Vec3) -> list[Solid | Capsule]:
    surface = bench.experiment.surface
    if surface is None:
        return []
    place = motion.root_positions[frame]
    solids: list[Solid | Capsule] = list(_tiles(surface, place, raised))
    for doorway in bench.experiment.doorways:
        away = np.linalg.norm(place[:2] - np.array(doorway.place_m))
        if away < 1.0:
            solids += _door(doorway, surface, raised)
    return solids


def _tiles(surface: Surface, place: Floats, raised: Vec3) -> list[Solid]:
    """Return tilted tiles of the ground round a place, two colours in turn."""
    count = int(TILE_REACH_M / TILE_M)
    middle = np.rint(place[:2] / TILE_M).astype(np.int64)
    tiles = []
    for i in range(-count, count + 1):
        for j in range(-count, count + 1):
            if i * i + j * j > count * count:
                continue
            x, y = TILE_M * (middle + (i, j))
            normal = normals(surface, x, y)
            turn = qb.normalize(np.append(1.0 + normal[2], np.cross([0.0, 0.0, 1.0], normal)))
            centre = np.array([x, y, float(surface.height(x, y))]) + raised
            centre = centre - 0.5 * TILE_THICKNESS_M * normal
            colour = LIGHTER if (middle.sum() + i + j) % 2 else GROUND_COLOUR
            size = np.array([1.06 * TILE_M, 1.06 * TILE_M, TILE_THICKNESS_M])
            tiles.append(Solid(centre, size, turn, colour=colour))
    return tiles


def _door(doorway: Doorway, surface: Surface, raised: Vec3) -> list[Solid]:
    turn = qb.exp(np.array([0.0, 0.0, doorway.heading_rad]))
    left = qb.rotate(turn, np.array([0.0, 0.5 * doorway.width_m, 0.0]))
    middle = np.array([*doorway.place_m, 0.0])
    top = doorway.lintel_m
    parts = [
        Solid(
            middle + raised + [0.0, 0.0, top + 0.5 * POST_M],
            np.array([doorway.depth_m, doorway.width_m + 2.0 * POST_M, POST_M]),
            turn,
            colour=DOOR_COLOUR,
        )
    ]
    for side in (1.0, -1.0):
        foot = middle + side * left
        low = float(surface.height(foot[0], foot[1])) - 0.2
        centre = foot + raised + [0.0, 0.0, 0.5 * (low + top)]
        size = np.array([doorway.depth_m, POST_M, top - low])
        parts.append(Solid(centre, size, turn, colour=DOOR_COLOUR))
    return parts
