# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
URDF files as plain data, the robot's tree at its zero pose, and the robot of a character.

`read_urdf` keeps what motion and outline need: links with shapes, joints with axes and limits.
`make_tree` gives every turning joint's axis and place in the axes of the root link. `Robot` is
the optional section `robot` of a character file: the robot's joints, in their own names, by the
segments they move. Which joints move which segments is found in `robots.limbs`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from puppet_core.body.skeleton import N_SEGMENTS, PARENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.io import (
    brief,
    ConfigError,
    InputFileError,
    read_xml,
    require_file,
    Section,
    XmlElement,
)
from puppet_core.math import check_array, Floats, Ints, Quat, Quats, read_only, Vec3, Vec3s
from puppet_core.math import quaternions as qb
from scipy.spatial.transform import Rotation

TURNING = ('revolute', 'continuous')

MAX_URDF_BYTES = 10_000_000
JOINT_TYPES = (*TURNING, 'prismatic', 'fixed', 'floating', 'planar')
SHAPE_SIZES = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}

SECTION = 'robot'
MAX_AXES = 3  # of one segment
UPRIGHT = read_only(np.array([1.0, 0.0, 0.0, 0.0]))
UNIT_TOL = 1e-3  # what hand-edited axes and rotations may be off unit length by

ROOT = -1


# URDF files: links with their shapes, joints with axes and limits.


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
                    self._path,
                    'a plain URDF',
                    f'<{child.tag}>',
                    child.line,
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
            name,
            kind,
            ends[0],
            ends[1],
            self._pose(element, name),
            axis,
            lower,
            upper,
            self._mimic(element, name),
            element.line,
        )

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
                    self._path,
                    'to mimic a joint of this file that mimics none',
                    repr(joint.mimic.joint),
                    joint.line,
                    joint.name,
                )
            if joint.child in above:
                raise InputFileError(
                    self._path,
                    f'one joint above the link {joint.child}',
                    f'{above[joint.child].name} and this',
                    joint.line,
                    joint.name,
                )
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
                    self._path,
                    f'one tree below the link {tops[0]}',
                    'a ring of joints apart from it',
                    joint.line,
                    joint.name,
                )
        return tops[0], tuple(ordered)


# The robot of a character.
#
# The optional section `robot` of a character file. Axes and places are those of the robot's zero
# pose in the axes of the pelvis (X forward, Y left, Z up; origin the root link's), so a pose is a
# product of turns about fixed lines. The zero pose is hardly ever a T-pose: `rest_wxyz` gives for
# each segment what turns it from there into ours.


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
        for name, shape in (
            ('axes', (n, 3)),
            ('origins', (n, 3)),
            ('rest', (N_SEGMENTS, 4)),
            ('facing', (4,)),
        ):
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
    entries = sorted(
        (_read_joint(entry, known) for entry in section.sections('joints')), key=lambda row: row[1]
    )
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
            path,
            urdf.text,
            tuple(names),
            segments,
            axes,
            origins,
            lower,
            upper,
            rest,
            held,
            facing,
        )
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


def _read_joint(entry: Section, known: set[str]) -> tuple[str, int, Floats, Floats, float, float]:
    name = entry.text('joint')
    if name not in known:
        raise entry.error(
            'joint',
            'a revolute or continuous joint of the URDF',
            brief(name),
            'there are ' + ', '.join(sorted(known)),
        )
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


# A robot at its zero pose.
#
# Written so, a pose is a product of turns about fixed lines, and the frames that the file gives
# its links do not matter. Links that are fixed to each other are one body, named by the joint
# that moves it; the root's body is ROOT.


@dataclass(frozen=True, slots=True)
class BodyShape:
    """A solid in the axes of the root at zero pose."""

    body: int
    """Joint that moves it, or ROOT."""

    kind: str
    size: Floats
    pose: Floats
    """Shape (4, 4) [m]."""


