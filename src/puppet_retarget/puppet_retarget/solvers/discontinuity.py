# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Discontinuities of a posture detected and blended away; unusable input refused.

`DiscontinuityDetector` decides whether a body moved as a body can.
`HoldAndBlend` holds the last posture while there is no usable input, and blends to the new one
after a gap, a discontinuity or a change of puppet. `is_usable` checks numbers that came over a
topic (kernel). Discontinuities of the sensors are handled by the performer.
"""

import math

import numpy as np
from puppet_core.body import (
    FASTEST_M_S,
    FASTEST_RAD_S,
    is_posture,
    LONGEST_S,
    MAX_COORDINATE_M,
    N_SEGMENTS,
    SHORTEST_S,
)
from puppet_core.math import (
    add,
    angle_between,
    conjugate,
    copy,
    exp,
    Floats,
    kernel,
    log,
    multiply,
    norm,
    Quats,
    scale,
    sub,
    Vec3,
    Vec3s,
)
from puppet_retarget.importance import (
    CONTACT_WIDTH,
    DISPLACEMENT,
    FIRST_CONTACT,
    GOAL,
    IMPORTANCE,
    MAX_CONTACTS,
    N_SAMPLES,
    RADIUS,
    SAMPLE,
    SELF_DISTANCE,
    SELF_IMPORTANCE,
    WEIGHT,
)

# On its way back after a gap or discontinuity the puppet waits for what is faster than this: with
# the blend 45 rad/s and 5 m/s.
WARY_RAD_S, WARY_M_S = 30.0, 2.4

# A limb of other proportions that goes where the performer's goes may have to turn faster: the
# goldens do so up to 96 rad/s where their performer does not exceed 14.
PUPPET_RATIO = 2.0
EASE_RAD_S, EASE_M_S = 15.0, 2.5  # at most, on top of the motion: a fast one, not the fastest
RESUME_S = 0.25  # held after a restart: listeners are still finding the new node
WARY_S = 1.0  # from the cause on; longer, and the puppet of a runner would stand still
STEEPEST = 1.5  # of the blend 3 s^2 - 2 s^3, over a straight line

MAX_RADIUS_M = 1e4
MAX_BODY_M = 100.0  # of what is on one body; the tallest puppet is far smaller
MAX_WEIGHT = 1e12  # of a contact [-]; its sums stay finite
_LAST_SAMPLE = N_SEGMENTS * N_SAMPLES - 1


# The detector.
#
# What is farther from where it was than a body moves in that time has not moved: it is another
# body, another calibration or another clock.


class DiscontinuityDetector:
    """Whether a body moves faster than one can; knows the posture before."""

    def __init__(self, ratio: float = 1.0) -> None:
        self._ratio = ratio  # of the fastest motion, from which on it is a discontinuity
        self._root, self._rotations = np.zeros(3), np.zeros((16, 4))
        self._has_posture = False

    def leaps(
        self, root: Vec3, rotations: Quats, dt_s: float, size: float = 1.0, is_wary: bool = False
    ) -> bool:
        """
        Return whether the next posture is too far from the last one.

        The size is over a grown-up's. Wary, less is too far: what is faster than WARY_M_S.
        """
        way_m, turn_rad = distance_between(self._root, self._rotations, root, rotations)
        is_first, self._has_posture = not self._has_posture, True
        self._root[:], self._rotations[:] = root, rotations
        if is_first:
            return False
        m_s, rad_s = self._ratio * FASTEST_M_S, self._ratio * FASTEST_RAD_S
        if is_wary:
            m_s, rad_s = WARY_M_S, WARY_RAD_S
        dt_s = min(max(dt_s, SHORTEST_S), LONGEST_S)
        return way_m > size * m_s * dt_s or turn_rad > rad_s * dt_s


@kernel
def distance_between(
    root: Vec3, rotations: Quats, other_root: Vec3, other_rotations: Quats
) -> tuple[float, float]:
    """Return how far apart two postures are: their roots [m], and most of their joints [rad]."""
    turn = 0.0
    for segment in range(len(rotations)):
        turn = max(turn, angle_between(rotations[segment], other_rotations[segment]))
    return norm(sub(root, other_root)), turn


@kernel
def measure_gap(
    from_root: Vec3,
    from_rotations: Quats,
    root: Vec3,
    rotations: Quats,
    root_gap: Vec3,
    turn_gaps: Vec3s,
) -> None:
    """Fill what takes a posture back to another: (3,) [m], and rotation vectors (16, 3)."""
    copy(sub(from_root, root), root_gap)
    for segment in range(len(rotations)):
        turn = multiply(from_rotations[segment], conjugate(rotations[segment]))
        copy(log(turn), turn_gaps[segment])


# Hold and blend.
#
# While there is no usable input nothing new is published, so everyone holds the last good
# posture; when input comes back the puppet may be elsewhere, and must not jump there. What decays
# is the difference between the two postures at that moment, on top of the new motion: the puppet
# stays alive meanwhile, and the short way round is chosen once only.
#
# A performer who is farther from where he was than a body moves in that time has not moved: it is
# another one, another calibration or another clock. Such a discontinuity is blended like a gap; so
# is one of the puppet alone, whose goals may have jumped. What is published therefore moves by no
# more than PUPPET_RATIO times as fast as the fastest body, and what the blend adds.
#
# Where something has just gone wrong more may follow: sensors come back one after the other, a
# filter finds its way. So for WARY_S from the cause on, while the posture is on its way back, what
# is merely fast is waited for too; so is the long way of a frame that came late.


class HoldAndBlend:
    """Holds the last posture and lets its difference decay after `start` or a discontinuity."""

    def __init__(self) -> None:
        self._root = np.zeros(3)
        self._rotations = np.zeros((16, 4))
        self._watch = DiscontinuityDetector(PUPPET_RATIO)
        self._root_gap = np.zeros(3)
        self._turn_gaps = np.zeros((16, 3))
        self._elapsed_s = np.inf
        self._last_s = 0.0
        self._duration_s = 0.0
        self._is_due = False
        self._has_posture = False
        self._wary_s = self._held_s = 0.0  # left
        self.size = 1.0  # of the puppet over a grown-up's: a larger one moves faster [-]
        self.leaps = 0  # discontinuities that were blended since the start

    @property
    def is_easing(self) -> bool:
        """Whether the next step will be a blend."""
        return self._is_due or math.isfinite(self._elapsed_s)

    @property
    def is_wary(self) -> bool:
        """Whether what went wrong was so lately that more of it may follow."""
        return self.is_easing and self._wary_s > 0.0

    def start(self) -> None:
        """Blend from the last posture, beginning with the next step."""
        self._is_due = self._has_posture
        self._wary_s = WARY_S

    def wait(self) -> None:
        """Begin the blend anew, without another WARY_S."""
        self._is_due = self._has_posture

    def resume(self, root: Vec3, rotations: Quats) -> None:
        """Hold, then blend from, a posture published before, shapes (3,) [m] and (16, 4)."""
        self._root[:] = root
        self._rotations[:] = rotations
        self._has_posture = True
        self._held_s = RESUME_S
        self.start()

    def step(self, root: Vec3, rotations: Quats, dt_s: float, ease_s: float) -> bool:
        """
        Blend a posture in place; return whether it was changed.

        A gap before does not count towards the blend, which lasts longer than `ease_s` if it would
        be faster than a body.
        """
        is_late = LONGEST_S < dt_s < math.inf and not self.is_easing
        is_wary = self.is_wary or is_late
        if self._watch.leaps(root, rotations, dt_s, self.size, is_wary):
            if is_wary:
                self.wait()
            elif self._has_posture and not self._is_due:
                self.leaps += 1
                self.start()
        if self._held_s > 0.0:
            self._held_s -= dt_s if math.isfinite(dt_s) else 0.0
            self.wait()
        self._wary_s -= min(dt_s, LONGEST_S)
        if self._is_due:
            self._begin(root, rotations, ease_s)
        else:
            # no farther than this frame's time allows, whatever the one before had
            self._elapsed_s += min(self._last_s, dt_s, LONGEST_S)
        self._last_s = dt_s if math.isfinite(dt_s) else 0.0
        changed = self.is_easing
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

    def _begin(self, root: Vec3, rotations: Quats, ease_s: float) -> None:
        measure_gap(self._root, self._rotations, root, rotations, self._root_gap, self._turn_gaps)
        self._duration_s = max(
            ease_s,
            SHORTEST_S,
            STEEPEST * float(np.linalg.norm(self._turn_gaps, axis=1).max()) / EASE_RAD_S,
            STEEPEST * float(np.linalg.norm(self._root_gap)) / (self.size * EASE_M_S),
        )
        self._elapsed_s, self._is_due = 0.0, False


@kernel
def add_gap(share: float, root_gap: Vec3, turn_gaps: Vec3s, root: Vec3, rotations: Quats) -> None:
    """Move root and rotations by a fraction of the gap, in place."""
    copy(add(root, scale(root_gap, share)), root)
    for segment in range(len(rotations)):
        turn = exp(scale(turn_gaps[segment], share))
        copy(multiply(turn, rotations[segment]), rotations[segment])


# Whether numbers that came over a topic can be solved at all.


@kernel
def is_usable(
    root: Vec3, segments: Vec3s, rotations: Quats, rows: Floats, self_rows: Floats
) -> bool:
    """Return whether a posture [m] and its importance are finite, unit and in range."""
    if not is_posture(root, segments, rotations):
        return False
    # every comparison is false for NaN
    for i in range(len(rows)):
        if not 0.0 <= rows[i, IMPORTANCE] <= 1.0 or not 0.0 <= rows[i, RADIUS] <= MAX_RADIUS_M:
            return False
        for k in range(GOAL, GOAL + 3):
            if not abs(rows[i, k]) <= MAX_COORDINATE_M:
                return False
    for j in range(len(self_rows)):
        if not _is_self_row(self_rows[j]):
            return False
    return True


@kernel
def _is_self_row(row: Floats) -> bool:
    """Return whether what solvers use of a row of the self-interaction is in range."""
    if not 0.0 <= row[SELF_IMPORTANCE] <= 1.0 or not row[SELF_DISTANCE] >= -MAX_BODY_M:
        return False
    for i in range(MAX_CONTACTS):
        start = FIRST_CONTACT + i * CONTACT_WIDTH
        sample = row[start + SAMPLE]
        if sample == -1.0:
            continue
        # solvers take the sample as an index
        if not 0.0 <= sample <= _LAST_SAMPLE or sample != int(sample):
            return False
        if not 0.0 <= row[start + WEIGHT] <= MAX_WEIGHT:
            return False
        for k in range(DISPLACEMENT, DISPLACEMENT + 3):
            if not abs(row[start + k]) <= MAX_BODY_M:
                return False
    return True
