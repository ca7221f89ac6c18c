# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The one building block of a body's shape: a capsule fixed in a segment."""

from dataclasses import dataclass

from puppet_core.arrays import read_only, Vec3


@dataclass(frozen=True, slots=True)
class Capsule:
    """All points within `radius` of the line from `start` to `end`, in a segment's frame."""

    segment: int
    """Index into SEGMENTS."""

    start: Vec3
    """One end of the core line, shape (3,) [m]."""

    end: Vec3
    """The other end; equal to `start` for a ball [m]."""

    radius: float
    """[m]."""

    colour: tuple[float, float, float] | None = None
    """Red, green, blue in 0 .. 1; None for the body's own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, 'start', read_only(self.start))
        object.__setattr__(self, 'end', read_only(self.end))
