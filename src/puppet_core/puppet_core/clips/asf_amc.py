# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of Acclaim skeletons (ASF) and of the motions for them (AMC).

A bone's local rotation is C · M · C⁻¹: C turns to the bone's own axes (`axis`, in the file's
global axes), M is the product of the rotations that the motion file gives for its `dof`. In both,
the axis named first turns first, about fixed axes. Directions are in global axes at rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.clips.clip_file import ClipFile, euler_to_quats, TIP_SUFFIX
from puppet_core.clips.reading import (
    first_bad_word,
    parse_float,
    parse_floats,
    parse_int,
    read_text,
)
from puppet_core.io import brief, InputFileError
from puppet_core.math import Floats, frozen, Ints, Quats, Vec3, Vec3s
from puppet_core.math.quaternions import conjugate, multiply, rotate

MAX_BONES = 1000  # far above any body; bounds what a malformed file can cost
INCH_M = 0.0254  # with `length 0.45` a length of 0.45 in the file is one inch
DEFAULT_RATE_HZ = 120.0  # CMU Graphics Lab Motion Capture Database
_DEGREE = float(np.radians(1.0))
_REQUIRED = ('root', 'bonedata', 'hierarchy')
_BONE_KEYS = ('name', 'direction', 'length', 'axis')
_DOFS = ('tx', 'ty', 'tz', 'rx', 'ry', 'rz')


class _Row(NamedTuple):
    """A line that holds anything, its words; every complaint knows its number."""

    path: Path
    line: int
    words: list[str]

    @property
    def key(self) -> str:
        return self.words[0].lower()

    @property
    def value(self) -> str:
        """Return the word after the first, '' if there is none."""
        return self.words[1] if len(self.words) > 1 else ''

    def error(self, wanted: str, got: str, name: str, hint: str = '') -> InputFileError:
        return InputFileError(self.path, wanted, got, self.line, name, hint)

    def numbers(self, count: int, name: str) -> Floats:
        values = parse_floats(self.words[1 : 1 + count])
        if values is None or len(values) != count:
            got = brief(' '.join(self.words[1:])) if self.words[1:] else 'nothing'
            raise self.error(f'{count} finite numbers', got, name)
        return values

    def order(self, word: str, name: str) -> list[int]:
        """Return the axes that a word like XYZ names."""
        if sorted(word.lower()) != ['x', 'y', 'z']:
            raise self.error('an order like XYZ', brief(word), name)
        return ['xyz'.index(letter) for letter in word.lower()]

    def dofs(self, name: str) -> tuple[str, ...]:
        """Return the channels that the words after the keyword name."""
        dofs = tuple(word.lower() for word in self.words[1:])
        if set(dofs) - set(_DOFS) or len(set(dofs)) != len(dofs):
            wanted = 'different ones of ' + ' '.join(_DOFS)
            raise self.error(wanted, brief(' '.join(dofs)), name)
        return dofs


# The skeleton (ASF).


@dataclass(slots=True)
class _Bone:
    """A block of :bonedata, or :root, in the file's units."""

    row: _Row  # Where it begins
    name: str = ''
    direction: Vec3 = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: Floats = field(default_factory=lambda: np.zeros(3))  # Angles about x, y, z
    # Axes of `axis`, and of the root's rotation, the first to turn first
    turn_order: list[int] = field(default_factory=lambda: [0, 1, 2])
    dof: tuple[str, ...] = ()
    keys: set[str] = field(default_factory=set)  # Keywords that the block has

    @property
    def end(self) -> Vec3:
        """Return the bone's end from its start, in global axes at rest, shape (3,)."""
        if self.length == 0.0:
            return np.zeros(3)
        return self.length * self.direction / float(np.linalg.norm(self.direction))

    def axes(self, angle_unit_rad: float) -> Quats:
        """Return C: `axis a b c XYZ` lists the angles about x, y, z; the word gives the order."""
        angles = angle_unit_rad * self.axis[self.turn_order]
        return fixed_axes_rotation(self.turn_order, angles)


@dataclass(frozen=True, slots=True)
class AsfSkeleton:
    """A skeleton that waits for a motion; joint 0 is the root, tips of leaf bones come last."""

    path: Path
    joint_names: tuple[str, ...]
    parents: Ints  # Shape (j,); -1 for the root
    offsets: Vec3s  # Each joint in its parent's axes at rest, shape (j, 3) [m]
    axes: Quats  # C of each joint, shape (j, 4)
    # Channels that the motion file gives for each joint, out of tx ty tz rx ry rz
    dofs: tuple[tuple[str, ...], ...]
    # Axes of the root's rotation in the order in which they turn, 0, 1, 2 for x, y, z
    turn_order: list[int]
    root_position: Vec3  # Where the root starts; the motion's translation is added [m]
    unit_m: float  # Length of the file's unit [m]
    angle_unit_rad: float  # Size of the file's angle unit [rad]; the motion file may name its own


