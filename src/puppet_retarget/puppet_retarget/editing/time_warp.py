# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Time warps that bring the moments of two clips together, with their first derivative.

A seam lasts from where the second clip begins to come in to where the first has gone. In it
each clip runs at a varying speed, so that pairs of moments coincide: strikes and lifts of the
feet, or the alignment of least distance (dynamic time warping). Where a seam begins the first
clip runs at its own speed, and where it ends the second does: so the result has no jerk there.

"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from puppet_core.arrays import Floats, read_only
from puppet_core.posture import Motion
from puppet_retarget.editing.foot_contacts import FootContacts
from puppet_retarget.editing.posture_distance import distances, posture_features
from scipy.interpolate import CubicHermiteSpline

CONTACTS, DYNAMIC, LINEAR = 'contacts', 'dynamic', 'linear'
ALIGNMENTS = (CONTACTS, DYNAMIC, LINEAR)
MATCH_WITHIN = 0.3  # of the seam: moments this much apart do not belong together
LEAST_APART = 0.12  # of the seam, between pairs of moments
LEAST_SPEED, MOST_SPEED = 0.4, 2.5  # of a clip between two pairs


@dataclass(frozen=True, slots=True)
class Seam:
    """A warp of both clips over the frames of a transition."""

    start: int
    """Frame of the result, and of the first clip, at which the second begins to come in."""

    times_a: Floats
    """Frame of the first clip for each frame of the seam, rising, shape (k,)."""

    times_b: Floats
    """Frame of the second clip, shape (k,)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, 'times_a', read_only(self.times_a))
        object.__setattr__(self, 'times_b', read_only(self.times_b))

    @property
    def n_frames(self) -> int:
        """Return the length of the seam in frames of the result."""
        return len(self.times_a)

    @property
    def end(self) -> int:
        """Return the last frame of the seam in the result."""
        return self.start + self.n_frames - 1


Window = tuple[int, int]  # first and last frame
Pairs = Sequence[tuple[float, float]]


def warp(window_a: Window, window_b: Window, pairs: Pairs) -> Seam:
    """
    Return the seam of two windows in which pairs of moments coincide.

    Parameters
    ----------
    window_a, window_b : tuple of int
        First and last frame of each clip that is mixed.
    pairs : sequence of (float, float)
        Frames of the first and of the second clip, rising in both, inside the windows.

    """
    spans = [window[1] - window[0] for window in (window_a, window_b)]
    length = max(round(0.5 * sum(spans)), 2)
    keys_a = np.array([window_a[0], *(a for a, _ in pairs), window_a[1]], dtype=np.float64)
    keys_b = np.array([window_b[0], *(b for _, b in pairs), window_b[1]], dtype=np.float64)
    shares = 0.5 * ((keys_a - keys_a[0]) / spans[0] + (keys_b - keys_b[0]) / spans[1])
    at = length * shares
    frames = np.arange(length + 1, dtype=np.float64)
    return Seam(
        window_a[0],
        _monotone(at, keys_a, first_slope=1.0)(frames),
        _monotone(at, keys_b, last_slope=1.0)(frames),
    )


def contact_pairs(
    contacts: tuple[FootContacts, FootContacts], windows: tuple[Window, Window]
) -> list[tuple[float, float]]:
    """Return strikes and lifts that both clips have at about the same share of their windows."""
    found: list[tuple[float, float, float]] = []
    for foot in range(2):
        for moments in (_strikes, _lifts):
            first, second = (
                _shares(moments(c, foot), window) for c, window in zip(contacts, windows)
            )
            for share_a, frame_a in first:
                for share_b, frame_b in second:
                    apart = abs(share_a - share_b)
                    if apart <= MATCH_WITHIN:
                        found.append((apart, frame_a, frame_b))
    return _compatible([(a, b) for _, a, b in sorted(found)], windows)


def dynamic_pairs(
    motions: tuple[Motion, Motion], windows: tuple[Window, Window], count: int = 4
) -> list[tuple[float, float]]:
    """Return a few pairs of the alignment with the least sum of posture distances."""
    features = [
        posture_features(motion)[window[0]: window[1] + 1]
        for motion, window in zip(motions, windows)
    ]
    path = _alignment(distances(*features))
    chosen = path[np.linspace(0, len(path) - 1, count + 2).astype(np.int64)[1:-1]]
    pairs = [(windows[0][0] + float(a), windows[1][0] + float(b)) for a, b in chosen]
    return _compatible(pairs, windows)


def aligned_seam(
    motions: tuple[Motion, Motion], contacts: tuple[FootContacts, FootContacts],
    windows: tuple[Window, Window], alignment: str,
) -> Seam:  # fmt: skip
    """Return the seam of two windows with one of ALIGNMENTS."""
    pairs: Pairs = ()
    if alignment == CONTACTS:
        pairs = contact_pairs(contacts, windows)
    elif alignment == DYNAMIC:
        pairs = dynamic_pairs(motions, windows)
    return warp(*windows, pairs)


def _strikes(contacts: FootContacts, foot: int) -> list[int]:
    return [plant.first for plant in contacts.plants() if plant.foot == foot]


def _lifts(contacts: FootContacts, foot: int) -> list[int]:
    return [plant.last for plant in contacts.plants() if plant.foot == foot]


def _shares(frames: Sequence[int], window: Window) -> list[tuple[float, float]]:
    span = window[1] - window[0]
    return [((f - window[0]) / span, float(f)) for f in frames if window[0] < f < window[1]]


def _compatible(
    pairs: Sequence[tuple[float, float]], windows: tuple[Window, Window]
) -> list[tuple[float, float]]:
    """Return the pairs, the first ones first, that leave each clip a speed of a sort."""
    ends = [(float(windows[0][k]), float(windows[1][k])) for k in range(2)]
    spans = [window[1] - window[0] for window in windows]
    taken = list(ends)
    for pair in pairs:
        trial = sorted([*taken, pair])
        shares = np.array(trial) - ends[0]
        steps = np.diff(shares / spans, axis=0)
        mean = steps.mean(axis=1, keepdims=True)
        if np.any(mean < LEAST_APART) or np.any(steps < LEAST_SPEED * mean):
            continue
        if np.all(steps < MOST_SPEED * mean):
            taken = trial
    return taken[1:-1]


def _monotone(
    at: Floats, values: Floats, first_slope: float | None = None, last_slope: float | None = None
) -> CubicHermiteSpline:
    """Return the rising cubic through values, with given slopes at its ends if they fit."""
    steps = np.diff(values) / np.diff(at)
    slopes = np.empty(len(at))
    slopes[0], slopes[-1] = steps[0], steps[-1]
    # harmonic means: between the slopes of both sides, at most twice the smaller one
    slopes[1:-1] = 2.0 * steps[:-1] * steps[1:] / (steps[:-1] + steps[1:])
    if first_slope is not None:
        slopes[0] = first_slope
    if last_slope is not None:
        slopes[-1] = last_slope
    # a cubic rises throughout if both slopes are at most three times the secant's
    slopes[1:-1] = np.minimum(slopes[1:-1], 3.0 * np.minimum(steps[:-1], steps[1:]))
    return CubicHermiteSpline(at, values, slopes)


def _alignment(costs: Floats) -> Floats:
    """Return the path (k, 2) from corner to corner with the least sum of costs."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for i in range(rows):
        for j in range(columns):
            total[i + 1, j + 1] = costs[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    i, j = rows - 1, columns - 1
    path = [(i, j)]
    while i or j:
        ways = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        i, j = min(ways, key=lambda way: total[way[0] + 1, way[1] + 1])
        path.append((i, j))
    return np.array(path[::-1], dtype=np.float64)
