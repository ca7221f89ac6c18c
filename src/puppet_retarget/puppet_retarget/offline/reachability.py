# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Which goals of a retargeted motion could be met at all, and how well those were."""

import numpy as np
from numpy.typing import NDArray
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3s
from puppet_core.skeleton import LIMB_SEGMENTS, Skeleton
from puppet_retarget.solvers.ball_intersection import closest_in_balls

REACH_TOL_M = 1e-9
FEET = np.array([2, 3])


def root_balls(
    skeleton: Skeleton, limbs: NDArray[np.int64], q_world: Quats, starts: Vec3s, goals: Vec3s
) -> tuple[Vec3s, Floats]:
    """
    Return the balls in which the pelvis is when limbs reach their goals (Shin2002 eq. 5.2).

    Parameters
    ----------
    skeleton : Skeleton
        The puppet.
    limbs : ndarray, shape (m,)
        Which limbs.
    q_world : ndarray, shape (..., 16, 4)
        Gives hands and feet their orientation.
    starts : ndarray, shape (..., m, 3)
        From the pelvis to where the limbs start, in world [m].
    goals : ndarray, shape (..., m, 3)
        Of palms and soles in world [m].

    Returns
    -------
    centres, radii : ndarray, shapes (..., m, 3), (m,)
        The balls [m].

    """
    ends = q_world[..., LIMB_SEGMENTS[limbs, 2], :]
    palms = quaternion_batch.rotate(ends, skeleton.interaction_points[limbs])
    centres = goals - palms - starts
    return np.ascontiguousarray(centres), skeleton.limb_lengths[limbs].sum(axis=1)


def are_reachable(centres: Vec3s, radii: Floats) -> bool:
    """Return whether one place of the pelvis is in all balls."""
    n, start = len(radii), centres.mean(axis=0)
    growth = closest_in_balls(start, centres, radii, np.ones(n), np.empty(n), np.empty(3))
    return bool(growth <= REACH_TOL_M)


def impossible_share(
    skeleton: Skeleton, q_world: Quats, soles: Vec3s, planted: NDArray[np.bool_]
) -> float:
    """
    Return the share of frames in which no root brings all planted feet within leg length.

    Parameters
    ----------
    skeleton : Skeleton
        The puppet.
    q_world : ndarray, shape (n, 16, 4)
        Segment orientations of the performer.
    soles : ndarray, shape (n, 2, 3)
        Goals of the soles in the puppet's world [m].
    planted : ndarray, shape (n, 2)
        Which feet of the performer are planted.

    """
    impossible, hips = 0, skeleton.offsets[LIMB_SEGMENTS[FEET, 0]]
    both = np.flatnonzero(planted.all(axis=1))
    starts = quaternion_batch.rotate(q_world[both, :1], hips)
    centres, radii = root_balls(skeleton, FEET, q_world[both], starts, soles[both])
    apart = np.linalg.norm(centres[:, 0] - centres[:, 1], axis=-1)
    for i in np.flatnonzero(~(apart < radii.sum())):  # other balls share a point for certain
        impossible += not are_reachable(centres[i], radii)
    return float(impossible / len(planted))


def errors_in_reach(
    skeleton: Skeleton, q_world: Quats, p_world: Vec3s, goals: Vec3s, wanted: NDArray[np.bool_],
    errors: Floats,
) -> Floats:  # fmt: skip
    """
    Return the goal errors of wanted limbs in the frames that can meet them all [m].

    A frame can if one place of the root, with body, hands and feet turned as they are, is
    within reach of all that is wanted.

    Parameters
    ----------
    skeleton : Skeleton
        The puppet.
    q_world, p_world : ndarray, shapes (n, 16, 4), (n, 16, 3)
        Its segments in its world [m].
    goals : ndarray, shape (n, 4, 3)
        Of palms and soles there [m].
    wanted : ndarray, shape (n, 4)
        Which limbs.
    errors : ndarray, shape (n, 4)
        How far each is from its goal [m].

    """
    found = [np.empty(0)]
    for i in np.flatnonzero(wanted.any(axis=1)):
        limbs = np.flatnonzero(wanted[i])
        starts = p_world[i, LIMB_SEGMENTS[limbs, 0]] - p_world[i, 0]
        if are_reachable(*root_balls(skeleton, limbs, q_world[i], starts, goals[i, limbs])):
            found.append(errors[i, limbs])
    return np.concatenate(found)
