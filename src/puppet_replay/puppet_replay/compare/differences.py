# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How far two values are from each other, and statistics of a stream of differences.

What is not a number in both is equal, in one of them alone infinitely far. Rotations q and -q
are equal; where the sign changes from one message to the next in one stream alone, a program
that interpolates or differentiates goes the long way round, so that is a measure of its own.

"""

from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from puppet_core.math import Floats, Ints
from puppet_replay.compare.channels import Channel, EQUAL, NUMBER, ROTATION

FAR_FROM_UNIT = 1e-3  # lengths of two quaternions that differ more are not two rotations' alone
# Upper edges of a histogram for the percentile, 1 % apart.
EDGES = np.geomspace(1e-18, 1e12, 30 * 231 + 1)


class Difference(NamedTuple):
    """Differences of n pairs of rows."""

    amounts: Floats
    """In the channel's unit, shape (n, rows); infinite where one side alone has no number."""

    axes: Ints
    """Which of the row's numbers differs most, shape (n, rows)."""


def difference(a: Channel, b: Channel) -> Difference:
    """Return how far the values of two channels of equal shape are apart."""
    axes = np.zeros(a.values.shape[:2], np.int64)
    if a.metric == EQUAL:
        equal = a.values == b.values
        if a.values.dtype.kind == 'f' and b.values.dtype.kind == 'f':
            equal |= np.isnan(a.values) & np.isnan(b.values)
        return Difference(np.any(~equal, axis=-1).astype(np.float64), axes)
    if a.metric == ROTATION:
        return Difference(angles_deg(a.values, b.values), axes)
    apart = _apart(a.values, b.values)
    if a.metric == NUMBER:
        size = np.fmax(np.abs(a.values), np.abs(b.values))
        apart /= np.maximum(1.0, np.where(np.isfinite(size), size, 1.0))
    if apart.shape[-1] == 1:
        return Difference(apart[..., 0], axes)
    if apart.shape[-1]:
        axes = np.argmax(apart, axis=-1)
    return Difference(np.sqrt(np.sum(apart * apart, axis=-1)), axes)


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
        alike = np.abs(length_a - length_b) <= FAR_FROM_UNIT
    return np.where(is_a & is_b & alike, angles, np.where(is_a | is_b, np.inf, 0.0))


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
        in_a, in_b = (np.sum(q[1:] * q[:-1], axis=-1) < 0.0 for q in (a, b))
    return (in_a != in_b).astype(np.float64)


def _apart(a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """Return |a - b|, zero where both are the same infinity or both no number."""
    with np.errstate(invalid='ignore'):
        apart = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(np.isnan(apart), np.where(same, 0.0, np.inf), apart)


@dataclass(frozen=True, slots=True)
class Place:
    """One value of one message."""

    stamp_ns: int
    """Of the message in A; its log time if the type has no header."""

    frame_index: int
    """The message's own if it has one, else its number."""

    component: str = ''
    """Name of the row and of the axis, as in left_hand x."""

    row: int = 0
    """Number of the row."""

    axis: int = 0
    """Number of the axis."""

    amount: float = 1.0
    """The difference."""


class FieldStatistics:
    """
    What is known of the differences of one field, in memory of fixed size.

    Parameters
    ----------
    unit : str
        A key of tolerances.UNITS.
    tolerance : float
        Greatest difference of one value that counts as none.

    """

    def __init__(self, unit: str, tolerance: float) -> None:
        self.unit = unit
        self.tolerance = tolerance
        self.n = 0
        self.n_beyond = 0
        self.n_invalid = 0
        self.max = 0.0
        self.worst: Place | None = None
        self.first: Place | None = None
        self._squares = 0.0
        self._zeros = 0
        self._bins = np.zeros(len(EDGES) + 1, np.int64)  # the last one for what is larger

    @property
    def rms(self) -> float:
        """Return the root of the mean square of the differences that are numbers."""
        n = self.n - self.n_invalid
        return math.sqrt(self._squares / n) if n else 0.0

    @property
    def p99(self) -> float:
        """Return what 99 in 100 differences do not exceed, to 1 %, and never above the max."""
        rank = math.ceil(0.99 * self.n) - self._zeros
        if rank <= 0:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self._bins), rank))
        return min(float(EDGES[place]), self.max) if place < len(EDGES) else self.max

    def add(
        self,
        amounts: Floats,
        axes: Ints,
        stamps_ns: Ints,
        indices: Ints,
        labels: tuple[str, ...],
        axis_names: tuple[str, ...],
    ) -> None:
        """
        Take the differences of n messages.

        Parameters
        ----------
        amounts : ndarray, shape (n, rows)
            The differences, none of them NaN.
        axes : ndarray, shape (n, rows)
            Which axis differs most.
        stamps_ns, indices : ndarray, shape (n,)
            Of the messages.
        labels, axis_names : tuple of str
            Names of rows and axes; empty names are left out, missing ones are numbers.

        """
        self.n += amounts.size
        positive = amounts[amounts > 0.0]
        self._zeros += amounts.size - positive.size
        if not positive.size:
            return
        finite = positive[np.isfinite(positive)]
        self.n_invalid += positive.size - finite.size
        self._squares += float(finite @ finite)
        self._bins += np.bincount(np.searchsorted(EDGES, positive), minlength=len(self._bins))
        beyond = amounts > self.tolerance
        self.n_beyond += int(np.count_nonzero(beyond))

        def place(frame: int, row: int) -> Place:
            axis = int(axes[frame, row])
            name = component_name(labels, axis_names, row, axis)
            stamp, index = int(stamps_ns[frame]), int(indices[frame])
            return Place(stamp, index, name, row, axis, float(amounts[frame, row]))

        frame, row = divmod(int(np.argmax(amounts)), amounts.shape[1])
        if amounts[frame, row] > self.max:
            self.max = float(amounts[frame, row])
            self.worst = place(frame, row)
        if np.any(beyond):
            frames = np.flatnonzero(np.any(beyond, axis=1))
            frame = int(frames[np.argmin(stamps_ns[frames])])
            if self.first is None or stamps_ns[frame] < self.first.stamp_ns:
                self.first = place(frame, int(np.argmax(amounts[frame])))


class SideTimes:
    """What is known of the stamps of one bag's messages."""

    def __init__(self) -> None:
        self.count = 0
        self.first_ns = 0
        self.last_ns = 0
        self.highest_ns = 0
        self.n_backward = 0
        self.longest_gap_ns = 0

    def add(self, stamp_ns: int) -> None:
        """Take the next message."""
        if self.count == 0:
            self.first_ns = self.highest_ns = stamp_ns
        elif stamp_ns < self.last_ns:
            self.n_backward += 1
        else:
            self.longest_gap_ns = max(self.longest_gap_ns, stamp_ns - self.last_ns)
        self.count += 1
        self.last_ns = stamp_ns
        self.first_ns = min(self.first_ns, stamp_ns)
        self.highest_ns = max(self.highest_ns, stamp_ns)

    @property
    def rate_hz(self) -> float:
        """Return the mean rate; 0 for a single message."""
        span = self.highest_ns - self.first_ns
        return (self.count - 1) * 1e9 / span if span > 0 else 0.0


def component_name(
    labels: tuple[str, ...], axis_names: tuple[str, ...], row: int, axis: int
) -> str:
    """Return as in left_hand x; [3] x for rows without names."""
    label = labels[row] if row < len(labels) else f'[{row}]'
    name = axis_names[axis] if axis < len(axis_names) else ''
    return f'{label} {name}'.strip()
