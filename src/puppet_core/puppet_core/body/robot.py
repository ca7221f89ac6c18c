# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
URDF files as plain data, the robot's tree at its zero pose, and the robot of a character.

`read_urdf` keeps what motion and outline need, `make_tree` gives every turning joint's axis and
place, from the pelvis outwards. `Robot` is the optional section `robot` of a character file: the
robot's joints, in their own names, by the segments they move (found in `robots.limbs`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body.skeleton import N_SEGMENTS, PARENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.io import (
    brief,
    ConfigError,
    InputFileError,
    read_utf8,
    read_xml,
    Section,
    XmlElement,
)
from puppet_core.math import check_array, Floats, Ints, Quat, Quats, read_only, Vec3, Vec3s
from puppet_core.math import quaternions as qb

TURNING = ('revolute', 'continuous')

MAX_URDF_BYTES = 10_000_000
JOINT_TYPES = (*TURNING, 'prismatic', 'fixed', 'floating', 'planar')
SHAPE_SIZES = {
    'box': ('size',),
    'cylinder': ('radius', 'length'),
    'capsule': ('radius', 'length'),
    'sphere': ('radius',),
}

CONTACT_M = 0.01  # a sphere of less is no shape of a link, but a point where it touches

SECTION = 'robot'
MAX_AXES = 3  # of one segment
DEFAULT_SPEED_RAD_S = 12.0  # where a URDF gives no speed
UPRIGHT = read_only(np.array([1.0, 0.0, 0.0, 0.0]))
UNIT_TOL = 1e-3  # what hand-edited axes and rotations may be off unit length by

ROOT = -1
Colour = tuple[float, float, float] | None


# URDF files: links with their shapes, joints with axes and limits.


class UrdfShape(NamedTuple):
    kind: str  # box, cylinder, capsule, sphere, mesh; or hull, once a mesh is read
    size: Floats  # Three edges; radius and length; radius; scales; corners, shape (n, 3) [m]
    pose: Floats  # In the link's frame, shape (4, 4) [m]
    file: str = ''  # Of a mesh, as it is written
    colour: Colour = None  # Red, green, blue in 0 .. 1, where given


class UrdfLink(NamedTuple):
    """A link; solids of collision, and those drawn where there are none but points of contact."""

    name: str
    shapes: tuple[UrdfShape, ...]
    visuals: tuple[UrdfShape, ...]  # What is drawn


class UrdfMimic(NamedTuple):
    """What a joint that follows another does: multiplier times its angle, and offset."""

    joint: str
    multiplier: float
    offset: float


class UrdfJoint(NamedTuple):
    """A joint and its place in its parent link."""

    name: str
    kind: str
    parent: str
    child: str
    pose: Floats  # Of the joint's frame in the parent link, shape (4, 4) [m]
    axis: Vec3  # Unit, in the joint's frame
    lower: float  # Least angle [rad]; minus infinity for a continuous joint
    upper: float  # Greatest angle [rad]
    speed: float  # At most [rad/s]; 0 where the file says nothing
    mimic: UrdfMimic | None  # Which joint it follows
    line: int  # Where it stands in the file

    @property
    def turns(self) -> bool:
        return self.kind in TURNING and self.mimic is None


class UrdfRobot(NamedTuple):
    path: Path
    text: str
    name: str
    root: str
    links: dict[str, UrdfLink]
    joints: tuple[UrdfJoint, ...]  # Parents before children

    def path_to(self, link: str) -> list[UrdfJoint]:
        above = {joint.child: joint for joint in self.joints}
        path: list[UrdfJoint] = []
        while link in above:
            path.insert(0, above[link])
            link = above[link].parent
        return path


def read_urdf(path: str | Path) -> UrdfRobot:
    """Return a URDF file's robot; InputFileError names file, line and what does not fit."""
    return parse_urdf(Path(path), read_utf8(path, MAX_URDF_BYTES))


def parse_urdf(path: Path, text: str) -> UrdfRobot:
    """Return the robot of a URDF text, `path` for errors; raises as `read_urdf` does."""
    top = _Element(path, read_xml(path, text))
    if top.xml.tag != 'robot':
        raise top.error('a URDF, <robot> outermost', f'<{top.xml.tag}>')
    colours = {m.xml.values.get('name'): _read_colour(m) for m in top.parts('material')}
    links = {part.name: _read_link(part, colours) for part in _named(top, 'link')}
    if not links:
        raise top.error('links', 'none')
    joints = [_read_joint(part) for part in _named(top, 'joint')]
    root, ordered = _ordered(top, links, joints)
    name = top.xml.values.get('name') or path.stem
    return _without_world(UrdfRobot(path, text, name, root, links, ordered))


