# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How far two values are from each other: vectors, rotations, numbers, things that must be equal.

What is not a number in both is equal, in one of them alone infinitely far. Rotations q and -q
are equal; where the sign changes from one message to the next in one stream alone, a program
that interpolates or differentiates goes the long way round, so that is a measure of its own.

"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats
from puppet_replay.compare_channels import Channel, EQUAL, NUMBER, ROTATION

FAR_FROM_UNIT = 1e-3  # lengths of two quaternions that differ more are not two rotations' alone


class Difference(NamedTuple):
    """Differences of n pairs of rows."""

    amounts: Floats
    """In the channel's unit, shape (n, rows); infinite where one side alone has no number."""

    axes: NDArray[np.int64]
    """Which of the row's numbers differs most, shape (n, rows)."""


def difference(a: Channel, b: Channel) -> Difference:
    """Return how far the values of two channels of equal shape are apart."""
    if a.metric == EQUAL:
        unequal = (a.values != b.values) & ~(_is_nan(a.values) & _is_nan(b.values))
        return Difference(np.any(unequal, axis=-1).astype(np.float64), _zeros(a))
    if a.metric == ROTATION:
        return Difference(angles_deg(a.values, b.values), _zeros(a))
    apart = _apart(a.values, b.values)
    if a.metric == NUMBER:
        apart /= np.maximum(1.0, _finite(np.maximum(np.abs(a.values), np.abs(b.values))))
    if apart.shape[-1] == 1:
        return Difference(apart[..., 0], _zeros(a))
    if apart.shape[-1] == 0:
        return Difference(np.zeros(apart.shape[:-1]), _zeros(a))
    return Difference(np.sqrt(np.sum(apart * apart, axis=-1)), np.argmax(apart, axis=-1))


def angles_deg(a: Floats, b: Floats) -> Floats:
    """
    Return the angles between rotations, the signs of the quaternions aside.

    Parameters
    ----------
    a, b : ndarray, shape (..., 4)
        Quaternions, both with their parts in the same order, of about equal lengths.

    Returns
    -------
    angles : ndarray, shape (...)
        In [0, 180] degrees. Infinite if one of the two is none: not finite, or of length zero;
        or if the lengths differ. Zero if both are none.

    """
    length_a, length_b = np.linalg.norm(a, axis=-1), np.linalg.norm(b, axis=-1)
    with np.errstate(invalid='ignore', divide='ignore', over='ignore'):
        unit_a, unit_b = a / length_a[..., None], b / length_b[..., None]
        chords = [np.linalg.norm(unit_a - sign * unit_b, axis=-1) for sign in (1.0, -1.0)]
        # a chord of the unit 3-sphere; exact for small angles too
        angles = np.degrees(4.0 * np.arcsin(np.minimum(0.5 * np.minimum(*chords), 1.0)))
        is_a = np.isfinite(length_a) & (length_a > 0.0)
        is_b = np.isfinite(length_b) & (length_b > 0.0)
        unlike = np.abs(length_a - length_b) > FAR_FROM_UNIT
    angles = np.where(is_a & is_b, np.where(unlike, np.inf, angles), np.inf)
    return np.where(~is_a & ~is_b, 0.0, angles)


def sign_breaks(a: Floats, b: Floats) -> Floats:
    """
    Return where one of two streams of quaternions changes its sign and the other does not.

    Parameters
    ----------
    a, b : ndarray, shape (n, rows, 4)
        Quaternions, in order of time.

    Returns
    -------
    breaks : ndarray, shape (n - 1, rows)
        1 where just one of the streams goes to the other half of the sphere, else 0.

    """
    with np.errstate(invalid='ignore'):
        in_a = np.sum(a[1:] * a[:-1], axis=-1) < 0.0
        in_b = np.sum(b[1:] * b[:-1], axis=-1) < 0.0
    return (in_a != in_b).astype(np.float64)


def _apart(a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """Return |a - b|, zero where both are the same infinity or both no number."""
    with np.errstate(invalid='ignore'):
        apart = np.abs(a - b)
    odd = np.isnan(apart)
    if np.any(odd):
        apart[odd] = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.inf)[odd]
    return apart


def _is_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind != 'f':
        return np.zeros(values.shape, bool)
    return np.isnan(values)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 1.0)


def _zeros(channel: Channel) -> NDArray[np.int64]:
    return np.zeros(channel.values.shape[:2], np.int64)
