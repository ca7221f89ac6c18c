# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of Acclaim motion files (AMC), for a skeleton read from the ASF.

A frame is its number on a line, then one line for each bone with degrees of freedom: name and
values in the order of the ASF's `dof`. The file names no rate; CMU's clips are at 120 Hz.

"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from puppet_core.arrays import Floats, frozen, Quats
from puppet_core.clip_asf import AsfSkeleton, fixed_axes_rotation, parse_angle_unit
from puppet_core.clip_file import ClipFile
from puppet_core.clip_text import first_bad_word, parse_floats, parse_int, read_text, shorten
from puppet_core.errors import InputFileError
from puppet_core.quaternion_batch import conjugate, multiply, rotate

DEFAULT_RATE_HZ = 120.0  # CMU Graphics Lab Motion Capture Database
_Row = tuple[int, list[str]]  # line, words


def read_amc(
    path: str | Path, skeleton: AsfSkeleton, rate_hz: float = DEFAULT_RATE_HZ
) -> ClipFile:
    """
    Read an AMC file.

    Parameters
    ----------
    path : str or Path
        The file.
    skeleton : AsfSkeleton
        The skeleton it was made for.
    rate_hz : float
        Frames per second.

    Returns
    -------
    clip : ClipFile
        In metres, axes as in the file.

    Raises
    ------
    InputFileError : naming line, bone and what was expected.

    """
    path = Path(path)
    text = read_text(path, 'AMC')
    head, rows = _split_head(path, text)
    angle_unit_rad = _read_flags(path, head, skeleton.angle_unit_rad)
    words, n_frames = _read_frames(path, rows, skeleton)
    values = parse_floats(words)
    if values is None:
        raise _value_error(path, text)
    values = values.reshape(n_frames, -1)
    rotations = np.zeros((n_frames, len(skeleton.joint_names), 4))
    rotations[..., 0] = 1.0
    translations = np.tile(skeleton.offsets, (n_frames, 1, 1))
    column = 0
    for joint, dof in enumerate(skeleton.dofs):
        own = values[:, column: column + len(dof)]
        column += len(dof)
        if not dof:
            continue
        turns = _turns(dof, own, skeleton.turn_order if joint == 0 else None)
        rotations[:, joint] = _about_axes(
            skeleton.axes[joint], fixed_axes_rotation(turns[0], angle_unit_rad * turns[1])
        )
        moved = skeleton.unit_m * _shifts(dof, own)
        if joint == 0:
            translations[:, 0] = skeleton.root_position + moved
        else:
            translations[:, joint] += rotate(skeleton.axes[joint], moved)
    return ClipFile(
        path, rate_hz, skeleton.joint_names, skeleton.parents, skeleton.offsets,
        frozen(rotations), frozen(translations),
    )  # fmt: skip


def _about_axes(axes: Quats, turns: Quats) -> Quats:
    """Return C M C⁻¹."""
    return multiply(multiply(axes, turns), conjugate(axes))


def _turns(
    dof: Sequence[str], values: Floats, turn_order: tuple[int, ...] | None
) -> tuple[tuple[int, ...], Floats]:
    """Return the rotation's axes, first to turn first, and its angles in that order."""
    columns = {'xyz'.index(name[1]): i for i, name in enumerate(dof) if name[0] == 'r'}
    axes = tuple(a for a in (turn_order or columns) if a in columns)
    return axes, values[:, [columns[axis] for axis in axes]]


def _shifts(dof: Sequence[str], values: Floats) -> Floats:
    """Return the translation channels as vectors in the file's unit, shape (n, 3)."""
    shifts = np.zeros((len(values), 3))
    for i, name in enumerate(dof):
        if name[0] == 't':
            shifts[:, 'xyz'.index(name[1])] = values[:, i]
    return shifts


