# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether a body moves as one can, and as it did.

What is farther from where it was than a body moves in that time has not moved: it is another body,
another calibration or another clock.

"""

import math

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.fastest_motion import FASTEST_M_S, FASTEST_RAD_S
from puppet_core.kernel import kernel
from puppet_core.quaternion import conjugate, log, multiply
from puppet_core.work_array import work_array

# Is fast where more may go wrong: with the easing 45 rad/s and 5 m/s.
WARY_RAD_S, WARY_M_S = 30.0, 2.4
# Against the step before: beyond the impacts of a landing and what a leg swings with.
WARY_RAD_S2, WARY_M_S2 = 2900.0, 200.0
SHORTEST_S = 1.0 / 240.0  # frames are not nearer; stamps may be
LONGEST_S = 1.0 / 24.0  # nothing goes on at its fastest for longer than a frame of a film


class LeapWatch:
    """Whether a body moves faster than one can, or as it did; knows the posture before."""

    def __init__(self, ratio: float = 1.0) -> None:
        self._root = np.zeros(3)
        self._rotations = np.zeros((16, 4))
        self._step, self._before, self._usual = _Step(), _Step(), _Step()
        self._ratio = ratio
        self._has_posture = False

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
        step = self._next_step()
        measure_gap(self._root, self._rotations, root, rotations, step.root, step.turns)
        step.dt_s = min(max(dt_s, SHORTEST_S), LONGEST_S)
        self._root[:] = root
        self._rotations[:] = rotations
        if not self._has_posture:
            self._has_posture = True
            step.clear()
        return step.is_beyond(FASTEST_RAD_S * self._ratio, size * FASTEST_M_S * self._ratio)

    def breaks(self, size: float = 1.0) -> bool:
        """
        Return whether the last posture came fast, or not as the motion was.

        That may be as in the step before, or as before a leap: one leap is one.

        """
        step = self._step
        is_new = not (step.goes_on(self._before, size) or step.goes_on(self._usual, size))
        return is_new or step.is_beyond(WARY_RAD_S, size * WARY_M_S)

    def is_farther(self, bound_rad: float, bound_m: float) -> bool:
        """Return whether the last posture was farther than that from the one before."""
        return self._step.is_farther(bound_rad, bound_m)

    def _next_step(self) -> '_Step':
        """Move on; a step that leapt or was another motion is not what is usual."""
        if self._step.goes_on(self._before, 1.0):
            self._usual.copy(self._step)
        self._before, self._step = self._step, self._before
        return self._step


class _Step:
    """How far a posture went in a time, root (3,) [m] and rotation vectors (16, 3)."""

    def __init__(self) -> None:
        self.rows = np.zeros((17, 3))
        self.root, self.turns = self.rows[0], self.rows[1:]
        self.dt_s = LONGEST_S
        self._far = np.zeros(2)

    def clear(self) -> None:
        """Be a step in place."""
        self.rows[:] = 0.0

    def copy(self, other: '_Step') -> None:
        """Be the same as another."""
        self.rows[:] = other.rows
        self.dt_s = other.dt_s

    def is_beyond(self, bound_rad_s: float, bound_m_s: float) -> bool:
        """Return whether anything was faster than a bound."""
        return self.is_farther(bound_rad_s * self.dt_s, bound_m_s * self.dt_s)

    def is_farther(self, bound_rad: float, bound_m: float) -> bool:
        """Return whether anything went farther than a bound."""
        furthest(self.rows, self.rows, 0.0, self._far)
        root, turn = self._far.tolist()
        return turn > bound_rad or root > bound_m

    def goes_on(self, other: '_Step', size: float) -> bool:
        """Return whether this is about what another step led to."""
        furthest(self.rows, other.rows, self.dt_s / other.dt_s, self._far)
        root, turn = self._far.tolist()
        square = self.dt_s * 0.5 * (self.dt_s + other.dt_s)
        return turn <= WARY_RAD_S2 * square and root <= size * WARY_M_S2 * square


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