def fixed_axes_rotation(turn_order: list[int], angles: Floats) -> Quats:
    """Return rotations about fixed axes, the first turning first; angles (..., k) [rad]."""
    return euler_to_quats(turn_order[::-1], angles[..., ::-1])


def read_asf(path: str | Path, unit_m: float | None = None) -> AsfSkeleton:
    """Return a skeleton, with `unit_m` [m] instead of its own unit; or InputFileError."""
    path = Path(path)
    sections = _read_sections(path)
    named_unit_m, angle_unit_rad = _read_units(sections.get('units', []))
    unit_m = named_unit_m if unit_m is None else unit_m
    root, root_position = _read_root(sections['root'])
    bones = _read_bones(sections['bonedata'])
    order = _read_hierarchy(sections['hierarchy'], bones)
    joints = [root, *(bones[name] for name, _ in order)]
    names = ['root', *(name for name, _ in order)]
    parents = [-1, *(names.index(parent) for _, parent in order)]
    ends = [unit_m * bone.end for bone in joints]
    offsets = [np.zeros(3), *(ends[parent] for parent in parents[1:])]
    leaves = sorted(set(range(1, len(names))) - set(parents))
    offsets += [ends[joint] for joint in leaves]
    if not np.isfinite(offsets).all():
        raise InputFileError(path, 'bones of finite length', 'larger numbers', field='bonedata')
    still = [np.array([1.0, 0.0, 0.0, 0.0])] * len(leaves)
    return AsfSkeleton(
        path,
        (*names, *(names[joint] + TIP_SUFFIX for joint in leaves)),
        np.array(parents + leaves),
        np.array(offsets),
        np.array([bone.axes(angle_unit_rad) for bone in joints] + still),
        (*(bone.dof for bone in joints), *(() for _ in leaves)),
        root.turn_order,
        unit_m * root_position,
        unit_m,
        angle_unit_rad,
    )


def _read_sections(path: Path) -> dict[str, list[_Row]]:
    """Return the rows of each section by its lower-case name without the colon."""
    sections: dict[str, list[_Row]] = {}
    rows: list[_Row] = []
    for line, text in enumerate(read_text(path, 'ASF').split('\n'), start=1):
        words = text.split('#', 1)[0].split()
        if not words:
            continue
        row = _Row(path, line, words)
        if not row.key.startswith(':'):
            rows.append(row)
        elif row.key[1:] in sections:
            raise row.error('each section once', 'a second one', row.key)
        else:
            rows = sections[row.key[1:]] = []
    for name in _REQUIRED:
        if not sections.get(name):
            got = 'an empty one' if name in sections else 'none'
            known = ', '.join(f':{key}' for key in sections) or 'none'
            hint = f'sections here: {known}'
            raise InputFileError(path, f'a :{name} section', got, field=f':{name}', hint=hint)
    return sections


def _read_units(rows: list[_Row]) -> tuple[float, float]:
    """Return the length unit [m] and the angle unit [rad]."""
    unit_m, angle_unit_rad = INCH_M, _DEGREE
    for row in rows:
        if row.key == 'length':
            length = parse_float(row.value)
            if length is None or length <= 0.0:
                raise row.error('a number > 0', brief(row.value), 'units length')
            unit_m = INCH_M / length
        elif row.key == 'angle':
            if row.value[:3].lower() not in ('deg', 'rad'):
                raise row.error('deg or rad', brief(row.value), 'units angle')
            angle_unit_rad = _angle_unit(row.value)
    return unit_m, angle_unit_rad


def _angle_unit(word: str) -> float:
    return _DEGREE if word.lower().startswith('deg') else 1.0


def _read_root(rows: list[_Row]) -> tuple[_Bone, Vec3]:
    """Return the root as a bone without length, and its position in the file's unit."""
    root, position = _Bone(rows[0], 'root', dof=_DOFS), np.zeros(3)
    for row in rows:
        place = f'root {row.words[0]}'
        if row.key == 'order':
            root.dof = row.dofs(place)
            if not root.dof:
                raise row.error('different ones of ' + ' '.join(_DOFS), 'none', place)
        elif row.key == 'axis':
            root.turn_order = row.order(row.value, place)
        elif row.key == 'position':
            position = row.numbers(3, place)
        elif row.key == 'orientation':
            root.axis = row.numbers(3, place)
    return root, position