def _without_world(robot: UrdfRobot) -> UrdfRobot:
    """Return a robot without an empty link away from it to which it is fixed: a `world`."""
    below = [joint for joint in robot.joints if joint.parent == robot.root]
    if len(below) != 1 or below[0].kind != 'fixed' or robot.links[robot.root].shapes:
        return robot
    if np.allclose(below[0].pose[:3, 3], 0.0):  # perhaps turned on purpose
        return robot
    links = {name: link for name, link in robot.links.items() if name != robot.root}
    joints = tuple(joint for joint in robot.joints if joint is not below[0])
    return _without_world(robot._replace(root=below[0].child, links=links, joints=joints))


class _Element:
    """An element of the file; every error knows its line, and the link or joint it is of."""

    def __init__(self, path: Path, xml: XmlElement, name: str = '') -> None:
        self.path, self.xml = path, xml
        self.name = name or ('' if xml.tag == 'robot' else xml.values.get('name', ''))

    def parts(self, tag: str = '') -> 'list[_Element]':
        """Return the elements inside, all or those of a tag."""
        found = self.xml.named(tag) if tag else self.xml.children
        return [_Element(self.path, xml, self.name) for xml in found]

    def part(self, tag: str) -> '_Element | None':
        return next(iter(self.parts(tag)), None)

    def need(self, tag: str, attributes: str) -> '_Element':
        part = self.part(tag)
        if part is None:
            raise self.error(f'<{tag} {attributes}/>', 'none')
        return part

    def error(self, wanted: str, got: str, hint: str = '') -> InputFileError:
        return InputFileError(self.path, wanted, got, self.xml.line, self.name or None, hint)

    def word(self, key: str) -> str:
        value = self.xml.values.get(key, '')
        if not value:
            raise self.error(f'the attribute {key}', 'none')
        return value

    def numbers(self, key: str, count: int, default: str | None = None) -> Floats:
        text = self.word(key) if default is None else self.xml.values.get(key, default)
        try:
            values = np.array([float(word) for word in text.split()])
        except ValueError:
            values = np.empty(0)
        if len(values) != count or not np.all(np.abs(values) < 1e9):
            plural = 'finite numbers' if count > 1 else 'finite number'
            raise self.error(f'{count} {plural} as {key}', repr(text[:60]))
        return values

    def number(self, key: str, default: str) -> float:
        return float(self.numbers(key, 1, default)[0])

    def pose(self) -> Floats:
        """Return where the element's origin puts it, shape (4, 4)."""
        pose = np.eye(4)
        origin = self.part('origin')
        if origin is not None:
            pose[:3, 3] = origin.numbers('xyz', 3, '0 0 0')
            pose[:3, :3] = qb.matrix_of_rpy(origin.numbers('rpy', 3, '0 0 0'))
        return pose


def _named(top: _Element, tag: str) -> list[_Element]:
    """Return the links or joints, each with a unique name."""
    parts = top.parts(tag)
    names: set[str] = set()
    for part in parts:
        if not part.name:
            part.name = f'<{tag}>'
            part.word('name')
        if part.name in names:
            raise part.error(f'each {tag} once', 'it again')
        names.add(part.name)
    return parts


def _read_link(link: _Element, colours: Mapping[str | None, Colour]) -> UrdfLink:
    shapes: dict[str, list[UrdfShape]] = {'collision': [], 'visual': []}
    for tag, own in shapes.items():
        for part in link.parts(tag):
            pose, geometry, material = part.pose(), part.part('geometry'), part.part('material')
            colour = None
            if material is not None:
                colour = _read_colour(material) or colours.get(material.xml.values.get('name'))
            for solid in geometry.parts() if geometry is not None else ():
                if ':' in solid.xml.tag:
                    continue  # another program's own
                file = solid.word('filename') if solid.xml.tag == 'mesh' else ''
                size = solid.numbers('scale', 3, '1 1 1') if file else _read_size(solid)
                own.append(UrdfShape(solid.xml.tag, size, pose, file, colour))
    chosen, visuals = shapes.values()
    if all(shape.kind == 'sphere' and shape.size[0] < CONTACT_M for shape in chosen):
        chosen = chosen + visuals
    return UrdfLink(link.name, tuple(chosen), tuple(visuals))