@dataclass(frozen=True, slots=True)
class RobotTree:
    """The turning joints of a robot, parents before children."""

    urdf: UrdfRobot
    joints: tuple[UrdfJoint, ...]

    axes: Vec3s
    """Unit, shape (n, 3)."""

    origins: Vec3s
    """A point on each axis, shape (n, 3) [m]."""

    parents: tuple[int, ...]
    """Joint above each joint, or ROOT."""

    link_bodies: dict[str, int]
    link_origins: dict[str, Vec3]
    shapes: tuple[BodyShape, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the joints' names."""
        return tuple(joint.name for joint in self.joints)

    def children(self, body: int) -> tuple[int, ...]:
        """Return the joints that hang on a body."""
        return tuple(i for i, parent in enumerate(self.parents) if parent == body)

    def points(self, bodies: Collection[int]) -> Vec3s:
        """Return points that reach as far as the solids of some bodies do, shape (k, 3) [m]."""
        found = [_corners(shape) for shape in self.shapes if shape.body in bodies]
        return np.concatenate(found) if found else np.empty((0, 3))


def make_tree(
    urdf: UrdfRobot,
    facing: Floats,
    moved: Collection[str] | None = None,
    held: Mapping[str, float] | None = None,
    with_mimics: bool = False,
) -> RobotTree:
    """
    Return a robot's tree.

    Parameters
    ----------
    urdf : UrdfRobot
        The file.
    facing : ndarray, shape (3, 3)
        Rotation that takes the root link's axes to X forward, Y left, Z up.
    moved : collection of str, optional
        Joints to move; by default all that have an angle of their own.
    held : mapping, optional
        Angles of joints that are not moved, by default zero [rad].
    with_mimics : bool, optional
        Whether joints that follow others count too; else they are fixed at zero.

    """
    root = np.eye(4)
    root[:3, :3] = facing
    poses, bodies = {urdf.root: root}, {urdf.root: ROOT}
    joints: list[UrdfJoint] = []
    parents, axes, origins = [], [], []
    for joint in urdf.joints:
        pose = poses[joint.parent] @ joint.pose
        body = bodies[joint.parent]
        turns = joint.kind in TURNING if with_mimics else joint.turns
        if turns and (moved is None or joint.name in moved):
            parents.append(body)
            body = len(joints)
            joints.append(joint)
            axes.append(pose[:3, :3] @ joint.axis)
            origins.append(pose[:3, 3])
        elif joint.turns and held:
            turn = np.eye(4)
            angle = held.get(joint.name, 0.0)
            turn[:3, :3] = Rotation.from_rotvec(angle * joint.axis).as_matrix()
            pose = pose @ turn
        poses[joint.child], bodies[joint.child] = pose, body
    shapes = tuple(
        BodyShape(bodies[link.name], shape.kind, shape.size, poses[link.name] @ shape.pose)
        for link in urdf.links.values()
        for shape in link.shapes
    )
    return RobotTree(
        urdf,
        tuple(joints),
        np.reshape(axes, (-1, 3)),
        np.reshape(origins, (-1, 3)),
        tuple(parents),
        bodies,
        {link: pose[:3, 3] for link, pose in poses.items()},
        shapes,
    )


def _corners(shape: BodyShape) -> Vec3s:
    """Return corners of a box, or the least and greatest point along each axis otherwise."""
    turn, middle = shape.pose[:3, :3], shape.pose[:3, 3]
    if shape.kind == 'box':
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return middle + (signs * shape.size) @ turn.T
    if shape.kind == 'sphere':
        reach = np.full(3, shape.size[0])
    else:
        radius, length = shape.size
        along = turn[:, 2]
        # a disc of radius r about an axis a reaches r sqrt(1 - a_k^2) along axis k
        reach = radius * np.sqrt(np.maximum(1.0 - along**2, 0.0)) + 0.5 * length * np.abs(along)
    return middle + np.concatenate((np.diag(reach), -np.diag(reach)))