def _read_bones(rows: list[_Row]) -> dict[str, _Bone]:
    bones: dict[str, _Bone] = {}
    bone: _Bone | None = None
    for row in rows:
        if row.key == 'begin':
            if bone is not None:
                raise row.error("'end'", 'another begin', 'bonedata')
            bone = _Bone(row)
        elif bone is None:
            raise row.error("'begin'", brief(row.words[0]), 'bonedata')
        elif row.key == 'end':
            _check_bone(bone, bones)
            bones[bone.name] = bone
            bone = None
        else:
            _read_bone_row(bone, row)
    if bone is not None:
        raise bone.row.error("'end'", 'the end of the section', 'bonedata')
    return bones


def _read_bone_row(bone: _Bone, row: _Row) -> None:
    place = f'{bone.name} {row.words[0]}'.strip()
    bone.keys.add(row.key)
    if row.key == 'name':
        bone.name = ' '.join(row.words[1:])
    elif row.key == 'direction':
        bone.direction = row.numbers(3, place)
    elif row.key == 'length':
        length = parse_float(row.value)
        if length is None or length < 0.0:
            raise row.error('a number >= 0', brief(' '.join(row.words[1:])), place)
        bone.length = length
    elif row.key == 'axis':
        bone.axis = row.numbers(3, place)
        bone.turn_order = row.order((row.words[4:5] or ['XYZ'])[0], place)
    elif row.key == 'dof':
        bone.dof = row.dofs(place)
    # Other keys (id, limits and their continuation lines, masses) do not move anything.


def _check_bone(bone: _Bone, known: dict[str, _Bone]) -> None:
    missing = [key for key in _BONE_KEYS if key not in bone.keys]
    if missing:
        got, place = 'no ' + ', no '.join(missing), f'bonedata {bone.name}'.strip()
        raise bone.row.error(', '.join(_BONE_KEYS), got, place)
    if bone.name in known or bone.name == 'root':
        first = f'it is also on line {known[bone.name].row.line}' if bone.name in known else ''
        raise bone.row.error('a new bone name', brief(bone.name), 'bonedata', first)
    if bone.length > 0.0 and not np.linalg.norm(bone.direction) > 0.0:
        raise bone.row.error('a direction', 'a zero vector', f'{bone.name} direction')
    if len(known) >= MAX_BONES:
        raise bone.row.error(f'at most {MAX_BONES} bones', 'more', 'bonedata')


def _read_hierarchy(rows: list[_Row], bones: dict[str, _Bone]) -> list[tuple[str, str]]:
    """Return (bone, parent) of all bones, parents before children; the top parent is 'root'."""
    children: dict[str, list[str]] = {}
    parent_rows: dict[str, _Row] = {}
    for row in rows:
        parent, *names = row.words
        if row.key in ('begin', 'end') and not names:
            continue
        for name in row.words:
            if name not in bones and (name != 'root' or name in names):
                hint = f'bones: {", ".join(bones)}'
                raise row.error('a bone of :bonedata', brief(name), 'hierarchy', hint)
        for name in names:
            if name in parent_rows:
                got = f'another one; the first is on line {parent_rows[name].line}'
                raise row.error(f'one parent for {name}', got, 'hierarchy')
            parent_rows[name] = row
        children.setdefault(parent, []).extend(names)
    order = [('root', '')]
    for name, _ in order:
        order.extend((child, name) for child in children.get(name, []))
    reached = {name for name, _ in order}
    for name, bone in bones.items():
        if name not in reached:
            is_cycle = name in parent_rows
            got = 'a cycle, or a chain that hangs nowhere' if is_cycle else 'no parent'
            raise parent_rows.get(name, bone.row).error(f'{name} below root', got, 'hierarchy')
    return order[1:]


# The motion (AMC).
#
# A frame is its number on a line, then one line for each bone with degrees of freedom: name and
# values in the order of the ASF's `dof`. The file names no rate; CMU's clips are at 120 Hz.


