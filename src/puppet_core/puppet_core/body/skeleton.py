# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The suite's one skeleton: sixteen segments, four limbs, eight general end-effectors.

Fifteen joints of three degrees of freedom plus the root's six: the 51 of Shin2002 ch. 7. Rest pose
is the T-pose: all joint rotations identity, facing +X, arms along +-Y, legs along -Z. CONSIDERED
says which segments a general end-effector can touch (Shin2002 4.2): all but those of its own limb,
since an elbow is always near its own upper arm (errata 6).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from puppet_core.io import ConfigError
from puppet_core.math import check_array, Floats, read_only, Vec3s

SEGMENTS = (
    'pelvis',
    'spine',
    'chest',
    'head',
    'left_upper_arm',
    'left_forearm',
    'left_hand',
    'right_upper_arm',
    'right_forearm',
    'right_hand',
    'left_thigh',
    'left_shank',
    'left_foot',
    'right_thigh',
    'right_shank',
    'right_foot',
)
SEGMENT_INDEX = {name: i for i, name in enumerate(SEGMENTS)}
N_SEGMENTS = len(SEGMENTS)
PARENTS = read_only([-1, 0, 1, 2, 2, 4, 5, 2, 7, 8, 0, 10, 11, 0, 13, 14], np.int64)

LIMBS = ('left_arm', 'right_arm', 'left_leg', 'right_leg')
LIMB_SEGMENTS = read_only([[4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]], np.int64)
END_EFFECTORS = ('left_hand', 'right_hand', 'left_foot', 'right_foot')
GENERAL_END_EFFECTORS = END_EFFECTORS + ('left_elbow', 'right_elbow', 'left_knee', 'right_knee')

MIN_LIMB_LENGTH_M = 0.01  # a limb segment shorter than this has no direction to speak of


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Segment lengths and interaction points of one body, at rest."""

    offsets: Vec3s  # Joint of each segment in its parent's frame, shape (16, 3) [m]; row 0 is zero
    # Palm and sole centres in the frames of the hands and feet, shape (4, 3) [m]
    interaction_points: Vec3s

    def __post_init__(self) -> None:
        offsets = read_only(check_array('offsets', self.offsets, (N_SEGMENTS, 3)))
        points = read_only(check_array('interaction_points', self.interaction_points, (4, 3)))
        object.__setattr__(self, 'offsets', offsets)
        object.__setattr__(self, 'interaction_points', points)
        if np.any(offsets[0] != 0.0):
            raise ConfigError(f'offsets[pelvis]: expected zero, got {offsets[0].tolist()}')
        for segments, lengths in zip(LIMB_SEGMENTS, self.limb_lengths):
            for upper, lower, length in zip(segments, segments[1:], lengths):
                # a segment's length is the offset of the joint at its far end
                if length < MIN_LIMB_LENGTH_M:
                    raise ConfigError(
                        f'{SEGMENTS[lower]}: expected {SEGMENTS[upper]} to be '
                        f'>= {MIN_LIMB_LENGTH_M} m long, got {length:g} m'
                    )

    @property
    def limb_lengths(self) -> Floats:
        """Upper and lower segment length of each limb, shape (4, 2) [m]."""
        return np.linalg.norm(self.offsets[LIMB_SEGMENTS[:, 1:]], axis=2)

    @property
    def leg_length(self) -> float:
        """Hip joint to sole with the leg straight, mean of both legs [m]."""
        drop = -self.interaction_points[2:, 2]
        return float(np.mean(self.limb_lengths[2:].sum(axis=1) + drop))

    @property
    def rest_root_height(self) -> float:
        """Height of the pelvis joint above the soles in the rest pose, mean of both [m]."""
        soles = self.rest_positions()[LIMB_SEGMENTS[2:, 2]] + self.interaction_points[2:]
        return float(-np.mean(soles[:, 2]))

    def rest_positions(self) -> Vec3s:
        """Return the joint positions in the rest pose, pelvis at the origin, (16, 3) [m]."""
        positions = np.zeros((N_SEGMENTS, 3))
        for segment in range(1, N_SEGMENTS):
            positions[segment] = positions[PARENTS[segment]] + self.offsets[segment]
        return positions


# Whether a segment counts for a general end-effector, shape (8, 16). Hands and feet come first,
# then elbows and knees, both in the order of the limbs.
CONSIDERED: NDArray[np.bool_] = np.ones((len(GENERAL_END_EFFECTORS), N_SEGMENTS), dtype=bool)
np.put_along_axis(CONSIDERED, np.tile(LIMB_SEGMENTS, (2, 1)), False, axis=1)
CONSIDERED.setflags(write=False)
