# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Keyframes of a motion, found from contacts and speeds of the measured end-effectors.

Taken in this order, each only if it keeps its distance from those already taken: the first and
the last frame, meetings of end-effectors, beginnings and ends of foot contacts, frames where
an end-effector is slowest (it turns round or rests), and enough others that no gap is long.

"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from puppet_core.body import MIN_CONTACT_S, planted_soles, speeds
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Vec3s
from puppet_edit.enhancement.targets import is_measured, MEETING_WITHIN_M, Targets
from puppet_edit.scene import stretches
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

SMOOTHING_S = 0.05  # of positions before speeds are taken; noise of measurements is faster
PROMINENCE = 0.15  # of an end-effector's high speeds: a slow moment is at least so much slower
MAX_SPACING_S = 1e4
_FEET = (2, 3)  # rows of the general end-effectors

END, MEETING, CONTACT, SLOW, GAP, ERROR = (
    'end',
    'meeting',
    'contact',
    'slow',
    'gap',
    'error',
)


@dataclass(frozen=True, slots=True)
class KeyframeSpacing:
    """How close keyframes may be, and how far apart."""

    least_s: float = 0.1
    """Between two keyframes."""

    most_s: float = 0.5
    """Between two keyframes."""

    def __post_init__(self) -> None:
        if not 0.0 < self.least_s <= self.most_s <= MAX_SPACING_S:
            raise ConfigError(
                f'keyframe spacing: expected 0 < least <= most <= {MAX_SPACING_S:g}, '
                f'got {self.least_s:g} and {self.most_s:g} s'
            )


def choose_keyframes(targets: Targets, rate_hz: float, spacing: KeyframeSpacing) -> dict[int, str]:
    """Return the keyframes in order, each with the reason for it."""
    n = len(targets.positions)
    least = max(1, round(spacing.least_s * rate_hz))
    chosen = {0: END, n - 1: END}
    for frame, reason in _candidates(targets, rate_hz):
        if all(abs(frame - other) >= least for other in chosen):
            chosen[frame] = reason
    most = max(1, round(spacing.most_s * rate_hz))
    for first, last in _gaps(chosen):
        pieces = -(-(last - first) // most)
        for frame in np.linspace(first, last, pieces + 1)[1:-1]:
            near = _measured_near(targets, round(frame), first, last)
            if near is not None:
                chosen[near] = GAP
    return dict(sorted(chosen.items()))


def given_keyframes(frames: Sequence[int], n_frames: int) -> dict[int, str]:
    """
    Return keyframes that a user names, with the first and last frame, in order.

    Raises
    ------
    ConfigError : if one is not a frame of the motion.

    """
    for frame in frames:
        if not 0 <= frame < n_frames:
            raise ConfigError(f'keyframes: expected 0 .. {n_frames - 1}, got {frame}')
    named = dict.fromkeys(frames, 'given')
    return dict(sorted(({0: END, n_frames - 1: END} | named).items()))


def worst_frames(
    errors: Floats, keyframes: Sequence[int], tolerance: float, least: int
) -> list[int]:
    """
    Return the frame of largest error in each gap between keyframes, where it is too large.

    Parameters
    ----------
    errors : ndarray, shape (n,)
        Of each frame; NaN where not known.
    keyframes : sequence of int
        In order.
    tolerance : float
        Errors up to this are left.
    least : int
        Frames that a keyframe keeps from the others.

    """
    found = []
    known = np.where(np.isfinite(errors), errors, -np.inf)
    for first, last in zip(keyframes, keyframes[1:]):
        inside = slice(first + least, last - least + 1)
        if last - first >= 2 * least and known[inside].max() > tolerance:
            found.append(first + least + int(np.argmax(known[inside])))
    return found


def _candidates(targets: Targets, rate_hz: float) -> Iterator[tuple[int, str]]:
    smooth = _smoothed(targets.positions, SMOOTHING_S * rate_hz)
    seen = targets.measured
    for meeting in targets.meetings:
        distances = meeting.distances(smooth)
        near = seen[:, meeting.pair].all(axis=1)
        near &= distances < meeting.distance_m + MEETING_WITHIN_M
        for first, last in stretches(near):
            yield first + int(np.argmin(distances[first:last])), MEETING
    feet = [row for row in _FEET if targets.rows[row]]
    for row in feet:
        planted = planted_soles(smooth[:, [row, row]], rate_hz)[:, 0]
        for first, last in stretches(planted & seen[:, row]):
            if last - first >= MIN_CONTACT_S * rate_hz:
                yield from ((first, CONTACT), (last - 1, CONTACT))
    slow: list[tuple[float, int]] = []
    for row in np.flatnonzero(targets.rows).tolist():
        speed = speeds(smooth[:, row], rate_hz)[1:]
        if not len(speed):
            continue
        lowest, shape = find_peaks(-speed, prominence=PROMINENCE * np.percentile(speed, 90))
        slow += [
            (-float(prominence), int(low) + 1)
            for low, prominence in zip(lowest, shape['prominences'])
            if seen[low + 1, row]
        ]
    # the most marked ones first
    yield from ((frame, SLOW) for _, frame in sorted(slow))


def _smoothed(positions: Vec3s, sigma: float) -> Vec3s:
    """Return positions without gaps and without fast noise."""
    n = len(positions)
    filled = np.zeros_like(positions)
    for row in range(positions.shape[1]):
        good = is_measured(positions[:, row])
        if good.any():
            for k in range(3):
                filled[:, row, k] = np.interp(
                    np.arange(n), np.flatnonzero(good), positions[good, row, k]
                )
    return gaussian_filter1d(filled, max(sigma, 1e-3), axis=0, mode='nearest')


def _gaps(chosen: dict[int, str]) -> list[tuple[int, int]]:
    frames = sorted(chosen)
    return list(zip(frames, frames[1:]))


def _measured_near(targets: Targets, frame: int, first: int, last: int) -> int | None:
    """Return the frame next to one, between two others, in which most was measured."""
    counts = targets.measured[first + 1 : last].sum(axis=1)
    if not counts.any():
        return None
    frames = np.arange(first + 1, last)
    best = frames[counts == counts.max()]
    return int(best[np.argmin(np.abs(best - frame))])
