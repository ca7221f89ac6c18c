# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader and writer of BVH files.

Read: any hierarchy, any channels of a joint in any order, any line wrapping. The unit is an
argument; the up axis is left to `clips.detect`. Channel order: angles are degrees, intrinsic,
applied in the order in which the CHANNELS line names them (`_assemble`).
Written: Y up, centimetres, T-pose at rest, joints named as our segments; the order of a joint's
rotations is chosen to keep it away from gimbal lock (`_rotation_order`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
import math
from pathlib import Path
import re

import numpy as np
from puppet_core.body import END_EFFECTORS, Motion, PARENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.clips.clip_file import ClipFile, TIP_SUFFIX
from puppet_core.clips.euler import euler_to_quats, quats_to_continuous_euler
from puppet_core.clips.skeleton_map import Q_WORLD_Y_UP
from puppet_core.clips.text import (
    first_bad_word,
    format_rows,
    parse_float,
    parse_floats,
    parse_int,
    read_floats,
    read_text,
    shorten,
)
from puppet_core.io import InputFileError, write_text
from puppet_core.math import Floats, frozen, Vec3, Vec3s
from puppet_core.math.quaternions import conjugate, multiply, rotate

MAX_JOINTS = 1000  # far above any body; bounds what a malformed file can cost
_KINDS = {'position': False, 'rotation': True}

DEFAULT_UNIT_M = 0.01  # BVH names no unit; centimetres are what nearly all exporters write
_SHORTEST_FRAME_S = 1e-4  # 10 kHz: ten times the fastest motion capture
_LONGEST_FRAME_S = 10.0
_RATE_HINT = 'or give the rate, --rate-hz'
_RATE_ROUNDING = 2e-5  # relative; frame times have at least five digits
_MOTION_LINE = re.compile(r'^[ \t]*MOTION\b', re.MULTILINE | re.IGNORECASE)
_FRAMES = re.compile(r'\s*Frames[ \t]*:[ \t]*([^\n]*)', re.IGNORECASE)
_FRAME_TIME = re.compile(r'\s*Frame[ \t]*Time[ \t]*:[ \t]*([^\s]*)', re.IGNORECASE)

_CM_PER_M = 100.0
_DIGITS = 8  # decimals of centimetres and degrees: far below 1e-6 m and 1e-6 rad after chains
_HEAD_PER_LEG = 0.2  # length drawn for the head, which our skeleton does not have
_AXIS_LETTERS = 'XYZ'
# Axes in the file: X to the left, Y up, Z to the front. The middle one locks at a quarter turn,
# so it is the axis about which the joint turns least far.
_ROOT_ORDER = (1, 0, 2)
_ORDERS = {
    'thigh': (1, 2, 0),
    'shank': (1, 2, 0),
    'foot': (1, 2, 0),
    'forearm': (1, 2, 0),
    'hand': (2, 1, 0),
}
_OTHER_ORDER = (2, 0, 1)


# The HIERARCHY section: its tokens, its tree, its channels.


@dataclass(frozen=True, slots=True)
class BvhChannel:
    """One number per frame: about or along an axis."""

    axis: int
    """0, 1, 2 for x, y, z."""

    turns: bool
    """True for a rotation in degrees, False for a position in the file's unit."""


@dataclass(slots=True)
class BvhJoint:
    """A joint or end site while its block is being read."""

    name: str
    parent: int
    is_tip: bool
    offset: list[float] | None = None
    channels: list[BvhChannel] = field(default_factory=list)
    has_channels: bool = False


def read_hierarchy(path: Path, text: str) -> list[BvhJoint]:
    """
    Return the joints and end sites in the order of the file.

    Parameters
    ----------
    path : Path
        The file, for errors.
    text : str
        The file's text up to the MOTION keyword.

    Raises
    ------
    InputFileError : if a keyword, number, brace or name is not where the format has it.

    """
    return _HierarchyReader(path, text).read()


class _HierarchyReader:
    """Reads the token stream once, with the open blocks on a stack (no recursion)."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._tokens = _tokenize(text)
        self._line = 1
        self._joints: list[BvhJoint] = []
        self._names: dict[str, int] = {}
        self._open: list[int] = []

    def read(self) -> list[BvhJoint]:
        self._expect('HIERARCHY')
        for word in self._words():
            key = word.upper()
            if key in ('ROOT', 'JOINT'):
                self._open_joint(key)
            elif key == 'END':
                self._expect('Site')
                self._open_end_site()
            elif key == 'OFFSET':
                self._read_offset()
            elif key == 'CHANNELS':
                self._read_channels()
            elif key == '}':
                self._close()
            else:
                wanted = 'ROOT, JOINT, End Site, OFFSET, CHANNELS, } or MOTION'
                raise self._error(wanted, shorten(word), 'HIERARCHY')
        if self._open:
            name = self._joints[self._open[-1]].name
            raise self._error("'}'", 'the end of the hierarchy', name)
        if not self._joints:
            raise self._error('a ROOT joint', 'none', 'HIERARCHY')
        if not any(joint.channels for joint in self._joints):
            raise self._error('at least one channel', 'none', 'CHANNELS')
        return self._joints

    def _words(self) -> Iterator[str]:
        for line, word in self._tokens:
            self._line = line
            yield word

    def _next(self, wanted: str, field_name: str) -> str:
        for word in self._words():
            return word
        raise self._error(wanted, 'the end of the hierarchy', field_name)

    def _expect(self, keyword: str) -> None:
        word = self._next(repr(keyword), keyword)
        if word.upper() != keyword.upper():
            raise self._error(repr(keyword), shorten(word), keyword)

    def _error(self, wanted: str, got: str, field_name: str, hint: str = '') -> InputFileError:
        return InputFileError(self._path, wanted, got, self._line, field_name, hint)

    def _add(self, name: str, line: int, is_tip: bool = False) -> None:
        if name in self._names:
            hint = f'it is also on line {self._names[name]}'
            raise InputFileError(
                self._path, 'a new joint name', shorten(name), line, 'JOINT', hint
            )
        if len(self._joints) >= MAX_JOINTS:
            raise self._error(f'at most {MAX_JOINTS} joints', 'more', 'HIERARCHY')
        parent = self._open[-1] if self._open else -1
        self._names[name] = line
        self._open.append(len(self._joints))
        self._joints.append(BvhJoint(name, parent, is_tip))

    def _open_joint(self, key: str) -> None:
        if (key == 'ROOT') == bool(self._joints):
            raise self._error('one ROOT, and only JOINTs below it', key, 'HIERARCHY')
        if not self._open and self._joints:
            raise self._error('JOINT inside the ROOT block', 'JOINT after it', 'HIERARCHY')
        words: list[str] = []
        line = self._line
        while (word := self._next("'{'", key)) != '{':
            words.append(word)
        if not words or '}' in words:
            raise InputFileError(self._path, 'a joint name', 'none', line, key)
        self._add(' '.join(words), line)

    def _open_end_site(self) -> None:
        while self._next("'{'", 'End Site') != '{':
            pass
        if not self._open:
            raise self._error('End Site inside a joint', 'one outside', 'End Site')
        parent = self._open[-1]
        ends = sum(joint.parent == parent and joint.is_tip for joint in self._joints)
        number = f' {ends + 1}' if ends else ''
        self._add(f'{self._joints[parent].name}{number}{TIP_SUFFIX}', self._line, is_tip=True)

    def _current(self, field_name: str) -> BvhJoint:
        if not self._open:
            raise self._error(f'{field_name} inside a joint', 'it outside', field_name)
        return self._joints[self._open[-1]]

    def _read_offset(self) -> None:
        joint = self._current('OFFSET')
        words = [self._next('3 numbers', 'OFFSET') for _ in range(3)]
        values = parse_floats(words)
        if values is None or joint.offset is not None:
            got = shorten(' '.join(words)) if values is None else 'a second OFFSET'
            raise self._error('3 finite numbers', got, f'{joint.name} OFFSET')
        joint.offset = values.tolist()

    def _read_channels(self) -> None:
        joint = self._current('CHANNELS')
        place = f'{joint.name} CHANNELS'
        word = self._next('a channel count', place)
        count = parse_int(word)
        if count is None or not 0 <= count <= 6 or joint.has_channels:
            got = 'a second CHANNELS' if joint.has_channels else shorten(word)
            raise self._error('a channel count in 0 .. 6', got, place)
        joint.has_channels = True
        for _ in range(count):
            word = self._next('a channel name', place)
            channel = _channel(word)
            if channel is None or channel in joint.channels:
                wanted = f'{count} different ones of Xposition, Yposition, Zposition, Xrotation, '
                raise self._error(wanted + 'Yrotation, Zrotation', shorten(word), place)
            joint.channels.append(channel)

    def _close(self) -> None:
        joint = self._current("'}'")
        if joint.offset is None:
            raise self._error('an OFFSET', 'none', f'{joint.name} OFFSET')
        if joint.is_tip and joint.channels:
            wanted, got = 'CHANNELS in joints only', 'CHANNELS in an End Site'
            raise self._error(wanted, got, f'{joint.name} CHANNELS')
        self._open.pop()


def _tokenize(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, word); braces are words of their own."""
    for line, row in enumerate(text.split('\n'), start=1):
        for word in row.replace('{', ' { ').replace('}', ' } ').split():
            yield line, word


def _channel(word: str) -> BvhChannel | None:
    axis, kind = 'xyz'.find(word[:1].lower()), _KINDS.get(word[1:].lower())
    return None if kind is None or axis < 0 else BvhChannel(axis, kind)


# The reader.


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
        Frames per second, in place of the rate of the file.

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
    """Return the error that explains best why the block has the wrong size."""
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
        own = values[:, column : column + len(joint.channels)]
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
        path,
        rate_hz,
        tuple(joint.name for joint in joints),
        np.array([joint.parent for joint in joints]),
        offsets,
        frozen(rotations),
        frozen(translations),
    )


