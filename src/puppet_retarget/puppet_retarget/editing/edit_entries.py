# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The constraints of an edit file: each entry opens with its kind and what it is about.

Places are absolute, or relative to where the point was in the motion; orientations are of
segments in world. What the words mean is said in doc/edit.md.

"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Ints
from puppet_core.errors import ConfigError
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import Section
from puppet_retarget.editing.constraints import (
    Constraint,
    LookAt,
    MAX_WEIGHT,
    ON,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
    SIDES,
    Surface,
)
from puppet_retarget.editing.edit_frames import BodyTrack, read_frame, read_frames
from puppet_retarget.editing.edit_objects import EditObject, FLOOR
from puppet_retarget.editing.edit_values import (
    from_rpy,
    named_point,
    one_of,
    read_angles,
    read_axes,
    read_point,
    read_rows,
    read_segment,
)

POSITION, ORIENTATION, LOOK_AT = 'position', 'orientation', 'look_at'
ON_SURFACE, RELATIVE, PLANT = 'on_surface', 'relative', 'plant'
MAX_MOVE_M = 20.0  # a goal farther from where the point was is in other units


@dataclass(frozen=True, slots=True)
class EditScene:
    """What entries refer to by name, and the motion they are about."""

    track: BodyTrack
    """Where the body was."""

    surfaces: Mapping[str, Surface]
    """By name."""

    objects: Mapping[str, EditObject]
    """By name."""


@dataclass(frozen=True, slots=True)
class EditEntry:
    """One entry, understood."""

    line: int
    """In the file."""

    kind: str
    """One of KINDS."""

    about: str
    """The points or segments, as in the file."""

    constraint: Constraint
    """What it asks for."""

    @property
    def text(self) -> str:
        """Return the entry in a few words."""
        frames = self.constraint.frames
        where = f'frame {frames[0]}' if len(frames) == 1 else f'frames {frames[0]} .. {frames[-1]}'
        return f'{self.kind.replace("_", " ")} {self.about}, {where}'


def read_entry(entry: Section, scene: EditScene) -> EditEntry:
    """
    Return what an entry asks for.

    Raises
    ------
    InputFileError : naming file, line and key, and what was expected.

    """
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        got = ' and '.join(kinds) or f'the keys {", ".join(entry.keys())}'
        raise entry.error(kinds[-1] if kinds else 'kind', f'one of {", ".join(KINDS)}', got)
    about = entry.raw(kinds[0])
    names = about if isinstance(about, list) else [about]
    frames = read_frames(entry, scene.track.motion)
    weight = entry.number('weight', 1.0, high=MAX_WEIGHT, above=0.0)
    try:
        constraint = KINDS[kinds[0]](entry, scene, frames, weight)
    except ConfigError as err:
        wanted, _, got = str(err).partition('expected ')[2].rpartition(', got ')
        raise entry.error(kinds[0], wanted or str(err), got) from err
    entry.finish()
    return EditEntry(entry.line, kinds[0], ' and '.join(map(str, names)), constraint)


def _position(entry: Section, scene: EditScene, frames: Ints, weight: float) -> Constraint:
    point = read_point(entry, POSITION)
    own = scene.track.places(point, frames)
    ways = ('at_m', 'move_m', 'as_in_frame', 'object')
    way = one_of(entry, ways)
    if way == 'at_m':
        goals = read_rows(entry, way, len(frames))
    elif way == 'move_m':
        goals = own + read_rows(entry, way, len(frames))
    elif way == 'as_in_frame':
        frame = read_frame(entry, way, scene.track.motion)
        goals = scene.track.places(point, np.array([frame]))
    else:
        offset = read_rows(entry, 'from_object_m', len(frames), np.zeros(3))
        goals = _object(entry, way, scene).places(frames) + offset
    goals = np.broadcast_to(goals, (len(frames), 3))
    axes = read_axes(entry)
    far = np.where(axes, np.abs(goals - own), 0.0).max(axis=-1)
    if far.max() > MAX_MOVE_M:
        at = int(np.argmax(far))
        raise entry.error(
            way, f'a place in metres within {MAX_MOVE_M:g} m of where it was',
            f'one {far[at]:.4g} m off in frame {frames[at]}',
        )  # fmt: skip
    return PointGoal(
        frames, point, goals, axes, entry.flag('keep_orientation', False),
        entry.flag('contact', False), weight,
    )  # fmt: skip


