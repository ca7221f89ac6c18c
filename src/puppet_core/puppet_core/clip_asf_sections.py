# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The sections of an ASF file: rows with their lines, bones, and the tree they form."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from puppet_core.arrays import Floats, Vec3
from puppet_core.clip_text import parse_float, parse_floats, shorten
from puppet_core.errors import InputFileError

MAX_BONES = 1000  # far above any body; bounds what a malformed file can cost
_REQUIRED = ('root', 'bonedata', 'hierarchy')
_BONE_KEYS = ('name', 'direction', 'length', 'axis')
DOFS = ('tx', 'ty', 'tz', 'rx', 'ry', 'rz')


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
    values = parse_floats(row.words[1:1 + count])
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
