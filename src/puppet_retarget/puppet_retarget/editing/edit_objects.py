# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Things that an edit file names: objects that rest or move, surfaces of some height."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from puppet_core.arrays import Ints, read_only, Vec3s
from puppet_core.io.yaml_file import Section
from puppet_core.posture import Motion
from puppet_retarget.editing.constraints import FlatSurface, Surface
from puppet_retarget.editing.edit_frames import FRAME, read_frame, TIME

OBJECTS, SURFACES, FLOOR = 'objects', 'surfaces', 'floor'
MAX_HEIGHT_M = 1e3
SurfaceMaker = Callable[[Section], Surface]


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
    return {name: _object(section.section(name), motion) for name in section.keys()}


def read_surfaces(tree: Section, makers: Mapping[str, SurfaceMaker]) -> dict[str, Surface]:
    """
    Return the surfaces of a file by name, and the floor.

    Parameters
    ----------
    tree : Section
        The file.
    makers : mapping
        By the key that tells which kind a surface is.

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
                kinds[-1] if kinds else name, f'one of {", ".join(makers)}',
                ' and '.join(kinds) or 'none of them',
            )  # fmt: skip
        found[name] = makers[kinds[0]](entry)
        entry.finish()
    return found


def flat(entry: Section) -> Surface:
    """Return a level surface."""
    return FlatSurface(entry.number('z_m', low=-MAX_HEIGHT_M, high=MAX_HEIGHT_M))


def _object(entry: Section, motion: Motion) -> EditObject:
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
