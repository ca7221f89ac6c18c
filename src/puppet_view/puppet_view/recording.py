# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Performances to look at: recorded bodies, and puppets of clips. Nothing here needs ROS."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    Character,
    default_capsules,
    Motion,
    NO_PROPS,
    person,
    Props,
    world_orientations,
)
from puppet_core.io import progress
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.robots import drawn_robot, DrawnRobot, merged_parts, Part
from puppet_edit import edit_session
from puppet_retarget.importance import IMPORTANCE, SELF_IMPORTANCE
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import PERFORMER, retarget_motion

PUPPET = 'puppet'


@dataclass(frozen=True)
class RecordedBody:
    """A body, frame by frame, at the times that it was recorded at."""

    who: str  # of its topics, as in /WHO/posture
    character: Character  # its skeleton is that of the last frame; no capsules: not recorded
    times_s: Floats  # since the recording's first frame of anybody, rising, shape (n,) [s]
    rotations: Quats  # as in Posture, shape (n, 16, 4)
    p_world: Vec3s  # joints in world, shape (n, 16, 3) [m]
    points: Vec3s  # general end-effectors in world, shape (n, 8, 3) [m]
    props: Props = NO_PROPS  # shapes (n, k, 3) and (n, k, 4)

    @classmethod
    def of_motion(cls, who: str, motion: Motion, body: Character) -> 'RecordedBody':
        places, times_s = motion.world_segments()[1], np.arange(motion.n_frames) / motion.rate_hz
        return cls(
            who, body, times_s, motion.rotations, places, motion.end_effectors, motion.props
        )

    @property
    def name(self) -> str:
        """Name by its description, or else by its last message."""
        return self.character.name

    @property
    def is_performer(self) -> bool:
        return self.who == PERFORMER

    @cached_property
    def q_world(self) -> Quats:
        """Orientations of the segments in world, shape (n, 16, 4)."""
        return world_orientations(self.rotations)

    @property
    def rate_hz(self) -> float:
        """Frames a second, gaps left out; 1 of a single frame."""
        steps = np.diff(self.times_s)
        return 1.0 / float(np.median(steps)) if len(steps) else 1.0

    def frames(self) -> Motion:
        """Return its frames as a motion without gaps: frame i is at `times_s[i]`."""
        roots, skeleton = self.p_world[:, 0], self.character.skeleton
        return Motion(skeleton, self.rate_hz, roots, self.rotations, self.points, self.props)

    @cached_property
    def robot(self) -> DrawnRobot | None:
        """Return what is drawn of a robot, None of another body."""
        return drawn_robot(self.character)

    def parts(self) -> Sequence[Part]:
        """Return its shape as meshes: that of an ordinary person if none was recorded."""
        if self.robot is not None:
            return self.robot.parts
        own = self.character
        capsules = own.capsules or default_capsules(own.skeleton)
        return merged_parts([replace(c, colour=own.colour_of(c)) for c in capsules])


class Importances(NamedTuple):
    """How much limbs mattered over time; m may be 0."""

    times_s: Floats = np.empty(0)  # since the recording's first frame, rising, shape (m,) [s]
    environment: Floats = np.empty((0, 4))  # by what stands around, in [0, 1], shape (m, 4)
    # By the own body, hands and feet or elbows and knees, in [0, 1], shape (m, 4)
    own_body: Floats = np.empty((0, 4))

    def limbs_at(self, times_s: Floats) -> Floats | None:
        """Return the importance of each limb at some times, (n, 4); None if nothing is known."""
        if not len(self.times_s):
            return None
        values = np.maximum(self.environment, self.own_body)
        return np.stack([np.interp(times_s, self.times_s, row) for row in values.T], axis=1)


@dataclass(frozen=True)
class Recording:
    name: str  # as the user calls it
    # At least one: the performer if it was recorded, then the puppets
    bodies: tuple[RecordedBody, ...]
    importance: Importances = Importances()  # of the performer's limbs
    # Median and 99th percentile from a frame's stamp to its record; None if not recorded
    latency_ms: tuple[float, float] | None = None

    @property
    def performer(self) -> RecordedBody | None:
        return self.bodies[0] if self.bodies[0].is_performer else None

    @property
    def puppets(self) -> tuple[RecordedBody, ...]:
        return tuple(body for body in self.bodies if not body.is_performer)

    @property
    def rate_hz(self) -> float:
        return self.bodies[0].rate_hz

    @property
    def duration_s(self) -> float:
        """Time of the last posture [s]."""
        return float(max(body.times_s[-1] for body in self.bodies))

    @property
    def n_frames(self) -> int:
        return round(self.duration_s * self.rate_hz) + 1


def frame_at(times_s: Floats, time_s: float) -> int:
    """Return the last row that is not after a time, or the first."""
    # a frame's own time, computed in another way, may miss it by a rounding error
    return max(int(np.searchsorted(times_s, time_s + 1e-6, side='right')) - 1, 0)


def by_cause(environment: Floats, own: Floats) -> Floats:
    """Return the importance of each limb, (.., 2, 4): environment (.., 4), own body (.., 8)."""
    return np.stack((environment, np.maximum(own[..., :4], own[..., 4:])), axis=-2)


def read_with_puppets(path: Path, arguments: argparse.Namespace) -> Recording:
    """Return a bag or clip, and the puppets of `--characters` computed from it, or PuppetError."""
    characters = [
        clip_arguments.find_character(name, arguments.world_scale) for name in arguments.characters
    ]
    if clip_arguments.is_bag(path):
        from puppet_view import bag_motion, bag_recording  # with ROS, which clips do not need

        recording = bag_recording.read_recording(path)
        motion = bag_motion.read_bag_motion(path)[0] if characters else None
    else:
        motion = edit_session.read_clip(path, arguments)
        colour = clip_arguments.find_character(PERFORMER).colour
        shape = person(path.stem, motion.skeleton, colour)
        body = RecordedBody.of_motion(PERFORMER, motion, shape)
        recording = Recording(path.stem, (body,))
    environment = clip_arguments.find_environment(arguments.environment)
    tuning = clip_arguments.tuning(arguments.settings)
    for character in characters:
        assert motion is not None
        with progress(f'retarget to {character.name}', motion.n_frames) as advance:
            result = retarget_motion(motion, tuning.job(character, environment), advance)
        moved = result.motion(character, motion.rate_hz)
        body = RecordedBody.of_motion(PUPPET, moved, character)
        importance = recording.importance
        if not len(importance.times_s):
            near = result.rows[..., IMPORTANCE], result.self_rows[..., SELF_IMPORTANCE]
            values = by_cause(*near)
            importance = Importances(body.times_s, values[:, 0], values[:, 1])
        recording = replace(recording, bodies=(*recording.bodies, body), importance=importance)
    return recording
