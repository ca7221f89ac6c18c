# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bodies beside each other in one world, at one instant or many.

Every body keeps its own height, its own path and its own objects; it is only moved aside, once
for all instants, so that the bodies stand in a row across the picture and never meet in it.

"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from puppet_core.arrays import Floats, Vec3, Vec3s
from puppet_core.image_file import Picture
from puppet_core.motion_loop import heading
from puppet_core.quaternion_batch import rotate
from puppet_retarget.offline.actor import Actor
from puppet_retarget.offline.camera_path import cameras_along, FOLLOW, smooth_path, View
from puppet_retarget.offline.picture import render_scene
from puppet_retarget.offline.picture_body import Body, moved, Pill, Solid
from puppet_retarget.offline.picture_camera import Camera
from puppet_retarget.offline.picture_text import Texts

GAP_M = 0.3  # between bodies


@dataclass(frozen=True, slots=True)
class LineUp:
    """What is drawn at some instants."""

    shots: tuple[tuple[Body, ...], ...]
    """The bodies at each instant, from left to right."""

    objects: tuple[Solid | Pill, ...]
    """What stands around them at all instants."""

    cameras: tuple[Camera, ...]
    """One for each instant."""

    anchors: Vec3s
    """Where each body's title belongs, shape (instants, bodies, 3) [m]."""

    texts: Texts
    """What is written."""

    captions: tuple[str, ...]
    """One for each instant; '' for none."""

    def picture(self, i: int, samples: int = 3, threads: int | None = None) -> Picture:
        """Return the picture of one instant."""
        camera, size_px = self.cameras[i], self.texts.size_px
        picture = render_scene(
            self.shots[i], camera, size_px, (), self.objects, samples, self.cameras[0], threads
        )
        columns = camera.project(self.anchors[i], size_px)[:, 0]
        return self.texts.write(picture, columns, self.captions[i])


def line_up(
    actors: Sequence[Actor], times_s: Floats, view: View, texts: Texts,
    captions: Sequence[str] = (),
) -> LineUp:  # fmt: skip
    """
    Return all bodies side by side at some instants.

    Parameters
    ----------
    actors : sequence of Actor
        From left to right.
    times_s : ndarray, shape (n,)
        When, evenly spaced if there are several [s].
    view : View
        From where; azimuth 0 is in front of the first body in the middle instant, 90 on its
        left. Its margins are those of the texts.
    texts : Texts
        Size and what is written.
    captions : sequence of str
        One for each instant, or none.

    """
    shots = [[actor.body_at(float(time)) for actor in actors] for time in times_s]
    middle = shots[len(shots) // 2][0]
    front = rotate(heading(middle.q_world[0]), np.array([1.0, 0.0, 0.0]))
    azimuth_deg = view.azimuth_deg + math.degrees(math.atan2(front[1], front[0]))
    azimuth = math.radians(azimuth_deg)
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    shifts = _shifts(actors, shots, right)
    shots = [[moved(body, shift) for body, shift in zip(shot, shifts)] for shot in shots]
    objects = [moved(item, s) for actor, s in zip(actors, shifts) for item in actor.objects]
    places = np.array([[body.p_world[0] for body in shot] for shot in shots])
    if len(times_s) > 1:
        rate_hz = (len(times_s) - 1) / float(times_s[-1] - times_s[0])
        places = smooth_path(places, rate_hz)
    view = replace(view, azimuth_deg=azimuth_deg, margins_px=texts.margins_px)
    cameras = cameras_along(shots, places.mean(axis=1), view, texts.size_px)
    return LineUp(
        tuple(map(tuple, shots)), tuple(objects), tuple(cameras), places, texts,
        tuple(captions) or ('',) * len(shots),
    )


def line_up_picture(
    actors: Sequence[Actor], frame: int, size_px: tuple[int, int], azimuth_deg: float
) -> Picture:
    """Return all bodies side by side in the same frame; the azimuth is as in `line_up`."""
    texts = Texts(size_px, tuple(actor.title for actor in actors), has_scale=False)
    times = np.array([frame / actors[0].motion.rate_hz])
    return line_up(actors, times, View(azimuth_deg, 8.0, FOLLOW), texts).picture(0)


def _shifts(
    actors: Sequence[Actor], shots: Sequence[Sequence[Body]], right: Vec3
) -> Vec3s:
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
    """Return how far a body reaches to the left and right [m]."""
    starts, ends, radii, _ = body.capsules()
    if not len(radii):
        return float(body.p_world[0] @ right), float(body.p_world[0] @ right)
    across = np.stack((starts @ right, ends @ right))
    return float(np.min(across - radii)), float(np.max(across + radii))


def _object_extent(item: Solid | Pill, right: Vec3) -> tuple[float, float]:
    if isinstance(item, Pill):
        ends = np.array([item.start @ right, item.end @ right])
        return float(ends.min() - item.radius), float(ends.max() + item.radius)
    axes = rotate(item.orientation, np.eye(3))
    half = float(np.abs(axes @ right) @ (item.size * (1.0 if item.is_cylinder else 0.5)))
    return float(item.position @ right) - half, float(item.position @ right) + half
