# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Which sensor sits on which segment, from YAML: one on the pelvis, and a left-right pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from puppet_core.body import N_SEGMENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.io import load_yaml, Section
from puppet_core.math import check_array, Ints, read_only, Vec3, Vec3s

FORMAT = 'puppet-layout/1'
MAX_MOUNTING_M = 1.0  # a sensor sits on its segment, not beside it
NO_SENSOR = -1


@dataclass(frozen=True, slots=True)
class SensorLayout:
    name: str  # Short name
    sensors: tuple[str, ...]  # Names of the sensors, as in the tracker's messages
    segments: Ints  # Segment of each sensor, shape (n,), indices into SEGMENTS
    mountings: Vec3s  # About where each sensor sits in its segment's frame, shape (n, 3) [m]
    # Sensors that are worn too, but where the skeleton has no segment
    unused: tuple[str, ...] = ()
    props: tuple[str, ...] = ()  # Sensors on things that the performer handles

    def __post_init__(self) -> None:
        n = len(self.sensors)
        object.__setattr__(self, 'segments', read_only(self.segments, np.int64))
        mountings = check_array('mountings', self.mountings, (n, 3))
        object.__setattr__(self, 'mountings', read_only(mountings))

    @property
    def segment_names(self) -> tuple[str, ...]:
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


def left_right(names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of names of left segments and of the same on the right."""
    mirrored = [name.replace('left_', 'right_') for name in names]
    return [
        (i, names.index(other))
        for i, (name, other) in enumerate(zip(names, mirrored))
        if name != other and other in names
    ]


def load_layout(path: str | Path) -> SensorLayout:
    """Return a layout file; InputFileError names file, line and key of what does not fit."""
    source = load_yaml(path, FORMAT)
    name = source.text('name', Path(path).stem)
    source.text('title', '')
    sensors: list[str] = []
    segments: list[str] = []
    mountings = []
    for entry in source.sections('sensors'):
        segment = entry.text('segment', choices=SEGMENTS)
        sensor = entry.text('sensor', segment)
        for key, value, others in (('segment', segment, segments), ('sensor', sensor, sensors)):
            if value in others:
                raise entry.error(key, 'each once', value)
            others.append(value)
        mountings.append(read_mounting(entry, 'mounted_at_m', np.zeros(3)))
        entry.finish()
    unused, props = read_names(source, 'unused'), read_names(source, 'props')
    for key, names in (('unused', unused), ('props', props)):
        for sensor in names:
            if not sensor or sensor in sensors or names.count(sensor) > 1:
                raise source.error(key, 'other names than those of the sensors', sensor)
    source.finish()
    got = ', '.join(segments) or 'none'
    if 'pelvis' not in segments:
        raise source.error('sensors', 'one on the pelvis', got)
    if not left_right(segments):
        raise source.error('sensors', 'at least one left-right pair of segments', got)
    rows = np.array([SEGMENT_INDEX[segment] for segment in segments])
    return SensorLayout(name, tuple(sensors), rows, np.array(mountings), unused, props)


def read_mounting(entry: Section, key: str, default: Vec3 | None = None) -> Vec3:
    """Return where a sensor sits in its segment's frame, shape (3,) [m]."""
    place = entry.numbers(key, 3) if default is None else entry.numbers(key, 3, default)
    if np.max(np.abs(place)) > MAX_MOUNTING_M:
        expected = f'3 numbers in -{MAX_MOUNTING_M:g} .. {MAX_MOUNTING_M:g}'
        raise entry.error(key, expected, place.tolist())
    return place


def read_names(source: Section, key: str) -> tuple[str, ...]:
    """Return a list of texts, empty if the key is absent."""
    names = source.raw(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise source.error(key, 'a list of names', names)
    return tuple(names)
