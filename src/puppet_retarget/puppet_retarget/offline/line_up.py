# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bodies beside each other at one instant of a performance, their heights to compare.

Every body stands at its own height above the floor, as in its clip; only its place on the
floor is changed, so that the bodies stand in a row across the picture.

"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from puppet_core.arrays import Floats, Vec3
from puppet_core.character import Character
from puppet_core.image_file import Picture
from puppet_core.motion_loop import heading
from puppet_core.posture import Motion
from puppet_core.quaternion_batch import rotate
from puppet_retarget.offline.picture import render_scene
from puppet_retarget.offline.picture_body import Body
from puppet_retarget.offline.picture_camera import camera_around

GAP_M = 0.3  # between bodies
ELEVATION_DEG = 8.0
MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Actor:
    """A body and what it does."""

    character: Character
    """Shape and name."""

    motion: Motion
    """Its own motion."""

    title: str
    """What is written beside it."""

    def body(self, frame: int) -> Body:
        """Return the body in one frame of its motion."""
        return Body.in_posture(self.character, self.motion.posture(frame))


def line_up_picture(
    actors: Sequence[Actor], frame: int, size_px: tuple[int, int], azimuth_deg: float
) -> Picture:
    """
    Return all bodies side by side in the same frame.

    Parameters
    ----------
    actors : sequence of Actor
        From left to right.
    frame : int
        Which frame of their motions.
    size_px : tuple of int
        Width and height.
    azimuth_deg : float
        Where the viewer stands: 0 in front of the first body, 90 on its left.

    """
    front = rotate(heading(actors[0].motion.rotations[frame, 0]), np.array([1.0, 0.0, 0.0]))
    azimuth = math.radians(azimuth_deg) + math.atan2(front[1], front[0])
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    bodies, reach = [], 0.0
    for actor in actors:
        body = _moved_to_origin(actor.body(frame))
        low, high = _extent(body, right)
        place = body.p_world + (reach - low) * right
        bodies.append(replace(body, p_world=place, title=actor.title))
        reach += high - low + GAP_M
    camera = camera_around(bodies, size_px, math.degrees(azimuth), ELEVATION_DEG, margin=MARGIN)
    return render_scene(bodies, camera, size_px)


def _moved_to_origin(body: Body) -> Body:
    """Return the body with its pelvis above the origin of the floor."""
    return replace(body, p_world=body.p_world - body.p_world[0] * (1.0, 1.0, 0.0))


def _extent(body: Body, right: Vec3) -> Floats:
    """Return how far a body reaches to the left (negative) and right of the origin [m]."""
    starts, ends, radii, _ = body.capsules()
    across = np.stack((starts @ right, ends @ right))
    return np.array([np.min(across - radii), np.max(across + radii)])
