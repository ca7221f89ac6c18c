# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which sensor sits on which segment, read from a YAML file.

Any set of sensors will do that has one on the pelvis, which carries the root, and at least
one left-right pair, which shows the performer's heading. Unmeasured segments are filled in
by the posture estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from puppet_core.body import N_SEGMENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.io import ConfigError, load_yaml, Section
from puppet_core.math import check_array, Ints, read_only, Vec3s

FORMAT = 'puppet-layout/1'
MAX_MOUNTING_M = 1.0  # a sensor sits on its segment, not beside it
NO_SENSOR = -1


@dataclass(frozen=True, slots=True)
class SensorLayout:
    """The sensors of one performer and where they sit."""

    name: str  # Short name
    sensors: tuple[str, ...]  # Names of the sensors, as in the tracker's messages
    segments: Ints  # Segment of each sensor, shape (n,), indices into SEGMENTS
    mountings: Vec3s  # About where each sensor sits in its segment's frame, shape (n, 3) [m]
    # Sensors that are worn too, but where the skeleton has no segment
    unused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.sensors)
        object.__setattr__(self, 'segments', read_only(self.segments, np.int64))
        mountings = check_array('mountings', self.mountings, (n, 3))
        object.__setattr__(self, 'mountings', read_only(mountings))
        worn = self.sensors + self.unused
        for kind, names in (('sensor', worn), ('segment', self.segment_names)):
            twice = sorted({x for x in names if names.count(x) > 1})
            if twice:
                raise ConfigError(f'{kind}: expected each once, got {twice[0]} more than once')
        if SEGMENT_INDEX['pelvis'] not in self.segments:
            raise ConfigError(f'sensors: expected one on the pelvis, got {self._listed()}')
        if not len(self.pairs):
            raise ConfigError(
                f'sensors: expected at least one left-right pair of segments, got {self._listed()}'
            )

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Segment of each sensor by name."""
        return tuple(SEGMENTS[s] for s in self.segments)

    @property
    def pairs(self) -> Ints:
        """Sensors on the same segment of both sides, shape (k, 2), left then right."""
        rows = left_right(self.segment_names)
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    @property
    def sensor_of_segment(self) -> Ints:
        """Sensor of each segment, shape (16,); NO_SENSOR where there is none."""
        sensor = np.full(N_SEGMENTS, NO_SENSOR)
        sensor[self.segments] = np.arange(len(self.sensors))
        return sensor

    def _listed(self) -> str:
        return ', '.join(self.segment_names) or 'none'


def left_right(names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of names of left segments and of the same on the right."""
    mirrored = [name.replace('left_', 'right_') for name in names]
    return [
        (i, names.index(other))
        for i, (name, other) in enumerate(zip(names, mirrored))
        if name != other and other in names
    ]


def load_layout(path: str | Path) -> SensorLayout:
    """
    Read a layout file.

    Raise InputFileError naming file, line and key of what is missing, unknown or insufficient.
    """
    source = load_yaml(path, FORMAT)
    name = source.text('name', Path(path).stem)
    source.text('title', '')
    entries = source.sections('sensors')
    sensors: list[str] = []
    segments: list[int] = []
    mountings = []
    for entry in entries:
        segment = entry.text('segment', choices=SEGMENTS)
        sensor = entry.text('sensor', segment)
        for key, value, others in (
            ('segment', SEGMENT_INDEX[segment], segments),
            ('sensor', sensor, sensors),
        ):
            if value in others:
                raise entry.error(key, 'each once', entry.text(key, segment))
        sensors.append(sensor)
        segments.append(SEGMENT_INDEX[segment])
        mounting = entry.numbers('mounted_at_m', 3, np.zeros(3))
        if np.max(np.abs(mounting)) > MAX_MOUNTING_M:
            expected = f'3 numbers in -{MAX_MOUNTING_M:g} .. {MAX_MOUNTING_M:g}'
            raise entry.error('mounted_at_m', expected, mounting.tolist())
        mountings.append(mounting)
        entry.finish()
    unused = read_names(source, 'unused')
    source.finish()
    try:
        return SensorLayout(
            name, tuple(sensors), np.array(segments), np.array(mountings).reshape(-1, 3), unused
        )
    except ConfigError as err:
        _, _, rest = str(err).partition(': expected ')
        expected, _, got = rest.partition(', got ')
        raise source.error('sensors', expected, got) from err


def read_names(source: Section, key: str) -> tuple[str, ...]:
    """Return a list of texts, empty if the key is absent."""
    names = source.raw(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise source.error(key, 'a list of names', names)
    return tuple(names)
