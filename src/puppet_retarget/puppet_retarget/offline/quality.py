# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Quality of a retargeted motion: the figures of the retarget report, from arrays.

Planted feet and their slide are defined in `puppet_core.body.motion_measures`, for the
performer and for the same frames of the puppet. Errors count in frames whose goals can be met
at all (`are_reachable`). What the eye sees of joints and surfaces is in `smoothness`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import LIMB_SEGMENTS, motion_measures, Skeleton
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_retarget.solvers import closest_in_shells, NO_SHELL, Shell

IMPORTANT = 0.99
FREE = 0.01
FEET = slice(2, 4)
HANDS = slice(0, 2)
ELBOWS = slice(4, 6)
KNEES = slice(6, 8)

REACH_TOL_M = 1e-9
FEET_LIMBS = np.array([2, 3])


@dataclass(frozen=True, slots=True)
class MotionArrays:
    root_positions: Vec3s  # Pelvis, shape (n, 3) [m]
    rotations: Quats  # Joint rotations, shape (n, 16, 4)
    end_effectors: Vec3s  # General end-effectors, shape (n, 8, 3) [m]


def planted_feet(performer: MotionArrays, rate_hz: float) -> NDArray[np.bool_]:
    """Return which feet of the performer are planted in which frames, shape (n, 2)."""
    return motion_measures.planted_soles(performer.end_effectors[:, FEET], rate_hz)


def slide_mm_s(motion: MotionArrays, planted: NDArray[np.bool_], rate_hz: float) -> float:
    """Return the mean speed of soles over the planted frames; NaN if there are none."""
    return motion_measures.slide_mm_s(motion.end_effectors[:, FEET], planted, rate_hz)


def free_limb_deviation_deg(
    puppet: MotionArrays, performer: MotionArrays, importances: Floats
) -> float:
    """Return how far joints of limbs below FREE are from the captured ones at most."""
    worst = 0.0
    for limb, segments in enumerate(LIMB_SEGMENTS):
        free = importances[:, limb] < FREE
        turn = quaternions.multiply(
            quaternions.conjugate(performer.rotations[free][:, segments]),
            puppet.rotations[free][:, segments],
        )
        if turn.size:
            angle = np.linalg.norm(quaternions.log(turn), axis=-1)
            worst = max(worst, float(np.max(angle)))
    return float(np.degrees(worst))


def percentiles(values: Floats, scale: float = 1.0) -> dict[str, float]:
    """Return p50, p99 and max of the values; NaN if there are none."""
    if values.size == 0:
        return {'p50': float('nan'), 'p99': float('nan'), 'max': float('nan')}
    p50, p99, top = np.percentile(values, (50, 99, 100)) * scale
    return {'p50': float(p50), 'p99': float(p99), 'max': float(top)}


# Which goals could be met at all, and how well those were.


def root_balls(
    skeleton: Skeleton, limbs: NDArray[np.int64], q_world: Quats, starts: Vec3s, goals: Vec3s
) -> tuple[Vec3s, Floats]:
    """
    Return centres and radii [m] of the pelvis's balls for goals of m limbs (Shin2002 eq. 5.2).

    Starts are from the pelvis to where the limbs start, goals are of palms and soles (..., m, 3)
    in world [m]; `q_world` gives hands and feet their orientation.
    """
    ends = q_world[..., LIMB_SEGMENTS[limbs, 2], :]
    palms = quaternions.rotate(ends, skeleton.interaction_points[limbs])
    centres = goals - palms - starts
    return np.ascontiguousarray(centres), skeleton.limb_lengths[limbs].sum(axis=1)


def are_reachable(centres: Vec3s, radii: Floats) -> bool:
    """Return whether one place of the pelvis is in all balls, at most four."""
    start = tuple(centres.mean(axis=0).tolist())
    balls = [Shell(tuple(c), 0.0, r, 1.0) for c, r in zip(centres.tolist(), radii.tolist())]
    a, b, c, d = balls + [NO_SHELL] * (4 - len(balls))
    return bool(closest_in_shells(start, (a, b, c, d), True, True)[0] <= REACH_TOL_M)


def impossible_share(
    skeleton: Skeleton, q_world: Quats, soles: Vec3s, planted: NDArray[np.bool_]
) -> float:
    """
    Return the fraction of frames in which no root brings all planted feet within leg length.

    Goals of the soles (n, 2, 3) are in the puppet's world [m].
    """
    impossible, hips = 0, skeleton.offsets[LIMB_SEGMENTS[FEET_LIMBS, 0]]
    both = np.flatnonzero(planted.all(axis=1))
    starts = quaternions.rotate(q_world[both, :1], hips)
    centres, radii = root_balls(skeleton, FEET_LIMBS, q_world[both], starts, soles[both])
    apart = np.linalg.norm(centres[:, 0] - centres[:, 1], axis=-1)
    for i in np.flatnonzero(~(apart < radii.sum())):  # other balls certainly have a common point
        impossible += not are_reachable(centres[i], radii)
    return float(impossible / len(planted))