def _read_colour(material: _Element) -> Colour:
    part = material.part('color')
    if part is None:
        return None
    red, green, blue = part.numbers('rgba', 4)[:3].tolist()
    return red, green, blue


def _read_size(solid: _Element) -> Floats:
    keys = SHAPE_SIZES.get(solid.xml.tag)
    if keys is None:
        known = ', '.join((*SHAPE_SIZES, 'mesh'))
        raise solid.error(f'a solid, one of {known}', f'<{solid.xml.tag}>')
    size = np.concatenate([solid.numbers(key, 3 if key == 'size' else 1) for key in keys])
    if np.any(size < 0.0):
        raise solid.error('a size >= 0', str(size.tolist()))
    return size


def _read_joint(joint: _Element) -> UrdfJoint:
    kind = joint.xml.values.get('type', '')
    if kind not in JOINT_TYPES:
        raise joint.error('a type, one of ' + ', '.join(JOINT_TYPES), repr(kind))
    parent, child = (joint.need(tag, 'link="..."').word('link') for tag in ('parent', 'child'))
    axis, given = np.array([1.0, 0.0, 0.0]), joint.part('axis')
    if given is not None and kind in TURNING:
        axis = given.numbers('xyz', 3, '1 0 0')
        if not np.linalg.norm(axis) > 1e-6:
            raise given.error('an axis with a direction', str(axis.tolist()))
        axis = axis / np.linalg.norm(axis)
    lower, upper = -np.inf, np.inf
    given = joint.part('limit')
    speed = max(given.number('velocity', '0'), 0.0) if given is not None else 0.0
    if kind == 'revolute':
        limit = joint.need('limit', 'lower="..." upper="..."')
        lower, upper = limit.number('lower', '0'), limit.number('upper', '0')
        if lower > upper:
            raise limit.error('lower <= upper', f'{lower:g} and {upper:g}')
    mimic, found = None, joint.part('mimic')
    if found is not None:
        factors = found.number('multiplier', '1'), found.number('offset', '0')
        mimic = UrdfMimic(found.word('joint'), *factors)
    pose = joint.pose()
    line = joint.xml.line
    return UrdfJoint(joint.name, kind, parent, child, pose, axis, lower, upper, speed, mimic, line)


def _ordered(
    top: _Element, links: Collection[str], joints: list[UrdfJoint]
) -> tuple[str, tuple[UrdfJoint, ...]]:
    """Return the root link and the joints, parents first; refuse what is no tree."""

    def error(joint: UrdfJoint, wanted: str, got: str) -> InputFileError:
        return InputFileError(top.path, wanted, got, joint.line, joint.name)

    leaders = {joint.name for joint in joints if joint.mimic is None}
    below: dict[str, list[UrdfJoint]] = {name: [] for name in links}
    above: dict[str, UrdfJoint] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise error(joint, 'a link of this file', repr(link))
        if joint.mimic is not None and joint.mimic.joint not in leaders:
            wanted = 'to mimic a joint of this file that mimics none'
            raise error(joint, wanted, repr(joint.mimic.joint))
        if joint.child in above:
            got = f'{above[joint.child].name} and this'
            raise error(joint, f'one joint above the link {joint.child}', got)
        above[joint.child] = joint
        below[joint.parent].append(joint)
    tops = [name for name in links if name not in above]
    if len(tops) != 1:
        raise top.error('one root link', ', '.join(tops[:6]) or 'a loop of joints')
    ordered = list(below[tops[0]])
    for joint in ordered:
        ordered += below[joint.child]
    reached = {joint.name for joint in ordered}
    for joint in joints:
        if joint.name not in reached:
            wanted = f'one tree below the link {tops[0]}'
            raise error(joint, wanted, 'a separate loop of joints')
    return tops[0], tuple(ordered)


# The robot of a character.
#
# The optional section `robot` of a character file. Axes and places are those of the robot's zero
# pose in the axes of the pelvis (X forward, Y left, Z up; origin its link's), so a pose is a
# product of turns about fixed lines. The zero pose is hardly ever a T-pose: `rest_wxyz` gives for
# each segment what turns it from there into ours.


