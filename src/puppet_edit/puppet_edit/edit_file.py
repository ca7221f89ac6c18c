# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Edit files (`puppet-edit/1`, doc/edit.md): tasks in turn, then all constraints together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from puppet_core.body import (
    Character,
    GENERAL_END_EFFECTORS,
    JointLimit,
    Motion,
    read_joint_limits,
    SEGMENT_INDEX,
    SEGMENTS,
)
from puppet_core.body import SECTION as LIMITS
from puppet_core.io import (
    brief,
    ConfigError,
    dump_yaml,
    InputFileError,
    load_yaml,
    parse_yaml,
    PuppetError,
    Section,
)
from puppet_core.math import Floats, Ints, Quats, Vec3s
from puppet_core.math import quaternions as qb
from puppet_edit import scene
from puppet_edit.editor import (
    BodyPoint,
    Constraint,
    EditConfig,
    FlatSurface,
    LookAt,
    MAX_WEIGHT,
    ON,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
    SIDES,
    SOLVERS,
    Surface,
)

FORMAT = 'puppet-edit/1'
OPTIONS, CONSTRAINTS, TASKS = 'options', 'constraints', 'tasks'
OBJECTS, SURFACES, FLOOR = 'objects', 'surfaces', 'floor'
POINTS = tuple(dict.fromkeys(GENERAL_END_EFFECTORS + SEGMENTS))

FRAME, FRAMES, TIME, TIMES = 'frame', 'frames', 'time_s', 'times_s'
INTERVALS = (('from_frame', 'to_frame'), ('from_s', 'to_s'))
FRAME_KEYS = (FRAME, FRAMES, TIME, TIMES, *INTERVALS[0], *INTERVALS[1])

POSITION, ORIENTATION, LOOK_AT = 'position', 'orientation', 'look_at'
ON_SURFACE, RELATIVE, PLANT = 'on_surface', 'relative', 'plant'
TRANSITION, RETARGET, TERRAIN = 'transition', 'retarget', 'terrain'
HOLD_FEET, DOORWAYS = 'hold_feet', 'doorways'

MAX_HEIGHT_M = 1e3
MAX_MOVE_M = 20.0  # a goal farther from where the point was is in other units
MIN_SPACING = 0.1  # frames per knot at the finest level: more knots add nothing
# of a surface's function where memory or a generator sets them
_LIMITS = {'seed': (0.0, 1e9), 'size_m': (1.0, 200.0), 'body_height_m': (0.3, 3.0)}
_WINDOWS = (('from_frame', 'to_frame'), ('second_from_frame', 'second_to_frame'))


@dataclass(frozen=True, slots=True)
class Readers:
    clip: Callable[[Path, Path | None], Motion]  # By its path and its .asf
    character: Callable[[str], Character]  # By name or file


class BodyTrack:
    """Where each point of a body was in a motion, computed once."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        self._q_world, self._p_world = motion.world_segments()

    def places(self, point: BodyPoint, frames: Ints) -> Vec3s:
        """Return where a point was, shape (k, 3) [m]."""
        offset = point.offset_in(self.motion.skeleton.interaction_points)
        turned = qb.rotate(self._q_world[frames, point.segment], offset)
        return np.asarray(self._p_world[frames, point.segment] + turned)

    def orientations(self, segment: int, frames: Ints) -> Quats:
        """Return how a segment was turned in world, shape (k, 4)."""
        return np.asarray(self._q_world[frames, segment])


@dataclass(frozen=True, slots=True)
class EditEntry:
    line: int  # In the file
    kind: str  # One of KINDS
    about: str  # The points or segments, as in the file
    constraint: Constraint  # What it asks for

    @property
    def text(self) -> str:
        frames = self.constraint.frames
        where = f'frame {frames[0]}' if len(frames) == 1 else f'frames {frames[0]} .. {frames[-1]}'
        return f'{self.kind.replace("_", " ")} {self.about}, {where}'


@dataclass(frozen=True, slots=True)
class EditPlan:
    motion: Motion  # To be edited: the clip, or what the tasks made of it
    before: Motion  # What places are relative to: upright where it stoops in `motion`
    config: EditConfig  # How it is edited
    entries: tuple[EditEntry, ...]  # What the file asks for
    constraints: tuple[Constraint, ...]  # Those of the entries, then those of the tasks
    notes: tuple[str, ...] = ()  # What the tasks did, in words
    ground: Surface | None = None  # What it walks on after the tasks, if not the floor


def load_edit(path: str | Path, motion: Motion, readers: Readers) -> EditPlan:
    """Return what a file means for a motion; raise InputFileError for what does not fit."""
    return _plan(load_yaml(path, FORMAT), motion, readers)


def parse_edit(text: str, path: str | Path, motion: Motion, readers: Readers) -> EditPlan:
    """Return what the text of a file means for a motion; see `load_edit`."""
    return _plan(parse_yaml(text, path, FORMAT), motion, readers)


def load_edit_tree(path: str | Path) -> dict[str, Any]:
    """Return a file's plain values, as `edit_text` needs them."""
    tree = load_yaml(path, FORMAT)
    return {key: tree.raw(key) for key in tree.keys()}


