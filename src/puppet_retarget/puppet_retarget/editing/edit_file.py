# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Edit files (`puppet-edit/1`): what a motion has to do, and how it is edited.

What is read is kept beside what it means, so that a file can be written again with entries
added: reader and writer agree by construction.

"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.errors import ConfigError, PuppetError
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import dump_yaml, load_yaml, parse_yaml, Section
from puppet_core.joint_limits import JointLimit, read_joint_limits
from puppet_core.joint_limits import SECTION as LIMITS
from puppet_core.posture import Motion
from puppet_core.skeleton import SEGMENT_INDEX
from puppet_retarget.editing.constraints import Constraint, Surface
from puppet_retarget.editing.edit_agreement import check_agreement
from puppet_retarget.editing.edit_config import Bodies, EditConfig, SOLVERS
from puppet_retarget.editing.edit_entries import EditEntry, EditScene, read_entry
from puppet_retarget.editing.edit_frames import BodyTrack
from puppet_retarget.editing.edit_objects import flat, read_objects, read_surfaces, SurfaceMaker

FORMAT = 'puppet-edit/1'
OPTIONS, CONSTRAINTS = 'options', 'constraints'
MAX_ENTRIES = 1000  # each is compared with each
MIN_SPACING = 0.1  # frames per knot at the finest level: more knots say no more
_NUMBERS = ('frames_per_knot', 'tolerance_percent', 'root_rigidity')
_WHOLE = ('levels', 'max_iterations')
_FLAGS = ('exact', 'root_shift')


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
    """Kinds of surfaces, by the key that tells them."""

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
            wanted, _, got = str(err).partition('expected ')[2].rpartition(', got ')
            raise section.error(name, wanted or str(err), got or 'another') from err
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
