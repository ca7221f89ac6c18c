# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations from angles, and which of the angles that mean the same follow on (kernel layer)."""

import math

import numpy as np
from puppet_core.arrays import Floats, Ints, Quats
from puppet_core.kernel import kernel

_TURN = 2.0 * math.pi


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
