# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The environment: named solids, each with a counterpart in the puppet's world.

Read from a YAML file; an object's counterpart is the object itself unless the file gives the
puppet another pose or size of it. Influence distance D and contact margin belong to each
pair of end-effector and object (Shin2002 eq. 4.3, errata 13). An object may follow a tracker
sensor or a segment of the body, and its pose is in that one's frame then, or both hands; its
counterpart moves with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    END_EFFECTORS,
    GENERAL_END_EFFECTORS,
    LIMB_SEGMENTS,
    SEGMENT_INDEX,
    SEGMENTS,
)
from puppet_core.io import brief, ConfigError, InputFileError, load_yaml, Section
from puppet_core.math import Floats, Ints, kernel, Quat, Quats, read_only, Vec3, Vec3s
from puppet_core.math.values import quat, vec3
from puppet_retarget.importance.objects import BOX, CAPSULE, CYLINDER, PLANE, SHAPES, Solid, SPHERE
from transforms3d.euler import euler2quat

FORMAT = 'puppet-environment/1'
HANDS = 'hands'  # what an object follows that is held
MAX_SIZE_M = 1000.0
MAX_GAZE_DEG = 60.0
UNSEEN = read_only(np.array([0.0, 0.0, -MAX_SIZE_M]))  # where a follower waits for its sensor [m]
N_ENDS = len(GENERAL_END_EFFECTORS)
# what else rests on objects, by the name under which a file gives D of it
_RESTS = {
    'hips': ('pelvis', 'left_thigh', 'right_thigh'),
    'head': ('head',),
    '': ('spine', 'chest', 'left_upper_arm', 'right_upper_arm'),
}
RESTING = tuple(SEGMENT_INDEX[name] for names in _RESTS.values() for name in names)
REST_INFLUENCE_M = 0.3  # D of their surfaces, where a file gives none
REST_ENDS = ('hips', 'head')
ENDS = (*GENERAL_END_EFFECTORS, *REST_ENDS)
DISTANCES = 'influence_distances_m'  # the parameter that has D of single pairs
JOINT_MARGIN_M = 0.07  # of the middle of an elbow or knee, whose skin touches
OBJECT_BLOCK = 16  # packed objects are filled up to a multiple, or each number compiles anew


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a solid is and how large."""

    position: Vec3  # Origin of the object's frame in world, shape (3,) [m]
    orientation: Quat  # Object frame in world, shape (4,)
    size: Vec3  # Extents, (r, r, r) or (r, r, length), shape (3,) [m]

    def __post_init__(self) -> None:
        for name in ('position', 'orientation', 'size'):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One solid that the performer may touch, and what stands for it in the puppet's world."""

    name: str  # Unique name
    shape: int  # Index into SHAPES
    real: Placement  # The performer's object; of a follower its place in what it follows
    puppet: Placement  # The puppet's counterpart, before any world scale
    # D for each general end-effector, hips and head, shape (10,); NaN takes the parameter's value
    # for hands and feet, none for elbows and knees, and REST_INFLUENCE_M for hips and head [m]
    influence_distances: Floats
    # Distance that counts as contact, shape (8,); NaN takes the parameter's value, but
    # JOINT_MARGIN_M for elbows and knees [m]
    contact_margins: Floats
    follows: str = ''  # Name of the sensor that it moves with, or ''
    held: bool = False  # Whether it moves with both hands while these hold it
    segment: int = -1  # Of the body to which it is fixed, or -1
    gaze_rad: float = 0.0  # Angle from the line of sight at which it is not looked at, 0: never

    @property
    def moves(self) -> bool:
        """Return whether it need not stay where the file says."""
        return bool(self.follows) or self.held or self.segment >= 0

    @property
    def start(self) -> Vec3:
        """Return its position in world before anything has moved, shape (3,) [m]."""
        return UNSEEN if self.follows or self.segment >= 0 else self.real.position


