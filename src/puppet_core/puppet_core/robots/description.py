# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A character as URDF text, for whatever reads it, and the visuals of such a text as few meshes.

Each joint of three degrees of freedom becomes three `continuous` joints (URDF's unlimited
revolute) in the order z, y, x with massless links between them, in the names of
`continuous_euler.JOINT_NAMES`. Link names carry no prefix: RViz and robot_state_publisher put
`puppet/` or `performer/` before them. Reading the published description instead of a file shows
any character, also one that the puppet becomes while running; only the spheres and cylinders of
the sixteen segment links are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import numpy as np
from puppet_core.body import (
    AXES,
    Capsule,
    Character,
    PARENTS,
    Rods,
    SEGMENT_INDEX,
    SEGMENTS,
    smooth_surface,
)
from puppet_core.io import ConfigError
from puppet_core.math import Floats, Ints, quaternions, Vec3

Colour = tuple[float, float, float]  # red, green, blue in 0 .. 1
DEFAULT_COLOUR = (0.6, 0.65, 0.7)
MAX_BYTES = 2_000_000
_AXIS_TEXT = {'z': '0 0 1', 'y': '0 1 0', 'x': '1 0 0'}


def description_text(character: Character) -> str:
    """Return what describes a character's joints: its robot's own URDF, or one made for it."""
    return urdf_text(character) if character.robot is None else character.robot.urdf


def urdf_text(character: Character) -> str:
    """Return the URDF of a character: 16 segment links, 30 links between, 45 joints."""
    robot = Xml.Element('robot', name=character.name)
    colours = [character.colour_of(capsule) for capsule in character.capsules]
    for name, colour in {_material(colour): colour for colour in colours}.items():
        material = Xml.SubElement(robot, 'material', name=name)
        Xml.SubElement(material, 'color', rgba=_numbers((*colour, 1.0)))
    for index, segment in enumerate(SEGMENTS):
        link = Xml.SubElement(robot, 'link', name=segment)
        for capsule in character.capsules:
            if capsule.segment == index:
                _add_capsule(link, capsule, _material(character.colour_of(capsule)))
        if index:
            parent = SEGMENTS[PARENTS[index]]
            _add_joints(robot, parent, segment, character.skeleton.offsets[index])
    Xml.indent(robot)
    return '<?xml version="1.0"?>\n' + Xml.tostring(robot, encoding='unicode') + '\n'


def link_chain(segment: str) -> tuple[str, str, str]:
    """Return the links after the z, y and x joint of a segment; the last is the segment."""
    return f'{segment}_z', f'{segment}_y', segment


def _add_joints(robot: Xml.Element, parent: str, segment: str, offset: Vec3) -> None:
    origin = offset
    for axis, child in zip(AXES, link_chain(segment)):
        if child != segment:
            Xml.SubElement(robot, 'link', name=child)
        joint = Xml.SubElement(robot, 'joint', name=f'{segment}_{axis}', type='continuous')
        Xml.SubElement(joint, 'origin', xyz=_numbers(origin), rpy='0 0 0')
        Xml.SubElement(joint, 'parent', link=parent)
        Xml.SubElement(joint, 'child', link=child)
        Xml.SubElement(joint, 'axis', xyz=_AXIS_TEXT[axis])
        parent, origin = child, np.zeros(3)


def _add_capsule(link: Xml.Element, capsule: Capsule, material: str) -> None:
    core = capsule.end - capsule.start
    length = float(np.linalg.norm(core))
    radius = {'radius': _numbers([capsule.radius])}
    if length > 1e-6:
        middle = 0.5 * (capsule.start + capsule.end)
        size = {**radius, 'length': _numbers([length])}
        rpy = _roll_pitch_of_z(core / length)
        _add_visual(link, 'cylinder', size, (middle, rpy), material)
        _add_visual(link, 'sphere', radius, (capsule.end, np.zeros(3)), material)
    _add_visual(link, 'sphere', radius, (capsule.start, np.zeros(3)), material)


