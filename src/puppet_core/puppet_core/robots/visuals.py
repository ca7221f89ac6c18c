# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot description's visuals as few meshes, each fixed to a segment.

Only the spheres and cylinders of the sixteen segment links are read: what
`puppet_core.robots.description` writes. Reading the published description instead of a file
shows any character, also one
that the puppet becomes while running.

"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import numpy as np
from puppet_core.body import N_SEGMENTS, PARENTS, Rods, SEGMENT_INDEX, smooth_surface
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, quaternions, Quats, Vec3
from scipy.spatial.transform import Rotation

SPHERE, CYLINDER = 'sphere', 'cylinder'
DEFAULT_COLOUR = (0.6, 0.65, 0.7)
MAX_BYTES = 2_000_000


class Solid(NamedTuple):
    """A sphere, or a cylinder along its own z, on a segment."""

    segment: int
    """Index into SEGMENTS."""

    kind: str
    """SPHERE or CYLINDER."""

    position: Vec3
    """Centre in the segment's frame [m]."""

    rotation: Floats
    """Matrix from its own axes to the segment's, shape (3, 3)."""

    scale: Vec3
    """Radius, radius, radius or length [m]."""

    colour: tuple[float, float, float]
    """Red, green, blue in 0 .. 1."""


class Part(NamedTuple):
    """All solids of one colour on one segment, as one surface in the segment's frame."""

    segment: int
    """Index into SEGMENTS."""

    colour: tuple[float, float, float]
    """Red, green, blue in 0 .. 1."""

    vertices: Floats
    """Shape (n, 3) [m]."""

    triangles: Ints
    """Shape (m, 3)."""


def read_shape(text: str) -> tuple[Solid, ...]:
    """
    Return the solids of a robot description.

    Raises
    ------
    ConfigError : if the text is not a URDF with numbers where they belong.

    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f'robot_description: expected at most {MAX_BYTES} bytes')
    try:
        robot = Xml.fromstring(text.encode())
        colours = {
            material.get('name', ''): _numbers(colour.get('rgba', ''), 4)[:3]
            for material in robot.findall('material')
            if (colour := material.find('color')) is not None
        }
        return tuple(
            solid
            for link in robot.findall('link')
            if link.get('name') in SEGMENT_INDEX
            for solid in _read_link(link, colours)
        )
    except (Xml.ParseError, ValueError, TypeError) as err:
        raise ConfigError(f'robot_description: expected a URDF, got {err}') from err


def robot_name(text: str) -> str:
    """Return the name in a robot description that `read_shape` has taken, '' if it has none."""
    return Xml.fromstring(text.encode()).get('name', '')


def merged_parts(solids: Sequence[Solid]) -> list[Part]:
    """
    Return few meshes that resemble the solids: one for each segment and colour.

    The ends of cylinders are rounded, as they are where
    `puppet_core.robots.description` writes them, and the seams between the solids smoothed; a
    surface is up to some millimetres off.

    """
    groups: dict[tuple[int, tuple[float, float, float]], list[Solid]] = {}
    for solid in solids:
        groups.setdefault((solid.segment, solid.colour), []).append(solid)
    return [
        Part(segment, colour, *smooth_surface(_rods(members)))
        for (segment, colour), members in groups.items()
    ]


def _rods(solids: Sequence[Solid]) -> Rods:
    halves = [
        0.5 * s.scale[2] * s.rotation[:, 2] if s.kind == CYLINDER else np.zeros(3) for s in solids
    ]
    places = [solid.position for solid in solids]
    return Rods(
        np.subtract(places, halves), np.add(places, halves), np.array([s.scale[0] for s in solids])
    )


def world_orientations(rotations: Quats) -> Quats:
    """
    Return the orientation of each segment in world, shape (16, 4), without compiled kernels.

    Parameters
    ----------
    rotations : ndarray, shape (16, 4)
        Row 0 the pelvis in world, the others relative to the parent.

    """
    q_world = np.array(rotations)
    for level in _LEVELS:
        q_world[level] = quaternions.multiply(q_world[PARENTS[level]], q_world[level])
    return q_world


def _levels() -> list[Ints]:
    """Return the segments by their distance from the root, the root itself left out."""
    depth = np.zeros(N_SEGMENTS, dtype=np.int64)
    for segment in range(1, N_SEGMENTS):
        depth[segment] = depth[PARENTS[segment]] + 1
    return [np.flatnonzero(depth == d) for d in range(1, int(depth.max()) + 1)]


_LEVELS = _levels()


def _read_link(link: Xml.Element, colours: Mapping[str, Floats]) -> Iterator[Solid]:
    segment = SEGMENT_INDEX[link.get('name', '')]
    for visual in link.findall('visual'):
        origin, geometry = visual.find('origin'), visual.find('geometry')
        pose = origin.attrib if origin is not None else {}
        position = _numbers(pose.get('xyz', '0 0 0'), 3)
        rotation = Rotation.from_euler('xyz', _numbers(pose.get('rpy', '0 0 0'), 3)).as_matrix()
        material = visual.find('material')
        name = material.get('name', '') if material is not None else ''
        red, green, blue = colours.get(name, DEFAULT_COLOUR)
        for kind in (SPHERE, CYLINDER):
            shape = geometry.find(kind) if geometry is not None else None
            if shape is None:
                continue
            radius = _numbers(shape.get('radius', ''), 1)[0]
            depth = _numbers(shape.get('length', ''), 1)[0] if kind == CYLINDER else radius
            scale = np.array([radius, radius, depth])
            yield Solid(segment, kind, position, rotation, scale, (red, green, blue))


def _numbers(text: str, count: int) -> Floats:
    values = np.array([float(word) for word in text.split()])
    if len(values) != count or not np.all(np.isfinite(values)):
        raise ValueError(f'{text!r} instead of {count} numbers')
    return values
