# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A character as URDF text, for RViz, robot_state_publisher and anything else that reads it.

Each joint of three degrees of freedom becomes three `continuous` joints (URDF's unlimited
revolute) in the order z, y, x with massless links between them, in the names of
`continuous_euler.JOINT_NAMES`. Link names carry no prefix: RViz and robot_state_publisher put
`puppet/` or `performer/` before them.

"""

from collections.abc import Iterable
from xml.etree import ElementTree as Xml

import numpy as np
from puppet_core.body import AXES, Capsule, Character, PARENTS, SEGMENTS
from puppet_core.math import Vec3

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


def _material(colour: tuple[float, float, float]) -> str:
    return 'colour_' + ''.join(f'{round(255 * value):02x}' for value in colour)


def _roll_pitch_of_z(direction: Vec3) -> Vec3:
    """Return roll, pitch, yaw that turn +Z into a unit direction; yaw is zero [rad]."""
    # Ry(p) Rx(r) z = (sin p cos r, -sin r, cos p cos r)
    roll = -np.arcsin(np.clip(direction[1], -1.0, 1.0))
    pitch = np.arctan2(direction[0], direction[2])
    return np.array([roll, pitch, 0.0])


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(f'{v:.12g}' for v in values)
