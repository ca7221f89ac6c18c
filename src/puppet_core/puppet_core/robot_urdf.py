# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A URDF file read as data: its links with their shapes, its joints with axes and limits.

Only what a body's motion and outline need is kept.

"""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
from puppet_core.arrays import Floats
from puppet_core.errors import InputFileError
from puppet_core.io.files import require_file
from puppet_core.io.xml_file import read_xml, XmlElement
from puppet_core.urdf_parts import (
    TURNING,
    UrdfJoint,
    UrdfLink,
    UrdfMimic,
    UrdfRobot,
    UrdfShape,
)  # fmt: skip
from scipy.spatial.transform import Rotation

MAX_URDF_BYTES = 10_000_000
JOINT_TYPES = (*TURNING, 'prismatic', 'fixed', 'floating', 'planar')
SHAPE_SIZES = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}


def read_urdf(path: str | Path) -> UrdfRobot:
    """
    Read a URDF file.

    Raises
    ------
    InputFileError : naming file, line and what is missing, unknown or impossible.

    """
    path = Path(path)
    try:
        require_file(path)
        with open(path, 'rb') as file:
            data = file.read(MAX_URDF_BYTES + 1)
        text = data.decode('utf-8')
    except OSError as err:
        raise InputFileError(path, 'a readable file', err.strerror or str(err)) from err
    except UnicodeDecodeError as err:
        line = data[: err.start].count(b'\n') + 1
        raise InputFileError(path, 'UTF-8 text', f'byte 0x{data[err.start]:02x}', line) from err
    if len(data) > MAX_URDF_BYTES:
        raise InputFileError(path, f'at most {MAX_URDF_BYTES} bytes', 'more')
    return parse_urdf(path, text)


def parse_urdf(path: Path, text: str) -> UrdfRobot:
    """Return the robot of a URDF text, `path` for complaints; raises as `read_urdf` does."""
    return _Reader(path, text).robot()


class _Reader:
    """One file's elements made into a robot; every complaint knows its line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def robot(self) -> UrdfRobot:
        root = read_xml(self._path, self._text)
        if root.tag != 'robot':
            self._fail(root, '', 'a URDF, <robot> outermost', f'<{root.tag}>')
        self._refuse_macros(root)
        links = self._unique(root.named('link'), self._link)
        joints = self._unique(root.named('joint'), self._joint)
        if not links:
            self._fail(root, '', 'links', 'none')
        top, ordered = self._ordered(root, links, tuple(joints.values()))
        name = root.values.get('name', '') or self._path.stem
        return UrdfRobot(self._path, self._text, name, top, links, ordered)

    def _fail(self, element: XmlElement, name: str, expected: str, got: str) -> NoReturn:
        raise InputFileError(self._path, expected, got, element.line, name or None)

    def _refuse_macros(self, root: XmlElement) -> None:
        for child in root.children:
            if child.tag.startswith('xacro:'):
                raise InputFileError(
                    self._path, 'a plain URDF', f'<{child.tag}>', child.line,
                    hint='run xacro on it first',
                )

    def _unique(self, elements: list[XmlElement], make: Callable) -> dict:
        made: dict = {}
        for element in elements:
            name = self._word(element, 'name', f'<{element.tag}>')
            if name in made:
                self._fail(element, name, f'each {element.tag} once', 'it again')
            made[name] = make(element, name)
        return made

    def _word(self, element: XmlElement, key: str, name: str) -> str:
        value = element.values.get(key, '')
        if not value:
            self._fail(element, name, f'the attribute {key}', 'none')
        return value

    def _numbers(
        self, element: XmlElement, key: str, count: int, name: str, default: str | None = None
    ) -> Floats:
        text = element.values.get(key, default)
        if text is None:
            self._fail(element, name, f'the attribute {key}', 'none')
        try:
            values = np.array([float(word) for word in text.split()])
        except ValueError:
            values = np.empty(0)
        if len(values) != count or not np.all(np.abs(values) < 1e9):
            plural = 'finite numbers' if count > 1 else 'finite number'
            self._fail(element, name, f'{count} {plural} as {key}', repr(text[:60]))
        return values

    def _pose(self, element: XmlElement, name: str) -> Floats:
        pose = np.eye(4)
        origin = element.first('origin')
        if origin is not None:
            pose[:3, 3] = self._numbers(origin, 'xyz', 3, name, '0 0 0')
            rpy = self._numbers(origin, 'rpy', 3, name, '0 0 0')
            # URDF: fixed axes, roll about x first
            pose[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
        return pose

    def _link(self, element: XmlElement, name: str) -> UrdfLink:
        shapes: dict[str, list[UrdfShape]] = {'collision': [], 'visual': []}
        meshes: list[str] = []
        for tag, own in shapes.items():
            for part in element.named(tag):
                own += self._shapes(part, name, meshes)
        return UrdfLink(name, tuple(shapes['collision'] or shapes['visual']), tuple(meshes))

    def _shapes(self, part: XmlElement, name: str, meshes: list[str]) -> list[UrdfShape]:
        pose, geometry = self._pose(part, name), part.first('geometry')
        shapes = []
        for solid in geometry.children if geometry is not None else ():
            if solid.tag == 'mesh':
                meshes.append(self._word(solid, 'filename', name))
                continue
            keys = SHAPE_SIZES.get(solid.tag)
            if keys is None:
                known = ', '.join((*SHAPE_SIZES, 'mesh'))
                self._fail(solid, name, f'a solid, one of {known}', f'<{solid.tag}>')
            counts = [3 if key == 'size' else 1 for key in keys]
            size = np.concatenate(
                [self._numbers(solid, key, n, name) for key, n in zip(keys, counts)]
            )
            if np.any(size <= 0.0):
                self._fail(solid, name, 'a size > 0', str(size.tolist()))
            shapes.append(UrdfShape(solid.tag, size, pose))
        return shapes

    def _joint(self, element: XmlElement, name: str) -> UrdfJoint:
        kind = element.values.get('type', '')
        if kind not in JOINT_TYPES:
            self._fail(element, name, 'a type, one of ' + ', '.join(JOINT_TYPES), repr(kind))
        ends = []
        for tag in ('parent', 'child'):
            end = element.first(tag)
            if end is None:
                self._fail(element, name, f'<{tag} link="..."/>', 'none')
            ends.append(self._word(end, 'link', name))
        axis = np.array([1.0, 0.0, 0.0])
        given = element.first('axis')
        if given is not None and kind in TURNING:
            axis = self._numbers(given, 'xyz', 3, name, '1 0 0')
            if not np.linalg.norm(axis) > 1e-6:
                self._fail(given, name, 'an axis with a direction', str(axis.tolist()))
            axis = axis / np.linalg.norm(axis)
        lower, upper = self._limits(element, kind, name)
        return UrdfJoint(
            name, kind, ends[0], ends[1], self._pose(element, name), axis, lower, upper,
            self._mimic(element, name), element.line,
        )  # fmt: skip

    def _mimic(self, element: XmlElement, name: str) -> UrdfMimic | None:
        found = element.first('mimic')
        if found is None:
            return None
        multiplier = float(self._numbers(found, 'multiplier', 1, name, '1')[0])
        offset = float(self._numbers(found, 'offset', 1, name, '0')[0])
        return UrdfMimic(self._word(found, 'joint', name), multiplier, offset)

    def _limits(self, element: XmlElement, kind: str, name: str) -> tuple[float, float]:
        if kind != 'revolute':
            return -np.inf, np.inf
        limit = element.first('limit')
        if limit is None:
            self._fail(element, name, '<limit lower="..." upper="..."/>', 'none')
        lower = float(self._numbers(limit, 'lower', 1, name, '0')[0])
        upper = float(self._numbers(limit, 'upper', 1, name, '0')[0])
        if lower > upper:
            self._fail(limit, name, 'lower <= upper', f'{lower:g} and {upper:g}')
        return lower, upper

    def _ordered(
        self, root: XmlElement, links: dict[str, UrdfLink], joints: tuple[UrdfJoint, ...]
    ) -> tuple[str, tuple[UrdfJoint, ...]]:
        """Return the root link and the joints, parents first; refuse what is no tree."""
        leaders = {joint.name for joint in joints if joint.mimic is None}
        below: dict[str, list[UrdfJoint]] = {name: [] for name in links}
        above: dict[str, UrdfJoint] = {}
        for joint in joints:
            for link in (joint.parent, joint.child):
                if link not in links:
                    raise InputFileError(
                        self._path, 'a link of this file', repr(link), joint.line, joint.name
                    )
            if joint.mimic is not None and joint.mimic.joint not in leaders:
                raise InputFileError(
                    self._path, 'to mimic a joint of this file that mimics none',
                    repr(joint.mimic.joint), joint.line, joint.name,
                )  # fmt: skip
            if joint.child in above:
                raise InputFileError(
                    self._path, f'one joint above the link {joint.child}',
                    f'{above[joint.child].name} and this', joint.line, joint.name,
                )  # fmt: skip
            above[joint.child] = joint
            below[joint.parent].append(joint)
        tops = [name for name in links if name not in above]
        if len(tops) != 1:
            self._fail(root, '', 'one root link', ', '.join(tops[:6]) or 'a ring of joints')
        ordered: list[UrdfJoint] = list(below[tops[0]])
        for joint in ordered:
            ordered += below[joint.child]
        reached = {joint.name for joint in ordered}
        for joint in joints:
            if joint.name not in reached:
                raise InputFileError(
                    self._path, f'one tree below the link {tops[0]}',
                    'a ring of joints apart from it', joint.line, joint.name,
                )  # fmt: skip
        return tops[0], tuple(ordered)
