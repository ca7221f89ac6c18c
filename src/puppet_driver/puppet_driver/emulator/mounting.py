# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where the sensors sit on the emulated performer: near a sensible place, turned at random."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Quats, Vec3, Vec3s
from puppet_core.errors import ConfigError
from puppet_core.skeleton import END_EFFECTORS, PARENTS, SEGMENT_INDEX, SEGMENTS, Skeleton

DEFAULT_SENSORS = tuple(
    name for name in SEGMENTS if name not in ('spine', 'head')
)  # the usual fourteen
SPREAD_M = 0.015  # how far a strapped-on sensor ends up from its sensible place, per axis
BACK_M = 0.10  # from the spine to the back, where pelvis and chest sensors are worn
SKIN_M = 0.035  # from an arm's or shank's bone to the sensor on it; twice that for thighs


class Mounting(NamedTuple):
    """Pose of each sensor in its segment's frame."""

    segments: tuple[int, ...]
    """Index into SEGMENTS of each sensor."""

    positions: Vec3s
    """Shape (n, 3) [m]."""

    rotations: Quats
    """Shape (n, 4)."""


def random_mounting(sensors: Sequence[str], skeleton: Skeleton, seed: int) -> Mounting:
    """
    Return a mounting of the named sensors, each name a segment's.

    Raises
    ------
    ConfigError : for a name that is no segment.

    """
    for name in sensors:
        if name not in SEGMENT_INDEX:
            known = ', '.join(SEGMENTS)
            raise ConfigError(f'sensors: expected names of segments, got {name!r}; known: {known}')
    rng = np.random.default_rng((seed, len(sensors)))
    segments = tuple(SEGMENT_INDEX[name] for name in sensors)
    places = np.array([_place(segment, skeleton) for segment in segments])
    positions = places + rng.normal(0.0, SPREAD_M, places.shape)
    # a normal 4-vector's direction is uniform over rotations
    rotations = quaternion_batch.normalize(rng.normal(size=(len(segments), 4)))
    return Mounting(segments, positions, rotations)


def _place(segment: int, skeleton: Skeleton) -> Vec3:
    name = SEGMENTS[segment]
    side = -1.0 if name.startswith('right_') else 1.0
    if name.endswith('hand'):
        palm = skeleton.interaction_points[END_EFFECTORS.index(name)]
        return palm * (0.7, 0.7, 0.0) + (0.0, 0.0, SKIN_M)
    if name.endswith('foot'):
        sole = skeleton.interaction_points[END_EFFECTORS.index(name)]
        return sole * (1.0, 0.0, 0.3)
    child = int(np.flatnonzero(PARENTS == segment)[0]) if segment in PARENTS else -1
    middle = 0.5 * skeleton.offsets[child] if child > 0 else np.array([0.0, 0.0, 0.1])
    outward = {
        'arm': (0.0, 0.0, SKIN_M),
        'thigh': (0.0, side * 2.0 * SKIN_M, 0.0),
        'shank': (SKIN_M, 0.0, 0.0),
    }
    part = 'arm' if name.endswith('arm') else name.split('_')[-1]
    return middle + outward.get(part, (-BACK_M, 0.0, 0.0))
