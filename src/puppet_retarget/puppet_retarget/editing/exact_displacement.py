# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A displacement that has given values in some frames and fades out around them.

LeeShin1999 section 4.4 ends with every constrained frame put right by itself. The others next
to them must then come along, or the frames would pop. This displacement interpolates, bends
least of all that do, and is zero some frames away from any constraint.

"""

import numpy as np
from puppet_core.arrays import Floats, Ints
from scipy.linalg import solveh_banded


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
            bands[i:n - 2 + i, 2 + j - i] += stencil[i] * stencil[j]
    return bands


def _at(values: Floats, frames: Ints) -> Floats:
    inside = (frames >= 0) & (frames < len(values))
    return np.where(inside[:, None], values[np.clip(frames, 0, len(values) - 1)], 0.0)
