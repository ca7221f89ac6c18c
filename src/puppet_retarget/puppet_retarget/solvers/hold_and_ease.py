# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
After a gap or a change of puppet the output eases from where it was to where it should be.

While there is no usable input nothing new is published, so everyone holds the last good
posture; when input comes back the puppet may be elsewhere, and must not jump there (SPEC 6).
What decays is the difference between the two postures at that moment, on top of the new
motion: the puppet stays alive meanwhile, and the short way round is chosen once only.

"""

import numpy as np
from puppet_core.arrays import Quats, Vec3, Vec3s
from puppet_core.kernel import kernel
from puppet_core.quaternion import conjugate, exp, log, multiply
from puppet_core.work_array import work_array


class HoldAndEase:
    """Remembers the last posture and lets its difference decay after `start`."""

    def __init__(self) -> None:
        self._root = np.zeros(3)
        self._rotations = np.zeros((16, 4))
        self._root_gap = np.zeros(3)
        self._turn_gaps = np.zeros((16, 3))
        self._elapsed_s = np.inf
        self._is_due = False
        self._has_posture = False

    @property
    def is_easing(self) -> bool:
        """Whether the next step will be a blend."""
        return self._is_due or bool(np.isfinite(self._elapsed_s))

    def start(self) -> None:
        """Ease from the last posture, beginning with the next step."""
        self._is_due = self._has_posture

    def step(self, root: Vec3, rotations: Quats, dt_s: float, ease_s: float) -> bool:
        """
        Blend a posture in place; return whether it was changed.

        Parameters
        ----------
        root : ndarray, shape (3,)
            Root position [m].
        rotations : ndarray, shape (16, 4)
            Joint rotations.
        dt_s : float
            Time since the frame before [s]; a gap does not count towards the easing.
        ease_s : float
            How long easing takes [s].

        """
        if self._is_due:
            measure_gap(
                self._root, self._rotations, root, rotations, self._root_gap, self._turn_gaps
            )
            self._elapsed_s, self._is_due = 0.0, False
        changed = self.is_easing
        if changed:
            share = min(self._elapsed_s / ease_s, 1.0) if ease_s > 0.0 else 1.0
            left = 1.0 - share * share * (3.0 - 2.0 * share)
            add_gap(left, self._root_gap, self._turn_gaps, root, rotations)
            self._elapsed_s += dt_s if np.isfinite(dt_s) else 0.0
            if share >= 1.0:
                self._elapsed_s = np.inf
        self._root[:] = root
        self._rotations[:] = rotations
        self._has_posture = True
        return changed


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
def add_gap(
    share: float, root_gap: Vec3, turn_gaps: Vec3s, root: Vec3, rotations: Quats
) -> None:
    """Move root and rotations by a share of the gap, in place."""
    turn, rotvec = work_array(4), work_array(3)
    for k in range(3):
        root[k] += share * root_gap[k]
    for segment in range(len(rotations)):
        for k in range(3):
            rotvec[k] = share * turn_gaps[segment, k]
        exp(rotvec, turn)
        multiply(turn, rotations[segment], rotations[segment])
