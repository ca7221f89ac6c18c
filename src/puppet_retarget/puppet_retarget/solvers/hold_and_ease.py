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
that is far it is eased too, in as little time as the frame was late.

Where something has just gone wrong more may follow: sensors come back one after the other, a
filter finds its way, the performer's own easing takes a pelvis across the room. So for a second
from the cause on, while the posture is on its way back, a step need not be impossible: what is
fast, or does not go on as the motion was, is waited for. Not longer, or the puppet of a runner
would stand still.

"""

import math

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.fastest_motion import FASTEST_M_S, FASTEST_RAD_S
from puppet_core.kernel import kernel
from puppet_core.quaternion import conjugate, exp, log, multiply
from puppet_core.work_array import work_array

# A limb of other proportions that goes where the performer's goes may have to turn faster: the
# goldens do so up to 96 rad/s where their performer does not exceed 14.
PUPPET_RATIO = 2.0
EASE_RAD_S, EASE_M_S = 15.0, 2.5  # at most, on top of the motion: a fast one, not the fastest
RESUME_S = 0.25  # held after a restart: listeners are still finding the new node
WARY_S = 1.0  # from the cause on
WARY_RAD_S, WARY_M_S = 30.0, 2.4  # is fast then: with the easing 45 rad/s and 5 m/s
# Against the step before: beyond the impacts of a landing and what a leg swings with.
WARY_RAD_S2, WARY_M_S2 = 2900.0, 200.0
# A frame is late that comes after more than so many periods, and may not go far then: no farther
# than what is fast goes in one and a half.
LATE_PERIODS, FAR_PERIODS = 2.5, 1.5
PERIOD_SHARE = 0.1  # of each interval in the running mean
SHORTEST_S = 1.0 / 240.0  # frames are not nearer; stamps may be
LONGEST_S = 1.0 / 24.0  # nothing goes on at its fastest for longer than a frame of a film
STEEPEST = 1.5  # of the ease 3 s^2 - 2 s^3, over a straight line


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

    def is_beyond(self, bound_rad: float, bound_m: float) -> bool:
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
        """Begin the easing anew, for the same cause as before."""
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
            How long easing takes, longer if it would be faster than a body then [s].

        """
        if self._watch.leaps(root, rotations, dt_s, self.size):
            if self._has_posture and not self._is_due:
                self.leaps += 1
                self.start()
        elif self.is_wary and self._watch.breaks(self.size):
            self.wait()
        elif self._is_late_and_far(dt_s):
            self.late_frames += 1
            self.wait()
            ease_s = min(ease_s, dt_s)
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
        if not 0.0 < LATE_PERIODS * self._period_s < dt_s < math.inf or self._is_due:
            return False
        span_s = FAR_PERIODS * self._period_s
        return self._watch.is_beyond(WARY_RAD_S * span_s, self.size * WARY_M_S * span_s)

    def _follow_period(self, dt_s: float) -> None:
        if not 0.0 < dt_s < math.inf:
            return
        if self._period_s == 0.0:
            self._period_s = dt_s
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