def edit_text(tree: Mapping[str, Any]) -> str:
    """Return the text of a file; `format` comes first."""
    return dump_yaml({'format': FORMAT} | dict(tree))


def _plan(tree: Section, motion: Motion, readers: Readers) -> EditPlan:
    surfaces = _read_surfaces(tree)
    config = _config(tree, readers)
    work = _do_tasks(tree, motion, surfaces, readers)
    section = tree.section(OBJECTS, optional=True)
    objects = {name: _read_object(section.section(name), work.motion) for name in section.keys()}
    before = work.before or work.motion
    context = _Context(BodyTrack(before), surfaces, objects)
    listed = tree.sections(CONSTRAINTS) if tree.raw(CONSTRAINTS, []) != [] else ()
    entries = tuple(_read_entry(entry, context) for entry in listed)
    tree.finish()
    all_of_them = (*(entry.constraint for entry in entries), *work.constraints)
    notes = tuple(work.notes)
    return EditPlan(work.motion, before, config, entries, all_of_them, notes, work.ground)


def _refused(section: Section, key: str, err: ConfigError) -> InputFileError:
    """Return an error of what a key describes as one of its line."""
    wanted, _, got = str(err).partition('expected ')[2].rpartition(', got ')
    return section.error(key, wanted or str(err), got or 'another')


def _one_of(entry: Section, keys: Sequence[str], otherwise: str = '') -> str:
    """Return which one of some keys an entry has; `otherwise` is the key of errors if none."""
    given = [key for key in keys if key in entry]
    if len(given) == 1:
        return given[0]
    wanted = f'one of {", ".join(keys)}'
    if given:
        raise entry.error(given[-1], wanted, ' and '.join(given))
    if otherwise:
        raise entry.error(otherwise, wanted, f'the keys {", ".join(entry.keys())}')
    # a key in another unit begins with the same word
    firsts = {key.partition('_')[0] for key in keys}
    for key in entry.keys():
        if key.partition('_')[0] in firsts:
            raise entry.error(key, wanted, brief(key))
    raise entry.error(keys[0], wanted, 'none of them')


def _config(tree: Section, readers: Readers) -> EditConfig:
    section = tree.section(OPTIONS, optional=True)
    given: dict[str, Any] = {}
    for name, read in _OPTIONS.items():
        if name in section:
            given[name] = read(section, name)
            try:
                EditConfig(**{name: given[name]})
            except ConfigError as err:
                raise _refused(section, name, err) from err
    section.finish()
    config = EditConfig(**given, joint_limits=_limits(tree, readers))
    finest = config.frames_per_knot / 2 ** max(config.levels - 1, 0)
    if finest < MIN_SPACING:
        name = 'levels' if 'levels' in section else 'frames_per_knot'
        expected = f'a last level of at least {MIN_SPACING:g} frames per knot'
        raise section.error(name, expected, f'one of {finest:.3g}')
    return config


def _whole(section: Section, name: str) -> int:
    value = section.raw(name)
    if type(value) is not int:
        raise section.error(name, 'a whole number', brief(value))
    return value


