# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The constraints of an edit file: each entry opens with its kind and what it is about.

An entry names one frame or time, a list of them, or an interval, which is open where one of its
ends is not given. Places are absolute, or relative to where the point was in the motion;
orientations are of segments in world. Objects rest or move, or are surfaces of some height.
What the words mean is explained in doc/edit.md.

"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import math

import numpy as np
from puppet_core.body import GENERAL_END_EFFECTORS, Motion, SEGMENT_INDEX, SEGMENTS
from puppet_core.io import brief, ConfigError, InputFileError, Section
from puppet_core.math import Floats, Ints, Quats, read_only, Vec3s
from puppet_core.math import quaternions as qb
from puppet_edit.editor import (
    BodyPoint,
    Constraint,
    FlatSurface,
    frame_range,
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

POINTS = tuple(dict.fromkeys(GENERAL_END_EFFECTORS + SEGMENTS))

FRAME, FRAMES, TIME, TIMES = 'frame', 'frames', 'time_s', 'times_s'
INTERVALS = (('from_frame', 'to_frame'), ('from_s', 'to_s'))
FRAME_KEYS = (FRAME, FRAMES, TIME, TIMES, *INTERVALS[0], *INTERVALS[1])
WAYS = 'frame, frames, time_s, times_s, from_frame and to_frame, or from_s and to_s'

OBJECTS, SURFACES, FLOOR = 'objects', 'surfaces', 'floor'
MAX_HEIGHT_M = 1e3
SurfaceMaker = Callable[[Section], Surface]

POSITION, ORIENTATION, LOOK_AT = 'position', 'orientation', 'look_at'
ON_SURFACE, RELATIVE, PLANT = 'on_surface', 'relative', 'plant'
MAX_MOVE_M = 20.0  # a goal farther from where the point was is in other units


def refused(section: Section, key: str, err: ConfigError) -> InputFileError:
    """Return an error of what a key describes as one of its line."""
    wanted, _, got = str(err).partition('expected ')[2].rpartition(', got ')
    return section.error(key, wanted or str(err), got or 'another')


def one_of(entry: Section, ways: Sequence[str]) -> str:
    """Return which one of some keys an entry has; raise if it has none or two of them."""
    given = [way for way in ways if way in entry]
    wanted = f'one of {", ".join(ways)}'
    if len(given) > 1:
        raise entry.error(given[-1], wanted, ' and '.join(given))
    if not given:
        # a key in another unit begins with the same word
        firsts = {way.partition('_')[0] for way in ways}
        like = [key for key in entry.keys() if key.partition('_')[0] in firsts]
        key = like[0] if like else ways[0]
        raise entry.error(key, wanted, brief(key) if like else 'none of them')
    return given[0]


def read_point(entry: Section, key: str) -> BodyPoint:
    """Return the point that a key names, or the one at `offset_m` in its segment."""
    point = named_point(entry, key, entry.raw(key))
    if 'offset_m' in entry:
        return BodyPoint(point.segment, entry.numbers('offset_m', 3))
    return point


def named_point(entry: Section, key: str, name: object) -> BodyPoint:
    """Return a point of the body by its name."""
    if not isinstance(name, str) or name not in POINTS:
        raise entry.error(key, f'one of {", ".join(POINTS)}', brief(name))
    return BodyPoint.named(name)


def read_rows(
    entry: Section, key: str, count: int, default: Floats | None = None, width: int = 3
) -> Floats:
    """Return one row for all frames, shape (width,), or one for each, shape (count, width)."""
    if default is not None and key not in entry:
        return default
    value = entry.raw(key)
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return entry.numbers(key, width)
    good = len(value) == count and all(
        isinstance(row, list) and len(row) == width and all(map(_is_number, row)) for row in value
    )
    if not good:
        raise entry.error(
            key,
            f'{width} finite numbers, or a row of {width} for each of {count} frames',
            f'{len(value)} rows',
        )
    return np.array(value, dtype=np.float64)


def _is_number(value: object) -> bool:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return good and math.isfinite(value)  # type: ignore[arg-type]


def from_rpy(angles: Vec3s) -> Quats:
    """Return rotations by roll, pitch and yaw: about x, then y, then z of the world."""
    roll, pitch, yaw = (qb.exp(angles[..., [k]] * np.eye(3)[k]) for k in range(3))
    return qb.multiply(qb.multiply(yaw, pitch), roll)


def read_axes(entry: Section) -> tuple[bool, bool, bool]:
    """Return which coordinates count; all if the entry does not name any."""
    text = entry.text('axes', 'xyz')
    if not text or set(text) - set('xyz') or len(set(text)) != len(text):
        raise entry.error('axes', 'some of xyz, such as xy', brief(text))
    return ('x' in text, 'y' in text, 'z' in text)


class BodyTrack:
    """Where each point of a body was in a motion, computed once."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        """Of which."""
        self._q_world, self._p_world = motion.world_segments()

    def places(self, point: BodyPoint, frames: Ints) -> Vec3s:
        """Return where a point was, shape (k, 3) [m]."""
        offset = point.offset_in(self.motion.skeleton)
        turned = qb.rotate(self._q_world[frames, point.segment], offset)
        return np.asarray(self._p_world[frames, point.segment] + turned)

    def orientations(self, segment: int, frames: Ints) -> Quats:
        """Return how a segment was turned in world, shape (k, 4)."""
        return np.asarray(self._q_world[frames, segment])


def read_frames(entry: Section, motion: Motion) -> Ints:
    """
    Return the frames that an entry is about, rising.

    Raises
    ------
    InputFileError : naming file, line and key of a frame that the motion does not have.

    """
    given = [key for key in FRAME_KEYS if key in entry]
    ways = {next((pair for pair in INTERVALS if key in pair), key) for key in given}
    if len(ways) != 1:
        got = ' and '.join(given) or 'no frame'
        raise entry.error(given[0] if given else FRAME, f'one of {WAYS}', got)
    if given[0] in (FRAME, TIME):
        return np.array([read_frame(entry, given[0], motion)])
    if given[0] in (FRAMES, TIMES):
        return _listed(entry, given[0], motion)
    low, high = next(pair for pair in INTERVALS if given[0] in pair)
    first = read_frame(entry, low, motion) if low in entry else 0
    last = read_frame(entry, high, motion) if high in entry else motion.n_frames - 1
    if last < first:
        raise entry.error(high, f'at least {low} ({entry.raw(low)})', entry.raw(high))
    return frame_range(first, last)


def read_frame(entry: Section, key: str, motion: Motion) -> int:
    """Return the frame that a key names by its index or its time."""
    return _frame(entry, key, entry.raw(key), motion)


def _listed(entry: Section, key: str, motion: Motion) -> Ints:
    values = entry.raw(key)
    if not isinstance(values, list) or not values:
        raise entry.error(key, 'a list, or from_ and to_ for an interval', brief(values))
    frames = np.array([_frame(entry, key, value, motion) for value in values])
    if np.any(np.diff(frames) <= 0):
        raise entry.error(key, 'rising values, each in another frame', brief(values))
    return frames


def _frame(entry: Section, key: str, value: object, motion: Motion) -> int:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    last = motion.n_frames - 1
    if key in (TIME, TIMES, *INTERVALS[1]):
        last_s = last / motion.rate_hz
        if not number or not 0.0 <= float(value) <= last_s + 1e-9:  # type: ignore[arg-type]
            raise entry.error(key, f'a time 0 .. {last_s:g} s', brief(value))
        # half frames go up, so that equal steps of time are equal steps of frames
        return min(int(np.floor(float(value) * motion.rate_hz + 0.5)), last)  # type: ignore
    if not isinstance(value, int) or not number or not 0 <= value <= last:
        raise entry.error(key, f'a frame 0 .. {last}', brief(value))
    return value


@dataclass(frozen=True, slots=True)
class EditObject:
    """A place that rests, or moves straight from one place to the next."""

    frames: Ints
    """When it is at `positions`, rising, shape (k,)."""

    positions: Vec3s
    """Shape (k, 3) [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, 'frames', read_only(self.frames, np.int64))
        object.__setattr__(self, 'positions', read_only(self.positions))

    def places(self, frames: Ints) -> Vec3s:
        """Return where it is, shape (k, 3) [m]; before its first and after its last as there."""
        columns = (np.interp(frames, self.frames, column) for column in self.positions.T)
        return np.stack(tuple(columns), axis=-1)


def read_objects(tree: Section, motion: Motion) -> dict[str, EditObject]:
    """Return the objects of a file by name; raise InputFileError for what does not fit."""
    section = tree.section(OBJECTS, optional=True)
    return {name: _read_object(section.section(name), motion) for name in section.keys()}


def read_surfaces(tree: Section, makers: Mapping[str, SurfaceMaker]) -> dict[str, Surface]:
    """
    Return the surfaces of a file by name, and the floor.

    `makers` are by the key that determines the kind of a surface.

    Raises
    ------
    InputFileError : naming file, line and key, and what was expected.

    """
    section = tree.section(SURFACES, optional=True)
    found: dict[str, Surface] = {FLOOR: FlatSurface()}
    for name in section.keys():
        if name == FLOOR:
            raise section.error(name, 'another name: the floor is z = 0', repr(name))
        entry = section.section(name)
        kinds = [kind for kind in makers if kind in entry]
        if len(kinds) != 1:
            raise entry.error(
                kinds[-1] if kinds else name,
                f'one of {", ".join(makers)}',
                ' and '.join(kinds) or 'none of them',
            )
        found[name] = makers[kinds[0]](entry)
        entry.finish()
    return found


def flat(entry: Section) -> Surface:
    """Return a level surface."""
    return FlatSurface(entry.number('z_m', low=-MAX_HEIGHT_M, high=MAX_HEIGHT_M))


def _read_object(entry: Section, motion: Motion) -> EditObject:
    if 'at_m' in entry:
        position = entry.numbers('at_m', 3)
        entry.finish()
        return EditObject(np.array([0]), position[None])
    frames, positions = [], []
    for stop in entry.sections('path'):
        key = TIME if TIME in stop else FRAME
        frames.append(read_frame(stop, key, motion))
        positions.append(stop.numbers('at_m', 3))
        stop.finish()
        if len(frames) > 1 and frames[-1] <= frames[-2]:
            raise stop.error(key, f'a frame after {frames[-2]}', frames[-1])
    if not frames:
        raise entry.error('path', 'at least one place', 'none')
    entry.finish()
    return EditObject(np.array(frames), np.array(positions))


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
        raise refused(entry, kinds[0], err) from err
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
            way,
            f'a place in metres within {MAX_MOVE_M:g} m of where it was',
            f'one {far[at]:.4g} m off in frame {frames[at]}',
        )
    return PointGoal(
        frames,
        point,
        goals,
        axes,
        entry.flag('keep_orientation', False),
        entry.flag('contact', False),
        weight,
    )


