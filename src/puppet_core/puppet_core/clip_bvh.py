# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of BVH files: any hierarchy, any channels per joint in any order, any line wrapping.

A BVH file says neither its unit nor its up axis: the unit is an argument, the axis is left to
`clip_skeleton_map`. The rest of the format's freedom is settled here: angles are degrees and
intrinsic in the order of the channels; position channels stand for the joint's OFFSET (so
Blender, MotionBuilder and the CMU conversions write them) unless the channel stays nearer to
zero than to the OFFSET of a joint that is not the root, where they are added to it. A joint
whose place is in its channels alone (OFFSET 0 0 0) has their median as its place at rest.

"""

import math
from pathlib import Path
import re

import numpy as np
from puppet_core.arrays import Floats, frozen
from puppet_core.clip_bvh_hierarchy import BvhJoint, read_hierarchy
from puppet_core.clip_euler import euler_to_quats
from puppet_core.clip_file import ClipFile
from puppet_core.clip_text import (
    first_bad_word,
    parse_float,
    parse_floats,
    parse_int,
    read_floats,
    read_text,
    shorten,
)
from puppet_core.errors import InputFileError

DEFAULT_UNIT_M = 0.01  # BVH names no unit; centimetres are what nearly all exporters write
_SHORTEST_FRAME_S = 1e-4  # 10 kHz: ten times the fastest motion capture
_LONGEST_FRAME_S = 10.0
_RATE_HINT = 'or give the rate, --rate-hz'
_RATE_ROUNDING = 2e-5  # relative; frame times have at least five digits
_MOTION_LINE = re.compile(r'^[ \t]*MOTION\b', re.MULTILINE | re.IGNORECASE)
_FRAMES = re.compile(r'\s*Frames[ \t]*:[ \t]*([^\n]*)', re.IGNORECASE)
_FRAME_TIME = re.compile(r'\s*Frame[ \t]*Time[ \t]*:[ \t]*([^\s]*)', re.IGNORECASE)


def read_bvh(
    path: str | Path, unit_m: float = DEFAULT_UNIT_M, rate_hz: float | None = None
) -> ClipFile:
    """
    Read a BVH file.

    Parameters
    ----------
    path : str or Path
        The file.
    unit_m : float
        Length of the file's unit [m].
    rate_hz : float, optional
        Frames per second, in place of what the file says or does not say.

    Returns
    -------
    clip : ClipFile
        In metres, axes as in the file.

    Raises
    ------
    InputFileError : naming line, field and what was expected, if the file is not a whole BVH.

    """
    path = Path(path)
    text = read_text(path, 'BVH')
    motion = _MOTION_LINE.search(text)
    joints = read_hierarchy(path, text[: motion.start()] if motion else text)
    if motion is None:
        raise InputFileError(path, 'a MOTION section', 'the end of the file', field='MOTION')
    n_frames, body = _read_frame_count(path, text, motion.end())
    frame_time_s, body = _read_frame_time(path, text, body, is_needed=rate_hz is None)
    n_channels = sum(len(joint.channels) for joint in joints)
    values = _read_values(path, text, body, n_frames, n_channels)
    return _assemble(path, joints, values, rate_hz or _rate_hz(frame_time_s), unit_m)


def _rate_hz(frame_time_s: float) -> float:
    """Return the rate; a whole number if the rounded frame time means one (0.00833333 s)."""
    rate_hz = 1.0 / frame_time_s
    whole = round(rate_hz)
    return float(whole) if whole and abs(rate_hz - whole) < _RATE_ROUNDING * whole else rate_hz


def _line_at(text: str, position: int) -> int:
    return text.count('\n', 0, position) + 1


def _read_frame_count(path: Path, text: str, start: int) -> tuple[int, int]:
    """Return the promised frame count and where its line ends."""
    frames = _FRAMES.match(text, start)
    if frames is None:
        line = _line_at(text, start)
        raise InputFileError(path, "'Frames: <count>'", 'something else', line, 'Frames')
    # Some writers have both on one line.
    word, *rest = frames[1].split(maxsplit=1) or ['']
    count = parse_int(word)
    if count is None or count < 1 or (rest and not _FRAME_TIME.match(rest[0])):
        line = _line_at(text, frames.start(1))
        raise InputFileError(path, 'a frame count >= 1', shorten(frames[1]), line, 'Frames')
    return count, frames.start(1) + len(word)


def _read_frame_time(path: Path, text: str, start: int, is_needed: bool) -> tuple[float, int]:
    """Return the frame time [s], NaN where none is needed, and where the values begin."""
    time = _FRAME_TIME.match(text, start)
    if time is None:
        if not is_needed:
            return math.nan, start
        line = _line_at(text, len(text) - len(text[start:].lstrip()))
        wanted, got = "'Frame Time: <s>'", 'something else'
        raise InputFileError(path, wanted, got, line, 'Frame Time', _RATE_HINT)
    seconds = parse_float(time[1])
    if is_needed and (seconds is None or not _SHORTEST_FRAME_S <= seconds <= _LONGEST_FRAME_S):
        line = _line_at(text, time.start(1))
        wanted = f'seconds in {_SHORTEST_FRAME_S:g} .. {_LONGEST_FRAME_S:g}'
        raise InputFileError(path, wanted, shorten(time[1]), line, 'Frame Time', _RATE_HINT)
    return math.nan if seconds is None else seconds, time.end()


def _read_values(path: Path, text: str, body: int, n_frames: int, n_channels: int) -> Floats:
    """Return all channel values, shape (n_frames, n_channels)."""
    values = read_floats(text[body:], n_frames * n_channels)
    if values is not None:
        return values.reshape(n_frames, n_channels)
    words = text[body:].split()
    # Compared before anything is allocated: the promised count may be absurd.
    if len(words) != n_frames * n_channels:
        raise _count_error(path, text, body, n_frames, n_channels)
    values = parse_floats(words)
    if values is None:
        line, place, word = _locate(text, body, first_bad_word(words))
        field = f'value {place + 1}'
        raise InputFileError(path, 'a finite number', shorten(word), line, field)
    return values.reshape(n_frames, n_channels)


def _numbered_lines(text: str, body: int) -> list[tuple[int, list[str]]]:
    """Return (line, words) of the motion block's lines that hold anything."""
    first = _line_at(text, body)
    rows = ((first + i, row.split()) for i, row in enumerate(text[body:].split('\n')))
    return [(line, words) for line, words in rows if words]