def _rigidity(section: Section, name: str) -> Floats:
    values = np.array(EditConfig().joint_rigidity)
    entry = section.section(name)
    for segment in entry.keys():
        if segment not in SEGMENT_INDEX:
            raise entry.error(segment, f'one of {", ".join(SEGMENT_INDEX)}', brief(segment))
        values[SEGMENT_INDEX[segment]] = entry.number(segment, low=1e-6, high=1e6)
    return values


_OPTIONS: Mapping[str, Callable[[Section, str], Any]] = {
    'levels': _whole,
    'frames_per_knot': Section.number,
    'tolerance_percent': Section.number,
    'exact': Section.flag,
    'root_shift': Section.flag,
    'solver': partial(Section.text, choices=SOLVERS),
    'root_rigidity': Section.number,
    'joint_rigidity': _rigidity,
    'max_iterations': _whole,
}


def _limits(tree: Section, readers: Readers) -> tuple[JointLimit, ...]:
    """Return the limits that are given here, or those of the character that is named."""
    if LIMITS not in tree or not isinstance(tree.raw(LIMITS), str):
        return read_joint_limits(tree)
    wanted = 'a character with joint limits'
    limits = _character(tree, LIMITS, readers, wanted).joint_limits
    if not limits:
        raise tree.error(LIMITS, wanted, f'{tree.text(LIMITS)!r}, which has none')
    return limits


def _character(section: Section, key: str, readers: Readers, wanted: str) -> Character:
    name = section.text(key)
    try:
        return readers.character(name)
    except PuppetError as err:
        told = str(err).removeprefix('character: ')
        raise section.error(key, wanted, f'{name!r}: {told}') from err


def _read_surfaces(tree: Section) -> dict[str, Surface]:
    section = tree.section(SURFACES, optional=True)
    found: dict[str, Surface] = {FLOOR: FlatSurface()}
    for name in section.keys():
        if name == FLOOR:
            raise section.error(name, 'another name: the floor is z = 0', repr(name))
        entry = section.section(name)
        found[name] = _SURFACES[_one_of(entry, tuple(_SURFACES), name)](entry)
        entry.finish()
    return found


def _heights(entry: Section) -> Surface:
    """Return the surface of a file of heights, which is named from the edit file's folder."""
    x, y = entry.numbers('origin_m', 2, np.zeros(2)).tolist()
    path = entry.path.parent / entry.text('heights')
    cell_m = entry.number('cell_m', above=0.0, high=1e4)
    white_m = entry.number('white_m', 1.0, -100.0, 100.0)
    return scene.read_height_field(path, cell_m, (x, y), white_m)


def _function(entry: Section) -> Surface:
    make = scene.FUNCTIONS[entry.text('function', choices=tuple(scene.FUNCTIONS))]
    known = list(signature(make).parameters)
    known += ['heading_deg'] if 'heading_rad' in known else []
    settings = {}
    for key in known:
        if key in entry:
            low, high = _LIMITS.get(key, (-1e4, 1e4))
            settings[key] = entry.number(key, low=low, high=high)
    if not float(settings.get('seed', 0.0)).is_integer():
        raise entry.error('seed', 'a whole number', str(settings['seed']))
    if 'heading_deg' in settings:
        settings['heading_rad'] = float(np.radians(settings.pop('heading_deg')))
    try:
        return make(**settings)
    except ConfigError as err:
        key = str(err).partition(':')[0]
        raise _refused(entry, key if key in entry else 'function', err) from err


_SURFACES: Mapping[str, Callable[[Section], Surface]] = {
    'z_m': lambda entry: FlatSurface(entry.number('z_m', low=-MAX_HEIGHT_M, high=MAX_HEIGHT_M)),
    'function': _function,
    'heights': _heights,
}


class _Object(NamedTuple):
    """A place that rests, or moves straight from one place to the next."""

    frames: Sequence[int]
    positions: Vec3s


def _read_object(entry: Section, motion: Motion) -> _Object:
    frames: list[int] = []
    positions = []
    if 'at_m' in entry:
        frames, positions = [0], [entry.numbers('at_m', 3)]
    for stop in entry.sections('path') if not frames else ():
        key = TIME if TIME in stop else FRAME
        frames.append(_frame(stop, key, motion))
        positions.append(stop.numbers('at_m', 3))
        stop.finish()
        if len(frames) > 1 and frames[-1] <= frames[-2]:
            raise stop.error(key, f'a frame after {frames[-2]}', frames[-1])
    if not frames:
        raise entry.error('path', 'at least one place', 'none')
    entry.finish()
    return _Object(frames, np.array(positions))


