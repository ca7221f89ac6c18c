# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The robot that a character is: its joints, in their own names, by the segments they move.

The optional section `robot` of a character file. Axes and places are those of the robot's zero
pose in the axes of the pelvis (X forward, Y left, Z up; origin the root link's), so a pose is a
product of turns about fixed lines. The zero pose is hardly ever a T-pose: `rest_wxyz` says for
each segment what turns it from there into ours.

"""

from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import check_array, Floats, Ints, Quat, Quats, read_only, Vec3s
from puppet_core.errors import ConfigError
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import Section
from puppet_core.robot_urdf import read_urdf
from puppet_core.skeleton import N_SEGMENTS, PARENTS, SEGMENT_INDEX, SEGMENTS, Skeleton

SECTION = 'robot'
MAX_AXES = 3  # of one segment
UPRIGHT = read_only(np.array([1.0, 0.0, 0.0, 0.0]))
UNIT_TOL = 1e-3  # what hand-edited axes and rotations may be off unit length by


@dataclass(frozen=True, slots=True)
class Robot:
    """Joints of a humanoid robot, those of a segment together, from the trunk outwards."""

    urdf_path: Path
    """Where its description is."""

    urdf: str
    """The description itself."""

    names: tuple[str, ...]
    """Of the joints, length n."""

    segments: Ints
    """Segment that each joint moves, ascending, shape (n,)."""

    axes: Vec3s
    """At zero pose, unit, shape (n, 3)."""

    origins: Vec3s
    """A point on each axis at zero pose, shape (n, 3) [m]."""

    lower: Floats
    """Least angle, shape (n,); minus infinity where there is none [rad]."""

    upper: Floats
    """Greatest angle, shape (n,) [rad]."""

    rest: Quats
    """From the zero pose to the T-pose, by segment, shape (16, 4)."""

    held: tuple[tuple[str, float], ...] = ()
    """Joints that are never moved, and their angles [rad]."""

    facing: Quat = field(default_factory=lambda: UPRIGHT)
    """From the root link's axes to X forward, Y left, Z up, shape (4,)."""

    def __post_init__(self) -> None:
        n = len(self.names)
        object.__setattr__(self, 'segments', read_only(self.segments, np.int64))
        for name, shape in (('axes', (n, 3)), ('origins', (n, 3)), ('rest', (N_SEGMENTS, 4)),
                            ('facing', (4,))):
            values = check_array(name, getattr(self, name), shape)
            if name != 'origins':
                values = qb.normalize(values)
            object.__setattr__(self, name, read_only(values))
        for name in ('lower', 'upper'):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        if n == 0:
            raise ConfigError('robot: expected joints, got none')
        if np.any(np.diff(self.segments) < 0) or self.segments[0] < 1:
            raise ConfigError('robot: expected joints in the order of their segments')
        if np.bincount(self.segments).max() > MAX_AXES:
            raise ConfigError(f'robot: expected at most {MAX_AXES} joints a segment')
        if not np.all(self.lower <= self.upper):
            raise ConfigError('robot: expected lower <= upper')

    @property
    def published_names(self) -> tuple[str, ...]:
        """Return the names of all joints with an angle, those that are held last."""
        return self.names + tuple(name for name, _ in self.held)

    def joints_of(self, segment: int) -> range:
        """Return the joints that move a segment."""
        first, end = np.searchsorted(self.segments, [segment, segment + 1])
        return range(int(first), int(end))

    def centres(self, skeleton: Skeleton) -> Vec3s:
        """Return the joint centres at zero pose, shape (16, 3) [m]."""
        centres = np.zeros((N_SEGMENTS, 3))
        steps = qb.rotate(qb.conjugate(self.rest)[PARENTS[1:]], skeleton.offsets[1:])
        for i, step in enumerate(steps, start=1):
            centres[i] = centres[PARENTS[i]] + step
        return centres


def read_robot(source: Section) -> Robot | None:
    """
    Read the optional section of a character file, and the URDF that it names.

    Raises
    ------
    InputFileError : naming file, line and key of what is missing, unknown or impossible.

    """
    if SECTION not in source:
        return None
    section = source.section(SECTION)
    named = section.text('urdf')
    path = section.path.parent / named
    urdf = read_urdf(path)
    known = {joint.name for joint in urdf.joints if joint.turns}
    entries = sorted((_read_joint(entry, known) for entry in section.sections('joints')),
                     key=lambda row: row[1])  # fmt: skip
    names = [row[0] for row in entries]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise section.error('joints', 'each joint once', ', '.join(repeated))
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1))
    turned = section.section('rest_wxyz', optional=True)
    for name in turned.keys():
        if name in SEGMENT_INDEX:
            rest[SEGMENT_INDEX[name]] = _unit(turned, name, 4)
    turned.finish()
    kept = section.section('held_rad', optional=True)
    held = tuple((name, kept.number(name)) for name in kept.keys() if name in known)
    kept.finish()
    facing = _unit(section, 'facing_wxyz', 4) if 'facing_wxyz' in section else UPRIGHT
    section.finish()
    segments, axes, origins, lower, upper = (
        np.array([row[k] for row in entries]) for k in range(1, 6)
    )
    try:
        return Robot(
            path, urdf.text, tuple(names), segments, axes, origins, lower, upper, rest, held,
            facing,
        )  # fmt: skip
    except (ConfigError, ValueError) as err:
        raise section.error('joints', 'one to three joints a segment', str(err)) from err


def robot_section(robot: Robot, path: Path) -> dict[str, Any]:
    """Return the section of a character file at `path` that reads back to this robot."""
    joints = [
        {
            'joint': name,
            'segment': SEGMENTS[robot.segments[i]],
            'axis': robot.axes[i].tolist(),
            'origin_m': robot.origins[i].tolist(),
            **({'lower_rad': float(robot.lower[i])} if np.isfinite(robot.lower[i]) else {}),
            **({'upper_rad': float(robot.upper[i])} if np.isfinite(robot.upper[i]) else {}),
        }
        for i, name in enumerate(robot.names)
    ]
    folder = path.resolve().parent
    return {
        'urdf': os.path.relpath(robot.urdf_path.resolve(), folder),
        'joints': joints,
        'rest_wxyz': {name: robot.rest[i].tolist() for i, name in enumerate(SEGMENTS) if i},
        **({'facing_wxyz': robot.facing.tolist()} if np.any(robot.facing[1:]) else {}),
        **({'held_rad': dict(robot.held)} if robot.held else {}),
    }


def _read_joint(
    entry: Section, known: set[str]
) -> tuple[str, int, Floats, Floats, float, float]:
    name = entry.text('joint')
    if name not in known:
        raise entry.error('joint', 'a revolute or continuous joint of the URDF', brief(name),
                          'there are ' + ', '.join(sorted(known)))  # fmt: skip
    segment = SEGMENT_INDEX[entry.text('segment', choices=SEGMENTS[1:])]
    lower = entry.number('lower_rad', -np.inf) if 'lower_rad' in entry else -np.inf
    upper = entry.number('upper_rad', low=lower) if 'upper_rad' in entry else np.inf
    row = (name, segment, _unit(entry, 'axis', 3), entry.numbers('origin_m', 3), lower, upper)
    entry.finish()
    return row


def _unit(section: Section, key: str, count: int) -> Floats:
    values = section.numbers(key, count)
    if abs(np.linalg.norm(values) - 1.0) > UNIT_TOL:
        raise section.error(key, f'{count} numbers of length 1', values.tolist())
    return values
