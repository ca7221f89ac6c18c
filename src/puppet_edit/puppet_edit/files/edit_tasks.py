# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Tasks of an edit file: what is done to the clip before its own constraints hold.

They are done in one order: a second clip joined on, the feet held or brought onto terrain or
another body, doorways. Each leaves a motion and constraints, and the editor meets these
together with the file's own.

"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import Motion, Skeleton
from puppet_core.io import ConfigError, PuppetError, Section
from puppet_core.math import Vec3s
from puppet_edit.editor import Constraint, Surface
from puppet_edit.files.edit_entries import FLOOR, FRAME, read_frame, refused, TIME
from puppet_edit.files.edit_file import Prepared
from puppet_edit.scene import (
    Adaptation,
    ALIGNMENTS,
    Doorway,
    doorway_at,
    doorway_constraints,
    FADE_S,
    for_body,
    FUNCTIONS,
    join,
    named_surface,
    on_terrain,
    own_poses,
    read_height_field,
    root_shifts,
    seam_constraints,
    stooping,
    Window,
)

TASKS = 'tasks'
TRANSITION, RETARGET, TERRAIN = 'transition', 'retarget', 'terrain'
HOLD_FEET, DOORWAYS = 'hold_feet', 'doorways'
# of a surface's function where memory or a generator sets them
_LIMITS = {'seed': (0.0, 1e9), 'size_m': (1.0, 200.0), 'body_height_m': (0.3, 3.0)}
_WINDOWS = (('from_frame', 'to_frame'), ('second_from_frame', 'second_to_frame'))


@dataclass(frozen=True, slots=True)
class TaskSources:
    """How tasks find the bodies and clips that they name."""

    clip: Callable[[Path, Path | None], Motion]
    """A clip by its path and that of its .asf."""

    skeleton: Callable[[str], Skeleton]
    """A character's by name or file."""