def _read_frames(entry: Section, motion: Motion) -> Ints:
    given = [key for key in FRAME_KEYS if key in entry]
    ways = {next((pair for pair in INTERVALS if key in pair), key) for key in given}
    if len(ways) != 1:
        wanted = 'frame, frames, time_s, times_s, from_frame and to_frame, or from_s and to_s'
        got = ' and '.join(given) or 'no frame'
        raise entry.error(given[0] if given else FRAME, f'one of {wanted}', got)
    (way,) = ways
    if isinstance(way, tuple):
        low, high = way
        first = _frame(entry, low, motion) if low in entry else 0
        last = _frame(entry, high, motion) if high in entry else motion.n_frames - 1
        if last < first:
            raise entry.error(high, f'at least {low} ({entry.raw(low)})', entry.raw(high))
        return np.arange(first, last + 1)
    if way in (FRAME, TIME):
        return np.array([_frame(entry, way, motion)])
    values = entry.raw(way)
    if not isinstance(values, list) or not values:
        raise entry.error(way, 'a list, or from_ and to_ for an interval', brief(values))
    frames = np.array([_frame(entry, way, motion, value) for value in values])
    if np.any(np.diff(frames) <= 0):
        raise entry.error(way, 'rising values, each in another frame', brief(values))
    return frames


def _frame(entry: Section, key: str, motion: Motion, value: Any = None) -> int:
    """Return the frame that a key, or one value of its list, gives by index or by time."""
    last, value = motion.n_frames - 1, entry.raw(key) if value is None else value
    if key.endswith('_s'):
        last_s = last / motion.rate_hz
        if not _is_number(value) or not 0.0 <= value <= last_s + 1e-9:
            raise entry.error(key, f'a time 0 .. {last_s:g} s', brief(value))
        # half frames go up, so that equal steps of time are equal steps of frames
        return min(int(np.floor(float(value) * motion.rate_hz + 0.5)), last)
    if type(value) is not int or not 0 <= value <= last:
        raise entry.error(key, f'a frame 0 .. {last}', brief(value))
    return value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _read_point(entry: Section, key: str) -> BodyPoint:
    """Return the point that a key names, or the one at `offset_m` in its segment."""
    point = _named_point(entry, key, entry.raw(key))
    if 'offset_m' in entry:
        return BodyPoint(point.segment, entry.numbers('offset_m', 3))
    return point


def _named_point(entry: Section, key: str, name: object) -> BodyPoint:
    if not isinstance(name, str) or name not in POINTS:
        raise entry.error(key, f'one of {", ".join(POINTS)}', brief(name))
    return BodyPoint.named(name)


def _read_rows(entry: Section, key: str, count: int, width: int = 3) -> Floats:
    """Return one row for all frames, shape (width,), or one for each, shape (count, width)."""
    value = entry.raw(key)
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return entry.numbers(key, width)
    if len(value) != count or not all(
        isinstance(row, list) and len(row) == width and all(map(_is_number, row)) for row in value
    ):
        wanted = f'{width} finite numbers, or a row of {width} for each of {count} frames'
        raise entry.error(key, wanted, f'{len(value)} rows')
    return np.array(value, dtype=np.float64)


class _Context(NamedTuple):
    track: BodyTrack
    surfaces: Mapping[str, Surface]
    objects: Mapping[str, _Object]

    def surface(self, entry: Section) -> Surface:
        return self.surfaces[entry.text('surface', FLOOR, tuple(self.surfaces))]

    def object_places(self, entry: Section, key: str, frames: Ints) -> Vec3s:
        """Return where an object is; before its first place and after its last as there."""
        if not self.objects:
            raise entry.error(key, 'an object of the section objects', brief(entry.raw(key)))
        found = self.objects[entry.text(key, choices=tuple(self.objects))]
        columns = [np.interp(frames, found.frames, column) for column in found.positions.T]
        return np.stack(columns, axis=-1)


