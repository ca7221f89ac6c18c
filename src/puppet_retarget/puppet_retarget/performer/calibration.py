# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A calibration: how each sensor sits on its segment, with the residuals it was found with.

Saved as YAML and loaded back; how it is found from a recording is `pose_calibration`'s and
`functional_calibration`'s. A file without lengths and verdict is one of a pose alone.

"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core import atomic_file, quaternion_batch
from puppet_core.arrays import check_array, Floats, Ints, Quats, read_only, Vec3s
from puppet_core.errors import CalibrationError
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import dump_yaml, load_yaml, Section
from puppet_core.skeleton import SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_retarget.performer.sensor_layout import MAX_MOUNTING_M, SensorLayout
from puppet_retarget.performer.verdict import Verdict
from puppet_retarget.performer.verdict_yaml import (
    read_skeleton,
    read_verdict,
    skeleton_tree,
    verdict_tree,
)

_SensorRow = tuple[
    str, int, Floats, Floats, float, float, float | None, float | None
]  # fmt: skip

FORMAT = 'puppet-calibration/1'
UNIT_TOLERANCE = 1e-3  # what hand-edited quaternions may be off unit length by


@dataclass(frozen=True, slots=True)
class Calibration:
    """Mounting of every sensor of a layout on one performer."""

    performer: str
    """Character whose skeleton was assumed."""

    layout: str
    """Name of the sensor layout."""

    date: str
    """When it was made, ISO 8601; empty if unknown."""

    sensors: tuple[str, ...]
    """Names of the sensors."""

    segments: Ints
    """Segment of each sensor, shape (n,)."""

    rotations: Quats
    """Each sensor's axes in its segment's frame, q_segment_sensor, shape (n, 4)."""

    positions: Vec3s
    """Each sensor's origin in its segment's frame, shape (n, 3) [m]."""

    spreads_m: Floats
    """RMS movement of each sensor's position in the recording, shape (n,) [m]."""

    spreads_rad: Floats
    """RMS movement of each sensor's rotation in the recording, shape (n,) [rad]."""

    heading: float = 0.0
    """Yaw that the performer faced in the T-pose, in (-pi, pi] [rad]."""

    sds_m: Floats | None = None
    """Standard deviation of each position, shape (n,) [m]; None if unknown."""

    sds_rad: Floats | None = None
    """Standard deviation of each rotation, shape (n,) [rad]; None if unknown."""

    skeleton: Skeleton | None = None
    """The performer's own lengths; None where only a pose was recorded."""

    verdict: Verdict | None = None
    """What was found in the range of motion; None where only a pose was recorded."""

    def __post_init__(self) -> None:
        n = len(self.sensors)
        object.__setattr__(self, 'segments', read_only(self.segments, np.int64))
        shapes: dict[str, tuple[int, ...]] = {
            'rotations': (n, 4), 'positions': (n, 3), 'spreads_m': (n,), 'spreads_rad': (n,)
        }  # fmt: skip
        for name in ('sds_m', 'sds_rad'):
            if getattr(self, name) is not None:
                shapes[name] = (n,)
        for name, shape in shapes.items():
            values = check_array(name, getattr(self, name), shape)
            if name == 'rotations':
                values = quaternion_batch.normalize(values)
            object.__setattr__(self, name, read_only(values))

    def require_layout(self, layout: SensorLayout) -> None:
        """
        Refuse a layout with other sensors, or with one on another segment.

        Raises
        ------
        CalibrationError : saying what differs.

        """
        if set(self.sensors) != set(layout.sensors):
            raise CalibrationError(
                f'calibration: expected the sensors of layout {layout.name}, '
                f'got {", ".join(self.sensors)}; calibrate again'
            )
        wanted = dict(zip(layout.sensors, layout.segments.tolist()))
        for name, segment in zip(self.sensors, self.segments.tolist()):
            if segment != wanted[name]:
                raise CalibrationError(
                    f'calibration: expected {name} on the {SEGMENTS[wanted[name]]} as in layout '
                    f'{layout.name}, got the {SEGMENTS[segment]}; calibrate again'
                )

    @property
    def residual_m(self) -> float:
        """RMS movement over all sensors [m]."""
        return float(np.sqrt(np.mean(self.spreads_m**2)))

    @property
    def residual_deg(self) -> float:
        """RMS rotation over all sensors [deg]."""
        return float(np.degrees(np.sqrt(np.mean(self.spreads_rad**2))))


