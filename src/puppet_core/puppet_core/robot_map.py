# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a user says about a robot that its tree does not: facing, and joints by segment."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from puppet_core.arrays import Floats, read_only
from puppet_core.io.yaml_file import load_yaml, Section
from puppet_core.skeleton import SEGMENTS

FORMAT = 'puppet-robot-map/1'
MAX_LEAN = 1e-3  # cosine between forward and up


@dataclass(frozen=True, slots=True)
class RobotMap:
    """Facing and names; by default X is forward, Z up, and all joints are looked for."""

    facing: Floats = field(default_factory=lambda: read_only(np.eye(3)))
    """Rotation that takes the root link's axes to X forward, Y left, Z up, shape (3, 3)."""

    segments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Joint names by segment, from the trunk outwards."""


def load_robot_map(path: str | Path) -> RobotMap:
    """
    Read a puppet-robot-map/1 file.

    Raises
    ------
    InputFileError : naming file, line and key.

    """
    source = load_yaml(path, FORMAT)
    facing = _facing(source)
    listed = source.section('segments', optional=True)
    segments = {}
    for name in SEGMENTS[1:]:
        if name in listed:
            joints = listed.raw(name)
            if not isinstance(joints, list) or not all(isinstance(j, str) for j in joints):
                raise listed.error(name, 'a list of joint names', str(joints)[:60])
            segments[name] = tuple(joints)
    listed.finish()
    source.finish()
    return RobotMap(facing, segments)


def _facing(source: Section) -> Floats:
    forward = source.numbers('forward', 3, np.array([1.0, 0.0, 0.0]))
    up = source.numbers('up', 3, np.array([0.0, 0.0, 1.0]))
    lengths = np.linalg.norm(forward), np.linalg.norm(up)
    if min(lengths) < 1e-6 or abs(forward @ up) > MAX_LEAN * lengths[0] * lengths[1]:
        key = 'forward' if 'forward' in source else 'up'
        raise source.error(key, 'forward and up square to each other', str(forward.tolist()))
    forward, up = forward / lengths[0], up / lengths[1]
    return read_only(np.array([forward, np.cross(up, forward), up]))
