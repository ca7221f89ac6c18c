# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of Acclaim skeletons (ASF) and of the motions for them (AMC).

A bone's local rotation is C · M · C⁻¹: C turns to the bone's own axes (`axis`, in the file's
global axes), M is the product of the rotations that the motion file gives for its `dof`. In
both, the axis named first turns first, about fixed axes. Directions are in global axes at rest,
so with all rotations zero every joint has the axes of the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from puppet_core.clips.clip_file import ClipFile, TIP_SUFFIX
from puppet_core.clips.euler import euler_to_quats
from puppet_core.clips.text import (
    first_bad_word,
    parse_float,
    parse_floats,
    parse_int,
    read_text,
    shorten,
)
from puppet_core.io import InputFileError
from puppet_core.math import Floats, frozen, Ints, Quat, Quats, Vec3, Vec3s
from puppet_core.math.quaternions import conjugate, multiply, rotate

MAX_BONES = 1000  # far above any body; bounds what a malformed file can cost
_REQUIRED = ('root', 'bonedata', 'hierarchy')
_BONE_KEYS = ('name', 'direction', 'length', 'axis')
DOFS = ('tx', 'ty', 'tz', 'rx', 'ry', 'rz')

INCH_M = 0.0254
# With `length 0.45` a length of 0.45 in the file is one inch.
DEFAULT_LENGTH_UNIT = 1.0

DEFAULT_RATE_HZ = 120.0  # CMU Graphics Lab Motion Capture Database
_Row = tuple[int, list[str]]  # line, words


# Sections of an ASF file: rows with their lines, bones, and the tree they form.


@dataclass(frozen=True, slots=True)
class AsfRow:
    """One line of a section."""

    line: int
    words: list[str]


@dataclass(slots=True)
class AsfBone:
    """One block of :bonedata, in the file's units."""

    line: int
    name: str = ''
    direction: Vec3 = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: Floats = field(default_factory=lambda: np.zeros(3))
    """Angles about x, y, z."""
    turn_order: tuple[int, int, int] = (0, 1, 2)
    dof: tuple[str, ...] = ()
    keys: set[str] = field(default_factory=set)
    """Keywords that the block has."""

    @property
    def end(self) -> Vec3:
        """Return the bone's end from its start, in global axes at rest, shape (3,)."""
        if self.length == 0.0:
            return np.zeros(3)
        return self.length * self.direction / float(np.linalg.norm(self.direction))


def read_sections(path: Path, text: str) -> dict[str, list[AsfRow]]:
    """
    Return the rows of each section by its lower-case name without the colon.

    Raises
    ------
    InputFileError : if a required section is missing, or one comes twice.

    """
    sections: dict[str, list[AsfRow]] = {}
    rows: list[AsfRow] = []
    for line, row in enumerate(text.split('\n'), start=1):
        words = row.split('#', 1)[0].split()
        if not words:
            continue
        if words[0].startswith(':'):
            name = words[0][1:].lower()
            if name in sections:
                raise InputFileError(path, 'each section once', 'a second one', line, f':{name}')
            rows = sections[name] = []
        else:
            rows.append(AsfRow(line, words))
    for name in _REQUIRED:
        if not sections.get(name):
            got = 'an empty one' if name in sections else 'none'
            known = ', '.join(f':{key}' for key in sections) or 'none'
            raise InputFileError(
                path, f'a :{name} section', got, field=f':{name}', hint=f'sections here: {known}'
            )
    return sections


def row_numbers(path: Path, row: AsfRow, count: int, place: str) -> Floats:
    """Return the `count` numbers after a row's keyword."""
    values = parse_floats(row.words[1 : 1 + count])
    if values is None or len(values) != count:
        got = shorten(' '.join(row.words[1:])) if row.words[1:] else 'nothing'
        raise InputFileError(path, f'{count} finite numbers', got, row.line, place)
    return values


def parse_turn_order(word: str) -> tuple[int, int, int] | None:
    """Return the axes that a word like XYZ names, None if it is not a permutation."""
    if sorted(word.lower()) != ['x', 'y', 'z']:
        return None
    a, b, c = ('xyz'.index(letter) for letter in word.lower())
    return a, b, c


