# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Quality of a retargeted motion: the figures of the retarget report, from arrays.

Definitions. Planted feet and their slide are those of `puppet_core.foot_slide`, for the
performer and for the same frames of the puppet. Jerk ratio is the RMS third difference of
positions, puppet over performer, both divided by the world scale.

"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from puppet_core import foot_slide, quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.skeleton import LIMB_SEGMENTS

IMPORTANT = 0.99
FREE = 0.01
FEET = slice(2, 4)
HANDS = slice(0, 2)


@dataclass(frozen=True, slots=True)
class MotionArrays:
    """A body over time, as the figures need it."""

    root_positions: Vec3s
    """Pelvis, shape (n, 3) [m]."""

    rotations: Quats
    """Joint rotations, shape (n, 16, 4)."""

    end_effectors: Vec3s
    """General end-effectors, shape (n, 8, 3) [m]."""


def planted_feet(performer: MotionArrays, rate_hz: float) -> NDArray[np.bool_]:
    """Return which feet of the performer are planted in which frames, shape (n, 2)."""
    return foot_slide.planted_soles(performer.end_effectors[:, FEET], rate_hz)


def slide_mm_s(motion: MotionArrays, planted: NDArray[np.bool_], rate_hz: float) -> float:
    """Return the mean speed of soles over the planted frames; NaN if there are none."""
    return foot_slide.slide_mm_s(motion.end_effectors[:, FEET], planted, rate_hz)


def jerk_ratio(puppet: Vec3s, performer: Vec3s, world_scale: float) -> float:
    """Return the RMS third difference of the puppet's positions over the performer's."""
    if len(puppet) < 4:
        return float('nan')
    jerk = [np.sqrt(np.mean(np.diff(p, 3, axis=0) ** 2)) for p in (puppet, performer)]
    return float(jerk[0] / (jerk[1] * world_scale)) if jerk[1] > 0.0 else float('nan')


def jerk_ratios(
    puppet: MotionArrays, performer: MotionArrays, world_scale: float
) -> dict[str, float]:
    """Return the jerk ratios of root, feet and hands."""
    parts = {
        'root': (puppet.root_positions, performer.root_positions),
        'feet': (puppet.end_effectors[:, FEET], performer.end_effectors[:, FEET]),
        'hands': (puppet.end_effectors[:, HANDS], performer.end_effectors[:, HANDS]),
    }
    return {name: jerk_ratio(a, b, world_scale) for name, (a, b) in parts.items()}


def free_limb_deviation_deg(
    puppet: MotionArrays, performer: MotionArrays, importances: Floats
) -> float:
    """
    Return how far joints of unimportant limbs are from the captured ones at most.

    Parameters
    ----------
    puppet, performer : MotionArrays
        Both bodies.
    importances : ndarray, shape (n, 4)
        Limbs below FREE count.

    """
    worst = 0.0
    for limb, segments in enumerate(LIMB_SEGMENTS):
        free = importances[:, limb] < FREE
        turn = quaternion_batch.multiply(
            quaternion_batch.conjugate(performer.rotations[free][:, segments]),
            puppet.rotations[free][:, segments],
        )
        if turn.size:
            angle = np.linalg.norm(quaternion_batch.log(turn), axis=-1)
            worst = max(worst, float(np.max(angle)))
    return float(np.degrees(worst))


def orientation_deviation_deg(puppet: Quats, performer: Quats) -> dict[str, float]:
    """
    Return how far segments are from the captured orientations in world: p50, p99, max.

    Parameters
    ----------
    puppet, performer : ndarray, shape (n, 16, 4)
        Segments of both bodies in world.

    """
    turn = quaternion_batch.multiply(quaternion_batch.conjugate(performer), puppet)
    angle = np.linalg.norm(quaternion_batch.log(turn), axis=-1)
    return percentiles(np.degrees(angle))


def percentiles(values: Floats, scale: float = 1.0) -> dict[str, float]:
    """Return p50, p99 and max of the values; NaN if there are none."""
    if values.size == 0:
        return {'p50': float('nan'), 'p99': float('nan'), 'max': float('nan')}
    p50, p99, top = np.percentile(values, (50, 99, 100)) * scale
    return {'p50': float(p50), 'p99': float(p99), 'max': float(top)}
