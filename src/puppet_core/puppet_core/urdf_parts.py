# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a URDF file says of a robot, as plain data: links with their shapes, joints, the tree."""

from dataclasses import dataclass
from pathlib import Path

from puppet_core.arrays import Floats, Vec3

TURNING = ('revolute', 'continuous')


@dataclass(frozen=True, slots=True)
class UrdfShape:
    """One solid of a link."""

    kind: str
    """box, cylinder or sphere."""

    size: Floats
    """Three edges; radius and length; radius [m]."""

    pose: Floats
    """In the link's frame, shape (4, 4) [m]."""


@dataclass(frozen=True, slots=True)
class UrdfLink:
    """A link; solids of collision where there are any that are no meshes, else those drawn."""

    name: str
    shapes: tuple[UrdfShape, ...]

    meshes: tuple[str, ...]
    """File names as they are written."""


@dataclass(frozen=True, slots=True)
class UrdfMimic:
    """What a joint that follows another does: multiplier times its angle, and offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A joint and its place in its parent link."""

    name: str
    kind: str
    parent: str
    child: str

    pose: Floats
    """Of the joint's frame in the parent link, shape (4, 4) [m]."""

    axis: Vec3
    """Unit, in the joint's frame."""

    lower: float
    """Least angle [rad]; minus infinity for a continuous joint."""

    upper: float
    """Greatest angle [rad]."""

    mimic: UrdfMimic | None
    """Which joint it follows."""

    line: int
    """Where it stands in the file."""

    @property
    def turns(self) -> bool:
        """Return whether it has an angle of its own."""
        return self.kind in TURNING and self.mimic is None


@dataclass(frozen=True, slots=True)
class UrdfRobot:
    """A file's tree of links."""

    path: Path
    text: str
    name: str
    root: str
    links: dict[str, UrdfLink]

    joints: tuple[UrdfJoint, ...]
    """Parents before children."""
