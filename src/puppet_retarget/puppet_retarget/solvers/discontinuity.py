# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Discontinuities of a posture detected and blended away; unusable input refused.

`DiscontinuityDetector` decides whether a body moved as a body can, and as it did before.
`HoldAndBlend` holds the last posture while there is no usable input, and blends to the new one
after a gap, a discontinuity or a change of puppet. `is_usable` checks numbers that came over a
topic (kernel). Discontinuities of the sensors are handled by the performer.
"""

import math
from typing import NamedTuple

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
    conjugate,
    copy,
    exp,
    Floats,
    frozen,
    Ints,
    kernel,
    log,
    multiply,
    norm,
    pack_arrays,
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
    SELF_DEPTH,
    SELF_IMPORTANCE,
    SELF_PLACE,
    SHARE,
    WEIGHT,
)

# Is fast where more may go wrong: with the blend 45 rad/s and 5 m/s.
WARY_RAD_S, WARY_M_S = 30.0, 2.4
# Against the step before: beyond the impacts of a landing and what a leg swings with.
WARY_RAD_S2, WARY_M_S2 = 2900.0, 200.0
# what `watch_step` finds, as bits
LEAPS, BREAKS = 1, 2

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
STEEPEST = 1.5  # of the blend 3 s^2 - 2 s^3, over a straight line

MAX_RADIUS_M = 1e4
MAX_BODY_M = 100.0  # of what is on one body; the tallest puppet is far smaller
MAX_WEIGHT = 1e12  # of a contact [-]; its sums stay finite
_LAST_SAMPLE = N_SEGMENTS * N_SAMPLES - 1


# The detector.
#
# What is farther from where it was than a body moves in that time has not moved: it is another
# body, another calibration or another clock.


class DetectorArrays(NamedTuple):
    """The posture before, and how far postures went: rows (17, 3), the root [m], then turns."""

    root: Vec3 = frozen(np.zeros(3))
    rotations: Quats = frozen(np.zeros((16, 4)))
    step: Vec3s = frozen(np.zeros((17, 3)))  # to the last posture
    before: Vec3s = frozen(np.zeros((17, 3)))  # the step before it
    usual: Vec3s = frozen(np.zeros((17, 3)))  # the last one that went on as the motion was
    times_s: Floats = frozen(np.full(3, LONGEST_S))  # that these three took
    far: Floats = frozen(np.zeros(2))  # how far the last step went: root [m], most of turns [rad]
    n_steps: Ints = frozen(np.zeros(1, np.int64))  # how many there were


class DiscontinuityDetector:
    """Whether a body moves faster than one can, or as it did; knows the posture before."""

    def __init__(self, ratio: float = 1.0) -> None:
        self._packed, arrays = pack_arrays(DetectorArrays())
        self._far = arrays.far
        self._ratio = ratio
        self._found = 0

    def leaps(self, root: Vec3, rotations: Quats, dt_s: float, size: float = 1.0) -> bool:
        """Return whether the next posture is too far from the last; size is over a grown-up's."""
        self._found = watch_step(self._packed, root, rotations, dt_s, self._ratio, size)
        return self._found & LEAPS != 0

    def breaks(self) -> bool:
        """
        Return whether the last posture came fast, or not as the motion was.

        That may be as in the step before, or as before a discontinuity: it counts once.
        """
        return self._found & BREAKS != 0

    def is_farther(self, bound_rad: float, bound_m: float) -> bool:
        """Return whether the last posture was farther than that from the one before."""
        root, turn = self._far.tolist()
        return turn > bound_rad or root > bound_m


@kernel
def watch_step(
    packed: np.ndarray, root: Vec3, rotations: Quats, dt_s: float, ratio: float, size: float
) -> int:
    """
    Take the next posture; return which of LEAPS and BREAKS it does.

    `ratio` is of the fastest motion, from which on it is a discontinuity, `size` over a
    grown-up's.
    """
    watch = packed[0]
    times_s, far = watch.times_s, watch.far
    # a step that was a discontinuity or another motion is not what is usual
    if goes_on(watch.step, watch.before, times_s[0], times_s[1], 1.0, far):
        copy_rows(watch.step, watch.usual)
        times_s[2] = times_s[0]
    copy_rows(watch.step, watch.before)
    times_s[1], times_s[0] = times_s[0], min(max(dt_s, SHORTEST_S), LONGEST_S)
    measure_gap(watch.root, watch.rotations, root, rotations, watch.step[0], watch.step[1:])
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


@kernel
def furthest(step: Vec3s, other: Vec3s, share: float, out: Floats) -> None:
    """Fill how far a step is from a part of another, (17, 3): root [m] and most of the turns."""
    out[0], out[1] = norm(sub(step[0], scale(other[0], share))), 0.0
    for i in range(1, len(step)):
        out[1] = max(out[1], norm(sub(step[i], scale(other[i], share))))


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
# A frame that is late by several periods, too few to be called a gap, may have a long way to make
# up at once. If so it is blended too, in as much time as the frame was late or EASE_RAD_S and
# EASE_M_S require. Of frames that go on coming late, those of the first second are.
#
# Where something has just gone wrong more may follow: sensors come back one after the other, a
# filter finds its way. So for a second from the cause on, while the posture is on its way back, a
# step need not be impossible: what is fast, or does not go on as the motion was, is waited for.
# Not longer, or the puppet of a runner would stand still.


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
        self._period_s = 0.0  # between frames, mostly; 0 is not known
        self._blending_s = 0.0  # since the last time that nothing was blended
        self.size = 1.0  # of the puppet over a grown-up's: a larger one moves faster [-]
        self.leaps = 0  # discontinuities that were blended since the start
        self.late_frames = 0  # late frames that were

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
        be faster than a body, shorter after a late frame.
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
            # what is left of another cause's blend keeps its time
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
        self._blending_s = self._blending_s + self._last_s if changed else 0.0
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
        if self._is_due or self._held_s > 0.0 or self._blending_s > WARY_S:
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
    if not 0.0 <= row[SELF_IMPORTANCE] <= 1.0 or not 0.0 <= row[SELF_PLACE] <= 1.0:
        return False
    if not 0.0 <= row[SELF_DEPTH] <= MAX_BODY_M:
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
        if not 0.0 <= row[start + SHARE] <= 1.0:
            return False
        for k in range(DISPLACEMENT, DISPLACEMENT + 3):
            if not abs(row[start + k]) <= MAX_BODY_M:
                return False
    return True
