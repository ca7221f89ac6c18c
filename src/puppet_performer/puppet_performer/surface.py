# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Surface points touched with a sensor, one after the other (Shin2002 4.2).

A point is the mean of the stylus' tip in the segment's frame while it rests; the tip must be
lifted before the next. A rest far from where the capsules have the point is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    N_RINGS,
    N_ROUND,
    N_SAMPLES,
    N_SEGMENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    world_orientations,
)
from puppet_core.io import ConfigError
from puppet_core.math import check_array, Quat, quaternions, Quats, read_only, Vec3, Vec3s
from puppet_core.sensor_frames import FilteredFrame
from puppet_performer.calibration import in_world

MIN_FRAMES = 5  # fewer are no mean
_MIRROR = np.array([1.0, -1.0, 1.0])

_RINGS_FROM = {
    'pelvis': 'hips',
    'spine': 'waist',
    'chest': 'lowest rib',
    'head': 'neck',
    'upper_arm': 'shoulder',
    'forearm': 'elbow',
    'hand': 'wrist',
    'thigh': 'hip',
    'shank': 'knee',
    'foot': 'heel',
}
_ROUND_TORSO = ('front', 'front left', 'back left', 'back right', 'front right')
_ROUND_ARM = ('front', 'upper front', 'upper back', 'lower back', 'lower front')
_ROUND_LEG = ('front', 'outer front', 'outer back', 'inner back', 'inner front')
_ROUND_FOOT = ('top', 'outer top', 'outer sole', 'inner sole', 'inner top')


@dataclass(frozen=True, slots=True)
class TouchConfig:
    rest_s: float = 0.5  # How long the tip must rest [s]
    max_speed_m_s: float = 0.01  # Mean speed over that time above which it does not rest [m/s]
    # How far the tip must go from one point before the next [m]; narrow fingers need this
    lift_m: float = 0.01
    max_off_m: float = 0.2  # How far a point may be from where the capsules have it [m]

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not 0.0 < value < 100.0:
                raise ConfigError(f'{name}: expected 0.0 < value < 100.0, got {value}')


class Place(NamedTuple):
    segment: int  # Index into SEGMENTS
    row: int  # Row of `surface_samples`: ring * 5 + point


class Touch(NamedTuple):
    place: Place  # Which point was waited for
    position: Vec3  # Mean of the tip in the segment's frame, shape (3,) [m]
    off_m: float  # Distance from where the capsules have the point [m]
    accepted: bool  # False if it was too far off


