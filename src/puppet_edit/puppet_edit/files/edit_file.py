# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Edit files (`puppet-edit/1`): what a motion has to do, and how it is edited.

What is read is kept beside what it means, so that a file can be written again with entries
added: reader and writer agree by construction.

"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import JointLimit, Motion, read_joint_limits, SEGMENT_INDEX
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
from puppet_core.math import Floats
from puppet_core.math import quaternions as qb
from puppet_edit.editor import (
    Bodies,
    BodyPoint,
    Constraint,
    EditConfig,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
    SOLVERS,
    Surface,
)
from puppet_edit.files.edit_entries import (
    BodyTrack,
    EditEntry,
    EditScene,
    flat,
    read_entry,
    read_objects,
    read_surfaces,
    refused,
    SurfaceMaker,
)

AGREEMENT_M = 1e-6  # what is nearer is the same
AGREEMENT_RAD = 1e-6

FORMAT = 'puppet-edit/1'
OPTIONS, CONSTRAINTS = 'options', 'constraints'
MAX_ENTRIES = 1000  # each is compared with each
MIN_SPACING = 0.1  # frames per knot at the finest level: more knots add nothing
_NUMBERS = ('frames_per_knot', 'tolerance_percent', 'root_rigidity')
_WHOLE = ('levels', 'max_iterations')
_FLAGS = ('exact', 'root_shift')


def check_agreement(path: Path, entries: Sequence[EditEntry]) -> None:
    """
    Refuse entries that cannot both be met.

    Raises
    ------
    InputFileError : naming the later entry's line, the earlier one's and the frame.

    """
    for first, second in combinations(entries, 2):
        gap = _gap(first, second)
        if gap is not None:
            raise InputFileError(
                path,
                f'an entry that agrees with line {first.line} ({first.text})',
                gap,
                second.line,
                second.text,
            )
    for entry in entries:
        _check_plant(path, entry, entries)


def _gap(first: EditEntry, second: EditEntry) -> str | None:
    """Return how far two entries are from asking for the same, None if they are not."""
    a, b = first.constraint, second.constraint
    if a.frames[-1] < b.frames[0] or b.frames[-1] < a.frames[0]:
        return None
    frames, in_a, in_b = np.intersect1d(a.frames, b.frames, return_indices=True)
    if not len(frames):
        return None
    if isinstance(a, PointGoal) and isinstance(b, PointGoal) and _same(a.point, b.point):
        axes = np.array(a.axes) & np.array(b.axes)
        apart = np.where(axes, np.abs(a.goals[in_a] - b.goals[in_b]), 0.0).max(axis=-1)
        return _worst(apart, frames, AGREEMENT_M, 'm')
    if isinstance(a, OrientationGoal) and isinstance(b, OrientationGoal):
        if a.segment == b.segment:
            turn = qb.multiply(qb.conjugate(a.orientations[in_a]), b.orientations[in_b])
            return _worst(np.linalg.norm(qb.log(turn), axis=-1), frames, AGREEMENT_RAD, 'rad')
    if isinstance(a, Relative) and isinstance(b, Relative):
        return _relative_gap(a, b, (in_a, in_b), frames)
    return None


def _relative_gap(
    a: Relative, b: Relative, rows: tuple[np.ndarray, np.ndarray], frames: np.ndarray
) -> str | None:
    ends = [(c.first, c.second) for c in (a, b)]
    straight = all(_same(*pair) for pair in zip(*ends))
    crossed = all(_same(*pair) for pair in zip(ends[0], ends[1][::-1]))
    if not straight and not crossed:
        return None
    if a.vectors is not None and b.vectors is not None:
        sign = 1.0 if straight else -1.0
        apart = np.linalg.norm(a.vectors[rows[0]] - sign * b.vectors[rows[1]], axis=-1)
    else:
        lengths = [_length(c)[row] for c, row in zip((a, b), rows)]
        apart = np.abs(lengths[0] - lengths[1])
    return _worst(apart, frames, AGREEMENT_M, 'm')