def _split_head(path: Path, text: str) -> tuple[list[_Row], Iterator[_Row]]:
    """Return the flag rows, and the rows from the first frame number on."""
    numbered = ((n, row.split()) for n, row in enumerate(text.split('\n'), start=1))
    rows = ((n, words) for n, words in numbered if words and not words[0].startswith('#'))
    head: list[_Row] = []
    for line, words in rows:
        if not words[0].startswith(':'):
            return head, _chain((line, words), rows)
        head.append((line, words))
    raise InputFileError(path, 'a frame number', 'the end of the file', field='frame')


def _chain(first: _Row, rest: Iterator[_Row]) -> Iterator[_Row]:
    yield first
    yield from rest


def _read_flags(path: Path, head: list[_Row], angle_unit_rad: float) -> float:
    """Return the angle unit [rad]; refuse what the flags say we cannot read."""
    for line, words in head:
        flag = words[0][1:].upper()
        if flag.startswith(('DEG', 'RAD')):
            named = parse_angle_unit(flag)
            assert named is not None
            angle_unit_rad = named
        elif flag not in ('FULLY-SPECIFIED', 'SAMPLES-PER-SECOND'):
            wanted = ':FULLY-SPECIFIED, :DEGREES or :RADIANS'
            raise InputFileError(path, wanted, shorten(words[0]), line)
    return angle_unit_rad


def _read_frames(
    path: Path, rows: Iterator[_Row], skeleton: AsfSkeleton
) -> tuple[list[str], int]:
    """Return the values of all joints with degrees of freedom, frame by frame; frame count."""
    widths = {name: len(dof) for name, dof in zip(skeleton.joint_names, skeleton.dofs) if dof}
    words_in_order: list[str] = []
    frame: dict[str, list[str]] = {}
    number, number_line, n_frames = None, 0, 0
    for line, words in rows:
        if len(words) == 1:
            next_number = _frame_number(path, line, words[0], number)
            if number is not None:
                words_in_order += _in_order(path, frame, widths, number, number_line)
            number, number_line = next_number, line
            n_frames += 1
            frame = {}
            continue
        name = words[0]
        if number is None:
            raise InputFileError(path, 'a frame number', shorten(name), line, 'frame')
        if len(words) - 1 != widths.get(name, -1) or name in frame:
            raise _row_error(path, line, words, widths, name in frame)
        frame[name] = words[1:]
    words_in_order += _in_order(path, frame, widths, number, number_line)
    return words_in_order, n_frames


def _frame_number(path: Path, line: int, word: str, before: int | None) -> int:
    number = parse_int(word)
    if number is None:
        raise InputFileError(path, 'a frame number', shorten(word), line, 'frame')
    if before is not None and number != before + 1:
        raise InputFileError(path, f'frame {before + 1}', str(number), line, 'frame')
    return number


def _in_order(
    path: Path, frame: dict[str, list[str]], widths: dict[str, int], number: int | None, line: int
) -> list[str]:
    """Return one frame's tokens in the order of the skeleton's joints."""
    if len(frame) != len(widths):
        missing = ', '.join(name for name in widths if name not in frame)
        hint = 'the file may be cut off'
        raise InputFileError(
            path, 'a line for each bone', f'none for {missing}', line, f'frame {number}', hint
        )
    return [word for name in widths for word in frame[name]]


def _row_error(
    path: Path, line: int, words: list[str], widths: dict[str, int], is_repeated: bool
) -> InputFileError:
    name = words[0]
    if name not in widths:
        hint = 'bones with values: ' + ', '.join(widths)
        wanted = 'a bone of the ASF with dof'
        return InputFileError(path, wanted, shorten(name), line, 'frame', hint)
    if is_repeated:
        return InputFileError(path, 'each bone once a frame', 'a second line', line, name)
    return InputFileError(path, f'{widths[name]} values', str(len(words) - 1), line, name)


def _value_error(path: Path, text: str) -> InputFileError:
    """Return the error for the first value that is not a finite number."""
    bad = (
        (line, words[0], words[1 + first_bad_word(words[1:])])
        for line, words in _split_head(path, text)[1] if first_bad_word(words[1:]) >= 0
    )
    line, name, word = next(bad)
    return InputFileError(path, 'finite numbers', shorten(word), line, name)
