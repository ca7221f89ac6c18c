# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Displacement maps: the B-spline lattice of a level, the exact last pass, their effect on a motion.

LeeShin1999 section 3.2. A curve of one level has uniform knots; control point j is at knot
j - 1, so that a frame t, at u = t / spacing knots, lies among control points floor(u) to
floor(u) + 3.

Section 4.4 ends with every constrained frame put right by itself. The others next to them must
then come along, or the frames would pop. The exact displacement interpolates, bends least of
all that do, and is zero some frames away from any constraint.
"""

import numpy as np
from puppet_core.body import N_SEGMENTS
from puppet_core.math import Floats, Ints, kernel, quat, values, vec3
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.ndimage import distance_transform_edt
from scipy.sparse.linalg import splu


def basis(frames: Ints, spacing: float, n_points: int) -> sparse.csr_matrix:
    """Return the weights of control points at some frames, shape (k, n_points)."""
    knots = spacing * (np.arange(n_points + 4) - 3.0)
    return BSpline.design_matrix(np.asarray(frames, dtype=np.float64), knots, 3)


def fit_control_points(
    frames: Ints, goals: Floats, weights: Floats, spacing: float, n_points: int
) -> Floats:
    """
    Return the control points of a B-spline lattice that locally fit values at some frames best.

    LeeShin1999 eq. 2, where the denominator of beta is the sum of squares (errata 9): a single
    value then is interpolated. `goals` (k, 3 g) are in groups of three, `weights` (k, g) 0 where a
    group has no value. At least floor((n - 1) / spacing) + 4 points for n frames; those that no
    value reaches are zero.
    """
    omega = basis(frames, spacing, n_points)
    squares = omega.power(2)
    betas = sparse.diags(1.0 / np.asarray(squares.sum(axis=1)).ravel()) @ omega.power(3)
    total = np.repeat(squares.T @ weights, 3, axis=1)
    top = betas.T @ (np.repeat(weights, 3, axis=1) * goals)
    return np.divide(top, total, out=np.zeros_like(top), where=total > 0.0)


@kernel
def displace(displacements: Floats, poses: np.ndarray) -> None:
    """
    Apply a displacement map (n, 51) of roots [m] and rotation vectors to postures in place.

    LeeShin1999 eq. 1. What is displaced by nothing keeps its very numbers.
    """
    for frame in range(len(poses)):
        for k in range(3):
            poses[frame].root[k] += displacements[frame, k]
        for segment in range(N_SEGMENTS):
            vector = vec3(displacements[frame, 3 + 3 * segment : 6 + 3 * segment])
            if vector[0] != 0.0 or vector[1] != 0.0 or vector[2] != 0.0:
                rotation = poses[frame].rotations[segment]
                turned = values.multiply(quat(rotation), values.exp(vector))
                rotation[:] = values.normalize(turned)


def exact_displacement(
    frames: Ints, goals: Floats, weights: Floats, n_frames: int, reach: int
) -> Floats:
    """
    Return a displacement map (n_frames, 3 g) through values where there are any.

    `frames` (k,) rise, `goals` (k, 3 g) are in groups of three, `weights` (k, g) are 0 where
    there is no value; after `reach` frames, at least 1, it has faded out.
    """
    out = np.zeros((n_frames, goals.shape[1]))
    alike: dict[bytes, list[int]] = {}
    for group, has in enumerate(weights.T > 0.0):
        alike.setdefault(has.tobytes(), []).append(group)
    for groups in alike.values():
        columns = (3 * np.array(groups)[:, None] + np.arange(3)).reshape(-1)
        given = np.flatnonzero(weights[:, groups[0]])
        if len(given):
            out[:, columns] = least_bent(frames[given], goals[given][:, columns], n_frames, reach)
    return out


def least_bent(frames: Ints, goals: Floats, n_frames: int, reach: int) -> Floats:
    """
    Return the curves (n_frames, c) through values (k, c) at some rising frames that bend least.

    Of all that agree at those frames and are zero at frames at least `reach` away from them, it
    has the least sum of squared second differences.
    """
    out = np.zeros((n_frames, goals.shape[1]))
    out[frames] = goals
    distance = distance_transform_edt(~np.isin(np.arange(n_frames), frames))
    free = np.flatnonzero((distance > 0) & (distance < reach))
    if not np.any(goals) or not len(free):
        return out
    n_bends = max(n_frames - 2, 0)
    bend = sparse.diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(n_bends, n_frames), format='csc')
    by_free = bend[:, free]
    system = by_free.T @ by_free + 1e-12 * sparse.identity(len(free))
    out[free] = splu(system.tocsc()).solve(-by_free.T @ (bend @ out))
    return out
