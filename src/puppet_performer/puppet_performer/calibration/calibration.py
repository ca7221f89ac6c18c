# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A calibration: how each sensor sits on its segment, with the residuals it was found with."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import END_EFFECTORS, N_SEGMENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.io import (
    brief,
    CalibrationError,
    ConfigError,
    dump_yaml,
    load_yaml,
    Section,
    write_text,
)
from puppet_core.math import check_array, Floats, Ints, quaternions, Quats, read_only, Vec3s
from puppet_performer.sensor_layout import read_mounting, SensorLayout

KINDS = ('swapped', 'slipped', 'range', 'residual', 'pose', 'unit')
SWAPPED, SLIPPED, RANGE, RESIDUAL, POSE, UNIT = KINDS

FORMAT = 'puppet-calibration/1'
UNIT_TOLERANCE = 1e-3  # what hand-edited quaternions may be off unit length by


# The evaluation of a functional calibration.


@dataclass(frozen=True, slots=True)
class JointReport:
    joint: str  # The joint's child segment
    residual_m: float  # RMS movement of the centre between its two sensors [m]
    sd_m: float  # Standard deviation of the centre in its worst direction [m]
    # What it was moved through about its three main axes, falling [deg]
    range_deg: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LengthReport:
    segment: str  # Which
    length_m: float  # Distance of the joint centres at its ends [m]
    sd_m: float  # Standard deviation [m]


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str  # One of KINDS
    names: tuple[str, ...]  # Sensors or joints that it is about
    text: str  # What was found and what to do, one line


@dataclass(frozen=True, slots=True)
class Evaluation:
    joints: tuple[JointReport, ...] = ()  # In the order of SEGMENTS
    lengths: tuple[LengthReport, ...] = ()  # In the order of SEGMENTS
    findings: tuple[Finding, ...] = ()  # The gravest first; none if all is well

    @property
    def usable(self) -> bool:
        return not self.findings

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def table(self) -> str:
        lines = ['joint              residual  uncertain   range about three axes']
        lines += [
            f'{j.joint:<17}{1e3 * j.residual_m:7.1f} mm{1e3 * j.sd_m:8.1f} mm   '
            + ' x '.join(f'{angle:.0f}' for angle in j.range_deg)
            + ' deg'
            for j in self.joints
        ]
        lines.append('segment              length  uncertain')
        lines += [
            f'{s.segment:<17}{1e3 * s.length_m:7.1f} mm{1e3 * s.sd_m:8.1f} mm'
            for s in self.lengths
        ]
        lines += [f'{finding.kind}: {finding.text}' for finding in self.findings]
        lines.append('evaluation: ' + ('good to use' if self.usable else 'should not be used'))
        return '\n'.join(lines)

    def tree(self) -> dict[str, Any]:
        return {'usable': self.usable} | asdict(self)


def read_skeleton(source: Section) -> Skeleton:
    """Return the skeleton of a section; or InputFileError."""
    joints, points = source.section('joints_m'), source.section('interaction_points_m')
    offsets = np.zeros((N_SEGMENTS, 3))
    for i in range(1, N_SEGMENTS):
        offsets[i] = joints.numbers(SEGMENTS[i], 3)
    ends = np.array([points.numbers(name, 3) for name in END_EFFECTORS])
    for section in (joints, points, source):
        section.finish()
    try:
        return Skeleton(offsets, ends)
    except ConfigError as err:
        raise source.error('joints_m', 'a body with arms and legs', str(err)) from err


# The calibration.


