# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of things beside a clip's performer: a CSV of seconds, name, pose in world [m]; a clip."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from puppet_core.body import Motion, Props
from puppet_core.clips.reading import parse_float, read_text
from puppet_core.io import InputFileError
from puppet_core.math import Floats, quaternions

HEADER = 'time_s,name,x,y,z,qx,qy,qz,qw'
_NUMBERS = HEADER.replace('name,', '').split(',')


def props_text(motion: Motion) -> str:
    names, positions, orientations = motion.props
    values = np.concatenate((positions, np.roll(orientations, -1, axis=-1)), axis=-1)
    lines = [HEADER]
    for i in range(motion.n_frames):
        for name, row in zip(names, values[i]):
            lines.append(','.join([repr(i / motion.rate_hz), name, *(f'{v:.9g}' for v in row)]))
    return '\n'.join([*lines, ''])


def read_props(path: Path, motion: Motion) -> Props:
    """
    Return where a file has things at a motion's frames, by straight lines and slerp between rows.

    Before a thing's first row and after its last it is NaN. Raise InputFileError naming file,
    line, field and what was expected.
    """
    return _at_frames({name: np.array(own) for name, own in _read_rows(path).items()}, motion)


def props_of_joints(joints: Motion, motion: Motion) -> Props:
    """Return the props of one motion at the frames of another that began with it."""
    names, positions, orientations = joints.props
    times_s = np.arange(joints.n_frames) / joints.rate_hz
    xyzw = np.roll(orientations, -1, axis=-1)
    rows = {
        name: np.column_stack((times_s, positions[:, k], xyzw[:, k]))
        for k, name in enumerate(names)
    }
    return _at_frames(rows, motion)


def _at_frames(rows: Mapping[str, Floats], motion: Motion) -> Props:
    """Return things at a motion's frames, from time, position, quaternion x y z w in rows."""
    times_s = np.arange(motion.n_frames) / motion.rate_hz
    positions = np.full((motion.n_frames, len(rows), 3), np.nan)
    orientations = np.full((motion.n_frames, len(rows), 4), np.nan)
    for k, own in enumerate(rows.values()):
        at = np.interp(times_s, own[:, 0], np.arange(len(own)), np.nan, np.nan)
        known = np.isfinite(at)
        first = at[known].astype(int)
        last, share = np.minimum(first + 1, len(own) - 1), at[known] - first
        positions[known, k] = own[first, 1:4] + share[:, None] * (own[last] - own[first])[:, 1:4]
        turns = quaternions.normalize(np.roll(own[:, 4:], 1, axis=1))
        orientations[known, k] = quaternions.slerp(turns[first], turns[last], share)
    return Props(tuple(rows), positions, orientations)


def _read_rows(path: Path) -> dict[str, list[Floats]]:
    """Return time, position and quaternion x y z w of each row, by the things' names."""
    header, *lines = read_text(path, 'CSV').splitlines()
    if header.replace(' ', '') != HEADER:
        raise InputFileError(path, HEADER, header, 1, 'header')
    rows: dict[str, list[Floats]] = {}
    for number, line in enumerate(lines, 2):
        words = [word.strip() for word in line.split(',')]
        if words == ['']:
            continue
        if len(words) != 9:
            raise InputFileError(path, '9 values', str(len(words)), number)
        before = rows.setdefault(words.pop(1), [])
        values = np.array([parse_float(word) for word in words], dtype=float)
        if np.isnan(values).any():
            k = int(np.argmax(np.isnan(values)))
            raise InputFileError(path, 'a number', repr(words[k]), number, _NUMBERS[k])
        if before and values[0] <= before[-1][0]:
            expected = f'more than the {before[-1][0]:g} before'
            raise InputFileError(path, expected, words[0], number, 'time_s')
        if abs(np.linalg.norm(values[4:]) - 1.0) > 0.01:
            raise InputFileError(path, 'a unit quaternion', ','.join(words[4:]), number, 'qx')
        before.append(values)
    if not rows:
        raise InputFileError(path, 'rows after the header', 'none')
    return rows