def _locate(text: str, body: int, index: int) -> tuple[int, int, str]:
    """Return line, index in the line, and word of the motion block's word number `index`."""
    for line, words in _numbered_lines(text, body):
        if index < len(words):
            return line, index, words[index]
        index -= len(words)
    raise AssertionError('index beyond the block')


def _count_error(
    path: Path, text: str, body: int, n_frames: int, n_channels: int
) -> InputFileError:
    """Return the error that says best why the block's size is wrong."""
    rows = _numbered_lines(text, body)
    total = sum(len(words) for _, words in rows)
    last = rows[-1][0] if rows else _line_at(text, body)
    odd = [(line, len(words)) for line, words in rows if len(words) != n_channels]
    # One frame a line, all lines there: the wrong line can be named.
    if odd and (len(rows) == n_frames or (len(odd) == 1 and odd[0][0] != last)):
        line, count = odd[0]
        return InputFileError(path, f'{n_channels} channel values', str(count), line, 'MOTION')
    whole, rest = divmod(total, n_channels)
    got = f'{whole} frames' + (f' and {rest} of {n_channels} values' if rest else '')
    wanted = f'{n_frames} frames of {n_channels} values'
    hint = 'the motion block is cut off' if whole < n_frames else ''
    return InputFileError(path, wanted, got, last, 'Frames', hint)


def _assemble(
    path: Path, joints: list[BvhJoint], values: Floats, rate_hz: float, unit_m: float
) -> ClipFile:
    offsets = unit_m * np.array([joint.offset for joint in joints])
    rotations = np.zeros((len(values), len(joints), 4))
    rotations[..., 0] = 1.0
    translations = np.tile(offsets, (len(values), 1, 1))
    column = 0
    for index, joint in enumerate(joints):
        own = values[:, column: column + len(joint.channels)]
        column += len(joint.channels)
        turning = [i for i, channel in enumerate(joint.channels) if channel.turns]
        moving = [i for i, channel in enumerate(joint.channels) if not channel.turns]
        axes = [joint.channels[i].axis for i in turning]
        rotations[:, index] = euler_to_quats(axes, np.radians(own[:, turning]))
        for i in moving:
            axis = joint.channels[i].axis
            moved = _positions(unit_m * own[:, i], offsets[index, axis], joint.parent < 0)
            translations[:, index, axis] = moved
        if joint.parent >= 0 and moving and not offsets[index].any():
            offsets[index] = np.median(translations[:, index], axis=0)
    return ClipFile(
        path, rate_hz, tuple(joint.name for joint in joints),
        np.array([joint.parent for joint in joints]), offsets, frozen(rotations),
        frozen(translations),
    )  # fmt: skip


def _positions(values: Floats, offset: float, is_root: bool) -> Floats:
    """Return joint coordinates along one axis from its position channel, shape (n,) [m]."""
    middle = float(np.median(values))
    is_added = not is_root and abs(middle) < abs(middle - offset)
    return values + offset if is_added else values
