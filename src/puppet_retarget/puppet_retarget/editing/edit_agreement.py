# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of an edit file that ask for different things of the same point in the same frame."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from puppet_core import quaternion_batch as qb
from puppet_core.arrays import Floats
from puppet_core.errors import InputFileError
from puppet_retarget.editing.constraints import (
    BodyPoint,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
)
from puppet_retarget.editing.edit_entries import EditEntry

AGREEMENT_M = 1e-6  # what is nearer is the same
AGREEMENT_RAD = 1e-6


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
                path, f'an entry that agrees with line {first.line} ({first.text})', gap,
                second.line, second.text,
            )  # fmt: skip
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
                    path, f'one place while line {plant.line} ({plant.text}) holds',
                    f'places {apart:.3g} m apart in frames {places[0][1]} and {frame}',
                    entry.line, entry.text,
                )  # fmt: skip


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