@dataclass(slots=True)
class _Work:
    """A motion on its way through the tasks."""

    motion: Motion
    surfaces: Mapping[str, Surface]
    sources: TaskSources
    constraints: list[Constraint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ground: Surface | None = None
    shifts: Vec3s | None = None
    before: Motion | None = None


def do_tasks(
    tree: Section, motion: Motion, surfaces: Mapping[str, Any], sources: TaskSources
) -> Prepared:
    """
    Return what the tasks of a file make of a clip.

    Raises
    ------
    InputFileError : naming file, line and key, and what was expected.

    """
    section = tree.section(TASKS, optional=True)
    work = _Work(motion, surfaces, sources)
    given = [name for name in STEPS if name in section]
    feet = [name for name in (RETARGET, TERRAIN, HOLD_FEET) if name in given]
    if HOLD_FEET in feet and len(feet) > 1:
        raise section.error(HOLD_FEET, f'none beside {feet[0]}, which holds them', 'both')
    for name in given:
        if name == TERRAIN and RETARGET in given:
            continue  # done together
        try:
            STEPS[name](section, work)
        except ConfigError as err:
            raise refused(section, name, err) from err
    section.finish()
    return Prepared(
        work.motion, tuple(work.constraints), None, tuple(work.notes), work.ground, work.before
    )


def heights_of(entry: Section) -> Surface:
    """Return the surface of a file of heights, which is named from the edit file's folder."""
    path = entry.path.parent / entry.text('heights')
    origin = entry.numbers('origin_m', 2, np.zeros(2))
    return read_height_field(
        path,
        entry.number('cell_m', above=0.0, high=1e4),
        (float(origin[0]), float(origin[1])),
        entry.number('white_m', 1.0, -100.0, 100.0),
    )


def function_of(entry: Section) -> Surface:
    """Return one of the surfaces that are formulas."""
    name = entry.text('function', choices=tuple(FUNCTIONS))
    settings = {
        key: entry.number(key, low=low, high=high)
        for key in entry.keys()
        if key != 'function'
        for low, high in (_LIMITS.get(key, (-1e4, 1e4)),)
    }
    if not float(settings.get('seed', 0.0)).is_integer():
        raise entry.error('seed', 'a whole number', str(settings['seed']))
    if 'heading_deg' in settings:
        settings['heading_rad'] = float(np.radians(settings.pop('heading_deg')))
    try:
        return named_surface(name, settings)
    except ConfigError as err:
        text = str(err)
        key = next((key for key in entry.keys() if f'{key!r}' in text or f'{key}:' in text), '')
        raise refused(entry, key or 'function', err) from err


def _transition(section: Section, work: _Work) -> None:
    entry = section.section(TRANSITION)
    path = entry.path.parent / entry.text('clip')
    asf = entry.path.parent / entry.text('asf') if 'asf' in entry else None
    second = work.sources.clip(path, asf)
    windows = _windows(entry, work.motion, second)
    done = join(
        work.motion,
        second,
        windows,
        entry.text('alignment', ALIGNMENTS[0], ALIGNMENTS),
        entry.number('fade_s', FADE_S, above=0.0, high=60.0),
    )
    entry.finish()
    work.motion = done.motion
    work.constraints += seam_constraints(done)
    seam = done.seams[-1]
    work.notes.append(f'{path.name} joined on in frames {seam.start} .. {seam.end}')


def _windows(entry: Section, first: Motion, second: Motion) -> tuple[Window, Window] | None:
    keys = [key for pair in _WINDOWS for key in pair]
    given = [key for key in keys if key in entry]
    if not given:
        return None
    if len(given) < len(keys):
        missing = next(key for key in keys if key not in given)
        raise entry.error(missing, f'this key, with {", ".join(given)}', 'no such key')
    a, b = (
        (read_frame(entry, low, motion), read_frame(entry, high, motion))
        for (low, high), motion in zip(_WINDOWS, (first, second))
    )
    return a, b


def _retarget(section: Section, work: _Work) -> None:
    entry = section.section(RETARGET)
    name = entry.text('character')
    try:
        skeleton = work.sources.skeleton(name)
    except PuppetError as err:
        raise entry.error('character', 'a character by name or file', f'{name!r}: {err}') from err
    scale = entry.number('world_scale', above=0.0, high=100.0) if 'world_scale' in entry else None
    entry.finish()
    surface = work.surfaces[FLOOR]
    if TERRAIN in section:
        terrain = section.section(TERRAIN)
        surface = work.ground = _surface(terrain, 'surface', work)
        terrain.finish()
        adapted = for_body(work.motion, skeleton, scale, surface)
    else:
        adapted = for_body(work.motion, skeleton, scale)
    _adapt(work, adapted)
    work.notes.append(f'given to {name}')


def _terrain(section: Section, work: _Work) -> None:
    entry = section.section(TERRAIN)
    surface = _surface(entry, 'surface', work)
    ground = _surface(entry, 'ground', work, FLOOR)
    adapted = on_terrain(work.motion, surface, ground, entry.flag('swings', True))
    entry.finish()
    _adapt(work, adapted)
    work.ground = surface
    work.notes.append(f'feet brought onto {entry.text("surface")}')


def _hold_feet(section: Section, work: _Work) -> None:
    if not section.flag(HOLD_FEET):
        return
    floor = work.surfaces[FLOOR]
    _adapt(work, on_terrain(work.motion, floor, floor, swings=False))
    work.notes.append('feet held where they stand')


def _adapt(work: _Work, adapted: Adaptation) -> None:
    """Go on with feet that are held anew; a transition's plants are among them."""
    work.motion, work.constraints = adapted.motion, list(adapted.constraints)
    own = own_poses(adapted.motion, adapted.contacts)
    work.shifts = root_shifts(own, adapted.goals, adapted.motion.rate_hz)


def _doorways(section: Section, work: _Work) -> None:
    ground = work.ground or work.surfaces[FLOOR]
    doorways = []
    for entry in section.sections(DOORWAYS):
        doorway = _doorway(entry, work)
        found = doorway_constraints(work.motion, [doorway], ground)
        if not found:
            raise entry.error('lintel_m', 'a doorway on the way of the body', 'one beside it')
        doorways.append(doorway)
        work.constraints += found
        work.notes.append(f'stooped below {doorway.lintel_m:g} m')
    shifts = np.zeros((work.motion.n_frames, 3)) if work.shifts is None else work.shifts
    work.before = work.motion
    work.motion = stooping(work.motion, doorways, shifts, ground)


def _doorway(entry: Section, work: _Work) -> Doorway:
    lintel_m = entry.number('lintel_m', above=0.0, high=100.0)
    sizes: dict[str, Any] = {
        key: entry.number(key, above=0.0, high=100.0)
        for key in ('width_m', 'depth_m')
        if key in entry
    }
    if 'at_m' in entry:
        x, y = (float(value) for value in entry.numbers('at_m', 2))
        heading = float(np.radians(entry.number('heading_deg', 0.0, -360.0, 360.0)))
        entry.finish()
        return Doorway((x, y), heading, lintel_m, **sizes)
    frame = read_frame(entry, TIME if TIME in entry else FRAME, work.motion)
    entry.finish()
    return replace(doorway_at(work.motion, frame, lintel_m), **sizes)


def _surface(entry: Section, key: str, work: _Work, usual: str | None = None) -> Surface:
    names = tuple(work.surfaces)
    name = entry.text(key, choices=names) if usual is None else entry.text(key, usual, names)
    return work.surfaces[name]


STEPS: Mapping[str, Callable[[Section, _Work], None]] = {
    TRANSITION: _transition,
    RETARGET: _retarget,
    TERRAIN: _terrain,
    HOLD_FEET: _hold_feet,
    DOORWAYS: _doorways,
}
