# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
After a gap, a leap or a change of puppet the output eases from where it was to where it should be.

While there is no usable input nothing new is published, so everyone holds the last good
posture; when input comes back the puppet may be elsewhere, and must not jump there (SPEC 6).
What decays is the difference between the two postures at that moment, on top of the new
motion: the puppet stays alive meanwhile, and the short way round is chosen once only.

A performer who is farther from where he was than a body moves in that time has not moved: it is
another one, another calibration or another clock. Such a leap is eased like a gap; so is one of
the puppet alone, whose goals may have leapt. What is published therefore moves by no more than
PUPPET_RATIO times as fast as the fastest body, and what the easing adds.

A frame that is late by several, too few to be called a gap, may have it all to make up at once. If
that is far it is eased too, in as much time as the frame was late or EASE_RAD_S and EASE_M_S take.
Of frames that go on coming late, those of the first second are.

Where something has just gone wrong more may follow: sensors come back one after the other, a
filter finds its way. So for a second from the cause on, while the posture is on its way back, a
step need not be impossible: what is fast, or does not go on as the motion was, is waited for. Not
longer, or the puppet of a runner would stand still.

"""

import math

import numpy as np
from puppet_core.arrays import Quats, Vec3, Vec3s
from puppet_core.fastest_motion import LONGEST_S, SHORTEST_S
from puppet_core.kernel import kernel
from puppet_core.quaternion import exp, multiply
from puppet_core.work_array import work_array
from puppet_retarget.solvers.leap_watch import (
    LeapWatch,
    measure_gap,
    WARY_M_S,
    WARY_RAD_S,
)

# A limb of other proportions that goes where the performer's goes may have to turn faster: the
# goldens do so up to 96 rad/s where their performer does not exceed 14.
PUPPET_RATIO = 2.0
EASE_RAD_S, EASE_M_S = 15.0, 2.5  # at most, on top of the motion: a fast one, not the fastest
RESUME_S = 0.25  # held after a restart: listeners are still finding the new node
WARY_S = 1.0  # from the cause on
# A frame is late that comes after more than so many periods, and may not go far then: no farther
# than what is fast goes in one and a half.
LATE_PERIODS, FAR_PERIODS = 2.5, 1.5
PERIOD_SHARE = 0.1  # of each interval in the running mean
STEEPEST = 1.5  # of the ease 3 s^2 - 2 s^3, over a straight line


class HoldAndEase:
    """Remembers the last posture and lets its difference decay after `start` or a leap."""

    def __init__(self) -> None:
        self._root = np.zeros(3)
        self._rotations = np.zeros((16, 4))
        self._watch = LeapWatch(PUPPET_RATIO)
        self._root_gap = np.zeros(3)
        self._turn_gaps = np.zeros((16, 3))
        self._elapsed_s = np.inf
        self._last_s = 0.0
        self._duration_s = 0.0
        self._is_due = False
        self._has_posture = False
        self._wary_s = self._held_s = 0.0  # left
        self._period_s = 0.0  # between frames, mostly; 0 is not known
        self._easing_s = 0.0  # since the last time that nothing was eased
        self.size = 1.0
        """Of the puppet over a grown-up's: a larger one moves faster, never slower [-]."""
        self.leaps = 0
        """Leaps that were eased since the start."""
        self.late_frames = 0
        """Late frames that were eased since the start."""

    @property
    def is_easing(self) -> bool:
        """Whether the next step will be a blend."""
        return self._is_due or math.isfinite(self._elapsed_s)

    @property
    def is_wary(self) -> bool:
        """Whether what went wrong was so lately that more of it may follow."""
        return self.is_easing and self._wary_s > 0.0

    def start(self) -> None:
        """Ease from the last posture, beginning with the next step."""
        self._is_due = self._has_posture
        self._wary_s = WARY_S

    def wait(self) -> None:
        """Begin the easing anew, without another WARY_S."""
        self._is_due = self._has_posture

    def resume(self, root: Vec3, rotations: Quats) -> None:
        """Hold, then ease from, a posture published before, shapes (3,) [m] and (16, 4)."""
        self._root[:] = root
        self._rotations[:] = rotations
        self._has_posture = True
        self._held_s = RESUME_S
        self.start()

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
            How long easing takes, longer if it would be faster than a body then, shorter after a
            late frame [s].

        """
        if self._watch.leaps(root, rotations, dt_s, self.size):
            if self._has_posture and not self._is_due:
                self.leaps += 1
                self.start()
        elif self.is_wary and self._watch.breaks():
            self.wait()
        elif self._is_late_and_far(dt_s):
            self.late_frames += 1
            self.wait()
            # what is left of another cause's easing keeps its time
            ease_s = min(ease_s, max(dt_s, self._duration_s - self._elapsed_s))
        if self._held_s > 0.0:
            self._held_s -= dt_s if math.isfinite(dt_s) else 0.0
            self.wait()
        self._follow_period(dt_s)
        self._wary_s -= min(dt_s, LONGEST_S)
        if self._is_due:
            self._begin(root, rotations, ease_s)
        else:
            # no farther than this frame's time allows, whatever the one before had
            self._elapsed_s += min(self._last_s, dt_s, LONGEST_S)
        self._last_s = dt_s if math.isfinite(dt_s) else 0.0
        changed = self.is_easing
        self._easing_s = self._easing_s + self._last_s if changed else 0.0
        if changed:
            share = min(self._elapsed_s / self._duration_s, 1.0)
            left = 1.0 - share * share * (3.0 - 2.0 * share)
            add_gap(left, self._root_gap, self._turn_gaps, root, rotations)
            if share >= 1.0:
                self._elapsed_s = np.inf
        self._root[:] = root
        self._rotations[:] = rotations
        self._has_posture = True
        return changed

    def _is_late_and_far(self, dt_s: float) -> bool:
        """Return whether the last posture came after a time [s] for which it goes too far."""
        if not 0.0 < LATE_PERIODS * self._period_s < dt_s < math.inf:
            return False
        if self._is_due or self._held_s > 0.0 or self._easing_s > WARY_S:
            return False
        span_s = FAR_PERIODS * self._period_s
        return self._watch.is_farther(WARY_RAD_S * span_s, self.size * WARY_M_S * span_s)

    def _follow_period(self, dt_s: float) -> None:
        if not 0.0 < dt_s < math.inf:
            return
        if self._period_s == 0.0:
            self._period_s = max(dt_s, SHORTEST_S)
        else:  # a late frame counts as one that is late by one
            self._period_s += PERIOD_SHARE * (min(dt_s, 2.0 * self._period_s) - self._period_s)

    def _begin(self, root: Vec3, rotations: Quats, ease_s: float) -> None:
        measure_gap(
            self._root, self._rotations, root, rotations, self._root_gap, self._turn_gaps
        )
        self._duration_s = max(
            ease_s, SHORTEST_S, STEEPEST * _longest(self._turn_gaps) / EASE_RAD_S,
            STEEPEST * _length(self._root_gap) / (self.size * EASE_M_S),
        )  # fmt: skip
        self._elapsed_s, self._is_due = 0.0, False


def _longest(vectors: Vec3s) -> float:
    return math.sqrt(np.einsum('ij,ij->i', vectors, vectors).max())


def _length(vector: Vec3) -> float:
    return math.sqrt(vector.dot(vector))


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
