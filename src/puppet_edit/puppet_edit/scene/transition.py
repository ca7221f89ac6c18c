# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Two clips made one: the second placed and turned to fit, faded in over a seam of warped time.

In the seam each clip runs at a varying speed, so that pairs of moments coincide: strikes and lifts
of the feet, or the alignment of least distance (dynamic time warping). Both are crossfaded by the
cubic Hermite blend; `seam_constraints` holds the feet (LeeShin1999 section 6).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from puppet_core.body import Motion, runs
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Vec3
from puppet_core.math import quaternions as qb
from puppet_core.procedural import heading, sample
from puppet_edit.editor import Constraint
from puppet_edit.scene.foot_plants import (
    detect_contacts,
    firm_poses,
    foot_constraints,
    FootContacts,
)
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.distance import cdist

VELOCITY_S = 0.15  # a difference of 1 m/s counts as this many metres

CONTACTS, DYNAMIC, LINEAR = 'contacts', 'dynamic', 'linear'
ALIGNMENTS = (CONTACTS, DYNAMIC, LINEAR)
MATCH_WITHIN = 0.3  # of the seam: moments this much apart do not belong together
LEAST_APART = 0.12  # of the seam, between pairs of moments
LEAST_SPEED, MOST_SPEED = 0.4, 2.5  # of a clip between two pairs

Window = tuple[int, int]  # first and last frame

FADE_S = 0.6
SEARCH_S = 1.5  # of each clip that may be cut off for a better seam
MIN_SEAM = 3  # frames that a seam takes of each clip, at least


def posture_features(motion: Motion) -> Floats:
    """Return joints and velocities (n, 96) [m] in the pelvis' heading; RMS apart are distances."""
    _, joints = motion.world_segments()
    turn = qb.conjugate(heading(motion.rotations[:, 0]))
    below = motion.root_positions * (1.0, 1.0, 0.0)
    places = qb.rotate(turn[:, None], joints - below[:, None])
    speeds = np.zeros_like(joints) if len(joints) < 2 else np.gradient(joints, axis=0)
    speeds = qb.rotate(turn[:, None], speeds) * motion.rate_hz * VELOCITY_S
    return np.concatenate((places, speeds), axis=1).reshape(len(joints), -1)


def distances(first: Floats, second: Floats) -> Floats:
    """Return the distances of all pairs of features (n, c) and (m, c), RMS of joints [m]."""
    return np.asarray(cdist(first, second) / 4.0)


class Seam(NamedTuple):
    """A warp of both clips over the frames of a transition."""

    start: int  # Frame of the result, and of the first clip, at which the second begins to come in
    times_a: Floats  # Frame of the first clip for each frame of the seam, rising, shape (k,)
    times_b: Floats  # Frame of the second clip, shape (k,)

    @property
    def end(self) -> int:
        return self.start + len(self.times_a) - 1


def warp(window_a: Window, window_b: Window, pairs: Sequence[tuple[float, float]]) -> Seam:
    """Return the seam of two windows in which pairs of their frames, rising in both, coincide."""
    spans = [window[1] - window[0] for window in (window_a, window_b)]
    length = max(round(0.5 * sum(spans)), 2)
    keys_a = np.array([window_a[0], *(a for a, _ in pairs), window_a[1]], dtype=np.float64)
    keys_b = np.array([window_b[0], *(b for _, b in pairs), window_b[1]], dtype=np.float64)
    shares = 0.5 * ((keys_a - keys_a[0]) / spans[0] + (keys_b - keys_b[0]) / spans[1])
    at = length * shares
    frames = np.arange(length + 1, dtype=np.float64)
    return Seam(window_a[0], _monotone(at, keys_a, 0)(frames), _monotone(at, keys_b, -1)(frames))


def contact_pairs(
    contacts: tuple[FootContacts, FootContacts], windows: tuple[Window, Window]
) -> list[tuple[float, float]]:
    """Return strikes and lifts that both clips have at about the same part of their windows."""
    # foot, whether it lifts, frame, share of the window
    moments = [
        [
            (plant.foot, lifts, float(frame), (frame - low) / (high - low))
            for plant in c.plants()
            for lifts, frame in enumerate((plant.first, plant.last))
            if low < frame < high
        ]
        for c, (low, high) in zip(contacts, windows)
    ]
    found = [
        (abs(share_a - share_b), a, b)
        for (*kind_a, a, share_a), (*kind_b, b, share_b) in product(*moments)
        if kind_a == kind_b and abs(share_a - share_b) <= MATCH_WITHIN
    ]
    return _compatible([(a, b) for _, a, b in sorted(found)], windows)