def _positions(values: Floats, offset: float, is_root: bool) -> Floats:
    """Return joint coordinates along one axis from its position channel, shape (n,) [m]."""
    middle = float(np.median(values))
    is_added = not is_root and abs(middle) < abs(middle - offset)
    return values + offset if is_added else values


# The writer.
#
# The front is +Z, the left +X. The ends of hands and feet are the interaction points, so a motion
# read back has the same palms and soles. Angles are continuous over the frames. Each joint has
# the order of rotations whose gimbal lock is where the joint hardly gets.


def write_bvh(motion: Motion, path: str | Path) -> None:
    """
    Write a motion to a BVH file, all or nothing.

    Parameters
    ----------
    motion : Motion
        The motion; its end-effectors are those that its angles give.
    path : str or Path
        The file to make or replace.

    """
    write_text(path, bvh_text(motion))


def bvh_text(motion: Motion) -> str:
    """Return a motion as the text of a BVH file; see `write_bvh`."""
    lines = ['HIERARCHY', *_hierarchy(motion.skeleton)]
    lines += ['MOTION', f'Frames: {motion.n_frames}', f'Frame Time: {1.0 / motion.rate_hz:.12g}']
    return '\n'.join(lines) + '\n' + format_rows(_frame_rows(motion), _DIGITS)