def _read_entry(entry: Section, context: _Context) -> EditEntry:
    kind = _one_of(entry, tuple(KINDS), 'kind')
    about = entry.raw(kind)
    names = ' and '.join(map(str, about if isinstance(about, list) else [about]))
    frames = _read_frames(entry, context.track.motion)
    weight = entry.number('weight', 1.0, high=MAX_WEIGHT, above=0.0)
    try:
        constraint = KINDS[kind](entry, context, frames, weight)
    except ConfigError as err:
        raise _refused(entry, kind, err) from err
    entry.finish()
    return EditEntry(entry.line, kind, names, constraint)


def _position(entry: Section, context: _Context, frames: Ints, weight: float) -> Constraint:
    point = _read_point(entry, POSITION)
    own = context.track.places(point, frames)
    way = _one_of(entry, ('at_m', 'move_m', 'as_in_frame', 'object'))
    if way == 'at_m':
        goals = _read_rows(entry, way, len(frames))
    elif way == 'move_m':
        goals = own + _read_rows(entry, way, len(frames))
    elif way == 'as_in_frame':
        goals = context.track.places(point, np.array([_frame(entry, way, context.track.motion)]))
    else:
        goals = context.object_places(entry, way, frames)
        if 'from_object_m' in entry:
            goals = goals + _read_rows(entry, 'from_object_m', len(frames))
    goals = np.broadcast_to(goals, (len(frames), 3))
    axes = entry.text('axes', 'xyz')
    if not axes or set(axes) - set('xyz') or len(set(axes)) != len(axes):
        raise entry.error('axes', 'some of xyz, such as xy', brief(axes))
    chosen = ('x' in axes, 'y' in axes, 'z' in axes)
    far = np.where(chosen, np.abs(goals - own), 0.0).max(axis=-1)
    if far.max() > MAX_MOVE_M:
        at = int(np.argmax(far))
        wanted = f'a place in metres within {MAX_MOVE_M:g} m of where it was'
        raise entry.error(way, wanted, f'one {far[at]:.4g} m off in frame {frames[at]}')
    keeps, contact = entry.flag('keep_orientation', False), entry.flag('contact', False)
    return PointGoal(frames, point, goals, chosen, keeps, contact, weight=weight)


def _orientation(entry: Section, context: _Context, frames: Ints, weight: float) -> Constraint:
    segment = SEGMENT_INDEX[entry.text(ORIENTATION, choices=SEGMENTS)]
    way = _one_of(entry, ('rpy_deg', 'quaternion_wxyz', 'turn_rpy_deg', 'as_in_frame'))
    if way == 'quaternion_wxyz':
        goals = _read_rows(entry, way, len(frames), width=4)
        if np.any(np.abs(np.linalg.norm(goals, axis=-1) - 1.0) > 0.01):
            raise entry.error(way, 'a unit quaternion w, x, y, z', entry.raw(way))
    elif way == 'as_in_frame':
        frame = np.array([_frame(entry, way, context.track.motion)])
        goals = context.track.orientations(segment, frame)
    else:
        angles = _read_rows(entry, way, len(frames))
        if np.abs(angles).max() > 360.0:
            raise entry.error(way, 'angles in degrees, -360 .. 360', brief(entry.raw(way)))
        goals = qb.from_rpy(np.radians(angles))  # about axes of the world
        if way == 'turn_rpy_deg':
            goals = qb.multiply(goals, context.track.orientations(segment, frames))
    goals = np.broadcast_to(goals, (len(frames), 4))
    return OrientationGoal(frames, segment, goals, weight=weight)


def _look_at(entry: Section, context: _Context, frames: Ints, weight: float) -> Constraint:
    way = _one_of(entry, ('target_m', 'target_object', 'target_point'))
    if way == 'target_m':
        targets = _read_rows(entry, way, len(frames))
    elif way == 'target_object':
        targets = context.object_places(entry, way, frames)
    else:
        targets = context.track.places(_named_point(entry, way, entry.raw(way)), frames)
    axis = entry.numbers('axis', 3, np.array([1.0, 0.0, 0.0]))
    if np.linalg.norm(axis) < 1e-6:
        raise entry.error('axis', 'a direction in the frame of the segment', 'zero')
    return LookAt(frames, _read_point(entry, LOOK_AT), axis, targets, weight=weight)