def read_amc(
    path: str | Path, skeleton: AsfSkeleton, rate_hz: float = DEFAULT_RATE_HZ
) -> ClipFile:
    """Return a motion for a skeleton: in metres, axes as in the file; or InputFileError."""
    path = Path(path)
    angle_unit_rad, values = _read_motion(path, skeleton)
    rotations = np.zeros((len(values), len(skeleton.joint_names), 4))
    rotations[..., 0] = 1.0
    translations = np.tile(skeleton.offsets, (len(values), 1, 1))
    translations[:, 0] = skeleton.root_position
    column = 0
    for joint, dof in enumerate(skeleton.dofs):
        if not dof:
            continue
        axes = skeleton.axes[joint]
        columns = {name: column + i for i, name in enumerate(dof)}
        column += len(dof)
        order = ['xyz'.index(name[1]) for name in dof if name[0] == 'r']
        if joint == 0:
            order = [axis for axis in skeleton.turn_order if axis in order]
        angles = angle_unit_rad * values[:, [columns['r' + 'xyz'[axis]] for axis in order]]
        turns = fixed_axes_rotation(order, angles)
        rotations[:, joint] = multiply(multiply(axes, turns), conjugate(axes))
        moved = np.zeros((len(values), 3))
        for axis, name in enumerate(_DOFS[:3]):
            if name in columns:
                moved[:, axis] = skeleton.unit_m * values[:, columns[name]]
        translations[:, joint] += moved if joint == 0 else rotate(axes, moved)
    joints = skeleton.joint_names, skeleton.parents, skeleton.offsets
    poses = frozen(rotations), frozen(translations)
    return ClipFile(path, rate_hz, *joints, *poses, unit_m=skeleton.unit_m)


def _rows(path: Path) -> Iterator[_Row]:
    for line, text in enumerate(read_text(path, 'AMC').split('\n'), start=1):
        words = text.split()
        if words and not words[0].startswith('#'):
            yield _Row(path, line, words)


def _read_motion(path: Path, skeleton: AsfSkeleton) -> tuple[float, Floats]:
    """Return the angle unit [rad], and rows of values in the order of the skeleton's joints."""
    widths = {name: len(dof) for name, dof in zip(skeleton.joint_names, skeleton.dofs) if dof}
    angle_unit_rad = skeleton.angle_unit_rad
    words: list[str] = []
    head: _Row | None = None  # of the frame
    frame: dict[str, list[str]] = {}
    for row in _rows(path):
        name = row.words[0]
        if head is None and name.startswith(':'):
            angle_unit_rad = _read_flag(row, angle_unit_rad)
        elif len(row.words) == 1 or head is None:
            _check_frame_number(row, head)
            if head is not None:
                words += _in_order(head, frame, widths)
            head, frame = row, {}
        elif len(row.words) - 1 == widths.get(name, -1) and name not in frame:
            frame[name] = row.words[1:]
        elif name not in widths:
            hint = 'bones with values: ' + ', '.join(widths)
            raise row.error('a bone of the ASF with dof', brief(name), 'frame', hint)
        elif name in frame:
            raise row.error('each bone once per frame', 'a second line', name)
        else:
            raise row.error(f'{widths[name]} values', str(len(row.words) - 1), name)
    if head is None:
        raise InputFileError(path, 'a frame number', 'the end of the file', field='frame')
    words += _in_order(head, frame, widths)
    values = parse_floats(words)
    if values is None:
        of_bones = (row for row in _rows(path) if row.words[0] in widths)
        bad = next(row for row in of_bones if first_bad_word(row.words[1:]) >= 0)
        got = brief(bad.words[1 + first_bad_word(bad.words[1:])])
        raise bad.error('finite numbers', got, bad.words[0])
    return angle_unit_rad, values.reshape(-1, sum(widths.values()))


def _read_flag(row: _Row, angle_unit_rad: float) -> float:
    """Return the angle unit after a flag [rad]; refuse flags that we cannot read."""
    flag = row.words[0][1:].upper()
    if flag.startswith(('DEG', 'RAD')):
        return _angle_unit(flag)
    if flag in ('FULLY-SPECIFIED', 'SAMPLES-PER-SECOND'):
        return angle_unit_rad
    wanted = ':FULLY-SPECIFIED, :DEGREES or :RADIANS'
    raise InputFileError(row.path, wanted, brief(row.words[0]), row.line)


def _check_frame_number(row: _Row, before: _Row | None) -> None:
    number = parse_int(row.words[0])
    if number is None or len(row.words) > 1:
        raise row.error('a frame number', brief(row.words[0]), 'frame')
    if before is not None and number != int(before.words[0]) + 1:
        raise row.error(f'frame {int(before.words[0]) + 1}', str(number), 'frame')


def _in_order(head: _Row, frame: dict[str, list[str]], widths: dict[str, int]) -> list[str]:
    """Return one frame's words in the order of the skeleton's joints."""
    missing = ', '.join(name for name in widths if name not in frame)
    if missing:
        place, hint = f'frame {int(head.words[0])}', 'the file may be cut off'
        raise head.error('a line for each bone', f'none for {missing}', place, hint)
    return [word for name in widths for word in frame[name]]