def _rotation_order(index: int) -> tuple[int, int, int]:
    if index == 0:
        return _ROOT_ORDER
    return _ORDERS.get(SEGMENTS[index].split('_', 1)[-1], _OTHER_ORDER)


def _to_file_cm(points: Vec3s) -> Vec3s:
    return _CM_PER_M * rotate(conjugate(Q_WORLD_Y_UP), points)


def _hierarchy(skeleton: Skeleton) -> Iterator[str]:
    offsets = _to_file_cm(skeleton.offsets)
    ends: dict[int, Vec3] = {
        SEGMENT_INDEX['head']: np.array([0.0, 0.0, _HEAD_PER_LEG * skeleton.leg_length])
    }
    for name, point in zip(END_EFFECTORS, skeleton.interaction_points):
        ends[SEGMENT_INDEX[name]] = point
    return _joint_lines(0, 0, offsets, ends)


def _joint_lines(index: int, depth: int, offsets: Vec3s, ends: dict[int, Vec3]) -> Iterator[str]:
    indent = '  ' * depth
    order = ' '.join(f'{_AXIS_LETTERS[axis]}rotation' for axis in _rotation_order(index))
    channels = f'3 {order}' if index else f'6 Xposition Yposition Zposition {order}'
    yield f'{indent}{"JOINT" if index else "ROOT"} {SEGMENTS[index]}'
    yield f'{indent}{{'
    yield f'{indent}  OFFSET {_numbers(offsets[index])}'
    yield f'{indent}  CHANNELS {channels}'
    for child in np.flatnonzero(PARENTS == index):
        yield from _joint_lines(int(child), depth + 1, offsets, ends)
    if index in ends:
        end = _numbers(_to_file_cm(ends[index]))
        yield from (f'{indent}  End Site', f'{indent}  {{')
        yield from (f'{indent}    OFFSET {end}', f'{indent}  }}')
    yield f'{indent}}}'


def _numbers(values: Floats) -> str:
    return ' '.join(f'{value:.{_DIGITS}f}' for value in values)


def _frame_rows(motion: Motion) -> Floats:
    """Return a row per frame: root position, then the angles in the order of the joints."""
    q_file = multiply(multiply(conjugate(Q_WORLD_Y_UP), motion.rotations), Q_WORLD_Y_UP)
    angles = np.empty((motion.n_frames, len(SEGMENTS), 3))
    for order in {_rotation_order(i) for i in range(len(SEGMENTS))}:
        own = [i for i in range(len(SEGMENTS)) if _rotation_order(i) == order]
        angles[:, own] = np.degrees(quats_to_continuous_euler(q_file[:, own], order))
    columns = angles[:, _depth_first()].reshape(motion.n_frames, -1)
    return np.hstack([_to_file_cm(motion.root_positions), columns])


def _depth_first() -> list[int]:
    """Return the segments in the order in which the hierarchy lists them."""
    order: list[int] = []
    stack = [0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack.extend(int(child) for child in np.flatnonzero(PARENTS == index)[::-1])
    return order
