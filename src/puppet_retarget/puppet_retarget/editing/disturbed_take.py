# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What a capture session measures of a known motion: angles, end-effectors, lengths, all wrong.

Angles err by a constant rotation of each joint, as from sensors that slipped or were put on
askew, and by white noise; positions by white noise; lengths of the body by a share of each
limb and of the trunk. Seeded.

"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.errors import ConfigError
from puppet_core.posture import Motion
from puppet_core.skeleton import LIMB_SEGMENTS, Skeleton
from puppet_retarget.editing.targets import Meeting, Targets

TRUNK = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class TakeErrors:
    """How a measurement differs from the truth; nothing by default. Standard deviations."""

    angle_bias_deg: float = 0.0
    """Constant rotation of each joint, per axis [deg]."""

    angle_noise_deg: float = 0.0
    """White noise of each joint, per axis [deg]."""

    position_noise_mm: float = 0.0
    """White noise of roots and end-effectors, per axis [mm]."""

    length_percent: float = 0.0
    """Of each limb and of the trunk [%]."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0.0 <= getattr(self, name) <= 100.0:
                raise ConfigError(f'{name}: expected 0.0 .. 100.0, got {getattr(self, name)}')


class Take(NamedTuple):
    """What was measured."""

    motion: Motion
    """Measured angles and roots on a body of the lengths that are believed."""

    targets: Targets
    """Measured palms and soles."""


def measured_take(
    truth: Motion, errors: TakeErrors, seed: int, meetings: tuple[Meeting, ...] = (),
    end_effectors: tuple[int, ...] = (0, 1, 2, 3),
) -> Take:  # fmt: skip
    """
    Return what is measured of a motion.

    Parameters
    ----------
    truth : Motion
        What was really done.
    errors : TakeErrors
        How large the errors are.
    seed : int
        Of the errors; the same seed gives the same directions whatever their sizes.
    meetings : tuple of Meeting
        End-effectors that are known to meet.
    end_effectors : tuple of int
        Which are measured, rows of the general end-effectors.

    """
    rng = np.random.default_rng(seed)
    n = truth.n_frames
    bias, white = rng.normal(size=(16, 3)), rng.normal(size=(n, 16, 3))
    root, points = rng.normal(size=(n, 3)), rng.normal(size=(n, 8, 3))
    shares = rng.normal(size=len(LIMB_SEGMENTS) + 1)
    turns = np.radians(errors.angle_bias_deg * bias + errors.angle_noise_deg * white)
    rotations = quaternion_batch.multiply(truth.rotations, quaternion_batch.exp(turns))
    spread_m = 1e-3 * errors.position_noise_mm
    measured = np.full((n, 8, 3), np.nan)
    rows = list(end_effectors)
    measured[:, rows] = (truth.end_effectors + spread_m * points)[:, rows]
    skeleton = believed_lengths(truth.skeleton, 1.0 + 0.01 * errors.length_percent * shares)
    motion = Motion.from_rotations(
        skeleton, truth.rate_hz, truth.root_positions + spread_m * root, rotations
    )
    return Take(motion, Targets(measured, meetings))


def believed_lengths(skeleton: Skeleton, factors: np.ndarray) -> Skeleton:
    """Return a skeleton whose four limbs and trunk are longer by factors, shape (5,)."""
    offsets, points = np.array(skeleton.offsets), np.array(skeleton.interaction_points)
    for limb, (_, lower, hand) in enumerate(LIMB_SEGMENTS):
        offsets[[lower, hand]] *= factors[limb]
        points[limb] *= factors[limb]
    offsets[list(TRUNK)] *= factors[4]
    return Skeleton(offsets, points)