class ObjectArrays(NamedTuple):
    """All objects of an environment as arrays for the kernels; rows from their number on idle."""

    n_objects: int
    shapes: Ints  # (n,)
    positions: Vec3s  # (n, 3)
    orientations: Quats  # (n, 4)
    sizes: Vec3s  # (n, 3)
    puppet_positions: Vec3s  # (n, 3), world scale applied
    puppet_orientations: Quats  # (n, 4)
    puppet_sizes: Vec3s  # (n, 3), world scale applied
    influence_distances: Floats  # (n, 8)
    contact_margins: Floats  # (n, 8)
    velocities: Floats  # (n, 6) of its origin [m/s], then angular [rad/s], in world
    moves: Ints  # (n,) 1 for what moves, else 0
    looseness: Floats  # (n,) 1 for a follower that rests on nothing; 0 at rest, and for all others
    segments: Ints  # (n,) to which it is fixed, or -1
    mounts: Vec3s  # (n, 3) in the frame of the puppet's segment, world scale applied
    mount_orientations: Quats  # (n, 4)
    gazes: Floats  # (n,) D of the line of sight, 0 if it does not matter [rad]
    rests: Floats  # (n, 16) D of what rests on them, by segment; 0 if it does not matter [m]


@kernel
def real_solid(objects: ObjectArrays, j: int) -> Solid:
    """Return the performer's object j."""
    place = quat(objects.orientations[j]), vec3(objects.positions[j])
    return Solid(objects.shapes[j], vec3(objects.sizes[j]), place[0], place[1])


@kernel
def puppet_solid(objects: ObjectArrays, j: int) -> Solid:
    """Return the puppet's object j."""
    place = quat(objects.puppet_orientations[j]), vec3(objects.puppet_positions[j])
    return Solid(objects.shapes[j], vec3(objects.puppet_sizes[j]), place[0], place[1])


def filled_up(objects: ObjectArrays) -> ObjectArrays:
    """Return objects with room for those that are missing to the next round number."""
    n, *arrays = objects
    missing = -n % OBJECT_BLOCK or (0 if n else OBJECT_BLOCK)
    rows = (np.concatenate((a, np.zeros((missing, *a.shape[1:]), a.dtype))) for a in arrays)
    return ObjectArrays(n, *rows)


@dataclass(frozen=True, slots=True)
class Environment:
    """The solids around the performer, in the order of the file."""

    objects: tuple[SceneObject, ...]  # At least none; an empty environment makes nothing important

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(o.name for o in self.objects)

    def with_distances(self, text: str) -> 'Environment':
        """
        Return it with other influence distances D of single pairs (Shin2002 eq. 4.3).

        The text is as `table.left_hand=0.3, stool.hips=0.2` [m]; 0 is no influence. Raises
        ConfigError for another one.
        """
        objects = {o.name: o for o in self.objects}
        for part in filter(None, map(str.strip, text.split(','))):
            name, end, distance = _read_pair(part)
            if name not in objects:
                known = ', '.join(objects) or 'no object'
                raise ConfigError(f'{DISTANCES}: expected one of {known}, got {brief(name)}')
            if end in REST_ENDS and objects[name].segment >= 0:
                raise ConfigError(f'{DISTANCES}: expected no {end} at what is on the body')
            changed = objects[name].influence_distances.copy()
            changed[ENDS.index(end)] = distance
            objects[name] = replace(objects[name], influence_distances=read_only(changed))
        return Environment(tuple(objects.values()))

    def arrays(
        self, influence_distance: float, contact_margin: float, world_scale: float = 1.0
    ) -> ObjectArrays:
        """
        Return the objects as kernel arrays, the counterparts scaled by the puppet's world.

        Influence distance and contact margin [m] are for pairs that the file leaves open.
        """
        n = len(self.objects)
        influence = _stack([o.influence_distances for o in self.objects], len(ENDS))
        influence, rests = influence[:, :N_ENDS], _rests(influence[:, N_ENDS:])
        margin = _stack([o.contact_margins for o in self.objects], N_ENDS)
        is_joint = np.arange(N_ENDS) >= len(END_EFFECTORS)
        usual = np.where(is_joint, 0.0, influence_distance)
        influence = np.where(np.isnan(influence), usual, influence)
        for row, item in zip(influence, self.objects):  # what carries it is not drawn to it
            for limb in np.flatnonzero((LIMB_SEGMENTS == item.segment).any(axis=1)):
                row[[limb, limb + len(END_EFFECTORS)]] = 0.0
        usual_margin = np.where(is_joint, JOINT_MARGIN_M, contact_margin)
        return ObjectArrays(
            n,
            np.array([o.shape for o in self.objects], dtype=np.int64),
            _stack([o.start for o in self.objects], 3),
            _stack([o.real.orientation for o in self.objects], 4),
            _stack([o.real.size for o in self.objects], 3),
            world_scale
            * _stack([o.start if o.moves else o.puppet.position for o in self.objects], 3),
            _stack([o.puppet.orientation for o in self.objects], 4),
            world_scale * _stack([o.puppet.size for o in self.objects], 3),
            influence,
            np.where(np.isnan(margin), usual_margin, margin),
            np.zeros((n, 6)),
            np.array([o.moves for o in self.objects], dtype=np.int64),
            np.zeros(n),
            np.array([o.segment for o in self.objects], dtype=np.int64),
            world_scale * _stack([o.puppet.position for o in self.objects], 3),
            _stack([o.puppet.orientation for o in self.objects], 4),
            np.array([o.gaze_rad for o in self.objects]),
            rests,
        )