def read_bones(path: Path, rows: list[AsfRow]) -> dict[str, AsfBone]:
    """
    Return the bones of :bonedata by name.

    Raises
    ------
    InputFileError : if a block is not closed, a key is missing or repeated names stand there.

    """
    bones: dict[str, AsfBone] = {}
    bone: AsfBone | None = None
    for row in rows:
        key = row.words[0].lower()
        if key == 'begin':
            if bone is not None:
                raise InputFileError(path, "'end'", 'another begin', row.line, 'bonedata')
            bone = AsfBone(row.line)
        elif bone is None:
            got = shorten(row.words[0])
            raise InputFileError(path, "'begin'", got, row.line, 'bonedata')
        elif key == 'end':
            _check_bone(path, bone, bones)
            bones[bone.name] = bone
            bone = None
        else:
            _read_bone_row(path, bone, row)
    if bone is not None:
        raise InputFileError(path, "'end'", 'the end of the section', bone.line, 'bonedata')
    return bones


def _read_bone_row(path: Path, bone: AsfBone, row: AsfRow) -> None:
    key, place = row.words[0].lower(), f'{bone.name} {row.words[0]}'.strip()
    bone.keys.add(key)
    if key == 'name':
        bone.name = ' '.join(row.words[1:])
    elif key == 'direction':
        bone.direction = row_numbers(path, row, 3, place)
    elif key == 'length':
        length = parse_float((row.words[1:2] or [''])[0])
        if length is None or length < 0.0:
            got = shorten(' '.join(row.words[1:]))
            raise InputFileError(path, 'a number >= 0', got, row.line, place)
        bone.length = length
    elif key == 'axis':
        bone.axis = row_numbers(path, row, 3, place)
        word = (row.words[4:5] or ['XYZ'])[0]
        turn_order = parse_turn_order(word)
        if turn_order is None:
            raise InputFileError(path, 'an order like XYZ', shorten(word), row.line, place)
        bone.turn_order = turn_order
    elif key == 'dof':
        bone.dof = tuple(word.lower() for word in row.words[1:])
        if set(bone.dof) - set(DOFS) or len(set(bone.dof)) != len(bone.dof):
            wanted = 'different ones of ' + ' '.join(DOFS)
            got = shorten(' '.join(bone.dof))
            raise InputFileError(path, wanted, got, row.line, place)
    # Other keys (id, limits and their continuation lines, masses) do not move anything.


def _check_bone(path: Path, bone: AsfBone, known: dict[str, AsfBone]) -> None:
    missing = [key for key in _BONE_KEYS if key not in bone.keys]
    if missing:
        got = 'no ' + ', no '.join(missing)
        wanted = ', '.join(_BONE_KEYS)
        raise InputFileError(path, wanted, got, bone.line, f'bonedata {bone.name}'.strip())
    if bone.name in known or bone.name == 'root':
        first = f'it is also on line {known[bone.name].line}' if bone.name in known else ''
        raise InputFileError(
            path, 'a new bone name', shorten(bone.name), bone.line, 'bonedata', first
        )
    if bone.length > 0.0 and not np.linalg.norm(bone.direction) > 0.0:
        place = f'{bone.name} direction'
        raise InputFileError(path, 'a direction', 'a zero vector', bone.line, place)
    if len(known) >= MAX_BONES:
        raise InputFileError(path, f'at most {MAX_BONES} bones', 'more', bone.line, 'bonedata')


def read_hierarchy(
    path: Path, rows: list[AsfRow], bones: dict[str, AsfBone]
) -> list[tuple[str, str]]:
    """
    Return (bone, parent) of all bones, parents before children; the top parent is 'root'.

    Raises
    ------
    InputFileError : if a bone is unknown, has two parents, is in a cycle or hangs nowhere.

    """
    children: dict[str, list[str]] = {}
    parent_lines: dict[str, int] = {}
    for row in rows:
        parent, *names = row.words
        if parent.lower() in ('begin', 'end') and not names:
            continue
        for name in (parent, *names):
            if name not in bones and (name != 'root' or name in names):
                known = ', '.join(bones)
                got = shorten(name)
                raise InputFileError(
                    path, 'a bone of :bonedata', got, row.line, 'hierarchy', f'bones: {known}'
                )
        for name in names:
            if name in parent_lines:
                got = f'another one; the first is on line {parent_lines[name]}'
                raise InputFileError(path, f'one parent for {name}', got, row.line, 'hierarchy')
            parent_lines[name] = row.line
        children.setdefault(parent, []).extend(names)
    order = [('root', '')]
    for name, _ in order:
        order.extend((child, name) for child in children.get(name, []))
    reached = {name for name, _ in order}
    for name, bone in bones.items():
        if name not in reached:
            is_cycle = name in parent_lines
            got = 'a cycle, or a chain that hangs nowhere' if is_cycle else 'no parent'
            line = parent_lines.get(name, bone.line)
            raise InputFileError(path, f'{name} below root', got, line, 'hierarchy')
    return order[1:]


