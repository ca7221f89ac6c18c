# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint states during a fault evaluated: finite or not, jumps, gaps, recovery.

A puppet jumps if from one message to the next it moves further than a performance, the solver
and blending move it. While frames follow each other that is a speed. The built-in performance
turns the joints of `blubby` by up to 45 rad/s (for a frame, where the swivel of an arm gives
way to the trunk; else 25 rad/s) and moves its root by up to 2.2 m/s; blending adds at most
15 rad/s and 2.5 m/s (EASE_RAD_S, EASE_M_S of the retargeter). After a gap longer than
`hold_after_s`, and where stamps go back, the puppet goes on from where it was held: however long
that was, such a step is no longer than what a joint turns in two frames at 22 rad/s. After a
shorter gap a frame may take it one and a half periods' share of that speed, not the gap's.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import compose, JOINT_NAMES, SPEED_RATIO
from puppet_core.math import Floats

PERIOD_S = 1.0 / 120.0
HOLD_AFTER_S = 0.25  # of the node retarget: after a longer gap it blends
MAX_JOINT_RAD_S, MAX_ROOT_M_S, MAX_ROOT_RAD_S = 60.0, 5.0, 20.0
GAP_PERIODS = 0.75  # of those speeds, for the step after a hold
FAR_PERIODS = (
    1.5  # likewise for each solved frame, however late; the puppet blends what is farther
)
# of the split into angles: what they may turn per turn of the joint, and at rest
SPLIT_RATIO, SPLIT_REST_RAD = SPEED_RATIO + 4.0, 0.25
CONFIRM_S = 0.5  # of flow that count as flowing
RATE_SHARE = 0.9  # of the nominal rate
MAX_PAUSE_S = 0.1  # between two messages of a flow


class Seen(NamedTuple):
    """One message of joint states with what else is known of its frame."""

    arrival_s: float  # Steady time [s]
    stamp_s: float  # Acquisition time [s]
    angles: Floats  # Joint angles, shape (n,) [rad]
    # Position [m] and quaternion w x y z of the pelvis, shape (7,); None if not seen
    root: Floats | None
    # Whether the puppet is on its way back to where it should be; None if not seen
    is_eased: bool | None
    n_solved: int | None  # Frames since the start of the node; None if not seen


class Step(NamedTuple):
    """The largest step of a span of time."""

    ratio: float
    """Of what is allowed; above 1 it is a jump."""

    text: str
    """What stepped how far."""


NO_STEP = Step(0.0, '')