def _length(constraint: Relative) -> Floats:
    if constraint.vectors is not None:
        return np.asarray(np.linalg.norm(constraint.vectors, axis=-1))
    return np.asarray(constraint.distances)


def _check_plant(path: Path, plant: EditEntry, entries: Sequence[EditEntry]) -> None:
    """Refuse goals that differ while a plant holds their point in one place."""
    if not isinstance(plant.constraint, Plant):
        return
    for point in plant.constraint.points:
        places: list[tuple[EditEntry, int, Floats]] = []
        for entry in entries:
            goal = entry.constraint
            if not isinstance(goal, PointGoal) or not _same(goal.point, point):
                continue
            inside = np.isin(goal.frames, plant.constraint.frames)
            for frame, place in zip(goal.frames[inside], goal.goals[inside]):
                places.append((entry, int(frame), np.where(goal.axes, place, np.nan)))
        for entry, frame, place in places[1:]:
            apart = float(np.nan_to_num(np.abs(place - places[0][2])).max())
            if apart > AGREEMENT_M:
                raise InputFileError(
                    path,
                    f'one place while line {plant.line} ({plant.text}) holds',
                    f'places {apart:.3g} m apart in frames {places[0][1]} and {frame}',
                    entry.line,
                    entry.text,
                )


def _same(a: BodyPoint, b: BodyPoint) -> bool:
    if a.segment != b.segment:
        return False
    if a.offset is None or b.offset is None:
        return a.offset is b.offset
    return bool(np.allclose(a.offset, b.offset, atol=AGREEMENT_M))


def _worst(apart: Floats, frames: np.ndarray, limit: float, unit: str) -> str | None:
    worst = int(np.argmax(apart))
    if apart[worst] <= limit:
        return None
    return f'goals {apart[worst]:.3g} {unit} apart in frame {frames[worst]}'


@dataclass(frozen=True, slots=True)
class Prepared:
    """A motion as its constraints meet it: the clip, or what the tasks made of it."""

    motion: Motion
    """To be edited."""

    constraints: tuple[Constraint, ...] = ()
    """What the tasks ask for."""

    bodies: Bodies | None = None
    """Lengths of each frame, if the body changes."""

    notes: tuple[str, ...] = ()
    """What the tasks did, in words."""

    ground: Surface | None = None
    """What the body walks on after them, if not the floor; for pictures."""

    before: Motion | None = None
    """Where the body was, for what is relative to that, if not as in `motion`."""


@dataclass(frozen=True, slots=True)
class Readers:
    """What the file may name besides: how these are found is not this module's business."""

    surfaces: Mapping[str, SurfaceMaker]
    """Kinds of surfaces, by the key that determines them."""

    tasks: Callable[[Section, Motion, Mapping[str, Any]], Prepared]
    """From the file, the clip and the surfaces to the motion that is edited."""

    limits_of: Callable[[str], tuple[JointLimit, ...]] | None = None
    """Joint limits of a character by name or file."""


def _no_tasks(tree: Section, motion: Motion, surfaces: Mapping[str, Any]) -> Prepared:
    return Prepared(motion)


PLAIN_READERS = Readers({'z_m': flat}, _no_tasks)


@dataclass(frozen=True, slots=True)
class EditPlan:
    """An edit file, understood for one motion."""

    prepared: Prepared
    """What is edited."""

    config: EditConfig
    """How."""

    entries: tuple[EditEntry, ...]
    """What the file asks for."""

    scene: EditScene
    """What entries refer to."""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Return all of them: those of the entries, then those of the tasks."""
        return tuple(entry.constraint for entry in self.entries) + self.prepared.constraints


def load_edit(path: str | Path, motion: Motion, readers: Readers = PLAIN_READERS) -> EditPlan:
    """
    Return what a file means for a motion.

    Raises
    ------
    InputFileError : naming file, line and key, and what was expected.

    """
    return _plan(load_yaml(path, FORMAT), motion, readers)


def parse_edit(
    text: str, path: str | Path, motion: Motion, readers: Readers = PLAIN_READERS
) -> EditPlan:
    """Return what the text of a file means for a motion; see `load_edit`."""
    return _plan(parse_yaml(text, path, FORMAT), motion, readers)


def load_edit_tree(path: str | Path) -> dict[str, Any]:
    """Return a file's plain values, as `edit_text` takes them."""
    tree = load_yaml(path, FORMAT)
    return {key: plain_value(tree.raw(key)) for key in tree.keys()}