@dataclass(frozen=True, slots=True)
class Robot:
    """Joints of a humanoid robot, those of a segment together, from the trunk outwards."""

    urdf_path: Path  # Where its description is
    urdf: str  # The description itself
    names: tuple[str, ...]  # Of the joints, length n
    segments: Ints  # Segment that each joint moves, ascending, shape (n,)
    axes: Vec3s  # At zero pose, unit, shape (n, 3)
    origins: Vec3s  # A point on each axis at zero pose, shape (n, 3) [m]
    lower: Floats  # Least angle, shape (n,); minus infinity where there is none [rad]
    upper: Floats  # Greatest angle, shape (n,) [rad]
    speeds: Floats  # At most, shape (n,) [rad/s]
    rest: Quats  # From the zero pose to the T-pose, by segment, shape (16, 4)
    held: tuple[tuple[str, float], ...] = ()  # Joints that are never moved, and their angles [rad]
    # From the axes of the pelvis' link to X forward, Y left, Z up, shape (4,)
    facing: Quat = field(default_factory=lambda: UPRIGHT)
    pelvis: str = ''  # Link on which legs and trunk hang, where it is not the root

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
        for name in ('lower', 'upper', 'speeds'):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        if n == 0:
            raise ConfigError('robot: expected joints, got none')
        if np.any(np.diff(self.segments) < 0) or self.segments[0] < 1:
            raise ConfigError('robot: expected joints in the order of their segments')
        if np.bincount(self.segments).max() > MAX_AXES:
            raise ConfigError(f'robot: expected at most {MAX_AXES} joints a segment')
        if not np.all(self.lower <= self.upper):
            raise ConfigError('robot: expected lower <= upper')
        if not np.all(self.speeds > 0.0):
            raise ConfigError('robot: expected speeds > 0')

    @property
    def published_names(self) -> tuple[str, ...]:
        """Return the names of all joints with an angle, those that are held last."""
        return self.names + tuple(name for name, _ in self.held)

    @property
    def urdf_order(self) -> Ints:
        """Return where in `published_names` each joint is, in the order of the URDF."""
        found = read_xml(self.urdf_path, self.urdf).named('joint')
        places = {name: i for i, name in enumerate(self.published_names)}
        names = [joint.values['name'] for joint in found]
        return np.array([places[name] for name in names if name in places])

    def joints_of(self, segment: int) -> range:
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
    """Return the robot of a character file, with the URDF that it names; or InputFileError."""
    if SECTION not in source:
        return None
    section = source.section(SECTION)
    named = section.text('urdf')
    path = section.path.parent / named
    urdf = read_urdf(path)
    known = {joint.name: joint.speed for joint in urdf.joints if joint.turns}
    entries = [_read_entry(entry, known) for entry in section.sections('joints')]
    entries.sort(key=lambda row: row[1])
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
    pelvis = section.text('pelvis_link') if 'pelvis_link' in section else ''
    if pelvis and pelvis not in urdf.links:
        raise section.error('pelvis_link', 'a link of the URDF', brief(pelvis))
    section.finish()
    keys = ('segments', 'axes', 'origins', 'lower', 'upper', 'speeds')
    parts: dict[str, Any] = {
        key: np.array([row[k] for row in entries]) for k, key in enumerate(keys, start=1)
    }
    parts |= {'rest': rest, 'held': held, 'facing': facing, 'pelvis': pelvis}
    try:
        return Robot(path, urdf.text, tuple(names), **parts)
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
        **({'pelvis_link': robot.pelvis} if robot.pelvis else {}),
        **({'facing_wxyz': robot.facing.tolist()} if np.any(robot.facing[1:]) else {}),
        **({'held_rad': dict(robot.held)} if robot.held else {}),
    }


def _read_entry(
    entry: Section, known: Mapping[str, float]
) -> tuple[str, int, Floats, Floats, float, float, float]:
    name = entry.text('joint')
    if name not in known:
        wanted, hint = 'a revolute or continuous joint of the URDF', ', '.join(sorted(known))
        raise entry.error('joint', wanted, brief(name), f'there are {hint}')
    segment = SEGMENT_INDEX[entry.text('segment', choices=SEGMENTS[1:])]
    lower = entry.number('lower_rad', -np.inf) if 'lower_rad' in entry else -np.inf
    upper = entry.number('upper_rad', low=lower) if 'upper_rad' in entry else np.inf
    speed = entry.number('speed_rad_s', known[name] or DEFAULT_SPEED_RAD_S, above=0.0)
    axis, origin = _unit(entry, 'axis', 3), entry.numbers('origin_m', 3)
    entry.finish()
    return name, segment, axis, origin, lower, upper, speed


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


