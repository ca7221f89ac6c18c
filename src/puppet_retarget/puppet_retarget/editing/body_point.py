# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Points of the body that constraints are about."""

from dataclasses import dataclass

import numpy as np
from puppet_core.arrays import check_array, read_only, Vec3
from puppet_core.errors import ConfigError
from puppet_core.skeleton import (
    END_EFFECTORS,
    GENERAL_END_EFFECTORS,
    LIMB_SEGMENTS,
    N_SEGMENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
)

_END_SEGMENTS = LIMB_SEGMENTS[:, 2].tolist()


@dataclass(frozen=True, slots=True)
class BodyPoint:
    """A point fixed in a segment."""

    segment: int
    """Index into SEGMENTS."""

    offset: Vec3 | None = None
    """In the segment's frame [m]; None for the palm or sole centre, or else the joint."""

    def __post_init__(self) -> None:
        check_segment(self.segment)
        if self.offset is not None:
            object.__setattr__(self, 'offset', read_only(check_array('offset', self.offset, (3,))))

    @classmethod
    def named(cls, name: str) -> 'BodyPoint':
        """Return a general end-effector, or else the joint of a segment, by name."""
        if name in GENERAL_END_EFFECTORS:
            row = GENERAL_END_EFFECTORS.index(name)
            return cls(int(LIMB_SEGMENTS[row % 4, 2 if row < 4 else 1]))
        if name in SEGMENT_INDEX:
            return cls(SEGMENT_INDEX[name])
        known = ', '.join(dict.fromkeys(GENERAL_END_EFFECTORS + SEGMENTS))
        raise ConfigError(f'point: expected one of {known}, got {name!r}')

    @property
    def name(self) -> str:
        """Return how reports name the point."""
        if self.offset is None and self.segment in _END_SEGMENTS:
            return END_EFFECTORS[_END_SEGMENTS.index(self.segment)]
        return SEGMENTS[self.segment]

    def offset_in(self, skeleton: Skeleton) -> Vec3:
        """Return the point in its segment's frame of a body, shape (3,) [m]."""
        if self.offset is not None:
            return self.offset
        if self.segment in _END_SEGMENTS:
            return skeleton.interaction_points[_END_SEGMENTS.index(self.segment)]
        return np.zeros(3)


def check_segment(segment: int) -> None:
    """Raise ConfigError if there is no such segment."""
    if not 0 <= segment < N_SEGMENTS:
        raise ConfigError(f'segment: expected 0 .. {N_SEGMENTS - 1}, got {segment}')