def _rests(distances: Floats) -> Floats:
    """Return D of each segment, (n, 16), for those of hips and head, (n, 2) [m]."""
    rests = np.zeros((len(distances), len(SEGMENTS)))
    given = {name: distances[:, i] for i, name in enumerate(REST_ENDS)}
    for name, segments in _RESTS.items():
        distance = np.nan_to_num(given.get(name, np.nan), nan=REST_INFLUENCE_M)
        for segment in segments:
            rests[:, SEGMENT_INDEX[segment]] = distance
    return rests


def current_environment(path: Path, distances: str = '') -> Environment:
    """
    Return an environment as its file is now, with distances as of `with_distances`.

    It is the same object as long as neither changes. Raises ConfigError.
    """
    return _current(path, path.stat().st_mtime_ns, distances)


@lru_cache(maxsize=8)
def _current(path: Path, changed_ns: int, distances: str) -> Environment:
    try:
        return load_environment(path).with_distances(distances)
    except InputFileError as err:
        raise ConfigError(f'environment: {err}') from err


def _read_pair(text: str) -> tuple[str, str, float]:
    """Return object, end-effector and distance [m] of a text as `table.left_hand=0.3`."""
    pair, _, number = text.partition('=')
    name, _, end = pair.strip().rpartition('.')
    try:
        distance = float(number)
    except ValueError:
        distance = math.nan
    if not name or end not in ENDS or not 0.0 <= distance <= MAX_SIZE_M:
        form = f'OBJECT.END=METRES, END one of {", ".join(ENDS)}, METRES from 0 to {MAX_SIZE_M:g}'
        raise ConfigError(f'{DISTANCES}: expected {form}, got {brief(text)}')
    return name, end, distance


def load_environment(path: str | Path) -> Environment:
    """Read an environment file; an InputFileError names file, line, key and what was expected."""
    source = load_yaml(path, FORMAT)
    objects: list[SceneObject] = []
    for entry in source.sections('objects'):
        scene_object = _read_object(entry)
        if scene_object.name in {o.name for o in objects}:
            raise entry.error('name', 'a unique name', repr(scene_object.name))
        objects.append(scene_object)
    source.finish()
    return Environment(tuple(objects))