class SurfaceRecorder:
    def __init__(
        self, segments: Sequence[str], expected: Vec3s, config: TouchConfig | None = None
    ) -> None:
        """Prepare to record points of segments in order, expected at (16, 40, 3) [m] in theirs."""
        unknown = [name for name in segments if name not in SEGMENT_INDEX]
        if unknown:
            raise ConfigError(
                f'segments: expected some of {", ".join(SEGMENTS)}, got {unknown[0]!r}'
            )
        if len(set(segments)) < len(segments):
            raise ConfigError('segments: expected each segment once, got one twice')
        self._places = tuple(
            Place(SEGMENT_INDEX[name], row) for name in segments for row in range(N_SAMPLES)
        )
        self._expected = read_only(check_array('expected', expected, (N_SEGMENTS, N_SAMPLES, 3)))
        self._config = TouchConfig() if config is None else config
        self._points = np.full((N_SEGMENTS, N_SAMPLES, 3), np.nan)
        self._done = 0
        self._window: list[tuple[int, Vec3]] = []
        self._lift_from: Touch | None = None

    @property
    def place(self) -> Place | None:
        """Return the point that is waited for; None after the last."""
        return self._places[self._done] if self._done < len(self._places) else None

    @property
    def n_done(self) -> int:
        return self._done

    @property
    def n_total(self) -> int:
        return len(self._places)

    def complete(self) -> dict[str, Vec3s]:
        """Return the points (40, 3) [m] of the segments that have all of theirs."""
        whole = self._done // N_SAMPLES
        indices = [self._places[i * N_SAMPLES].segment for i in range(whole)]
        return {SEGMENTS[i]: self._points[i].copy() for i in indices}

    def step(
        self, stamp_ns: int, rotations: Quats, segments: Vec3s, tip: Vec3 | None
    ) -> Touch | None:
        """
        Take an instant; return the rest that ended with it, if one did.

        Rotations (16, 4) are relative to parents, row 0 in world; joints (16, 3) and the stylus'
        tip (3,) are in world [m], None where it was not measured.
        """
        place = self.place
        if place is None or tip is None or not np.all(np.isfinite(tip)):
            self._window.clear()
            return None
        if self._lift_from is not None:
            there = self._lift_from.place.segment
            away = _in_segment(rotations, segments, there, tip) - self._lift_from.position
            if np.linalg.norm(away) <= self._config.lift_m:
                return None
            self._lift_from = None
            self._window.clear()
        local = _in_segment(rotations, segments, place.segment, tip)
        return self._rest(stamp_ns, place, local)

    def _rest(self, stamp_ns: int, place: Place, local: Vec3) -> Touch | None:
        stray_m = self._config.max_speed_m_s * self._config.rest_s
        if self._window:
            backwards = stamp_ns <= self._window[-1][0]
            if backwards or np.linalg.norm(local - self._window[0][1]) > stray_m:
                self._window.clear()
        self._window.append((stamp_ns, local))
        rested_s = 1e-9 * (stamp_ns - self._window[0][0])
        if rested_s < self._config.rest_s or len(self._window) < MIN_FRAMES:
            return None
        position = np.mean([point for _, point in self._window], axis=0)
        off_m = float(np.linalg.norm(position - self._expected[place]))
        touch = Touch(place, position, off_m, off_m <= self._config.max_off_m)
        self._window.clear()
        self._lift_from = touch
        if touch.accepted:
            self._points[place] = position
            self._done += 1
        return touch


def stylus_tip(
    frame: FilteredFrame, sensor: str, tip: Vec3, p_world_tracker: Vec3, q_world_tracker: Quat
) -> Vec3 | None:
    """Return a stylus' tip, given in its sensor's frame [m], in world (3,), None if unmeasured."""
    positions, rotations, usable = in_world(frame, (sensor,), q_world_tracker, p_world_tracker)
    return positions[0] + quaternions.rotate(rotations[0], tip) if usable[0] else None


def mirrored(points: Mapping[str, Vec3s]) -> dict[str, Vec3s]:
    """Return the points by segment with those of right limbs copied from the left ones."""
    both = dict(points)
    for name, rows in points.items():
        if name.startswith('left_'):
            both[name.replace('left_', 'right_')] = rows * _MIRROR
    return both


def as_samples(points: Mapping[str, Vec3s]) -> Vec3s:
    """Return points by segment as an array (16, 40, 3) [m], NaN for absent segments."""
    samples = np.full((N_SEGMENTS, N_SAMPLES, 3), np.nan)
    for name, rows in points.items():
        samples[SEGMENT_INDEX[name]] = rows
    return samples


def segments_to_touch(
    chosen: Iterable[str], present: Iterable[str], mirror: bool
) -> tuple[str, ...]:
    """Return the chosen segments that are left to do, in order, right limbs only if needed."""
    left_out = set(present)
    return tuple(
        name
        for name in chosen
        if name not in left_out and not (mirror and name.startswith('right_'))
    )


def describe(place: Place) -> str:
    """Return in words where a point is, in the T-pose."""
    name = SEGMENTS[place.segment]
    part = name.split('_', 1)[-1]
    ring, point = divmod(place.row, N_ROUND)
    if part == 'foot':
        round_ = _ROUND_FOOT
    elif part in ('thigh', 'shank'):
        round_ = _ROUND_LEG
    else:
        round_ = _ROUND_TORSO if part == name else _ROUND_ARM
    return f'{name}: ring {ring + 1} of {N_RINGS} from the {_RINGS_FROM[part]}, {round_[point]}'


def _in_segment(rotations: Quats, segments: Vec3s, segment: int, tip: Vec3) -> Vec3:
    """Return a world point in a segment's frame, shape (3,) [m]."""
    q_world = world_orientations(rotations)[segment]
    return quaternions.rotate(quaternions.conjugate(q_world), tip - segments[segment])
