# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Keyframes of a motion: which frames they are, and the postures in them.

In this order, each only if it keeps its distance from those already chosen: the first and the last
frame, meetings of end-effectors, beginnings and ends of foot contacts, frames where an
end-effector is slowest, and enough others that no gap is long.

Postures minimise the objective of ChoiParkKo eq. 1, G = w1 sum |e - e'|^2 + (1 - w1) sum
|log(q'^-1 q)|^2, over end-effectors e [m] and joint rotations q, with primes on what was measured.
The printed difference of angles depends on the angles chosen; the rotation vector does not.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from puppet_core.body import (
    LIMB_SEGMENTS,
    MIN_CONTACT_S,
    Motion,
    N_SEGMENTS,
    PARENTS,
    planted_soles,
    runs,
    speeds,
)
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, Quats, Vec3s
from puppet_edit.editor import solve_points
from puppet_edit.enhancement.targets import is_measured, MEETING_WITHIN_M, Targets
from scipy.ndimage import gaussian_filter1d

SMOOTHING_S = 0.05  # of positions before speeds are taken; noise of measurements is faster
PROMINENCE = 0.15  # of an end-effector's high speeds: a slow moment is at least so much slower
LEAST_S, MOST_S = 0.1, 0.5  # between two keyframes
MAX_SPACING_S = 1e4
_FEET = (2, 3)  # rows of the general end-effectors

END, MEETING, CONTACT, SLOW, GAP, ERROR = 'end', 'meeting', 'contact', 'slow', 'gap', 'error'


def choose_keyframes(
    targets: Targets, rate_hz: float, least_s: float = LEAST_S, most_s: float = MOST_S
) -> dict[int, str]:
    """Return keyframes, `least_s` to `most_s` apart, each with its reason; or ConfigError."""
    if not 0.0 < least_s <= most_s <= MAX_SPACING_S:
        wanted = f'0 < least <= most <= {MAX_SPACING_S:g}'
        raise ConfigError(f'keyframe spacing: expected {wanted}, got {least_s:g} and {most_s:g} s')
    n = len(targets.positions)
    least, most = max(1, round(least_s * rate_hz)), max(1, round(most_s * rate_hz))
    chosen = {0: END, n - 1: END}
    for frame, reason in _candidates(targets, rate_hz):
        if all(abs(frame - other) >= least for other in chosen):
            chosen[frame] = reason
    for first, last in pairwise(sorted(chosen)):
        pieces = -(-(last - first) // most)
        for frame in np.linspace(first, last, pieces + 1)[1:-1]:
            near = _measured_near(targets, round(frame), first, last)
            if near is not None:
                chosen[near] = GAP
    return dict(sorted(chosen.items()))


def given_keyframes(frames: Sequence[int], n_frames: int) -> dict[int, str]:
    """Return keyframes that a user names, with the first and last frame; raise ConfigError."""
    for frame in frames:
        if not 0 <= frame < n_frames:
            raise ConfigError(f'keyframes: expected 0 .. {n_frames - 1}, got {frame}')
    named = dict.fromkeys(frames, 'given')
    return dict(sorted(({0: END, n_frames - 1: END} | named).items()))


def worst_frames(
    errors: Floats, keyframes: Sequence[int], tolerance: float, least: int
) -> list[int]:
    """Return the frame of largest error in gaps, where too large, `least` from other keyframes."""
    found = []
    for first, last in pairwise(keyframes):
        inside = errors[first + least : last - least + 1]
        if last - first >= 2 * least and inside.max() > tolerance:
            found.append(first + least + int(np.argmax(inside)))
    return found


def _candidates(targets: Targets, rate_hz: float) -> Iterator[tuple[int, str]]:
    from scipy.signal import find_peaks  # takes a second to import

    smooth = _smoothed(targets.positions, SMOOTHING_S * rate_hz)
    seen = targets.measured
    for meeting in targets.meetings:
        distances = meeting.distances(smooth)
        near = seen[:, meeting.pair].all(axis=1)
        near &= distances < meeting.distance_m + MEETING_WITHIN_M
        for first, last in runs(near):
            yield first + int(np.argmin(distances[first:last])), MEETING
    for row in (row for row in _FEET if targets.rows[row]):
        planted = planted_soles(smooth[:, [row, row]], rate_hz)[:, 0]
        for first, last in runs(planted & seen[:, row]):
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
    n = len(positions)
    filled = np.zeros_like(positions)
    for row in range(positions.shape[1]):
        good = is_measured(positions[:, row])
        if good.any():
            frames = np.flatnonzero(good)
            for k in range(3):
                filled[:, row, k] = np.interp(np.arange(n), frames, positions[good, row, k])
    return gaussian_filter1d(filled, max(sigma, 1e-3), axis=0, mode='nearest')


def _measured_near(targets: Targets, frame: int, first: int, last: int) -> int | None:
    """Return the frame next to one, between two others, in which most was measured."""
    counts = targets.measured[first + 1 : last].sum(axis=1)
    if not counts.any():
        return None
    frames = np.arange(first + 1, last)
    best = frames[counts == counts.max()]
    return int(best[np.argmin(np.abs(best - frame))])


GENERAL_SEGMENTS = np.concatenate((LIMB_SEGMENTS[:, 2], LIMB_SEGMENTS[:, 1]))
"""The segment that each general end-effector is fixed in, shape (8,)."""

ROOT_LENGTH_M = 0.1  # root displacement that counts as much as one radian of a joint
FIXED = 1e9  # rigidity of a root that stays

ANCESTORS = np.eye(N_SEGMENTS, dtype=bool)
"""Whether segment j is segment s or above it, shape (16, 16), indexed [s, j]."""
for _segment in range(1, N_SEGMENTS):
    ANCESTORS[_segment] |= ANCESTORS[PARENTS[_segment]]


def fit_postures(
    motion: Motion, frames: Ints, goals: Vec3s, weight: float, moves_root: bool
) -> tuple[Vec3s, Quats]:
    """
    Return roots (k, 3) [m] and rotations (k, 16, 4) that minimise G in some frames.

    Goals (k, 8, 3) [m] are NaN where there is none. `weight` is w1 of eq. 1, below 1: at 1 joints
    that no end-effector needs would be undecided. The root stays unless `moves_root`.
    """
    rigidity = np.full(N_SEGMENTS + 1, 1.0 - weight)
    rigidity[0] /= ROOT_LENGTH_M**2
    if not moves_root:
        rigidity[:2] = FIXED
    start = motion.root_positions[frames], motion.rotations[frames]
    roots, rotations = solve_points(motion.skeleton, *start, goals, weight, rigidity)
    return (roots if moves_root else start[0]), rotations