@dataclass(frozen=True, slots=True)
class Calibration:
    performer: str  # Character whose skeleton was assumed
    layout: str  # Name of the sensor layout
    date: str  # When it was made, ISO 8601; empty if unknown
    sensors: tuple[str, ...]  # Names of the sensors
    segments: Ints  # Segment of each sensor, shape (n,)
    rotations: Quats  # Each sensor's axes in its segment's frame, q_segment_sensor, shape (n, 4)
    positions: Vec3s  # Each sensor's origin in its segment's frame, shape (n, 3) [m]
    spreads_m: Floats  # RMS movement of each sensor's position in the recording, shape (n,) [m]
    # RMS movement of each sensor's rotation in the recording, shape (n,) [rad]
    spreads_rad: Floats
    heading: float = 0.0  # Yaw that the performer faced in the T-pose, in (-pi, pi] [rad]
    # Standard deviation of each position, shape (n,) [m]; None if unknown
    sds_m: Floats | None = None
    # Standard deviation of each rotation, shape (n,) [rad]; None if unknown
    sds_rad: Floats | None = None
    # The performer's own lengths; None where only a pose was recorded
    skeleton: Skeleton | None = None
    # What was found in the range of motion, for people; None where only a pose was recorded
    evaluation: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        n = len(self.sensors)
        object.__setattr__(self, 'segments', read_only(self.segments, np.int64))
        shapes: dict[str, tuple[int, ...]] = {
            'rotations': (n, 4),
            'positions': (n, 3),
            'spreads_m': (n,),
            'spreads_rad': (n,),
            'sds_m': (n,),
            'sds_rad': (n,),
        }
        for name, shape in shapes.items():
            if getattr(self, name) is None:
                continue
            values = check_array(name, getattr(self, name), shape)
            if name == 'rotations':
                values = quaternions.normalize(values)
            object.__setattr__(self, name, read_only(values))

    def require_layout(self, layout: SensorLayout) -> None:
        """Raise CalibrationError for a layout with other sensors, or one on another segment."""
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
    sds_m, sds_rad = calibration.sds_m, calibration.sds_rad
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
            | ({} if sds_m is None else {'sd_m': float(sds_m[i])})
            | ({} if sds_rad is None else {'sd_deg': float(np.degrees(sds_rad[i]))})
            for i, name in enumerate(calibration.sensors)
        ],
    }
    skeleton, evaluation = calibration.skeleton, calibration.evaluation
    if skeleton is not None:
        joints, points = skeleton.offsets.tolist(), skeleton.interaction_points.tolist()
        tree['skeleton'] = {
            'joints_m': dict(zip(SEGMENTS[1:], joints[1:])),
            'interaction_points_m': dict(zip(END_EFFECTORS, points)),
        }
    if evaluation is not None:
        tree['evaluation'] = evaluation
    write_text(path, dump_yaml(tree))


def load_calibration(path: str | Path) -> Calibration:
    """Return a calibration file; InputFileError names file, line and key of what does not fit."""
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
        sds_m=None if None in sds_m else np.array(sds_m),
        sds_rad=None if None in sds_deg else np.radians(sds_deg),
        skeleton=read_skeleton(source.section('skeleton')) if 'skeleton' in source else None,
        evaluation=source.raw('evaluation', None),
    )
    for derived in ('residual_m', 'residual_deg'):
        source.number(derived, 0.0, low=0.0)
    source.finish()
    return calibration


def _read_sensor(entry: Section) -> tuple:
    segment = SEGMENT_INDEX[entry.text('segment', choices=SEGMENTS)]
    rotation = entry.numbers('rotation_wxyz', 4)
    if abs(np.linalg.norm(rotation) - 1.0) > UNIT_TOLERANCE:
        raise entry.error('rotation_wxyz', 'a unit quaternion', rotation.tolist())
    found = (
        entry.text('sensor'),
        segment,
        rotation,
        read_mounting(entry, 'position_m'),
        entry.number('spread_m', 0.0, low=0.0),
        entry.number('spread_deg', 0.0, low=0.0),
        entry.number('sd_m', low=0.0) if 'sd_m' in entry else None,
        entry.number('sd_deg', low=0.0) if 'sd_deg' in entry else None,
    )
    entry.finish()
    return found