def _orientation(entry: Section, scene: EditScene, frames: Ints, weight: float) -> Constraint:
    segment = SEGMENT_INDEX[entry.text(ORIENTATION, choices=SEGMENTS)]
    way = one_of(entry, ('rpy_deg', 'quaternion_wxyz', 'turn_rpy_deg', 'as_in_frame'))
    if way == 'quaternion_wxyz':
        goals = read_rows(entry, way, len(frames), width=4)
        if np.any(np.abs(np.linalg.norm(goals, axis=-1) - 1.0) > 0.01):
            raise entry.error(way, 'a unit quaternion w, x, y, z', entry.raw(way))
    elif way == 'as_in_frame':
        frame = read_frame(entry, way, scene.track.motion)
        goals = scene.track.orientations(segment, np.array([frame]))
    else:
        angles = read_rows(entry, way, len(frames))
        if np.abs(angles).max() > 360.0:
            raise entry.error(way, 'angles in degrees, -360 .. 360', brief(entry.raw(way)))
        goals = from_rpy(np.radians(angles))
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
        frames,
        read_point(entry, ON_SURFACE),
        _surface(entry, scene),
        entry.text('side', ON, SIDES),
        entry.number('clearance_m', 0.0, -10.0, 10.0),
        entry.flag('contact', False),
        weight,
    )


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
        frames,
        points,
        surface,
        entry.number('clearance_m', 0.0, -10.0, 10.0),
        entry.flag('keep_orientation', True),
        weight,
    )


KINDS: Mapping[str, Callable[[Section, EditScene, Ints, float], Constraint]] = {
    POSITION: _position,
    ORIENTATION: _orientation,
    LOOK_AT: _look_at,
    ON_SURFACE: _on_surface,
    RELATIVE: _relative,
    PLANT: _plant,
}


def _surface(entry: Section, scene: EditScene) -> Surface:
    name = entry.text('surface', FLOOR, tuple(scene.surfaces))
    return scene.surfaces[name]


def _object(entry: Section, key: str, scene: EditScene) -> EditObject:
    if not scene.objects:
        raise entry.error(key, 'an object of the section objects', brief(entry.raw(key)))
    return scene.objects[entry.text(key, choices=tuple(scene.objects))]
