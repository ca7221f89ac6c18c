# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Euler angles of clip files to quaternions and back, for whole clips at once.

Angles are intrinsic: with axes (a, b, c) the rotation is R_a · R_b · R_c, so the axes turn with
the body, first about a; the same as transforms3d's 'rabc' codes. Any number of axes from zero to
three is allowed on the way in (BVH and ASF joints have as many as they have channels).
"""

from collections.abc import Sequence
import math

import numpy as np
from puppet_core.math import Floats, Ints, kernel, Quats, to_matrix

_TURN = 2.0 * math.pi

# Below this cosine of the middle angle the first angle is not observable and is held.
_LOCK_COSINE = 1e-7


@kernel
def chain_turns(axes: Ints, cosines: Floats, sines: Floats, out: Quats) -> None:
    """
    Write products of turns about coordinate axes, each about the axes that those before made.

    Parameters
    ----------
    axes : ndarray of int, shape (k,)
        0, 1, 2 for x, y, z.
    cosines, sines : ndarray, shape (n, k)
        Of half the angles.
    out : ndarray, shape (n, 4)
        Out: unit quaternions.

    """
    for i in range(len(out)):
        q = out[i]
        q[0], q[1], q[2], q[3] = 1.0, 0.0, 0.0, 0.0
        for column in range(len(axes)):
            c, s = cosines[i, column], sines[i, column]
            # the turn's own axis, and the two that follow it
            a = 1 + axes[column]
            b = 1 + a % 3
            d = 1 + b % 3
            q[0], q[a] = q[0] * c - q[a] * s, q[a] * c + q[0] * s
            q[b], q[d] = q[b] * c + q[d] * s, q[d] * c - q[b] * s


@kernel
def nearest_turn(angle: float, reference: float) -> float:
    """Return an angle moved by whole turns to within half a turn of the reference [rad]."""
    return angle - _TURN * np.rint((angle - reference) / _TURN)


@kernel
def follow_turns(triples: Floats, previous: Floats) -> None:
    """
    Make Euler angles continuous, in place.

    Of a triple and the other one that means the same, each moved by whole turns, each frame
    takes the one nearest to the frame before.

    Parameters
    ----------
    triples : ndarray, shape (n, k, 3)
        Angles of k joints over n frames; in each either of the two triples [rad].
    previous : ndarray, shape (k, 3)
        The angles before the first frame; afterwards those of the last [rad].

    """
    for i in range(triples.shape[0]):
        for j in range(triples.shape[1]):
            angles, before = triples[i, j], previous[j]
            a = nearest_turn(angles[0], before[0])
            b = nearest_turn(angles[1], before[1])
            c = nearest_turn(angles[2], before[2])
            other_a = nearest_turn(angles[0] + math.pi, before[0])
            other_b = nearest_turn(math.pi - angles[1], before[1])
            other_c = nearest_turn(angles[2] + math.pi, before[2])
            here = abs(a - before[0]) + (abs(b - before[1]) + abs(c - before[2]))
            there = abs(other_a - before[0]) + (
                abs(other_b - before[1]) + abs(other_c - before[2])
            )
            if here - there <= 0.0:
                angles[0], angles[1], angles[2] = a, b, c
            else:
                angles[0], angles[1], angles[2] = other_a, other_b, other_c
            before[0], before[1], before[2] = angles[0], angles[1], angles[2]


def euler_to_quats(axes: Sequence[int], angles: Floats) -> Quats:
    """
    Return the rotations R_axes[0](angles[0]) · R_axes[1](angles[1]) · ….

    Parameters
    ----------
    axes : sequence of int, length k
        Axis of each angle, 0, 1, 2 for x, y, z.
    angles : ndarray, shape (..., k)
        Angles [rad].

    Returns
    -------
    quats : ndarray, shape (..., 4)
        Unit quaternions (w, x, y, z).

    """
    halves = 0.5 * np.asarray(angles, dtype=np.float64)
    leading = halves.shape[:-1]
    # the size of the first axis, which cannot be known where there are no angles
    halves = np.ascontiguousarray(halves.reshape(int(np.prod(leading)), len(axes)))
    quats = np.empty((len(halves), 4))
    chain_turns(np.array(axes, dtype=np.int64), np.cos(halves), np.sin(halves), quats)
    return quats.reshape(*leading, 4)


def quats_to_continuous_euler(quats: Quats, axes: Sequence[int]) -> Floats:
    """
    Return Euler angles that change smoothly from frame to frame.

    Of the two triples that give a rotation, and their whole turns, each frame takes the one
    nearest to the frame before. Where the middle angle is at a quarter turn the first angle is
    held. The last two angles are computed from what the first one leaves, so the triple
    reproduces the rotation also close to the lock.

    Parameters
    ----------
    quats : ndarray, shape (n, k, 4)
        Unit quaternions (w, x, y, z) of k joints over n frames.
    axes : sequence of int, length 3
        A permutation of 0, 1, 2.

    Returns
    -------
    angles : ndarray, shape (n, k, 3)
        Intrinsic angles [rad]; unbounded, as turns accumulate.

    """
    a, b, c = axes
    sign = 1.0 if (b - a) % 3 == 1 else -1.0
    matrices = to_matrix(quats)
    # R[a, c] = sign sin β; R[b, c] = -sign sin α cos β; R[c, c] = cos α cos β.
    sin_first = -sign * matrices[..., b, c]
    cos_first = matrices[..., c, c]
    locked = np.hypot(sin_first, cos_first) < _LOCK_COSINE
    first = np.where(locked, 0.0, np.arctan2(sin_first, cos_first))
    angles = _remaining_angles(matrices, first, (a, b, c), sign)
    previous = np.zeros((quats.shape[1], 3))
    start = 0
    for frame in np.flatnonzero(locked.any(axis=1)).tolist():
        follow_turns(angles[start:frame], previous)
        alpha = np.where(locked[frame], previous[:, 0], first[frame])
        angles[frame] = _remaining_angles(matrices[frame], alpha, (a, b, c), sign)
        start = frame
    # On the first frame this takes the triple with the smaller angles.
    follow_turns(angles[start:], previous)
    return angles


def _remaining_angles(matrices: Floats, alpha: Floats, axes: Sequence[int], sign: float) -> Floats:
    """Return (α, β, γ), shape (..., 3), for given α: rows of R_a(-α) R give β and γ."""
    a, b, c = axes
    cos_a, sin_a = np.cos(alpha), np.sin(alpha)
    # R_a(-α) R, of which only three elements matter
    row_b_a, row_b_b = (
        cos_a * matrices[..., b, k] + sign * sin_a * matrices[..., c, k] for k in (a, b)
    )
    row_c_c = cos_a * matrices[..., c, c] - sign * sin_a * matrices[..., b, c]
    beta = np.arctan2(sign * matrices[..., a, c], row_c_c)
    gamma = np.arctan2(sign * row_b_a, row_b_b)
    return np.stack([alpha, beta, gamma], axis=-1)
