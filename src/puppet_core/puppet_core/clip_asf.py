# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of Acclaim skeleton files (ASF).

A bone's local rotation is C · M · C⁻¹: C turns to the bone's own axes (`axis`, in the file's
global axes), M is the product of the rotations that the motion file gives for its `dof`. In
both, what is named first turns first, about fixed axes. Directions are in global axes at rest,
so with all rotations zero every joint has the axes of the file.

"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from puppet_core.arrays import Floats, Ints, Quat, Quats, Vec3, Vec3s
from puppet_core.clip_asf_sections import (
    AsfBone,
    AsfRow,
    DOFS,
    parse_turn_order,
    read_bones,
    read_hierarchy,
    read_sections,
    row_numbers,
)
from puppet_core.clip_euler import euler_to_quats
from puppet_core.clip_file import TIP_SUFFIX
from puppet_core.clip_text import parse_float, read_text, shorten
from puppet_core.errors import InputFileError

INCH_M = 0.0254
# With `length 0.45` a length of 0.45 in the file is one inch.
DEFAULT_LENGTH_UNIT = 1.0


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
        Length of the file's unit [m], in place of what its :units section says.

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
        path, tuple(names), np.array(parents), np.array(offsets), np.array(axes), tuple(dofs),
        root.turn_order, unit_m * root.position, unit_m, angle_unit_rad,
    )  # fmt: skip


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
    # `axis a b c XYZ` lists the angles about x, y, z; the word says which turns first.
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