def edit_text(tree: Mapping[str, Any]) -> str:
    """Return the text of a file; `format` comes first."""
    rest = {key: plain_value(value) for key, value in tree.items() if key != 'format'}
    return dump_yaml({'format': FORMAT} | rest)


def plain_value(value: Any) -> Any:
    """Return dicts, lists and scalars of Python alone."""
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_value(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _plan(tree: Section, motion: Motion, readers: Readers) -> EditPlan:
    surfaces = read_surfaces(tree, readers.surfaces)
    config = _config(tree, readers)
    prepared = readers.tasks(tree, motion, surfaces)
    objects = read_objects(tree, prepared.motion)
    scene = EditScene(BodyTrack(prepared.before or prepared.motion), surfaces, objects)
    entries: tuple[EditEntry, ...] = ()
    if CONSTRAINTS in tree and tree.raw(CONSTRAINTS) != []:
        listed = tree.sections(CONSTRAINTS)
        if len(listed) > MAX_ENTRIES:
            raise tree.error(CONSTRAINTS, f'at most {MAX_ENTRIES} entries', len(listed))
        entries = tuple(read_entry(entry, scene) for entry in listed)
    tree.finish()
    check_agreement(tree.path, entries)
    return EditPlan(prepared, config, entries, scene)


def _config(tree: Section, readers: Readers) -> EditConfig:
    section = tree.section(OPTIONS, optional=True)
    given: dict[str, Any] = {}
    for name in section.keys():
        if name in _NUMBERS:
            given[name] = section.number(name)
        elif name in _FLAGS:
            given[name] = section.flag(name)
        elif name == 'solver':
            given[name] = section.text(name, choices=SOLVERS)
        elif name == 'joint_rigidity':
            given[name] = _rigidity(section.section(name))
        elif name in _WHOLE:
            value = section.raw(name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise section.error(name, 'a whole number', brief(value))
            given[name] = value
        else:
            known = (*_NUMBERS, *_WHOLE, *_FLAGS, 'solver', 'joint_rigidity')
            raise section.error(
                name, 'a known key', 'an unknown one', f'known here: {", ".join(sorted(known))}'
            )
        try:
            EditConfig(**{name: given[name]})
        except ConfigError as err:
            raise refused(section, name, err) from err
    config = EditConfig(**given, joint_limits=_limits(tree, readers))
    finest = config.frames_per_knot / 2 ** max(config.levels - 1, 0)
    if finest < MIN_SPACING:
        name = 'levels' if 'levels' in section else 'frames_per_knot'
        expected = f'a last level of at least {MIN_SPACING:g} frames per knot'
        raise section.error(name, expected, f'one of {finest:.3g}')
    return config


def _rigidity(section: Section) -> np.ndarray:
    values = np.array(EditConfig().joint_rigidity)
    for name in section.keys():
        if name not in SEGMENT_INDEX:
            raise section.error(name, f'one of {", ".join(SEGMENT_INDEX)}', brief(name))
        values[SEGMENT_INDEX[name]] = section.number(name, low=1e-6, high=1e6)
    return values


def _limits(tree: Section, readers: Readers) -> tuple[JointLimit, ...]:
    """Return the limits that are given here, or those of the character that is named."""
    if LIMITS not in tree or not isinstance(tree.raw(LIMITS), str):
        return read_joint_limits(tree)
    name = tree.text(LIMITS)
    if readers.limits_of is None:
        raise tree.error(LIMITS, 'limits by joint', brief(name))
    try:
        limits = readers.limits_of(name)
    except PuppetError as err:
        raise tree.error(LIMITS, 'a character with joint limits', f'{name!r}: {err}') from err
    if not limits:
        raise tree.error(LIMITS, 'a character with joint limits', f'{name!r}, which has none')
    return limits
