# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a body moves as one can, and as it did.

What is farther from where it was than a body moves in that time has not moved: it is another body,
another calibration or another clock.

"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.arrays import Floats, Ints, Quats, Vec3, Vec3s
from puppet_core.fastest_motion import FASTEST_M_S, FASTEST_RAD_S, LONGEST_S, SHORTEST_S
from puppet_core.kernel import copy, kernel
from puppet_core.packed_arrays import pack_arrays
from puppet_core.quaternion import conjugate, log, multiply
from puppet_core.work_array import work_array

# Is fast where more may go wrong: with the easing 45 rad/s and 5 m/s.
WARY_RAD_S, WARY_M_S = 30.0, 2.4
# Against the step before: beyond the impacts of a landing and what a leg swings with.
WARY_RAD_S2, WARY_M_S2 = 2900.0, 200.0
# what `watch_step` finds, as bits
LEAPS, BREAKS = 1, 2


class WatchArrays(NamedTuple):
    """The posture before, and how far postures went: rows (17, 3), the root [m], then turns."""

    root: Vec3
    rotations: Quats

    step: Vec3s
    """To the last posture."""

    before: Vec3s
    """The step before it."""

    usual: Vec3s
    """The last one that went on as the motion was."""

    times_s: Floats
    """That these three took, shape (3,) [s]."""

    far: Floats
    """How far the last step went: root [m], and most of the turns [rad]."""

    n_steps: Ints
    """How many there were, shape (1,)."""


class LeapWatch:
    """Whether a body moves faster than one can, or as it did; knows the posture before."""

    def __init__(self, ratio: float = 1.0) -> None:
        self._packed, arrays = pack_arrays(
            WatchArrays(
                np.zeros(3), np.zeros((16, 4)), np.zeros((17, 3)), np.zeros((17, 3)),
                np.zeros((17, 3)), np.full(3, LONGEST_S), np.zeros(2), np.zeros(1, np.int64),
            )
        )  # fmt: skip
        self._far = arrays.far
        self._ratio = ratio
        self._found = 0

    def leaps(self, root: Vec3, rotations: Quats, dt_s: float, size: float = 1.0) -> bool:
        """
        Return whether the next posture is too far from the one before.

        Parameters
        ----------
        root : ndarray, shape (3,)
            Root position [m].
        rotations : ndarray, shape (16, 4)
            Joint rotations.
        dt_s : float
            Time since the one before [s].
        size : float
            Of the body over a grown-up's [-].

        """
        self._found = watch_step(self._packed, root, rotations, dt_s, self._ratio, size)
        return self._found & LEAPS != 0

    def breaks(self) -> bool:
        """
        Return whether the last posture came fast, or not as the motion was.

        That may be as in the step before, or as before a leap: one leap is one.

        """
        return self._found & BREAKS != 0

    def is_farther(self, bound_rad: float, bound_m: float) -> bool:
        """Return whether the last posture was farther than that from the one before."""
        root, turn = self._far.tolist()
        return turn > bound_rad or root > bound_m


@kernel
def watch_arrays(record: WatchArrays) -> WatchArrays:
    """Return the arrays of a packed watch."""
    return WatchArrays(
        record.root[:], record.rotations[:], record.step[:], record.before[:],
        record.usual[:], record.times_s[:], record.far[:], record.n_steps[:],
    )  # fmt: skip


@kernel
def watch_step(
    packed: np.ndarray, root: Vec3, rotations: Quats, dt_s: float, ratio: float, size: float
) -> int:
    """
    Take the next posture; return which of LEAPS and BREAKS it does.

    Parameters
    ----------
    packed : ndarray, shape (1,)
        Holds WatchArrays, changed.
    root : ndarray, shape (3,)
        Root position [m].
    rotations : ndarray, shape (16, 4)
        Joint rotations.
    dt_s : float
        Time since the posture before [s].
    ratio : float
        Of the fastest motion, from which on it is a leap [-].
    size : float
        Of the body over a grown-up's [-].

    """
    watch = watch_arrays(packed[0])
    times_s, far = watch.times_s, watch.far
    # a step that leapt or was another motion is not what is usual
    if goes_on(watch.step, watch.before, times_s[0], times_s[1], 1.0, far):
        copy_rows(watch.step, watch.usual)
        times_s[2] = times_s[0]
    copy_rows(watch.step, watch.before)
    times_s[1], times_s[0] = times_s[0], min(max(dt_s, SHORTEST_S), LONGEST_S)
    measure_gap(
        watch.root, watch.rotations, root, rotations, watch.step[0], watch.step[1:]
    )
    if watch.n_steps[0] == 0:
        watch.step[:] = 0.0  # in place
    watch.n_steps[0] += 1
    copy(root, watch.root)
    copy_rows(rotations, watch.rotations)
    is_new = not (
        goes_on(watch.step, watch.before, times_s[0], times_s[1], size, far)
        or goes_on(watch.step, watch.usual, times_s[0], times_s[2], size, far)
    )
    furthest(watch.step, watch.step, 0.0, far)
    found = 0
    if is_beyond(far, ratio * FASTEST_RAD_S, size * ratio * FASTEST_M_S, times_s[0]):
        found |= LEAPS
    if is_new or is_beyond(far, WARY_RAD_S, size * WARY_M_S, times_s[0]):
        found |= BREAKS
    return found


@kernel
def is_beyond(far: Floats, bound_rad_s: float, bound_m_s: float, dt_s: float) -> bool:
    """Return whether root or turns, shape (2,), went faster than a bound."""
    return far[1] > bound_rad_s * dt_s or far[0] > bound_m_s * dt_s


@kernel
def goes_on(
    step: Vec3s, other: Vec3s, dt_s: float, other_s: float, size: float, far: Floats
) -> bool:
    """Return whether a step is about what another one led to; `far`, (2,), is overwritten."""
    furthest(step, other, dt_s / other_s, far)
    square = dt_s * 0.5 * (dt_s + other_s)
    return far[1] <= WARY_RAD_S2 * square and far[0] <= size * WARY_M_S2 * square


@kernel
def copy_rows(rows: Floats, out: Floats) -> None:
    """Write rows, shape (n, m), to an array of the same shape."""
    for i in range(len(out)):
        copy(rows[i], out[i])


@kernel
def measure_gap(
    from_root: Vec3, from_rotations: Quats, root: Vec3, rotations: Quats, root_gap: Vec3,
    turn_gaps: Vec3s,
) -> None:  # fmt: skip
    """Fill what takes a posture back to another: (3,) [m], and rotation vectors (16, 3)."""
    turn = work_array(4)
    for k in range(3):
        root_gap[k] = from_root[k] - root[k]
    for segment in range(len(rotations)):
        conjugate(rotations[segment], turn)
        multiply(from_rotations[segment], turn, turn)
        log(turn, turn_gaps[segment])


@kernel
def furthest(step: Vec3s, other: Vec3s, share: float, out: Floats) -> None:
    """Fill how far a step is from a share of another, (17, 3): root [m] and most of the turns."""
    most = 0.0
    for i in range(len(step)):
        square = 0.0
        for k in range(3):
            difference = step[i, k] - share * other[i, k]
            square += difference * difference
        if i == 0:
            out[0] = math.sqrt(square)
        else:
            most = max(most, square)
    out[1] = math.sqrt(most)