def _orientation(entry: Section, scene: EditScene, frames: Ints, weight: float) -> Constraint:
    segment = read_segment(entry, ORIENTATION)
    way = one_of(entry, ('rpy_deg', 'quaternion_wxyz', 'turn_rpy_deg', 'as_in_frame'))
    if way == 'quaternion_wxyz':
        goals = read_rows(entry, way, len(frames), width=4)
        if np.any(np.abs(np.linalg.norm(goals, axis=-1) - 1.0) > 0.01):
            raise entry.error(way, 'a unit quaternion w, x, y, z', entry.raw(way))
    elif way == 'as_in_frame':
        frame = read_frame(entry, way, scene.track.motion)
        goals = scene.track.orientations(segment, np.array([frame]))
    else:
        goals = from_rpy(read_angles(entry, way, len(frames)))
        if way == 'turn_rpy_deg':
            goals = qb.multiply(goals, scene.track.orientations(segment, frames))
    return OrientationGoal(frames, segment, np.broadcast_to(goals, (len(frames), 4)), weight)


def _look_at(entry: Section, scene: EditScene, frames: Ints, weight: float) -> Constraint:
    way = one_of(entry, ('target_m', 'target_object', 'target_point'))
    if way == 'target_m':
        targets = read_rows(entry, way, len(frames))
    elif way == 'target_object':
        targets = _object(entry, way, scene).places(frames)
    else:
        targets = scene.track.places(named_point(entry, way, entry.raw(way)), frames)
    axis = entry.numbers('axis', 3, np.array([1.0, 0.0, 0.0]))
    point = read_point(entry, LOOK_AT)
    if np.linalg.norm(axis) < 1e-6:
        raise entry.error('axis', 'a direction in the frame of the segment', 'zero')
    return LookAt(frames, point, axis, targets, weight)


def _on_surface(entry: Section, scene: EditScene, frames: Ints, weight: float) -> Constraint:
    return OnSurface(
        frames, read_point(entry, ON_SURFACE), _surface(entry, scene),
        entry.text('side', ON, SIDES), entry.number('clearance_m', 0.0, -10.0, 10.0),
        entry.flag('contact', False), weight,
    )  # fmt: skip


def _relative(entry: Section, scene: EditScene, frames: Ints, weight: float) -> Constraint:
    names = entry.raw(RELATIVE)
    if not isinstance(names, list) or len(names) != 2 or names[0] == names[1]:
        raise entry.error(RELATIVE, 'a list of two different points', brief(names))
    first, second = (named_point(entry, RELATIVE, name) for name in names)
    way = one_of(entry, ('vector_m', 'distance_m', 'keep'))
    if way == 'vector_m':
        vectors = read_rows(entry, way, len(frames))
        return Relative(frames, first, second, vectors=vectors, weight=weight)
    if way == 'distance_m':
        distance = entry.number(way, low=0.0, high=MAX_MOVE_M)
        if distance == 0.0:
            return Relative(frames, first, second, vectors=np.zeros(3), weight=weight)
        return Relative(frames, first, second, distances=np.array(distance), weight=weight)
    own = scene.track.places(second, frames) - scene.track.places(first, frames)
    if entry.text('keep', choices=('vector', 'distance')) == 'vector':
        return Relative(frames, first, second, vectors=own, weight=weight)
    lengths = np.linalg.norm(own, axis=-1)
    return Relative(frames, first, second, distances=lengths, weight=weight)


def _plant(entry: Section, scene: EditScene, frames: Ints, weight: float) -> Constraint:
    names = entry.raw(PLANT)
    if isinstance(names, list):
        points = tuple(named_point(entry, PLANT, name) for name in names)
    else:
        points = (read_point(entry, PLANT),)
    if np.any(np.diff(frames) != 1) or len(frames) < 2:
        raise entry.error(PLANT, 'an interval of two frames or more', f'{len(frames)} frames')
    surface = _surface(entry, scene) if 'surface' in entry else None
    if surface is None and 'clearance_m' in entry:
        raise entry.error('clearance_m', 'a surface with it', 'none')
    return Plant(
        frames, points, surface, entry.number('clearance_m', 0.0, -10.0, 10.0),
        entry.flag('keep_orientation', True), weight,
    )  # fmt: skip


KINDS: Mapping[str, Callable[[Section, EditScene, Ints, float], Constraint]] = {
    POSITION: _position, ORIENTATION: _orientation, LOOK_AT: _look_at,
    ON_SURFACE: _on_surface, RELATIVE: _relative, PLANT: _plant,
}  # fmt: skip


def _surface(entry: Section, scene: EditScene) -> Surface:
    name = entry.text('surface', FLOOR, tuple(scene.surfaces))
    return scene.surfaces[name]


def _object(entry: Section, key: str, scene: EditScene) -> EditObject:
    if not scene.objects:
        raise entry.error(key, 'an object of the section objects', brief(entry.raw(key)))
    return scene.objects[entry.text(key, choices=tuple(scene.objects))]
