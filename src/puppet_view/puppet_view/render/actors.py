# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies in motion side by side in one world, moved apart once for all instants."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
import math

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, Motion, N_SEGMENTS, world_segments
from puppet_core.drawing import Picture
from puppet_core.marker_spec import importance_colour
from puppet_core.math import Floats, quaternions, Vec3, Vec3s
from puppet_core.math.quaternions import rotate
from puppet_core.procedural import heading
from puppet_view.render.camera import Camera, cameras_along, smooth_path, View
from puppet_view.render.image import render_scene, SAMPLES
from puppet_view.render.scene import Body, Capsule, from_core, moved, placed, SceneObject
from puppet_view.render.strip import Texts

GAP_M = 0.3  # between bodies
NEAR_M = 1.0  # from the pelvis to an object that is drawn
HELD_S = 0.25  # a longer gap is no motion that could be filled in
WHOLE_FRAME = 1e-6  # of a frame: so near to a frame, that frame is taken as it is


@dataclass(frozen=True, slots=True)
class Actor:
    character: Character  # shape and name
    motion: Motion  # its own motion
    title: str  # its label
    importances: Floats | None = None
    """Of each limb in each frame, shape (n, 4); colours its limbs."""

    objects: tuple[SceneObject, ...] = ()  # what stands in its world
    things: tuple[SceneObject, ...] = ()
    """What moves there: each of the motion's props, in its own frame."""

    times_s: Floats = field(default_factory=lambda: np.empty(0))
    """Of each frame, rising, shape (n,) [s]; by the rate if empty."""

    def __post_init__(self) -> None:
        if not len(self.times_s):
            times = np.arange(self.motion.n_frames) / self.motion.rate_hz
            object.__setattr__(self, 'times_s', times)

    def body(self, frame: int) -> Body:
        return self.body_at(float(self.times_s[frame]))

    def body_at(self, time_s: float) -> Body:
        """Return the body at a time [s], between frames too; it stands in gaps beyond HELD_S."""
        motion = self.motion
        before, after, share = self._between(time_s)
        root = (1.0 - share) * motion.root_positions[before] + share * motion.root_positions[after]
        turned = motion.rotations[before]
        if share > 0.0:
            turned = quaternions.slerp(turned, motion.rotations[after], share)
        q_world, p_world = world_segments(self.character.skeleton, root[None], turned[None])
        colours = None
        if self.importances is not None:
            colours = limb_colours(
                (1.0 - share) * self.importances[before] + share * self.importances[after]
            )
        return Body(self.character, q_world[0], p_world[0], colours)

    def objects_at(self, time_s: float) -> tuple[SceneObject, ...]:
        """Return what stands in its world, and what moves there where that is at a time [s]."""
        before, after, share = self._between(time_s)
        first, then = (self.motion.props.at(frame) for frame in (before, after))
        places = (1.0 - share) * first.positions + share * then.positions
        turns = quaternions.slerp(first.orientations, then.orientations, share)
        seen = (
            placed(thing, place, turn)
            for thing, place, turn in zip(self.things, places, turns)
            if np.isfinite(place).all()
        )
        return (*self.objects, *seen)

    def _between(self, time_s: float) -> tuple[int, int, float]:
        """Return two frames, and how far between them a time is."""
        times = self.times_s
        place = float(np.interp(time_s, times, np.arange(len(times))))
        if abs(place - round(place)) < WHOLE_FRAME:
            place = float(round(place))
        before = int(place)
        after = min(before + 1, len(times) - 1)
        is_gap = times[after] - times[before] > max(HELD_S, 1.5 / self.motion.rate_hz)
        return before, after, 0.0 if is_gap else place - before


@dataclass(frozen=True, slots=True)
class LineUp:
    shots: tuple[tuple[Body, ...], ...]  # the bodies at each instant, from left to right
    objects: tuple[tuple[SceneObject, ...], ...]  # what is around them at each instant
    cameras: tuple[Camera, ...]  # one for each instant
    anchors: Vec3s  # where each body's title belongs, shape (instants, bodies, 3) [m]
    texts: Texts  # what is written
    captions: tuple[str, ...]  # one for each instant; '' for none

    def picture(self, i: int, samples: int = SAMPLES) -> Picture:
        camera, size_px = self.cameras[i], self.texts.size_px
        picture = render_scene(
            self.shots[i], camera, size_px, self.objects[i], samples, self.cameras[0]
        )
        columns = camera.project(self.anchors[i], size_px)[:, 0]
        return self.texts.write(picture, columns, self.captions[i])