class BodyShape(NamedTuple):
    body: int  # Joint that moves it, or ROOT
    kind: str
    size: Floats
    pose: Floats  # Shape (4, 4) [m]

    def points(self) -> Vec3s:
        """Return points that reach as far as it does, shape (k, 3) [m]."""
        turn, middle = self.pose[:3, :3], self.pose[:3, 3]
        if self.kind == 'hull':
            return middle + self.size @ turn.T
        if self.kind == 'box':
            signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
            return middle + (signs * self.size) @ turn.T
        radius, length = (*self.size, 0.0)[:2]
        along, ways = turn[:, 2], np.eye(3)
        if self.kind == 'cylinder':  # where its two rims reach farthest along each axis
            ways = ways - np.outer(along, along)
            ways /= np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)
        ends = middle + np.outer([-0.5 * length, 0.5 * length], along)
        return (ends[:, None] + radius * np.concatenate((ways, -ways))).reshape(-1, 3)


class RobotTree(NamedTuple):
    """The turning joints of a robot, from the pelvis outwards."""

    urdf: UrdfRobot
    pelvis: str  # The link on whose body the others hang; its origin is that of all places
    facing: Floats  # From its axes to X forward, Y left, Z up, shape (3, 3)
    joints: tuple[UrdfJoint, ...]
    axes: Vec3s  # Unit, shape (n, 3)
    origins: Vec3s  # A point on each axis, shape (n, 3) [m]
    parents: tuple[int, ...]  # Joint above each joint, or ROOT
    link_bodies: dict[str, int]
    link_origins: dict[str, Vec3]
    shapes: tuple[BodyShape, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    def children(self, body: int) -> tuple[int, ...]:
        return tuple(i for i, parent in enumerate(self.parents) if parent == body)

    def points(self, bodies: Collection[int]) -> Vec3s:
        """Return points that reach as far as the solids of some bodies do, shape (k, 3) [m]."""
        found = [shape.points() for shape in self.shapes if shape.body in bodies]
        return np.concatenate(found) if found else np.empty((0, 3))


def make_tree(
    urdf: UrdfRobot,
    facing: Floats,
    moved: Collection[str] | None = None,
    held: Mapping[str, float] | None = None,
    with_mimics: bool = False,
    pelvis: str = '',
) -> RobotTree:
    """
    Return a robot's tree; `facing` (3, 3) turns the root link's axes to X forward, Y left, Z up.

    Joints not in `moved`, by default all with an angle of their own, stay at the angles in `held`,
    by default zero [rad]. Joints that follow others count `with_mimics`, else they stay at zero.
    What is above the link `pelvis`, by default the root, hangs on it by the same joints reversed.
    """
    pelvis = pelvis or urdf.root
    root = np.eye(4)
    root[:3, :3] = facing
    poses, frames = {urdf.root: root}, {}
    for joint in urdf.joints:
        frames[joint.name] = poses[joint.parent] @ joint.pose
        turn = np.eye(4)
        if moved is not None and joint.turns and joint.name not in moved:
            angle = (held or {}).get(joint.name, 0.0)
            turn[:3, :3] = qb.to_matrix(qb.exp(angle * joint.axis))
        poses[joint.child] = frames[joint.name] @ turn
    origin = poses[pelvis][:3, 3].copy()
    for pose in (*poses.values(), *frames.values()):
        pose[:3, 3] -= origin
    above = urdf.path_to(pelvis)
    bodies = {pelvis: ROOT}
    joints: list[UrdfJoint] = []
    parents, axes, origins = [], [], []
    for joint in (*reversed(above), *(j for j in urdf.joints if j not in above)):
        before, after, sign = joint.parent, joint.child, 1.0
        if joint in above:
            before, after, sign = joint.child, joint.parent, -1.0
        bodies[after] = bodies[before]
        turns = joint.kind in TURNING if with_mimics else joint.turns
        if turns and (moved is None or joint.name in moved):
            parents.append(bodies[before])
            bodies[after] = len(joints)
            joints.append(joint)
            axes.append(sign * frames[joint.name][:3, :3] @ joint.axis)
            origins.append(frames[joint.name][:3, 3])
    shapes = tuple(
        BodyShape(bodies[link.name], shape.kind, shape.size, poses[link.name] @ shape.pose)
        for link in urdf.links.values()
        for shape in link.shapes
        if shape.kind != 'mesh'
    )
    return RobotTree(
        urdf,
        pelvis,
        poses[pelvis][:3, :3],
        tuple(joints),
        np.reshape(axes, (-1, 3)),
        np.reshape(origins, (-1, 3)),
        tuple(parents),
        bodies,
        {link: pose[:3, 3] for link, pose in poses.items()},
        shapes,
    )