def save_calibration(calibration: Calibration, path: str | Path) -> None:
    """Write a calibration that `load_calibration` reads back to the same values."""
    tree: dict[str, Any] = {
        'format': FORMAT,
        'performer': calibration.performer,
        'layout': calibration.layout,
        'date': calibration.date,
        'heading_deg': float(np.degrees(calibration.heading)),
        'residual_m': calibration.residual_m,
        'residual_deg': calibration.residual_deg,
        'sensors': [
            {
                'sensor': name,
                'segment': SEGMENTS[calibration.segments[i]],
                'rotation_wxyz': calibration.rotations[i].tolist(),
                'position_m': calibration.positions[i].tolist(),
                'spread_m': float(calibration.spreads_m[i]),
                'spread_deg': float(np.degrees(calibration.spreads_rad[i])),
            }
            | _uncertainty_tree(calibration, i)
            for i, name in enumerate(calibration.sensors)
        ],
    }
    if calibration.skeleton is not None:
        tree['skeleton'] = skeleton_tree(calibration.skeleton)
    if calibration.verdict is not None:
        tree['verdict'] = verdict_tree(calibration.verdict)
    atomic_file.write_text(path, dump_yaml(tree))


def load_calibration(path: str | Path) -> Calibration:
    """
    Read a calibration file.

    Raises
    ------
    InputFileError : naming file, line and key of what is missing, unknown or impossible.

    """
    source = load_yaml(path, FORMAT)
    entries = source.sections('sensors')
    rows = [_read_sensor(entry) for entry in entries]
    if not rows:
        raise source.error('sensors', 'at least one sensor', 'none')
    names, segments, rotations, positions, spreads_m, spreads_deg, sds_m, sds_deg = zip(*rows)
    for i, entry in enumerate(entries):
        if names.count(names[i]) > 1:
            raise entry.error('sensor', 'each sensor once', brief(names[i]))
        if segments.count(segments[i]) > 1:
            raise entry.error('segment', 'each segment once', SEGMENTS[segments[i]])
    calibration = Calibration(
        performer=source.text('performer'),
        layout=source.text('layout', ''),
        date=str(source.raw('date', '')),
        sensors=names,
        segments=np.array(segments),
        rotations=np.array(rotations),
        positions=np.array(positions),
        spreads_m=np.array(spreads_m),
        spreads_rad=np.radians(spreads_deg),
        heading=float(np.radians(source.number('heading_deg', 0.0))),
        sds_m=_known(sds_m),
        sds_rad=_known([None if sd is None else np.radians(sd) for sd in sds_deg]),
        skeleton=read_skeleton(source.section('skeleton')) if 'skeleton' in source else None,
        verdict=read_verdict(source.section('verdict')) if 'verdict' in source else None,
    )
    for derived in ('residual_m', 'residual_deg'):
        source.number(derived, 0.0, low=0.0)
    source.finish()
    return calibration


def _uncertainty_tree(calibration: Calibration, sensor: int) -> dict[str, float]:
    tree = {}
    if calibration.sds_m is not None:
        tree['sd_m'] = float(calibration.sds_m[sensor])
    if calibration.sds_rad is not None:
        tree['sd_deg'] = float(np.degrees(calibration.sds_rad[sensor]))
    return tree


def _known(values: Sequence[float | None]) -> Floats | None:
    """Return values as an array, None unless all of them are known."""
    return None if None in values else np.array(values, dtype=np.float64)


def _read_sensor(entry: Section) -> _SensorRow:
    segment = SEGMENT_INDEX[entry.text('segment', choices=SEGMENTS)]
    rotation = entry.numbers('rotation_wxyz', 4)
    if abs(np.linalg.norm(rotation) - 1.0) > UNIT_TOLERANCE:
        raise entry.error('rotation_wxyz', 'a unit quaternion', rotation.tolist())
    position = entry.numbers('position_m', 3)
    if np.max(np.abs(position)) > MAX_MOUNTING_M:
        expected = f'3 numbers in -{MAX_MOUNTING_M:g} .. {MAX_MOUNTING_M:g}'
        raise entry.error('position_m', expected, position.tolist())
    row = (
        entry.text('sensor'),
        segment,
        rotation,
        position,
        entry.number('spread_m', 0.0, low=0.0),
        entry.number('spread_deg', 0.0, low=0.0),
        entry.number('sd_m', low=0.0) if 'sd_m' in entry else None,
        entry.number('sd_deg', low=0.0) if 'sd_deg' in entry else None,
    )
    entry.finish()
    return row
