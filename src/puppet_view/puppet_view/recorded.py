# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded performance as plain arrays, whoever read it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body import Capsule, Motion, Skeleton
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.robots import CYLINDER, read_shape
from puppet_retarget.offline import PERFORMER

_SAME_PLACE_M = 1e-6


@dataclass(frozen=True, slots=True)
class RecordedBody:
    """A body that was recorded, frame by frame, at the times that it was recorded at."""

    who: str
    """Of its topics, as in /WHO/posture."""

    name: str
    """Whose posture it is, by the last message."""

    skeleton: Skeleton
    """Of the last frame."""

    description: str
    """Its shape as URDF; '' if that was not recorded."""

    times_s: Floats
    """Since the recording's first frame of anybody, rising, shape (n,) [s]."""

    rotations: Quats
    """As in Posture, shape (n, 16, 4)."""

    segments: Vec3s
    """Joints in world, shape (n, 16, 3) [m]."""

    points: Vec3s
    """General end-effectors in world, shape (n, 8, 3) [m]."""

    @property
    def rate_hz(self) -> float:
        """Return the frames a second, gaps left out; 1 of a single frame."""
        steps = np.diff(self.times_s)
        return 1.0 / float(np.median(steps)) if len(steps) else 1.0

    def frames(self) -> Motion:
        """Return its frames as a motion without gaps: frame i is at `times_s[i]`."""
        return Motion(
            self.skeleton, self.rate_hz, self.segments[:, 0], self.rotations, self.points
        )

    def capsules(self) -> tuple[Capsule, ...]:
        """
        Return its described shape; none if there is none.

        Raises
        ------
        ConfigError : if the description is none.

        """
        return described_capsules(self.description) if self.description else ()


class RecordedImportance(NamedTuple):
    """How much limbs mattered over time; m may be 0."""

    times_s: Floats
    """Since the recording's first frame, rising, shape (m,) [s]."""

    environment: Floats
    """By what stands around, in [0, 1], shape (m, 4)."""

    own_body: Floats
    """By the own body, hands and feet or elbows and knees, in [0, 1], shape (m, 4)."""

    def limbs_at(self, times_s: Floats) -> Floats | None:
        """Return the importance of each limb at some times, (n, 4); None if nothing is known."""
        if not len(self.times_s):
            return None
        values = np.maximum(self.environment, self.own_body)
        return np.stack([np.interp(times_s, self.times_s, row) for row in values.T], axis=1)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Who was recorded."""

    bodies: tuple[RecordedBody, ...]
    """At least one: the performer if it was recorded, then the puppets."""

    importance: RecordedImportance
    """Of the performer's limbs."""

    latency_ms: tuple[float, float] | None = None
    """Median and 99th percentile from a frame's stamp to its record; None if not recorded."""

    @property
    def performer(self) -> RecordedBody | None:
        """Return the captured body, if it was recorded."""
        return self.bodies[0] if self.bodies[0].who == PERFORMER else None

    @property
    def puppets(self) -> tuple[RecordedBody, ...]:
        """Return all others."""
        return tuple(body for body in self.bodies if body.who != PERFORMER)

    @property
    def rate_hz(self) -> float:
        """Return the frames a second of the first body."""
        return self.bodies[0].rate_hz

    @property
    def n_frames(self) -> int:
        """Return how many frames of that rate the recording lasts, gaps included."""
        return round(max(float(b.times_s[-1]) for b in self.bodies) * self.rate_hz) + 1


def described_capsules(text: str) -> tuple[Capsule, ...]:
    """
    Return the capsules of a robot description that `puppet_core.robots.description` wrote.

    Raises
    ------
    ConfigError : if the text is no description.

    """
    found: list[Capsule] = []
    taken: list[tuple[int, Floats, float]] = []
    for solid in sorted(read_shape(text), key=lambda solid: solid.kind != CYLINDER):
        along = 0.5 * solid.scale[2] * solid.rotation[:, 2] * (solid.kind == CYLINDER)
        start, end = solid.position - along, solid.position + along
        radius = float(solid.scale[0])
        if solid.kind != CYLINDER and _is_end(taken, solid.segment, start, radius):
            continue  # the round end of a cylinder that is a capsule already
        taken += [(solid.segment, place, radius) for place in (start, end)]
        found.append(Capsule(solid.segment, start, end, radius, solid.colour))
    return tuple(found)


def _is_end(
    taken: list[tuple[int, Floats, float]], segment: int, place: Floats, radius: float
) -> bool:
    return any(
        s == segment
        and abs(r - radius) < _SAME_PLACE_M
        and np.max(np.abs(p - place)) < _SAME_PLACE_M
        for s, p, r in taken
    )
