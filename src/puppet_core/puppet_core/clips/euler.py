# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Euler angles of clip files to quaternions and back, for whole clips at once.

Angles are intrinsic: with axes (a, b, c) the rotation is R_a · R_b · R_c, so the axes turn with
the body, first about a; the same as transforms3d's 'rabc' codes. Any number of axes from zero to
three is allowed on the way in (BVH and ASF joints have as many as they have channels).
"""

from collections.abc import Sequence

import numpy as np
from puppet_core.math import Floats, Quats, to_matrix
from puppet_core.math.quaternions import multiply

# Below this cosine of the middle angle the first angle is not observable and is held.
_LOCK_COSINE = 1e-7


def euler_to_quats(axes: Sequence[int], angles: Floats) -> Quats:
    """
    Return the rotations R_axes[0](angles[0]) · R_axes[1](angles[1]) · …, shape (..., 4).

    Parameters
    ----------
    axes : sequence of int, length k
        Axis of each angle, 0, 1, 2 for x, y, z.
    angles : ndarray, shape (..., k)
        Angles [rad].

    """
    halves = 0.5 * np.asarray(angles, dtype=np.float64)
    quats = np.zeros((*halves.shape[:-1], 4))
    quats[..., 0] = 1.0
    for column, axis in enumerate(axes):
        turn = np.zeros_like(quats)
        turn[..., 0] = np.cos(halves[..., column])
        turn[..., 1 + axis] = np.sin(halves[..., column])
        quats = multiply(quats, turn) if column else turn
    return quats


def quats_to_continuous_euler(quats: Quats, axes: Sequence[int]) -> Floats:
    """
    Return Euler angles that change smoothly from frame to frame, shape (n, k, 3) [rad].

    Of the two triples that give a rotation, and their whole turns, each frame takes the one
    nearest to the frame before, the first one the smallest; turns accumulate. Where the middle
    angle is at a quarter turn the first angle is held. The last two angles are computed from what
    the first one leaves, so the triple reproduces the rotation also close to the lock.

    Parameters
    ----------
    quats : ndarray, shape (n, k, 4)
        Unit quaternions (w, x, y, z) of k joints over n frames.
    axes : sequence of int, length 3
        A permutation of 0, 1, 2.

    """
    a, b, c = axes
    sign = 1.0 if (b - a) % 3 == 1 else -1.0
    matrices = to_matrix(quats)
    # R[a, c] = sign sin β; R[b, c] = -sign sin α cos β; R[c, c] = cos α cos β.
    sine, cosine = -sign * matrices[..., b, c], matrices[..., c, c]
    locked = np.hypot(sine, cosine) < _LOCK_COSINE
    alpha = np.where(locked, 0.0, np.arctan2(sine, cosine))
    # a locked frame has the angle of the last one that is not, 0 before the first
    frames = np.where(locked, -1, np.arange(len(quats))[:, None])
    last = np.maximum.accumulate(frames, axis=0)
    alpha = np.where(last < 0, 0.0, np.take_along_axis(alpha, np.maximum(last, 0), axis=0))
    # the rows of R_a(-α) R give β and γ
    cos_a, sin_a = np.cos(alpha), np.sin(alpha)
    row_b_a, row_b_b = (
        cos_a * matrices[..., b, k] + sign * sin_a * matrices[..., c, k] for k in (a, b)
    )
    row_c_c = cos_a * matrices[..., c, c] - sign * sin_a * matrices[..., b, c]
    beta = np.arctan2(sign * matrices[..., a, c], row_c_c)
    gamma = np.arctan2(sign * row_b_a, row_b_b)
    return _continuous(np.stack([alpha, beta, gamma], axis=-1))


def _continuous(triples: Floats) -> Floats:
    """Return triples (n, k, 3), or those that mean the same, each nearest to the one before."""
    start = np.zeros((1, *triples.shape[1:]))
    triples = np.concatenate((start, triples))
    others = np.array([1.0, -1.0, 1.0]) * triples + np.pi
    # Changing to the other triple keeps distances, so each frame only says whether to change.
    changes = _distance(others[1:], triples[:-1]) < _distance(triples[1:], triples[:-1])
    is_other = np.concatenate((start[..., 0] > 0.0, np.cumsum(changes, axis=0) % 2 == 1))
    return np.unwrap(np.where(is_other[..., None], others, triples), axis=0)[1:]


def _distance(a: Floats, b: Floats) -> Floats:
    """Return the sum of the ways between two triples, whole turns apart."""
    return np.abs(np.remainder(a - b + np.pi, 2.0 * np.pi) - np.pi).sum(axis=-1)
