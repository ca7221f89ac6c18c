# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Two clips made one: the second placed and turned to fit, faded in over a seam of warped time.

Over the seam both clips are mixed by the cubic Hermite ease, which begins and ends without
slope; so before the seam the result is the first clip and after it the second, with one
derivative throughout. Mixing makes feet slide: `seam_constraints` holds the plants that reach
into the seam, for the editor to enforce (LeeShin1999 section 6).

"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Floats, Vec3
from puppet_core.errors import ConfigError
from puppet_core.motion_loop import sample
from puppet_core.posture import Motion
from puppet_retarget.editing.constraints import Constraint
from puppet_retarget.editing.foot_constraints import foot_constraints
from puppet_retarget.editing.foot_contacts import (
    detect_contacts,
    FootContacts,
    stretches,
    world_foot_points,
)
from puppet_retarget.editing.foot_goals import firm_poses
from puppet_retarget.editing.posture_distance import distances, posture_features
from puppet_retarget.editing.time_warp import aligned_seam, ALIGNMENTS, CONTACTS, Seam, Window

FADE_S = 0.6
SEARCH_S = 1.5  # of each clip that may be cut off for a better seam
MIN_SEAM = 3  # frames that a seam takes of each clip, at least


@dataclass(frozen=True, slots=True)
class Transition:
    """Two clips in one."""

    motion: Motion
    """The first clip, the seam, the second clip."""

    seams: tuple[Seam, ...]
    """Where, and how time runs in them; the last one last."""

    contacts: FootContacts
    """Of the clip that counts more in each frame, and where the mixed feet are."""

    turn_rad: float
    """How the last clip was turned about the vertical."""

    shift: Vec3
    """And moved after that [m]."""

    def cut(self, first: int, n_frames: int) -> 'Transition':
        """Return a part of it that holds all seams."""
        last = first + n_frames
        seams = tuple(replace(seam, start=seam.start - first) for seam in self.seams)
        if not 0 <= first < last <= self.motion.n_frames or seams[0].start < 0:
            raise ConfigError(
                f'cut: expected frames 0 .. {self.motion.n_frames} with all seams, '
                f'got {first} .. {last}'
            )
        contacts = FootContacts(self.contacts.flags[first:last], self.contacts.points[first:last])
        return replace(self, motion=cut(self.motion, first, last), seams=seams, contacts=contacts)


def find_windows(
    first: Motion, second: Motion, fade_s: float = FADE_S, search_s: float = SEARCH_S,
    earliest: int = 0,
) -> tuple[Window, Window]:  # fmt: skip
    """
    Return where one clip should give way to the other: where postures are most alike.

    Searched in the last half of the first clip and the first half of the second, at most so
    far from where they end and begin, and not before frame `earliest` of the first.

    """
    span = max(round(fade_s * first.rate_hz), MIN_SEAM)
    a, b = posture_features(first), posture_features(second)
    if min(len(a) - earliest, len(b)) <= span:
        raise ConfigError(
            f'transition: expected clips of more than {span} frames for a seam of {fade_s:g} s, '
            f'got {len(a) - earliest} and {len(b)}'
        )
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
    first: Motion | Transition, second: Motion, windows: tuple[Window, Window] | None = None,
    alignment: str = CONTACTS, fade_s: float = FADE_S,
) -> Transition:  # fmt: skip
    """
    Return two clips as one, without holding the feet.

    Parameters
    ----------
    first : Motion or Transition
        One clip, or several that are joined already.
    second : Motion
        Of the same body and rate.
    windows : tuple of tuple of int, optional
        First and last frame of each clip to be mixed; the best ones without.
    alignment : str
        One of ALIGNMENTS.
    fade_s : float
        How long the windows are where none are given [s].

    Raises
    ------
    ConfigError : if the clips do not fit each other, or a window does not fit its clip.

    """
    if isinstance(first, Transition):
        seams, contacts, first = first.seams, first.contacts, first.motion
    else:
        seams, contacts = (), detect_contacts(first)
    _check(first, second, windows, alignment)
    earliest = seams[-1].end + 1 if seams else 0
    windows = windows or find_windows(first, second, fade_s, earliest=earliest)
    both = (contacts, detect_contacts(second))
    seam = aligned_seam((first, second), both, windows, alignment)
    turn, shift = _placement(first, second, seam)
    placed = _moved(second, turn, shift)
    share = _fade(seam.n_frames)
    roots_a, rotations_a = sample(first, seam.times_a / first.rate_hz)
    roots_b, rotations_b = sample(placed, seam.times_b / first.rate_hz)
    mixed_roots = roots_a + share[:, None] * (roots_b - roots_a)
    mixed = qb.slerp(rotations_a, rotations_b, share[:, None])
    rest = windows[1][1] + 1
    motion = Motion.from_rotations(
        first.skeleton, first.rate_hz,
        np.concatenate((first.root_positions[: seam.start], mixed_roots,
                        placed.root_positions[rest:])),
        np.concatenate((first.rotations[: seam.start], mixed, placed.rotations[rest:])),
    )  # fmt: skip
    flags = _joined_flags(*both, seam, rest)
    points = world_foot_points(motion.skeleton, *motion.world_segments())
    return Transition(motion, (*seams, seam), FootContacts(flags, points), turn, shift)