class MotionCheck:
    """Looks at joint states one after the other; keeps only the last one."""

    def __init__(self) -> None:
        self._last: Seen | None = None
        self._turns: Floats = np.zeros((0, 4))
        self._rooted: Seen | None = None  # the last one whose root was seen
        self.largest = NO_STEP
        self.n_not_finite = 0
        self.n_frames = 0

    def restart(self) -> None:
        """Begin another span of time; what was seen last stays."""
        self.largest, self.n_not_finite, self.n_frames = NO_STEP, 0, 0

    def add(self, seen: Seen) -> None:
        """Look at the next message."""
        self.n_frames += 1
        finite = bool(np.isfinite(seen.angles).all())
        finite &= seen.root is None or bool(np.isfinite(seen.root).all())
        if not finite:
            self.n_not_finite += 1
            return
        turns = joint_turns(seen.angles)
        last = self._last
        if last is not None and len(last.angles) == len(seen.angles):
            self._check_joints(last, seen, turns)
        if seen.root is not None:
            if self._rooted is not None:
                self._check_root(self._rooted, seen)
            self._rooted = seen
        self._last, self._turns = seen, turns

    def _check_joints(self, last: Seen, seen: Seen, turns: Floats) -> None:
        span_s = allowed_span_s(last, seen)
        turned = angles_between(self._turns, turns)
        steps = np.abs(seen.angles - last.angles)
        # angles move faster than their joint near a gimbal lock, but not by whole turns
        allowed = SPLIT_REST_RAD + SPLIT_RATIO * np.repeat(turned, len(steps) // len(turned))
        self._note(turned, MAX_JOINT_RAD_S * span_s, 'joint {} turned {:.3f} rad', seen, last)
        excess = np.minimum(steps / allowed, steps / (0.5 * np.pi))
        self._note(excess, 1.0, 'angle {} stepped, {:.2f} of allowed', seen, last)

    def _check_root(self, last: Seen, seen: Seen) -> None:
        assert seen.root is not None and last.root is not None
        span_s = allowed_span_s(last, seen)
        moved = float(np.linalg.norm(seen.root[:3] - last.root[:3]))
        turned = angles_between(last.root[None, 3:], seen.root[None, 3:])
        self._note(np.array([moved]), MAX_ROOT_M_S * span_s, 'root moved {1:.3f} m', seen, last)
        self._note(turned, MAX_ROOT_RAD_S * span_s, 'root turned {1:.3f} rad', seen, last)

    def _note(self, steps: Floats, allowed: float, text: str, seen: Seen, last: Seen) -> None:
        place = int(np.argmax(steps))
        ratio = float(steps[place]) / allowed
        if ratio > self.largest.ratio:
            names = JOINT_NAMES if len(steps) == len(JOINT_NAMES) else SEGMENT_NAMES
            name = names[place] if len(names) == len(steps) else place
            gap = f' in {seen.stamp_s - last.stamp_s:.3f} s'
            gap += ', easing' if seen.is_eased else ''
            gap += _first_heard(last, seen)
            self.largest = Step(ratio, text.format(name, float(steps[place])) + gap)


def _first_heard(last: Seen, seen: Seen) -> str:
    """Return in words which frame of a node that was started again is the first one heard."""
    if last.n_solved is None or seen.n_solved is None or seen.n_solved >= last.n_solved:
        return ''
    return f', frame {seen.n_solved} of a node just started'


SEGMENT_NAMES = tuple(name[:-2] for name in JOINT_NAMES[::3])


def joint_turns(angles: Floats) -> Floats:
    """
    Return the rotation of each joint, shape (n, 4).

    Angles of other joints than the suite's own, a robot's, are a joint each.
    """
    if len(angles) == len(JOINT_NAMES):
        triples = np.ascontiguousarray(angles).reshape(-1, 3)
    else:
        triples = np.zeros((len(angles), 3))
        triples[:, 0] = angles
    turns = np.zeros((len(triples), 4))
    for triple, turn in zip(triples, turns):
        compose(triple, turn)
    return turns


def angles_between(a: Floats, b: Floats) -> Floats:
    """Return the angles between rotations (n, 4) and others [rad]."""
    return 2.0 * np.arccos(np.minimum(np.abs((a * b).sum(axis=1)), 1.0))


def allowed_span_s(last: Seen, seen: Seen) -> float:
    """
    Return the time in which a step between two messages is to have been made [s].

    It is what their stamps tell, but no more than the frames that were solved take: a puppet
    that had no input goes on from where it was, and messages that were sent and only not seen
    are no gap. After a hold it is so short that nothing moves far.
    """
    dt_s = seen.stamp_s - last.stamp_s
    n_frames = 0  # not known, or of a node that was started again
    if last.n_solved is not None and seen.n_solved is not None:
        n_frames = max(seen.n_solved - last.n_solved, 0)
    if dt_s <= 0.0 or (dt_s > HOLD_AFTER_S and n_frames <= 1):
        return GAP_PERIODS * PERIOD_S
    span_s = max(dt_s, PERIOD_S)
    return min(span_s, FAR_PERIODS * n_frames * PERIOD_S) if n_frames else span_s


class Recovery(NamedTuple):
    """How the joint states fared from the begin of a cause on."""

    # From the end of the cause until they flowed at rate; infinity if they did not [s]
    flowing_s: float
    settled_s: float  # Until they also were where they should be, no longer eased [s]
    gap_s: float  # Longest time without any between begin and recovery [s]


def recovery(
    arrivals_s: Sequence[float],
    eased: Sequence[bool],
    begin_s: float,
    end_s: float,
    rate_hz: float,
) -> Recovery | None:
    """
    Return how the joint states recovered, or None while it cannot be told.

    They flow at rate from the first message on whose next half second has nine tenths of the
    nominal number and no pause above a tenth of a second.

    Parameters
    ----------
    arrivals_s : sequence of float
        Steady times of the messages, from before the begin [s].
    eased : sequence of bool
        Whether each was on its way back after a gap.
    begin_s, end_s : float
        Of the cause [s].
    rate_hz : float
        Nominal rate [Hz].

    """
    times = np.asarray(arrivals_s, dtype=float)
    first = _first_flowing(times, end_s, rate_hz)
    if first is None:
        return None
    settled = next((i for i in range(first, len(times)) if not eased[i]), None)
    if settled is None:
        return None
    before = times[times <= begin_s]
    watched = times[(times > begin_s) & (times <= max(times[first], end_s))]
    bounds = np.concatenate(([before[-1] if len(before) else begin_s], watched))
    gap_s = float(np.max(np.diff(bounds))) if len(bounds) > 1 else 0.0
    return Recovery(
        max(float(times[first]) - end_s, 0.0), max(float(times[settled]) - end_s, 0.0), gap_s
    )


def _first_flowing(times: Floats, end_s: float, rate_hz: float) -> int | None:
    wanted = RATE_SHARE * rate_hz * CONFIRM_S
    # the message before the end of the cause begins a flow that was never broken
    start = max(int(np.searchsorted(times, end_s)) - 1, 0)
    for first in range(start, len(times)):
        until = times[first] + CONFIRM_S
        if times[-1] < until:
            return None
        last = int(np.searchsorted(times, until, side='right'))
        pauses = np.diff(times[first : last + 1])
        if last - first >= wanted and np.max(pauses) <= MAX_PAUSE_S:
            return first
    return None
