# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics of a stream of differences in bounded memory: nothing of the stream is kept."""

from dataclasses import dataclass
import math

import numpy as np
from puppet_core.arrays import Floats, Ints

BINS_PER_DECADE = 231  # of width 1 %
LOWEST_DECADE, HIGHEST_DECADE = -18, 12


@dataclass(frozen=True, slots=True)
class Place:
    """One value of one message."""

    stamp_ns: int
    """Of the message in A; its log time if the type has no header."""

    frame_index: int
    """The message's own if it has one, else its number among the compared ones."""

    component: str
    """Name of the row and of the axis, as in left_hand x."""

    row: int
    """Number of the row."""

    axis: int
    """Number of the axis."""

    amount: float
    """The difference."""


class FieldStatistics:
    """
    What is known of the differences of one field.

    Parameters
    ----------
    unit : str
        A key of compare_units.UNITS.
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
        self._bins = np.zeros(
            BINS_PER_DECADE * (HIGHEST_DECADE - LOWEST_DECADE) + 2, np.int64
        )  # the first for zero, the last for what is larger

    @property
    def rms(self) -> float:
        """Return the root of the mean square of the differences that are numbers."""
        n = self.n - self.n_invalid
        return math.sqrt(self._squares / n) if n else 0.0

    @property
    def p99(self) -> float:
        """Return what 99 in 100 differences do not exceed, to 1 %, and never above the max."""
        if self.n == 0:
            return 0.0
        count = np.cumsum(self._bins)
        place = int(np.searchsorted(count, math.ceil(0.99 * self.n)))
        if place == 0:
            return 0.0
        upper = 10.0 ** (LOWEST_DECADE + place / BINS_PER_DECADE)
        return min(upper, self.max) if place < len(self._bins) - 1 else self.max

    def add(
        self, amounts: Floats, axes: Ints, stamps_ns: Ints, indices: Ints,
        labels: tuple[str, ...], axis_names: tuple[str, ...],
    ) -> None:  # fmt: skip
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
        if amounts.size == 0:
            return
        self.n += amounts.size
        bad = np.isinf(amounts)
        self.n_invalid += int(np.count_nonzero(bad))
        self._squares += float(np.sum(np.square(amounts, where=~bad, out=np.zeros_like(amounts))))
        self._count(amounts)
        beyond = amounts > self.tolerance
        self.n_beyond += int(np.count_nonzero(beyond))

        def place(flat: int) -> Place:
            frame, row = divmod(flat, amounts.shape[1])
            axis = int(axes[frame, row])
            name = component_name(labels, axis_names, row, axis)
            stamp, index = int(stamps_ns[frame]), int(indices[frame])
            return Place(stamp, index, name, row, axis, float(amounts[frame, row]))

        highest = int(np.argmax(amounts))
        if amounts.flat[highest] > self.max:
            self.max = float(amounts.flat[highest])
            self.worst = place(highest)
        if np.any(beyond):
            frames = np.flatnonzero(np.any(beyond, axis=1))
            frame = int(frames[np.argmin(stamps_ns[frames])])
            if self.first is None or stamps_ns[frame] < self.first.stamp_ns:
                self.first = place(frame * amounts.shape[1] + int(np.argmax(amounts[frame])))

    def add_equal(self, count: int) -> None:
        """Take so many values that do not differ."""
        self.n += count
        self._bins[0] += count

    def _count(self, amounts: Floats) -> None:
        positive = amounts[amounts > 0.0]
        self._bins[0] += amounts.size - positive.size
        if positive.size:
            exact = (np.log10(positive) - LOWEST_DECADE) * BINS_PER_DECADE
            place = np.clip(np.ceil(exact), 1, len(self._bins) - 1).astype(np.int64)
            self._bins += np.bincount(place, minlength=len(self._bins))


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