def dynamic_pairs(
    motions: tuple[Motion, Motion], windows: tuple[Window, Window]
) -> list[tuple[float, float]]:
    """Return four pairs of the alignment with the least sum of posture distances."""
    features = [
        posture_features(motion)[window[0] : window[1] + 1]
        for motion, window in zip(motions, windows)
    ]
    path = _alignment(distances(*features))
    chosen = path[np.linspace(0, len(path) - 1, 6).astype(np.int64)[1:-1]]
    pairs = [(windows[0][0] + float(a), windows[1][0] + float(b)) for a, b in chosen]
    return _compatible(pairs, windows)


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


def _monotone(at: Floats, values: Floats, end: int) -> CubicHermiteSpline:
    """Return the rising cubic through values, with a slope of one at its first or last end."""
    steps = np.diff(values) / np.diff(at)
    slopes = np.empty(len(at))
    slopes[0], slopes[-1] = steps[0], steps[-1]
    slopes[end] = 1.0
    # harmonic means: between the slopes of both sides, at most twice the smaller one
    slopes[1:-1] = 2.0 * steps[:-1] * steps[1:] / (steps[:-1] + steps[1:])
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


class Transition(NamedTuple):
    motion: Motion
    seams: tuple[Seam, ...]  # Where, and how time runs in them, in order
    contacts: FootContacts  # Of the clip that counts more in each frame