# The skeleton (ASF).


@dataclass(frozen=True, slots=True)
class AsfSkeleton:
    """A skeleton that waits for a motion; joint 0 is the root, tips of leaf bones come last."""

    path: Path
    joint_names: tuple[str, ...]
    parents: Ints
    """Shape (j,); -1 for the root."""
    offsets: Vec3s
    """Each joint in its parent's axes at rest, shape (j, 3) [m]."""
    axes: Quats
    """C of each joint, shape (j, 4)."""
    dofs: tuple[tuple[str, ...], ...]
    """Channels that the motion file gives for each joint, out of tx ty tz rx ry rz."""
    turn_order: tuple[int, int, int]
    """Axes of the root's rotation in the order in which they turn, 0, 1, 2 for x, y, z."""
    root_position: Vec3
    """Where the root starts; the motion's translation is added [m]."""
    unit_m: float
    """Length of the file's unit [m]."""
    angle_unit_rad: float
    """Size of the file's angle unit [rad]; the motion file may name its own."""


def read_asf(path: str | Path, unit_m: float | None = None) -> AsfSkeleton:
    """
    Read an ASF file.

    Parameters
    ----------
    path : str or Path
        The file.
    unit_m : float, optional
        Length of the file's unit [m], in place of that of its :units section.

    Raises
    ------
    InputFileError : naming line, field and what was expected.

    """
    path = Path(path)
    sections = read_sections(path, read_text(path, 'ASF'))
    named_unit_m, angle_unit_rad = _read_units(path, sections.get('units', []))
    unit_m = named_unit_m if unit_m is None else unit_m
    root = _read_root(path, sections['root'])
    bones = read_bones(path, sections['bonedata'])
    order = read_hierarchy(path, sections['hierarchy'], bones)
    names = ['root', *(name for name, _ in order)]
    parents = [-1, *(0 if parent == 'root' else names.index(parent) for _, parent in order)]
    ends = [np.zeros(3), *(unit_m * bones[name].end for name, _ in order)]
    offsets = [np.zeros(3), *(ends[parent] for parent in parents[1:])]
    axes = [root.axis(angle_unit_rad), *(_axis(bones[name], angle_unit_rad) for name, _ in order)]
    dofs = [root.order, *(bones[name].dof for name, _ in order)]
    for joint in sorted(set(range(1, len(names))) - set(parents)):
        names.append(names[joint] + TIP_SUFFIX)
        parents.append(joint)
        offsets.append(ends[joint])
        axes.append(np.array([1.0, 0.0, 0.0, 0.0]))
        dofs.append(())
    if not np.isfinite(offsets).all():
        raise InputFileError(path, 'bones of finite length', 'larger numbers', field='bonedata')
    return AsfSkeleton(
        path,
        tuple(names),
        np.array(parents),
        np.array(offsets),
        np.array(axes),
        tuple(dofs),
        root.turn_order,
        unit_m * root.position,
        unit_m,
        angle_unit_rad,
    )


@dataclass(frozen=True, slots=True)
class _Root:
    order: tuple[str, ...]
    turn_order: tuple[int, int, int]
    position: Vec3
    orientation: Floats

    def axis(self, angle_unit_rad: float) -> Quat:
        return fixed_axes_rotation(self.turn_order, angle_unit_rad * self.orientation)


def fixed_axes_rotation(turn_order: tuple[int, ...], angles: Floats) -> Quats:
    """
    Return rotations about fixed axes, the first of `turn_order` turning first.

    `angles` has shape (..., k), in the order of `turn_order` [rad].

    """
    return euler_to_quats(tuple(reversed(turn_order)), angles[..., ::-1])


def _axis(bone: AsfBone, angle_unit_rad: float) -> Quat:
    # `axis a b c XYZ` lists the angles about x, y, z; the word gives the order.
    angles = angle_unit_rad * bone.axis[list(bone.turn_order)]
    return fixed_axes_rotation(bone.turn_order, angles)


def _read_units(path: Path, rows: list[AsfRow]) -> tuple[float, float]:
    """Return the length unit [m] and the angle unit [rad]."""
    unit_m, angle_unit_rad = INCH_M / DEFAULT_LENGTH_UNIT, float(np.radians(1.0))
    for row in rows:
        key, word = row.words[0].lower(), (row.words[1:2] or [''])[0]
        if key == 'length':
            length = parse_float(word)
            if length is None or length <= 0.0:
                raise InputFileError(path, 'a number > 0', shorten(word), row.line, 'units length')
            unit_m = INCH_M / length
        elif key == 'angle':
            named = parse_angle_unit(word)
            if named is None:
                raise InputFileError(path, 'deg or rad', shorten(word), row.line, 'units angle')
            angle_unit_rad = named
    return unit_m, angle_unit_rad