def _on_surface(entry: Section, context: _Context, frames: Ints, weight: float) -> Constraint:
    return OnSurface(
        frames,
        _read_point(entry, ON_SURFACE),
        context.surface(entry),
        entry.text('side', ON, SIDES),
        entry.number('clearance_m', 0.0, -10.0, 10.0),
        entry.flag('contact', False),
        weight=weight,
    )


def _relative(entry: Section, context: _Context, frames: Ints, weight: float) -> Constraint:
    names = entry.raw(RELATIVE)
    if not isinstance(names, list) or len(names) != 2 or names[0] == names[1]:
        raise entry.error(RELATIVE, 'a list of two different points', brief(names))
    first, second = (_named_point(entry, RELATIVE, name) for name in names)
    way = _one_of(entry, ('vector_m', 'distance_m', 'keep'))
    vectors: Floats | None = None
    distances: Floats | None = None
    if way == 'vector_m':
        vectors = _read_rows(entry, way, len(frames))
    elif way == 'distance_m':
        distance = entry.number(way, low=0.0, high=MAX_MOVE_M)
        vectors, distances = (None, np.array(distance)) if distance else (np.zeros(3), None)
    else:
        own = context.track.places(second, frames) - context.track.places(first, frames)
        keeps_vector = entry.text('keep', choices=('vector', 'distance')) == 'vector'
        vectors, distances = (own, None) if keeps_vector else (None, np.linalg.norm(own, axis=-1))
    return Relative(frames, first, second, vectors, distances, weight=weight)


def _plant(entry: Section, context: _Context, frames: Ints, weight: float) -> Constraint:
    names = entry.raw(PLANT)
    if isinstance(names, list):
        points = tuple(_named_point(entry, PLANT, name) for name in names)
    else:
        points = (_read_point(entry, PLANT),)
    if np.any(np.diff(frames) != 1) or len(frames) < 2:
        raise entry.error(PLANT, 'an interval of two frames or more', f'{len(frames)} frames')
    surface = context.surface(entry) if 'surface' in entry else None
    if surface is None and 'clearance_m' in entry:
        raise entry.error('clearance_m', 'a surface with it', 'none')
    clearance_m = entry.number('clearance_m', 0.0, -10.0, 10.0)
    keeps = entry.flag('keep_orientation', True)
    return Plant(frames, points, surface, clearance_m, keeps, weight=weight)


KINDS: Mapping[str, Callable[[Section, _Context, Ints, float], Constraint]] = {
    POSITION: _position,
    ORIENTATION: _orientation,
    LOOK_AT: _look_at,
    ON_SURFACE: _on_surface,
    RELATIVE: _relative,
    PLANT: _plant,
}