def _add_visual(
    link: Xml.Element, shape: str, size: dict[str, str], pose: tuple[Vec3, Vec3], material: str
) -> None:
    visual = Xml.SubElement(link, 'visual')
    Xml.SubElement(visual, 'origin', xyz=_numbers(pose[0]), rpy=_numbers(pose[1]))
    Xml.SubElement(Xml.SubElement(visual, 'geometry'), shape, size)
    Xml.SubElement(visual, 'material', name=material)


def _material(colour: Colour) -> str:
    return 'colour_' + ''.join(f'{round(255 * value):02x}' for value in colour)


def _roll_pitch_of_z(direction: Vec3) -> Vec3:
    """Return roll, pitch, yaw that turn +Z into a unit direction; yaw is zero [rad]."""
    # Ry(p) Rx(r) z = (sin p cos r, -sin r, cos p cos r)
    roll = -np.arcsin(np.clip(direction[1], -1.0, 1.0))
    pitch = np.arctan2(direction[0], direction[2])
    return np.array([roll, pitch, 0.0])


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(f'{v:.12g}' for v in values)


# The visuals of a description.


class Part(NamedTuple):
    """All solids of one colour on one segment, as one surface in the segment's frame."""

    segment: int  # Index into SEGMENTS
    colour: Colour
    vertices: Floats  # Shape (n, 3) [m]
    triangles: Ints  # Shape (m, 3)
    link: int = -1  # Of a robot, in whose frame it is instead, -1 for none


def read_shape(text: str) -> tuple[Capsule, ...]:
    """
    Return the solids of a robot description; a cylinder by its axis, a sphere without length.

    Raise ConfigError if the text is not a URDF with numbers where they belong.
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f'robot_description: expected at most {MAX_BYTES} bytes')
    try:
        robot = Xml.fromstring(text.encode())
        colours = {
            material.get('name', ''): _finite(colour.get('rgba', ''), 4)[:3]
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


def merged_parts(solids: Sequence[Capsule]) -> list[Part]:
    """
    Return few meshes that resemble the solids: one for each segment and colour.

    The ends of cylinders are rounded, and the seams between the solids smoothed; a surface is up
    to some millimetres off.
    """
    groups: dict[tuple[int, Colour], list[Capsule]] = {}
    for solid in solids:
        groups.setdefault((solid.segment, solid.colour or DEFAULT_COLOUR), []).append(solid)
    parts = []
    for (segment, colour), members in groups.items():
        starts, ends, radii = zip(*((c.start, c.end, c.radius) for c in members))
        rods = Rods(np.array(starts), np.array(ends), np.array(radii))
        parts.append(Part(segment, colour, *smooth_surface(rods)))
    return parts


def _read_link(link: Xml.Element, colours: Mapping[str, Floats]) -> Iterator[Capsule]:
    segment = SEGMENT_INDEX[link.get('name', '')]
    for visual in link.findall('visual'):
        origin, geometry = visual.find('origin'), visual.find('geometry')
        pose = origin.attrib if origin is not None else {}
        position = _finite(pose.get('xyz', '0 0 0'), 3)
        rotation = quaternions.matrix_of_rpy(_finite(pose.get('rpy', '0 0 0'), 3))
        material = visual.find('material')
        name = material.get('name', '') if material is not None else ''
        red, green, blue = colours.get(name, DEFAULT_COLOUR)
        for kind in ('sphere', 'cylinder'):
            shape = geometry.find(kind) if geometry is not None else None
            if shape is None:
                continue
            radius = float(_finite(shape.get('radius', ''), 1)[0])
            length = _finite(shape.get('length', ''), 1) if kind == 'cylinder' else 0.0
            half = 0.5 * length * rotation[:, 2]
            yield Capsule(segment, position - half, position + half, radius, (red, green, blue))


def _finite(text: str, count: int) -> Floats:
    values = np.array([float(word) for word in text.split()])
    if len(values) != count or not np.all(np.isfinite(values)):
        raise ValueError(f'{text!r} instead of {count} numbers')
    return values