def parse_angle_unit(word: str) -> float | None:
    """Return the size of the angle unit that a word names [rad], None if it names none."""
    if word.lower().startswith('deg'):
        return float(np.radians(1.0))
    return 1.0 if word.lower().startswith('rad') else None


def _read_root(path: Path, rows: list[AsfRow]) -> _Root:
    order: tuple[str, ...] = DOFS
    turn_order = (0, 1, 2)
    position, orientation = np.zeros(3), np.zeros(3)
    for row in rows:
        key, field = row.words[0].lower(), f'root {row.words[0]}'
        if key == 'order':
            order = tuple(word.lower() for word in row.words[1:])
            if not order or set(order) - set(DOFS) or len(set(order)) != len(order):
                wanted = 'different ones of ' + ' '.join(DOFS).upper()
                raise InputFileError(path, wanted, shorten(' '.join(order)), row.line, field)
        elif key == 'axis':
            word = (row.words[1:2] or [''])[0]
            parsed = parse_turn_order(word)
            if parsed is None:
                raise InputFileError(path, 'an order like XYZ', shorten(word), row.line, field)
            turn_order = parsed
        elif key == 'position':
            position = row_numbers(path, row, 3, field)
        elif key == 'orientation':
            orientation = row_numbers(path, row, 3, field)
    return _Root(order, turn_order, position, orientation[list(turn_order)])


# The motion (AMC).
#
# A frame is its number on a line, then one line for each bone with degrees of freedom: name and
# values in the order of the ASF's `dof`. The file names no rate; CMU's clips are at 120 Hz.


def read_amc(
    path: str | Path, skeleton: AsfSkeleton, rate_hz: float = DEFAULT_RATE_HZ
) -> ClipFile:
    """
    Read an AMC file.

    Parameters
    ----------
    path : str or Path
        The file.
    skeleton : AsfSkeleton
        The skeleton it was made for.
    rate_hz : float
        Frames per second.

    Returns
    -------
    clip : ClipFile
        In metres, axes as in the file.

    Raises
    ------
    InputFileError : naming line, bone and what was expected.

    """
    path = Path(path)
    text = read_text(path, 'AMC')
    head, rows = _split_head(path, text)
    angle_unit_rad = _read_flags(path, head, skeleton.angle_unit_rad)
    words, n_frames = _read_frames(path, rows, skeleton)
    values = parse_floats(words)
    if values is None:
        raise _value_error(path, text)
    values = values.reshape(n_frames, -1)
    rotations = np.zeros((n_frames, len(skeleton.joint_names), 4))
    rotations[..., 0] = 1.0
    translations = np.tile(skeleton.offsets, (n_frames, 1, 1))
    column = 0
    for joint, dof in enumerate(skeleton.dofs):
        own = values[:, column : column + len(dof)]
        column += len(dof)
        if not dof:
            continue
        turns = _turns(dof, own, skeleton.turn_order if joint == 0 else None)
        rotations[:, joint] = _about_axes(
            skeleton.axes[joint], fixed_axes_rotation(turns[0], angle_unit_rad * turns[1])
        )
        moved = skeleton.unit_m * _shifts(dof, own)
        if joint == 0:
            translations[:, 0] = skeleton.root_position + moved
        else:
            translations[:, joint] += rotate(skeleton.axes[joint], moved)
    return ClipFile(
        path,
        rate_hz,
        skeleton.joint_names,
        skeleton.parents,
        skeleton.offsets,
        frozen(rotations),
        frozen(translations),
    )


def _about_axes(axes: Quats, turns: Quats) -> Quats:
    """Return C M C⁻¹."""
    return multiply(multiply(axes, turns), conjugate(axes))


def _turns(
    dof: Sequence[str], values: Floats, turn_order: tuple[int, ...] | None
) -> tuple[tuple[int, ...], Floats]:
    """Return the rotation's axes, first to turn first, and its angles in that order."""
    columns = {'xyz'.index(name[1]): i for i, name in enumerate(dof) if name[0] == 'r'}
    axes = tuple(a for a in (turn_order or columns) if a in columns)
    return axes, values[:, [columns[axis] for axis in axes]]


