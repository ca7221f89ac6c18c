# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Doorways: head and upper body keep below a ceiling that rises around them (LeeShin1999 6)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import Motion, SEGMENT_INDEX, Skeleton
from puppet_core.math import Floats, Ints, Vec3s
from puppet_core.math import quaternions as qb
from puppet_core.procedural import ADULT_LEG_LENGTH_M
from puppet_edit.editor import BELOW, BodyPoint, Constraint, OnSurface, Surface
from puppet_edit.scene.surfaces import FLOOR
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

HEAD_TOP_M = 0.235  # of an adult, above the head's joint
APPROACH_M = 0.9  # before and behind the door, the ceiling has risen by APPROACH_RISE_M
APPROACH_RISE_M = 0.5
BENT_SHARE = 0.7  # of what is too high: by bending forward, the rest by bending the knees
SPARE_M = 0.08  # that a stoop leaves below the lintel, before the editor
STOOP_WIDTH_S = 0.3  # over which the stoop is smoothed
_BENT = ((0, 0.2), (1, 0.4), (2, 0.4), (3, -0.2))  # pelvis, spine, chest; the head faces ahead


class Doorway(NamedTuple):
    place_m: tuple[float, float]  # Middle of the threshold seen from above [m]
    heading_rad: float  # Which way one goes through
    lintel_m: float  # Height of its lower edge in world [m]
    width_m: float = 1.2  # Between the posts [m]
    depth_m: float = 0.3  # Along the way [m]

    def way(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return how far behind and left of the door's middle places are [m]."""
        dx, dy = np.asarray(x) - self.place_m[0], np.asarray(y) - self.place_m[1]
        cosine, sine = np.cos(self.heading_rad), np.sin(self.heading_rad)
        return np.asarray(cosine * dx + sine * dy), np.asarray(cosine * dy - sine * dx)

    def frames(self, motion: Motion) -> Ints:
        """Return the frames in which a body is in the door or near it."""
        along, aside = self.way(*motion.root_positions[:, :2].T)
        near = np.abs(along) < APPROACH_M + 0.5 * self.depth_m
        return np.flatnonzero(near & (np.abs(aside) < 0.5 * self.width_m))


class Ceiling(NamedTuple):
    """What to keep under: level in the door, rising on both sides with the ground."""

    doorway: Doorway
    ground: Surface

    def height(self, x: Floats, y: Floats) -> Floats:
        """Return z of the ceiling [m]."""
        beyond, _ = self._beyond(x, y)
        share = np.minimum(beyond, 1.0)
        return np.asarray(
            self.doorway.lintel_m
            + APPROACH_RISE_M * beyond**2
            + share**2 * (3.0 - 2.0 * share) * self._ground(x, y)
        )

    def gradient(self, x: Floats, y: Floats) -> Floats:
        """Return how it changes with x and y, shape (..., 2) [-]."""
        beyond, per_way = self._beyond(x, y)
        share = np.minimum(beyond, 1.0)
        change = 2.0 * APPROACH_RISE_M * beyond + 6.0 * share * (1.0 - share) * self._ground(x, y)
        turn = self.doorway.heading_rad
        along = (change * per_way)[..., None] * (np.cos(turn), np.sin(turn))
        ease = share**2 * (3.0 - 2.0 * share)
        return np.asarray(along + ease[..., None] * self.ground.gradient(x, y))

    def _beyond(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return how far outside of the door, in approaches, and its slope along the way."""
        along, _ = self.doorway.way(x, y)
        beyond = np.maximum(np.abs(along) - 0.5 * self.doorway.depth_m, 0.0) / APPROACH_M
        return beyond, np.where(beyond > 0.0, np.sign(along) / APPROACH_M, 0.0)

    def _ground(self, x: Floats, y: Floats) -> Floats:
        at_door = self.ground.height(*np.array(self.doorway.place_m, dtype=np.float64))
        return np.asarray(self.ground.height(x, y) - at_door)


def upper_points(skeleton: Skeleton) -> list[BodyPoint]:
    size = skeleton.leg_length / ADULT_LEG_LENGTH_M
    points = [BodyPoint(SEGMENT_INDEX['head'], np.array([0.0, 0.0, size * HEAD_TOP_M]))]
    for side in ('left', 'right'):
        shoulder = skeleton.offsets[SEGMENT_INDEX[f'{side}_upper_arm']]
        points.append(BodyPoint(SEGMENT_INDEX['chest'], shoulder + [0.0, 0.0, 0.05 * size]))
    return points


def doorway_constraints(
    motion: Motion, doorways: Sequence[Doorway], ground: Surface = FLOOR
) -> list[Constraint]:
    found: list[Constraint] = []
    points = upper_points(motion.skeleton)
    for doorway in doorways:
        frames, ceiling = doorway.frames(motion), Ceiling(doorway, ground)
        if len(frames):
            found += [OnSurface(frames, point, ceiling, BELOW) for point in points]
    return found


def stooping(
    motion: Motion, doorways: Sequence[Doorway], shifts: Vec3s, ground: Surface = FLOOR
) -> Motion:
    """
    Return a motion that bends forward and lowers the pelvis where lintels are in its way.

    An upright body is as near to bending backward, so the editor begins with this. `shifts` (n, 3)
    are how the root goes along with the ground [m].
    """
    top = upper_points(motion.skeleton)[0]
    q_world, p_world = motion.world_segments()
    places = p_world[:, top.segment] + shifts
    offset = top.offset_in(motion.skeleton.interaction_points)
    places = places + qb.rotate(q_world[:, top.segment], offset)
    need = np.zeros(motion.n_frames)
    for doorway in doorways:
        frames = doorway.frames(motion)
        ceiling = Ceiling(doorway, ground).height(places[frames, 0], places[frames, 1])
        need[frames] = np.maximum(need[frames], places[frames, 2] - ceiling + SPARE_M)
    width = STOOP_WIDTH_S * motion.rate_hz
    need = maximum_filter1d(np.maximum(need, 0.0), 2 * round(width) + 1, mode='nearest')
    need = gaussian_filter1d(need, width, mode='nearest')
    roots = np.array(motion.root_positions)
    roots[:, 2] -= (1.0 - BENT_SHARE) * need
    length = float(places[0, 2] - shifts[0, 2] - motion.root_positions[0, 2])
    angle = np.arccos(1.0 - np.clip(BENT_SHARE * need / length, 0.0, 0.8))
    rotations = np.array(motion.rotations)
    for segment, share in _BENT:
        turn = qb.exp(share * angle[:, None] * (0.0, 1.0, 0.0))
        rotations[:, segment] = qb.multiply(rotations[:, segment], turn)
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, roots, rotations)


def doorway_at(motion: Motion, frame: int, lintel_m: float) -> Doorway:
    """Return a doorway that a motion goes through at a frame, heading as its pelvis does."""
    ahead = qb.rotate(motion.rotations[frame, 0], np.array([1.0, 0.0, 0.0]))
    x, y, _ = motion.root_positions[frame]
    return Doorway((float(x), float(y)), float(np.arctan2(ahead[1], ahead[0])), lintel_m)