def cut(motion: Motion, first: int, end: int) -> Motion:
    """Return the frames of a motion from `first` to before `end`."""
    return Motion.from_rotations(
        motion.skeleton, motion.rate_hz, motion.root_positions[first:end],
        motion.rotations[first:end],
    )  # fmt: skip


def seam_constraints(transition: Transition, everywhere: bool = False) -> list[Constraint]:
    """
    Return what holds the feet over the seams: every plant with a frame in one, all its frames.

    A plant keeps the place and orientation that it has on the average; plants wholly outside
    of seams are as they were, unless `everywhere` is set.

    """
    goals = firm_poses(transition.motion, transition.contacts)
    touched = np.zeros(goals.planted.shape, dtype=bool)
    for foot in range(2):
        for begin, end in stretches(goals.planted[:, foot]):
            touched[begin:end, foot] = everywhere or any(
                begin <= seam.end and end > seam.start for seam in transition.seams
            )
    return foot_constraints(replace(goals, planted=touched), swings=False)


def _check(
    first: Motion, second: Motion, windows: tuple[Window, Window] | None, alignment: str
) -> None:
    if alignment not in ALIGNMENTS:
        raise ConfigError(f'alignment: expected one of {", ".join(ALIGNMENTS)}, got {alignment!r}')
    if abs(first.rate_hz - second.rate_hz) > 1e-9:
        raise ConfigError(
            f'transition: expected clips of one rate, got {first.rate_hz:g} and '
            f'{second.rate_hz:g} Hz'
        )
    if not np.allclose(first.skeleton.offsets, second.skeleton.offsets, atol=1e-6):
        raise ConfigError('transition: expected clips of one body, got different lengths; '
                          'retarget one of them first')  # fmt: skip
    for name, motion, window in zip(('first', 'second'), (first, second), windows or ()):
        if not 0 <= window[0] <= window[1] - MIN_SEAM or window[1] >= motion.n_frames:
            raise ConfigError(
                f'window of the {name} clip: expected at least {MIN_SEAM + 1} frames within '
                f'0 .. {motion.n_frames - 1}, got {window[0]} .. {window[1]}'
            )


def _fade(n: int) -> Floats:
    u = np.arange(n) / (n - 1)
    # cubic Hermite ease: slope 0 at both ends
    return np.asarray(u * u * (3.0 - 2.0 * u))


def _placement(first: Motion, second: Motion, seam: Seam) -> tuple[float, Vec3]:
    """
    Return turn and shift of the second clip that bring its joints nearest over the seam.

    The turn about the vertical of least squares, in closed form; heights are left alone.

    """
    places = []
    for motion, times in ((first, seam.times_a), (second, seam.times_b)):
        at = Motion.from_rotations(motion.skeleton, motion.rate_hz,
                                   *sample(motion, times / motion.rate_hz))  # fmt: skip
        places.append(at.world_segments()[1][..., :2].reshape(-1, 2))
    middles = [points.mean(axis=0) for points in places]
    a, b = (points - middle for points, middle in zip(places, middles))
    turn = float(np.arctan2(np.sum(b[:, 0] * a[:, 1] - b[:, 1] * a[:, 0]), np.sum(a * b)))
    c, s = np.cos(turn), np.sin(turn)
    back = np.array([c * middles[1][0] - s * middles[1][1], s * middles[1][0] + c * middles[1][1]])
    return turn, np.append(middles[0] - back, 0.0)


def _moved(motion: Motion, turn: float, shift: Vec3) -> Motion:
    q = qb.exp(np.array([0.0, 0.0, turn]))
    rotations = np.array(motion.rotations)
    rotations[:, 0] = qb.multiply(q, rotations[:, 0])
    roots = qb.rotate(q, motion.root_positions) + shift
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, roots, rotations)


def _joined_flags(
    first: FootContacts, second: FootContacts, seam: Seam, rest: int
) -> NDArray[np.bool_]:
    """Return the flags of the clip with the larger share, frame by frame."""
    half = seam.n_frames // 2
    at_a = np.rint(seam.times_a[:half]).astype(np.int64)
    at_b = np.rint(seam.times_b[half:]).astype(np.int64)
    parts = (first.flags[: seam.start], first.flags[at_a], second.flags[at_b], second.flags[rest:])
    return np.concatenate(parts)
