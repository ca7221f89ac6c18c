# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Measured positions of end-effectors over the frames of a motion, and end-effectors that meet.

Positions are in the motion's world; NaN where nothing was measured.

"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from puppet_core.arrays import Floats, read_only, Vec3s
from puppet_core.clip_text import shorten
from puppet_core.errors import ConfigError
from puppet_core.skeleton import GENERAL_END_EFFECTORS

MAX_GAP_S = 0.1  # between samples that are interpolated
MEETING_WITHIN_M = 0.05  # more than the distance that is given: a keyframe so near is a meeting
MAX_MEETING_M = 1.0
MAX_DISTANCE_M = 1e4  # of a position from the origin


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two end-effectors that are known to meet, such as fists or clapping palms."""

    pair: tuple[int, int]
    """Rows of GENERAL_END_EFFECTORS."""

    distance_m: float = 0.0
    """Between them when they meet."""

    def __post_init__(self) -> None:
        if self.pair[0] == self.pair[1]:
            name = GENERAL_END_EFFECTORS[self.pair[0]]
            raise ConfigError(f'meet: expected two different end-effectors, got {name} twice')
        if not 0.0 <= self.distance_m <= MAX_MEETING_M:
            raise ConfigError(
                f'meet: expected a distance of 0 .. {MAX_MEETING_M:g} m, got {self.distance_m:g}'
            )

    def distances(self, positions: Vec3s) -> Floats:
        """Return the distance of the two in each frame, shape (n,) [m]."""
        first, second = self.pair
        return np.linalg.norm(positions[:, first] - positions[:, second], axis=-1)


@dataclass(frozen=True, slots=True)
class Targets:
    """What was measured of a motion's end-effectors."""

    positions: Vec3s
    """General end-effectors in world, shape (n, 8, 3) [m]; NaN where not measured."""

    meetings: tuple[Meeting, ...] = ()
    """Pairs that meet."""

    def __post_init__(self) -> None:
        positions = np.array(self.positions, dtype=np.float64)
        if positions.ndim != 3 or positions.shape[1:] != (8, 3):
            raise ConfigError(f'targets: expected shape (any, 8, 3), got {positions.shape}')
        # two coordinates are no position
        positions[~is_measured(positions)] = np.nan
        object.__setattr__(self, 'positions', read_only(positions))
        if not self.rows.any():
            raise ConfigError('targets: expected measured positions, got none')
        farthest = np.nanmax(np.abs(positions))
        if farthest > MAX_DISTANCE_M:
            raise ConfigError(
                f'targets: expected positions within {MAX_DISTANCE_M:g} m, got {farthest:g} m'
            )
        for name in {row for meeting in self.meetings for row in meeting.pair}:
            if not self.rows[name]:
                raise ConfigError(
                    f'meet: expected end-effectors with targets, got {GENERAL_END_EFFECTORS[name]}'
                )

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Return where there is a position, shape (n, 8)."""
        return is_measured(self.positions)

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Return which end-effectors have any target, shape (8,)."""
        return np.asarray(self.measured.any(axis=0))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the end-effectors that have any target."""
        return tuple(name for name, has in zip(GENERAL_END_EFFECTORS, self.rows) if has)

    def require_frames(self, n_frames: int) -> None:
        """Raise ConfigError unless there are as many frames, and two at least."""
        if len(self.positions) != n_frames or n_frames < 2:
            raise ConfigError(
                f'targets: expected {max(n_frames, 2)} frames, got {len(self.positions)}'
            )

    def only(self, names: Sequence[str]) -> 'Targets':
        """
        Return the targets of some end-effectors.

        Raises
        ------
        ConfigError : if one is unknown or has no target.

        """
        rows = [end_effector_row(name) for name in names]
        for name, row in zip(names, rows):
            if not self.rows[row]:
                raise ConfigError(
                    f'end-effectors: expected some of {", ".join(self.names)}, got {name!r}'
                )
        positions = np.full_like(self.positions, np.nan)
        positions[:, rows] = self.positions[:, rows]
        return replace(self, positions=positions)

    def goals(self, frames: Sequence[int]) -> Vec3s:
        """
        Return where end-effectors have to be in some frames, shape (k, 8, 3) [m].

        What was measured, but two end-effectors that meet there are moved along the line
        between them, each by half, to the distance that they are known to have.

        """
        goals = np.array(self.positions[frames])
        for meeting in self.meetings:
            first, second = meeting.pair
            apart = goals[:, first] - goals[:, second]
            distance = np.linalg.norm(apart, axis=-1, keepdims=True)
            meets = distance < meeting.distance_m + MEETING_WITHIN_M
            # two that lie on each other have no line between them: they stay
            way = apart / np.where(distance > 1e-9, distance, np.inf)
            shift = np.where(meets, 0.5 * (meeting.distance_m - distance) * way, 0.0)
            goals[:, first] += shift
            goals[:, second] -= shift
        return goals


def is_measured(positions: Vec3s) -> NDArray[np.bool_]:
    """Return where all three coordinates are numbers, shape of positions but for the last."""
    return np.asarray(np.isfinite(positions).all(axis=-1))


def end_effector_row(name: str) -> int:
    """Return the row of an end-effector by its name; raise ConfigError if there is none."""
    if name not in GENERAL_END_EFFECTORS:
        known = ', '.join(GENERAL_END_EFFECTORS)
        raise ConfigError(f'end-effectors: expected some of {known}, got {shorten(name)}')
    return GENERAL_END_EFFECTORS.index(name)


def resampled(times_s: Floats, positions: Vec3s, frame_times_s: Floats) -> Vec3s:
    """
    Return positions at other times, NaN where no two samples are near enough.

    Parameters
    ----------
    times_s : ndarray, shape (m,)
        Rising [s].
    positions : ndarray, shape (m, 8, 3)
        NaN where not measured [m].
    frame_times_s : ndarray, shape (n,)
        Where they are wanted [s].

    Returns
    -------
    positions : ndarray, shape (n, 8, 3)
        Linear between neighbouring samples at most MAX_GAP_S apart; as they are at samples.

    """
    out = np.full((len(frame_times_s), *positions.shape[1:]), np.nan)
    close = 1e-6 + 1e-9 * np.abs(frame_times_s)  # stamps are written with some digits
    for row in range(positions.shape[1]):
        good = is_measured(positions[:, row])
        t, p = times_s[good], positions[good, row]
        if not len(t):
            continue
        after = np.clip(np.searchsorted(t, frame_times_s), 1, max(len(t) - 1, 1))
        before, after = after - 1, np.minimum(after, len(t) - 1)
        gap = t[after] - t[before]
        share = (frame_times_s - t[before]) / np.where(gap > 0.0, gap, np.inf)
        between = (gap > 0.0) & (gap <= MAX_GAP_S + 1e-9) & (share >= 0.0) & (share <= 1.0)
        values = p[before] + share[:, None] * (p[after] - p[before])
        out[between, row] = values[between]
        for sample in (before, after):
            same = np.abs(frame_times_s - t[sample]) <= close
            out[same, row] = p[sample[same]]
    return out
