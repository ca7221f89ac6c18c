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

import math

import numpy as np
from puppet_core.body import N_SEGMENTS
from puppet_core.math import (
    exp,
    Floats,
    Ints,
    kernel,
    multiply,
    normalize,
    Quats,
    Vec3s,
    work_array,
)
from scipy.linalg import solveh_banded


@kernel
def basis(u: float, out: Floats) -> int:
    """Write the four cubic B-splines at u knots, shape (4,); return the first's number."""
    knot = math.floor(u)
    t = u - knot
    s = 1.0 - t
    out[0] = s * s * s / 6.0
    out[1] = (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0
    out[2] = (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0
    out[3] = t * t * t / 6.0
    return int(knot)


@kernel
def fit_control_points(
    frames: Ints,
    values: Floats,
    says: Floats,
    spacing: float,
    shares: Floats,
    control_points: Floats,
) -> None:
    """
    Write the control points of a B-spline lattice that locally fit values at some frames best.

    LeeShin1999 eq. 2, where the denominator of beta is the sum of squares (errata 9): a single
    value then is interpolated. Each value has a weight besides. Control points that no value
    reaches are zero.

    Parameters
    ----------
    frames : ndarray, shape (k,)
        Frame indices.
    values : ndarray, shape (k, 3 g)
        What to fit, in groups of three.
    says : ndarray, shape (k, g)
        Weight of each group, 0 where it has no value.
    spacing : float
        Frames from knot to knot.
    shares : ndarray, shape (p, g)
        Working space.
    control_points : ndarray, shape (p, 3 g)
        Out; p is at least floor((n - 1) / spacing) + 4 for n frames.

    """
    weights = work_array(4)
    shares[:] = 0.0
    control_points[:] = 0.0
    for i in range(len(frames)):
        first = basis(frames[i] / spacing, weights)
        square = 0.0
        for k in range(4):
            square += weights[k] * weights[k]
        for k in range(4):
            omega = weights[k]
            share = omega * omega * omega / square
            for g in range(says.shape[1]):
                if says[i, g] > 0.0 and share > 0.0:
                    shares[first + k, g] += says[i, g] * omega * omega
                    for c in range(3 * g, 3 * g + 3):
                        control_points[first + k, c] += says[i, g] * share * values[i, c]
    for j in range(shares.shape[0]):
        for g in range(shares.shape[1]):
            if shares[j, g] > 0.0:
                for c in range(3 * g, 3 * g + 3):
                    control_points[j, c] /= shares[j, g]


@kernel
def evaluate(control_points: Floats, spacing: float, out: Floats) -> None:
    """Write the curves at all frames, shape (n, c)."""
    weights = work_array(4)
    for frame in range(len(out)):
        first = basis(frame / spacing, weights)
        for c in range(out.shape[1]):
            out[frame, c] = (
                weights[0] * control_points[first, c]
                + weights[1] * control_points[first + 1, c]
                + weights[2] * control_points[first + 2, c]
                + weights[3] * control_points[first + 3, c]
            )


@kernel
def displace(displacements: Floats, roots: Vec3s, rotations: Quats) -> None:
    """
    Apply a displacement map to a motion in place (LeeShin1999 eq. 1).

    What is displaced by nothing keeps its very numbers.

    Parameters
    ----------
    displacements : ndarray, shape (n, 51)
        Of the root [m] and the rotation vectors of all segments [rad].
    roots, rotations : ndarray, shapes (n, 3) and (n, 16, 4)
        In and out.

    """
    turn = work_array(4)
    for frame in range(len(roots)):
        for k in range(3):
            roots[frame, k] += displacements[frame, k]
        for segment in range(N_SEGMENTS):
            first = 3 + 3 * segment
            vector = displacements[frame, first : first + 3]
            if vector[0] != 0.0 or vector[1] != 0.0 or vector[2] != 0.0:
                exp(vector, turn)
                multiply(rotations[frame, segment], turn, turn)
                normalize(turn, rotations[frame, segment])


def exact_displacement(
    frames: Ints, values: Floats, says: Floats, n_frames: int, reach: int
) -> Floats:
    """
    Return a displacement map through values where there are any.

    Parameters
    ----------
    frames : ndarray, shape (k,)
        Rising.
    values : ndarray, shape (k, 3 g)
        There, in groups of three.
    says : ndarray, shape (k, g)
        0 where there is no value.
    n_frames : int
        Of the motion.
    reach : int
        Frames until it has faded out, at least 1.

    Returns
    -------
    displacements : ndarray, shape (n_frames, 3 g)

    """
    out = np.zeros((n_frames, values.shape[1]))
    alike: dict[bytes, list[int]] = {}
    for group, pattern in enumerate(np.ascontiguousarray(says.T)):
        alike.setdefault(pattern.tobytes(), []).append(group)
    for groups in alike.values():
        columns = (3 * np.array(groups)[:, None] + np.arange(3)).reshape(-1)
        given = np.flatnonzero(says[:, groups[0]])
        if len(given):
            part = values[given][:, columns]
            out[:, columns] = least_bent(frames[given], part, n_frames, reach)
    return out


def least_bent(frames: Ints, values: Floats, n_frames: int, reach: int) -> Floats:
    """
    Return the curves through values at some frames that bend least.

    Of all that agree at those frames and are zero at frames at least `reach` away from them, it
    has the least sum of squared second differences.

    Parameters
    ----------
    frames : ndarray, shape (k,)
        Rising.
    values : ndarray, shape (k, c)
        There.
    n_frames : int
        Of the motion.
    reach : int
        Frames until it has faded out, at least 1.

    Returns
    -------
    displacements : ndarray, shape (n_frames, c)

    """
    out = np.zeros((n_frames, values.shape[1]))
    out[frames] = values
    if not np.any(values):
        return out
    near = np.zeros(n_frames + 1, dtype=np.int64)
    np.add.at(near, np.maximum(frames - reach + 1, 0), 1)
    np.add.at(near, np.minimum(frames + reach, n_frames), -1)
    is_free = np.cumsum(near[:-1]) > 0
    is_free[frames] = False
    free = np.flatnonzero(is_free)
    if not len(free):
        return out
    # rows of D^T D, D the second difference of all frames within the motion
    bands = _bending_bands(n_frames)
    right = -sum(bands[free, 2 + k, None] * _at(out, free + k) for k in range(-2, 3))
    index = np.full(n_frames + 4, -1)
    index[free + 2] = np.arange(len(free))
    upper = np.zeros((3, len(free)))
    upper[2] = bands[free, 2]
    for k in (1, 2):
        other = index[free + 2 + k]
        has = other >= 0
        # free frames are in order, so a neighbour is the next column or the one after it
        band = 2 - (other[has] - np.flatnonzero(has))
        upper[band, other[has]] = bands[free[has], 2 + k]
    upper[2] += 1e-12
    out[free] = solveh_banded(upper, right)
    return out


def _bending_bands(n: int) -> Floats:
    """Return D^T D by diagonals, shape (n, 5): columns from two before to two after."""
    bands = np.zeros((n, 5))
    stencil = np.array([1.0, -2.0, 1.0])
    for i in range(3):
        for j in range(3):
            bands[i : n - 2 + i, 2 + j - i] += stencil[i] * stencil[j]
    return bands


def _at(values: Floats, frames: Ints) -> Floats:
    inside = (frames >= 0) & (frames < len(values))
    return np.where(inside[:, None], values[np.clip(frames, 0, len(values) - 1)], 0.0)
