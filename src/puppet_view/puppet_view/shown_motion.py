# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A performance to look at: bodies as they moved, and how much their hands and feet mattered.

A recorded bag is one, and so is a clip with what the solver makes of it; the page that shows
them need not know which.

"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, Motion
from puppet_core.math import Floats, Quats, Vec3, Vec3s
from puppet_core.math.quaternions import rotate
from puppet_core.procedural import heading
from puppet_core.robots import merged_parts, Part, read_shape, urdf_text
from puppet_retarget.importance import IMPORTANCE
from puppet_retarget.offline import RetargetResult

FORWARD, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
STRAIGHT, SOME_WAY_M = 2.0, 0.5  # a way so much longer than wide has a direction
CENTRE_M = 0.85  # height of the point that the camera faces
NEAREST_M, METRES_A_BODY = 4.6, 1.9  # how far away the camera stands
SIDEWAYS, HIGH = 0.45, 0.22  # from where it looks, as shares of that


class BodyTrack(NamedTuple):
    """A body over time."""

    name: str
    """What is written above its head."""

    parts: Sequence[Part]
    """Its shape."""

    times_s: Floats
    """Since the recording began, rising, shape (n,) [s]."""

    q_world: Quats
    """Orientations of the segments in world, shape (n, 16, 4)."""

    p_world: Vec3s
    """Their joints in world, shape (n, 16, 3) [m]."""

    is_performer: bool = False
    """Whether this is who was captured, and no puppet."""


class ImportanceTrack(NamedTuple):
    """How much hands and feet matter, over time."""

    times_s: Floats
    """Since the recording began, rising, shape (n,) [s]."""

    values: Floats
    """In [0, 1], shape (n, 4)."""


@dataclass(frozen=True)
class Take:
    """One file to show."""

    name: str
    """As the user calls it."""

    rate_hz: float
    """Frames per second of the performance."""

    bodies: tuple[BodyTrack, ...]
    """At least one."""

    importance: ImportanceTrack | None = None
    """None if nobody knows."""

    latency_ms: tuple[float, float] | None = None
    """Median and 99th percentile from a frame's stamp to its record; None if not recorded."""

    @property
    def duration_s(self) -> float:
        """Return the time of the last posture [s]."""
        return float(max(body.times_s[-1] for body in self.bodies))


def row_at(times_s: Floats, time_s: float) -> int:
    """Return the last row that is not after a time, or the first."""
    # a frame's own time, computed in another way, may miss it by a rounding error
    return max(int(np.searchsorted(times_s, time_s + 1e-6, side='right')) - 1, 0)


def captured_body(name: str, motion: Motion, body: Character) -> BodyTrack:
    """Return a captured motion as a body with the shape of `body`."""
    times = np.arange(motion.n_frames) / motion.rate_hz
    return BodyTrack(name, body_parts(body), times, *motion.world_segments(), is_performer=True)


def solved_body(
    character: Character, times_s: Floats, result: RetargetResult
) -> tuple[BodyTrack, ImportanceTrack]:
    """Return what the solver gave a character, and the importances it was given."""
    body = BodyTrack(
        character.name, body_parts(character), times_s, result.q_world, result.p_world
    )
    return body, ImportanceTrack(times_s, result.rows[..., IMPORTANCE])


def body_parts(body: Character) -> list[Part]:
    """Return the shape of a character."""
    return merged_parts(read_shape(urdf_text(body)))


def row_direction(q_root: Quats, roots: Vec3s) -> tuple[Vec3, Vec3]:
    """
    Return along which direction bodies stand in a row, and from which to look at it.

    They stand beside the way that the first one goes, so that none walks into another; who looks
    at them sees its face rather than its back at first.

    Parameters
    ----------
    q_root : ndarray, shape (4,)
        How its pelvis stands in world at first.
    roots : ndarray, shape (n, 3)
        Where it is [m].

    Returns
    -------
    row : ndarray, shape (3,)
        Level, of length 1, from left to right as seen.
    front : ndarray, shape (3,)
        Level, of length 1, from the row to who looks at it.

    """
    face = rotate(heading(q_root), FORWARD)
    way = np.ptp(roots[:, :2], axis=0)
    if way.max() > STRAIGHT * way.min() + SOME_WAY_M:
        across = int(np.argmin(way))
    else:
        across = int(np.argmin(abs(face[:2])))
    row = np.eye(3)[across]
    front = np.cross(row, UP)
    if front @ face < 0.0:
        row, front = -row, -front
    return row, front


def row_camera(
    row: Vec3, front: Vec3, n_bodies: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return from where to look at a row around the origin of the floor, and where to [m]."""
    away = max(NEAREST_M, METRES_A_BODY * (n_bodies + 0.8))
    target = CENTRE_M * UP
    place = target + away * (front + SIDEWAYS * row + HIGH * UP)
    return tuple(place.tolist()), tuple(target.tolist())