def _read_object(entry: Section) -> SceneObject:
    name = entry.text('name')
    shape = SHAPES.index(entry.text('shape', choices=SHAPES))
    real, follows, held, segment = _read_placement(entry, shape, None), '', False, -1
    if 'follows' in entry:
        what = entry.raw('follows')
        if what == HANDS:
            held = True
        elif not isinstance(what, dict) or list(what) not in (['sensor'], ['segment']):
            wanted = f'{HANDS}, {{sensor: NAME}} or {{segment: NAME}}'
            raise entry.error('follows', wanted, brief(what))
        else:
            of = entry.section('follows')
            if 'segment' in of:
                segment = SEGMENT_INDEX[of.text('segment', choices=SEGMENTS)]
            else:
                follows = of.text('sensor')
                if not follows:
                    raise of.error('sensor', 'a name', repr(follows))
        if shape == PLANE:
            raise entry.error('follows', 'a shape that is no plane', 'a plane')
    puppet = real
    if 'puppet' in entry:
        other = entry.section('puppet')
        if follows or held:  # where it is depends on what happens
            puppet = Placement(real.position, real.orientation, _read_size(other, shape, real))
        else:
            puppet = _read_placement(other, shape, real)
        other.finish()
    influence = _per_end_effector(entry, 'influence_distance_m', ENDS, above=0.0)
    margin = _per_end_effector(entry, 'contact_margin_m', GENERAL_END_EFFECTORS, above=None)
    n_ends = len(END_EFFECTORS)
    if np.any(np.isnan(influence[n_ends:N_ENDS]) & ~np.isnan(margin[n_ends:])):
        wanted = 'margins of elbows and knees that have an influence_distance_m'
        raise entry.error('contact_margin_m', wanted, 'others')
    if segment >= 0 and not np.isnan(influence[N_ENDS:]).all():
        wanted = 'hips and head at what is not on the body'
        raise entry.error('influence_distance_m', wanted, f'them at one on {SEGMENTS[segment]}')
    gaze = 0.0
    if 'gaze_deg' in entry:
        gaze = np.radians(entry.number('gaze_deg', above=0.0, high=MAX_GAZE_DEG))
        if shape == PLANE or segment >= 0:
            got = 'a plane' if shape == PLANE else f'one on {SEGMENTS[segment]}'
            raise entry.error('gaze_deg', 'a solid in the world', got)
    entry.finish()
    return SceneObject(name, shape, real, puppet, influence, margin, follows, held, segment, gaze)


def _read_placement(entry: Section, shape: int, base: Placement | None) -> Placement:
    position = entry.numbers('position_m', 3, np.zeros(3) if base is None else base.position)
    if base is not None and 'rpy_deg' not in entry:
        orientation = base.orientation
    else:
        rpy = np.radians(entry.numbers('rpy_deg', 3, np.zeros(3)))
        orientation = euler2quat(*rpy, axes='sxyz')
    return Placement(position, orientation, _read_size(entry, shape, base))


def _read_size(entry: Section, shape: int, base: Placement | None) -> Vec3:
    if shape == PLANE:
        return np.ones(3)
    if shape == BOX:
        if base is not None and 'size_m' not in entry:
            return base.size
        size = entry.numbers('size_m', 3)
        if not np.all((size > 0.0) & (size <= MAX_SIZE_M)):
            raise entry.error('size_m', f'3 numbers > 0 and <= {MAX_SIZE_M:g}', size.tolist())
        return size
    given = {} if base is None else {'default': base.size[0]}
    radius = entry.number('radius_m', above=0.0, high=MAX_SIZE_M, **given)
    length = radius
    if shape in (CYLINDER, CAPSULE):
        given = {} if base is None else {'default': base.size[2]}
        length = entry.number('length_m', above=0.0, high=MAX_SIZE_M, **given)
    assert shape in (SPHERE, CYLINDER, CAPSULE)
    return np.array([radius, radius, length])


def _per_end_effector(
    entry: Section, key: str, ends: Sequence[str], above: float | None
) -> Floats:
    """Return a value for hands and feet, or NaN, or the values of a mapping by name; (n,)."""
    values = np.full(len(ends), np.nan)
    if key not in entry:
        return read_only(values)
    if isinstance(entry.raw(key), dict):
        section = entry.section(key)
        for i, name in enumerate(ends):
            if name in section:
                values[i] = section.number(name, low=0.0, high=MAX_SIZE_M, above=above)
        section.finish()
    else:
        values[: len(END_EFFECTORS)] = entry.number(key, low=0.0, high=MAX_SIZE_M, above=above)
    return read_only(values)


def _stack(rows: Sequence[Floats], width: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)