def _shifts(dof: Sequence[str], values: Floats) -> Floats:
    """Return the translation channels as vectors in the file's unit, shape (n, 3)."""
    shifts = np.zeros((len(values), 3))
    for i, name in enumerate(dof):
        if name[0] == 't':
            shifts[:, 'xyz'.index(name[1])] = values[:, i]
    return shifts


def _split_head(path: Path, text: str) -> tuple[list[_Row], Iterator[_Row]]:
    """Return the flag rows, and the rows from the first frame number on."""
    numbered = ((n, row.split()) for n, row in enumerate(text.split('\n'), start=1))
    rows = ((n, words) for n, words in numbered if words and not words[0].startswith('#'))
    head: list[_Row] = []
    for line, words in rows:
        if not words[0].startswith(':'):
            return head, _chain((line, words), rows)
        head.append((line, words))
    raise InputFileError(path, 'a frame number', 'the end of the file', field='frame')


def _chain(first: _Row, rest: Iterator[_Row]) -> Iterator[_Row]:
    yield first
    yield from rest


def _read_flags(path: Path, head: list[_Row], angle_unit_rad: float) -> float:
    """Return the angle unit [rad]; refuse flags that we cannot read."""
    for line, words in head:
        flag = words[0][1:].upper()
        if flag.startswith(('DEG', 'RAD')):
            named = parse_angle_unit(flag)
            assert named is not None
            angle_unit_rad = named
        elif flag not in ('FULLY-SPECIFIED', 'SAMPLES-PER-SECOND'):
            wanted = ':FULLY-SPECIFIED, :DEGREES or :RADIANS'
            raise InputFileError(path, wanted, shorten(words[0]), line)
    return angle_unit_rad


def _read_frames(path: Path, rows: Iterator[_Row], skeleton: AsfSkeleton) -> tuple[list[str], int]:
    """Return the values of all joints with degrees of freedom, frame by frame; frame count."""
    widths = {name: len(dof) for name, dof in zip(skeleton.joint_names, skeleton.dofs) if dof}
    words_in_order: list[str] = []
    frame: dict[str, list[str]] = {}
    number, number_line, n_frames = None, 0, 0
    for line, words in rows:
        if len(words) == 1:
            next_number = _frame_number(path, line, words[0], number)
            if number is not None:
                words_in_order += _in_order(path, frame, widths, number, number_line)
            number, number_line = next_number, line
            n_frames += 1
            frame = {}
            continue
        name = words[0]
        if number is None:
            raise InputFileError(path, 'a frame number', shorten(name), line, 'frame')
        if len(words) - 1 != widths.get(name, -1) or name in frame:
            raise _row_error(path, line, words, widths, name in frame)
        frame[name] = words[1:]
    words_in_order += _in_order(path, frame, widths, number, number_line)
    return words_in_order, n_frames


def _frame_number(path: Path, line: int, word: str, before: int | None) -> int:
    number = parse_int(word)
    if number is None:
        raise InputFileError(path, 'a frame number', shorten(word), line, 'frame')
    if before is not None and number != before + 1:
        raise InputFileError(path, f'frame {before + 1}', str(number), line, 'frame')
    return number


def _in_order(
    path: Path, frame: dict[str, list[str]], widths: dict[str, int], number: int | None, line: int
) -> list[str]:
    """Return one frame's tokens in the order of the skeleton's joints."""
    if len(frame) != len(widths):
        missing = ', '.join(name for name in widths if name not in frame)
        hint = 'the file may be cut off'
        raise InputFileError(
            path, 'a line for each bone', f'none for {missing}', line, f'frame {number}', hint
        )
    return [word for name in widths for word in frame[name]]


def _row_error(
    path: Path, line: int, words: list[str], widths: dict[str, int], is_repeated: bool
) -> InputFileError:
    name = words[0]
    if name not in widths:
        hint = 'bones with values: ' + ', '.join(widths)
        wanted = 'a bone of the ASF with dof'
        return InputFileError(path, wanted, shorten(name), line, 'frame', hint)
    if is_repeated:
        return InputFileError(path, 'each bone once a frame', 'a second line', line, name)
    return InputFileError(path, f'{widths[name]} values', str(len(words) - 1), line, name)


def _value_error(path: Path, text: str) -> InputFileError:
    """Return the error for the first value that is not a finite number."""
    bad = (
        (line, words[0], words[1 + first_bad_word(words[1:])])
        for line, words in _split_head(path, text)[1]
        if first_bad_word(words[1:]) >= 0
    )
    line, name, word = next(bad)
    return InputFileError(path, 'finite numbers', shorten(word), line, name)