def line_up(
    actors: Sequence[Actor],
    times_s: Floats,
    view: View,
    texts: Texts,
    captions: Sequence[str] = (),
) -> LineUp:
    """Return all bodies side by side at some instants, evenly spaced [s], from left to right."""
    shots = [[actor.body_at(float(time)) for actor in actors] for time in times_s]
    middle = shots[len(shots) // 2][0]
    front = rotate(heading(middle.q_world[0]), np.array([1.0, 0.0, 0.0]))
    azimuth_deg = view.azimuth_deg + math.degrees(math.atan2(front[1], front[0]))
    azimuth = math.radians(azimuth_deg)
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    shifts = _shifts(actors, shots, right)
    shots = [[moved(body, shift) for body, shift in zip(shot, shifts)] for shot in shots]
    objects = [
        tuple(
            moved(item, s)
            for actor, s in zip(actors, shifts)
            for item in actor.objects_at(float(time))
        )
        for time in times_s
    ]
    places = np.array([[body.p_world[0] for body in shot] for shot in shots])
    if len(times_s) > 1:
        rate_hz = (len(times_s) - 1) / float(times_s[-1] - times_s[0])
        places = smooth_path(places, rate_hz)
    view = replace(view, azimuth_deg=azimuth_deg, margins_px=texts.margins_px)
    cameras = cameras_along(shots, places.mean(axis=1), view, texts.size_px)
    return LineUp(
        tuple(map(tuple, shots)),
        tuple(objects),
        tuple(cameras),
        places,
        texts,
        tuple(captions) or ('',) * len(shots),
    )


def _shifts(actors: Sequence[Actor], shots: Sequence[Sequence[Body]], right: Vec3) -> Vec3s:
    """Return how far each actor is moved so that it stays right of the one before [m]."""
    shifts = np.zeros((len(actors), 3))
    reach_before = np.empty(0)
    for k, actor in enumerate(actors):
        start = shots[len(shots) // 2][k].p_world[0] * (1.0, 1.0, 0.0)
        extents = np.array([_extent(shot[k], right) for shot in shots])
        for item in actor.objects:
            extents[:, 0] = np.minimum(extents[:, 0], _object_extent(item, right)[0])
            extents[:, 1] = np.maximum(extents[:, 1], _object_extent(item, right)[1])
        extents -= start @ right
        aside = 0.0 if k == 0 else float(np.max(reach_before - extents[:, 0])) + GAP_M
        shifts[k] = aside * right - start
        reach_before = extents[:, 1] + aside
    return shifts


def _extent(body: Body, right: Vec3) -> tuple[float, float]:
    starts, ends, radii, _ = body.capsules()
    if not len(radii):
        return float(body.p_world[0] @ right), float(body.p_world[0] @ right)
    across = np.stack((starts @ right, ends @ right))
    return float(np.min(across - radii)), float(np.max(across + radii))


def _object_extent(item: SceneObject, right: Vec3) -> tuple[float, float]:
    if isinstance(item, Capsule):
        ends = np.array([item.start @ right, item.end @ right])
        return float(ends.min() - item.radius), float(ends.max() + item.radius)
    axes = rotate(item.orientation, np.eye(3))
    half = float(np.abs(axes @ right) @ (item.size * (1.0 if item.is_cylinder else 0.5)))
    return float(item.position @ right) - half, float(item.position @ right) + half


def near_objects(actor: Actor, times_s: Floats) -> tuple[SceneObject, ...]:
    """Return the objects of an actor that are within NEAR_M of its pelvis at one of some times."""
    pelvis = np.array([actor.body_at(float(time)).p_world[0] for time in times_s])
    return tuple(item for item in actor.objects if np.min(_apart(item, pelvis)) < NEAR_M)


def _apart(item: SceneObject, places: Vec3s) -> Floats:
    """Return how far places are from the inside of an object, shape (n,) [m]."""
    if isinstance(item, Capsule):
        return np.maximum(from_core(places, item.start, item.end)[1] - item.radius, 0.0)
    half = item.size * ([1.0, 1.0, 0.5] if item.is_cylinder else [0.5, 0.5, 0.5])
    turned = quaternions.rotate(quaternions.conjugate(item.orientation), places - item.position)
    return np.linalg.norm(np.maximum(np.abs(turned) - half, 0.0), axis=1)


def limb_colours(importances: Floats) -> Floats:
    """Return a colour for each segment of the limbs, NaN for the others, shape (16, 3)."""
    colours = np.full((N_SEGMENTS, 3), np.nan)
    for segments, importance in zip(LIMB_SEGMENTS, importances):
        colours[segments] = importance_colour(float(importance))
    return colours