def find_windows(
    first: Motion,
    second: Motion,
    fade_s: float = FADE_S,
    search_s: float = SEARCH_S,
    earliest: int = 0,
) -> tuple[Window, Window]:
    """Return where the second half of a clip, from `earliest`, is most like the next's first."""
    span = max(round(fade_s * first.rate_hz), MIN_SEAM)
    a, b = posture_features(first), posture_features(second)
    if min(len(a) - earliest, len(b)) <= span:
        wanted = f'clips of more than {span} frames for a seam of {fade_s:g} s'
        raise ConfigError(f'transition: expected {wanted}, got {len(a) - earliest} and {len(b)}')
    far = round(search_s * first.rate_hz) + 1
    last = len(a) - span
    starts_a = np.arange(max(min(len(a) // 2, last - 1), last - far, earliest), last)
    starts_b = np.arange(0, max(1, min(len(b) // 2, len(b) - span, far)))
    costs = distances(a, b)
    total = sum(
        costs[np.ix_(starts_a + k, starts_b + k)] for k in np.linspace(0, span, 7).astype(int)
    )
    i, j = np.unravel_index(int(np.argmin(total)), np.shape(total))
    at, to = int(starts_a[i]), int(starts_b[j])
    return (at, at + span), (to, to + span)


def join(
    first: Motion | Transition,
    second: Motion,
    windows: tuple[Window, Window] | None = None,
    alignment: str = CONTACTS,
    fade_s: float = FADE_S,
) -> Transition:
    """
    Return two clips of one body and rate as one, without holding the feet; or ConfigError.

    `windows` are first and last frame of each clip to be mixed, else the best ones, of `fade_s`.
    """
    if isinstance(first, Transition):
        seams, contacts, first = first.seams, first.contacts, first.motion
    else:
        seams, contacts = (), detect_contacts(first)
    _check(first, second, windows)
    earliest = seams[-1].end + 1 if seams else 0
    windows = windows or find_windows(first, second, fade_s, earliest=earliest)
    both = (contacts, detect_contacts(second))
    pairs: Sequence[tuple[float, float]] = ()
    if alignment == CONTACTS:
        pairs = contact_pairs(both, windows)
    elif alignment == DYNAMIC:
        pairs = dynamic_pairs((first, second), windows)
    seam = warp(*windows, pairs)
    turn, shift = _placement(first, second, seam)
    about = qb.exp(np.array([0.0, 0.0, turn]))
    rotations = np.array(second.rotations)
    rotations[:, 0] = qb.multiply(about, rotations[:, 0])
    roots = qb.rotate(about, second.root_positions) + shift
    placed = Motion.from_rotations(second.skeleton, second.rate_hz, roots, rotations)
    u = np.arange(len(seam.times_a)) / (len(seam.times_a) - 1)
    share = u * u * (3.0 - 2.0 * u)  # cubic Hermite blend: slope 0 at both ends
    roots_a, rotations_a = sample(first, seam.times_a / first.rate_hz)
    roots_b, rotations_b = sample(placed, seam.times_b / first.rate_hz)
    mixed_roots = roots_a + share[:, None] * (roots_b - roots_a)
    mixed = qb.slerp(rotations_a, rotations_b, share[:, None])
    rest = windows[1][1] + 1
    parts = (first.root_positions[: seam.start], mixed_roots, placed.root_positions[rest:])
    turned = (first.rotations[: seam.start], mixed, placed.rotations[rest:])
    motion = Motion.from_rotations(
        first.skeleton, first.rate_hz, np.concatenate(parts), np.concatenate(turned)
    )
    # contacts of the clip with the larger weight
    half = len(seam.times_a) // 2
    at_a = np.rint(seam.times_a[:half]).astype(np.int64)
    at_b = np.rint(seam.times_b[half:]).astype(np.int64)
    a, b = (found.flags for found in both)
    joined = FootContacts(np.concatenate((a[: seam.start], a[at_a], b[at_b], b[rest:])))
    return Transition(motion, (*seams, seam), joined)


def cut(motion: Motion, first: int, end: int) -> Motion:
    roots, rotations = motion.root_positions[first:end], motion.rotations[first:end]
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, roots, rotations)


def seam_constraints(transition: Transition, everywhere: bool = False) -> list[Constraint]:
    """Return what holds each plant over the seams at its mean; others too if `everywhere`."""
    goals = firm_poses(transition.motion, transition.contacts)
    touched = np.zeros(goals.planted.shape, dtype=bool)
    for foot in range(2):
        for begin, end in runs(goals.planted[:, foot]):
            held = (begin <= seam.end and end > seam.start for seam in transition.seams)
            touched[begin:end, foot] = everywhere or any(held)
    return foot_constraints(replace(goals, planted=touched), swings=False)


def _check(first: Motion, second: Motion, windows: tuple[Window, Window] | None) -> None:
    if abs(first.rate_hz - second.rate_hz) > 1e-9:
        got = f'{first.rate_hz:g} and {second.rate_hz:g} Hz'
        raise ConfigError(f'transition: expected clips of one rate, got {got}')
    if not np.allclose(first.skeleton.offsets, second.skeleton.offsets, atol=1e-6):
        wanted, hint = 'clips of one body', 'retarget one of them first'
        raise ConfigError(f'transition: expected {wanted}, got different lengths; {hint}')
    for name, motion, window in zip(('first', 'second'), (first, second), windows or ()):
        if not 0 <= window[0] <= window[1] - MIN_SEAM or window[1] >= motion.n_frames:
            wanted = f'at least {MIN_SEAM + 1} frames within 0 .. {motion.n_frames - 1}'
            got = f'{window[0]} .. {window[1]}'
            raise ConfigError(f'window of the {name} clip: expected {wanted}, got {got}')


def _placement(first: Motion, second: Motion, seam: Seam) -> tuple[float, Vec3]:
    """Return the second clip's turn and shift of least squares over the seam; heights stay."""
    places = []
    for motion, times in ((first, seam.times_a), (second, seam.times_b)):
        sampled = sample(motion, times / motion.rate_hz)
        at = Motion.from_rotations(motion.skeleton, motion.rate_hz, *sampled)
        places.append(at.world_segments()[1][..., :2].reshape(-1, 2))
    middles = [points.mean(axis=0) for points in places]
    a, b = (points - middle for points, middle in zip(places, middles))
    turn = float(np.arctan2(np.sum(b[:, 0] * a[:, 1] - b[:, 1] * a[:, 0]), np.sum(a * b)))
    c, s = np.cos(turn), np.sin(turn)
    back = np.array([c * middles[1][0] - s * middles[1][1], s * middles[1][0] + c * middles[1][1]])
    return turn, np.append(middles[0] - back, 0.0)