@dataclass(slots=True)
class _Work:
    motion: Motion
    surfaces: Mapping[str, Surface]
    readers: Readers
    constraints: list[Constraint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ground: Surface | None = None
    shifts: Vec3s | None = None
    before: Motion | None = None

    def surface(self, entry: Section) -> Surface:
        return self.surfaces[entry.text('surface', choices=tuple(self.surfaces))]

    def adapt(self, adapted: scene.Adaptation) -> None:
        """Go on with feet that are held anew; a transition's plants are among them."""
        self.motion, self.constraints = adapted.motion, list(adapted.constraints)
        self.shifts = adapted.root_shifts()


def _do_tasks(
    tree: Section, motion: Motion, surfaces: Mapping[str, Surface], readers: Readers
) -> _Work:
    section = tree.section(TASKS, optional=True)
    work = _Work(motion, surfaces, readers)
    given = [name for name in STEPS if name in section]
    feet = [name for name in (RETARGET, TERRAIN, HOLD_FEET) if name in given]
    if HOLD_FEET in feet[1:]:
        raise section.error(HOLD_FEET, f'none beside {feet[0]}, which holds them', 'both')
    for name in given:
        if name == TERRAIN and RETARGET in given:
            continue  # done together
        try:
            STEPS[name](section, work)
        except ConfigError as err:
            raise _refused(section, name, err) from err
    section.finish()
    return work


def _transition(section: Section, work: _Work) -> None:
    entry = section.section(TRANSITION)
    path = entry.path.parent / entry.text('clip')
    asf = entry.path.parent / entry.text('asf') if 'asf' in entry else None
    second = work.readers.clip(path, asf)
    done = scene.join(
        work.motion,
        second,
        _windows(entry, work.motion, second),
        entry.text('alignment', scene.ALIGNMENTS[0], scene.ALIGNMENTS),
        entry.number('fade_s', scene.FADE_S, above=0.0, high=60.0),
    )
    entry.finish()
    work.motion = done.motion
    work.constraints += scene.seam_constraints(done)
    seam = done.seams[-1]
    work.notes.append(f'{path.name} joined on in frames {seam.start} .. {seam.end}')


def _windows(entry: Section, *motions: Motion) -> tuple[scene.Window, scene.Window] | None:
    if not any(key in entry for pair in _WINDOWS for key in pair):
        return None
    a, b = (
        (_frame(entry, low, motion), _frame(entry, high, motion))
        for (low, high), motion in zip(_WINDOWS, motions)
    )
    return a, b


def _retarget(section: Section, work: _Work) -> None:
    entry = section.section(RETARGET)
    character = _character(entry, 'character', work.readers, 'a character by name or file')
    scale = entry.number('world_scale', above=0.0, high=100.0) if 'world_scale' in entry else None
    entry.finish()
    if TERRAIN in section:
        terrain = section.section(TERRAIN)
        work.ground = work.surface(terrain)
        terrain.finish()
    ground = work.ground or work.surfaces[FLOOR]
    work.adapt(scene.for_body(work.motion, character.skeleton, scale, ground))
    work.notes.append(f'given to {entry.text("character")}')


def _terrain(section: Section, work: _Work) -> None:
    entry = section.section(TERRAIN)
    work.ground = work.surface(entry)
    ground = work.surfaces[entry.text('ground', FLOOR, tuple(work.surfaces))]
    work.adapt(scene.on_terrain(work.motion, work.ground, ground, entry.flag('swings', True)))
    entry.finish()
    work.notes.append(f'feet brought onto {entry.text("surface")}')


def _hold_feet(section: Section, work: _Work) -> None:
    if section.flag(HOLD_FEET):
        floor = work.surfaces[FLOOR]
        work.adapt(scene.on_terrain(work.motion, floor, floor, swings=False))
        work.notes.append('feet held where they stand')


def _doorways(section: Section, work: _Work) -> None:
    ground = work.ground or work.surfaces[FLOOR]
    doorways = []
    for entry in section.sections(DOORWAYS):
        doorway = _doorway(entry, work.motion)
        found = scene.doorway_constraints(work.motion, [doorway], ground)
        if not found:
            raise entry.error(
                'lintel_m', 'a doorway on the path of the body', 'one beside the path'
            )
        doorways.append(doorway)
        work.constraints += found
        work.notes.append(f'stooped below {doorway.lintel_m:g} m')
    shifts = np.zeros((work.motion.n_frames, 3)) if work.shifts is None else work.shifts
    work.before = work.motion
    work.motion = scene.stooping(work.motion, doorways, shifts, ground)


def _doorway(entry: Section, motion: Motion) -> scene.Doorway:
    lintel_m = entry.number('lintel_m', above=0.0, high=100.0)
    if 'at_m' in entry:
        x, y = (float(value) for value in entry.numbers('at_m', 2))
        heading = float(np.radians(entry.number('heading_deg', 0.0, -360.0, 360.0)))
        doorway = scene.Doorway((x, y), heading, lintel_m)
    else:
        frame = _frame(entry, TIME if TIME in entry else FRAME, motion)
        doorway = scene.doorway_at(motion, frame, lintel_m)
    width_m = entry.number('width_m', doorway.width_m, above=0.0, high=100.0)
    depth_m = entry.number('depth_m', doorway.depth_m, above=0.0, high=100.0)
    entry.finish()
    return doorway._replace(width_m=width_m, depth_m=depth_m)


STEPS: Mapping[str, Callable[[Section, _Work], None]] = {
    TRANSITION: _transition,
    RETARGET: _retarget,
    TERRAIN: _terrain,
    HOLD_FEET: _hold_feet,
    DOORWAYS: _doorways,
}
