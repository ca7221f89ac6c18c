# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A body, what it does, and what stands around it, at any time of its motion."""

from dataclasses import dataclass

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Vec3s
from puppet_core.character import Character
from puppet_core.importance_colour import importance_colour
from puppet_core.posture import Motion, world_segments
from puppet_core.skeleton import LIMB_SEGMENTS, N_SEGMENTS
from puppet_retarget.offline.picture_body import Body, Pill, Solid

NEAR_M = 1.0  # from the pelvis to an object that is drawn
HELD_S = 0.25  # a longer gap is no motion that could be filled in
WHOLE_FRAME = 1e-6  # of a frame: so near to a frame, that frame is taken as it is


@dataclass(frozen=True, slots=True)
class Actor:
    """A body and what it does."""

    character: Character
    """Shape and name."""

    motion: Motion
    """Its own motion."""

    title: str
    """What is written beside it."""

    importances: Floats | None = None
    """Of each limb in each frame, shape (n, 4); colours its limbs."""

    objects: tuple[Solid | Pill, ...] = ()
    """What stands in its world."""

    start_s: float = 0.0
    """Time of its first frame [s]."""

    times_s: Floats | None = None
    """Time of each frame, rising, shape (n,) [s]; None: from `start_s` at the motion's rate."""

    def body(self, frame: int) -> Body:
        """Return the body in one frame of its motion."""
        if self.times_s is not None:
            return self.body_at(float(self.times_s[frame]))
        return self.body_at(self.start_s + frame / self.motion.rate_hz)

    def body_at(self, time_s: float) -> Body:
        """
        Return the body at a time [s], exactly, also between two frames.

        Places run straight and rotations the shortest way from frame to frame; before the first
        and after the last frame the body stands, and in gaps longer than HELD_S.

        """
        last = self.motion.n_frames - 1
        place = min(max(self._place(time_s), 0.0), float(last))
        if abs(place - round(place)) < WHOLE_FRAME:
            place = float(round(place))
        before = int(place)
        after, share = min(before + 1, last), place - before
        roots, rotations = self.motion.root_positions, self.motion.rotations
        root = (1.0 - share) * roots[before] + share * roots[after]
        turned = rotations[before]
        if share > 0.0:
            turned = quaternion_batch.slerp(turned, rotations[after], share)
        q_world, p_world = world_segments(self.character.skeleton, root[None], turned[None])
        colours = None
        if self.importances is not None:
            colours = limb_colours(
                (1.0 - share) * self.importances[before] + share * self.importances[after]
            )
        return Body(self.character, q_world[0], p_world[0], colours)

    def _place(self, time_s: float) -> float:
        """Return the frame of a time, and what share of the way to the next."""
        times = self.times_s
        if times is None:
            return (time_s - self.start_s) * self.motion.rate_hz
        before = max(int(np.searchsorted(times, time_s, side='right')) - 1, 0)
        if before + 1 == len(times):
            return float(before)
        gap = float(times[before + 1] - times[before])
        share = (time_s - float(times[before])) / gap
        if gap > HELD_S and share < 1.0 - WHOLE_FRAME:
            share = min(share, 0.0)
        return before + share


def near_objects(actor: Actor, times_s: Floats) -> tuple[Solid | Pill, ...]:
    """Return the objects of an actor that are within NEAR_M of its pelvis at one of some times."""
    pelvis = np.array([actor.body_at(float(time)).p_world[0] for time in times_s])
    return tuple(item for item in actor.objects if np.min(_apart(item, pelvis)) < NEAR_M)


def _apart(item: Solid | Pill, places: Vec3s) -> Floats:
    """Return how far places are from the inside of an object, shape (n,) [m]."""
    if isinstance(item, Pill):
        core = item.end - item.start
        share = np.clip((places - item.start) @ core / max(float(core @ core), 1e-12), 0.0, 1.0)
        nearest = item.start + share[:, None] * core
        return np.maximum(np.linalg.norm(places - nearest, axis=1) - item.radius, 0.0)
    half = item.size * ([1.0, 1.0, 0.5] if item.is_cylinder else [0.5, 0.5, 0.5])
    turned = quaternion_batch.rotate(
        quaternion_batch.conjugate(item.orientation), places - item.position
    )
    return np.linalg.norm(np.maximum(np.abs(turned) - half, 0.0), axis=1)


def limb_colours(importances: Floats) -> Floats:
    """Return a colour for each segment of the limbs, NaN for the others, shape (16, 3)."""
    colours = np.full((N_SEGMENTS, 3), np.nan)
    for segments, importance in zip(LIMB_SEGMENTS, importances):
        colours[segments] = importance_colour(float(importance))
    return colours
