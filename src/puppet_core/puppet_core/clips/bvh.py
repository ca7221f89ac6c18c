# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Reader and writer of BVH files.

Read: any hierarchy, any channels, any line wrapping; angles are degrees, intrinsic, in the order
of CHANNELS. Written: Y up, centimetres, T-pose at rest, joints named as our segments.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
import math
from pathlib import Path
import re

import numpy as np
from puppet_core.body import END_EFFECTORS, Motion, PARENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.clips.clip_file import (
    ClipFile,
    euler_to_quats,
    quats_to_continuous_euler,
    TIP_SUFFIX,
)
from puppet_core.clips.reading import (
    first_bad_word,
    parse_float,
    parse_floats,
    parse_int,
    read_text,
)
from puppet_core.clips.skeleton_map import Q_WORLD_Y_UP
from puppet_core.io import brief, InputFileError, write_text
from puppet_core.math import Floats, frozen, Vec3, Vec3s
from puppet_core.math.quaternions import conjugate, multiply, rotate

MAX_JOINTS = 1000  # far above any body; bounds what a malformed file can cost
DEFAULT_UNIT_M = 0.01  # BVH names no unit; centimetres are what nearly all exporters write
_SHORTEST_FRAME_S = 1e-4  # 10 kHz: ten times the fastest motion capture
_LONGEST_FRAME_S = 10.0
_RATE_HINT = 'or give the rate, --rate-hz'
_RATE_ROUNDING = 2e-5  # relative; frame times have at least five digits
_FAR = 0.5  # of the body's reach: who travels so far turns some joint by more than 6 degrees
_RADIANS = 'angles read as radians: none exceeds 6.28 though the root travels far'
_KEYWORDS = 'ROOT, JOINT, End Site, OFFSET, CHANNELS, } or MOTION'
_MOTION_LINE = re.compile(r'^[ \t]*MOTION\b', re.MULTILINE | re.IGNORECASE)
_FRAMES = re.compile(r'\s*Frames[ \t]*:[ \t]*(\S*)', re.IGNORECASE)
_FRAME_TIME = re.compile(r'\s*Frame[ \t]*Time[ \t]*:[ \t]*(\S*)', re.IGNORECASE)

_CM_PER_M = 100.0
_DIGITS = 8  # decimals of centimetres and degrees: far below 1e-6 m and 1e-6 rad after chains
_HEAD_PER_LEG = 0.2  # length drawn for the head, which our skeleton does not have
# Axes in the file: X to the left, Y up, Z to the front. The middle one locks at a quarter turn,
# so it is the axis about which the joint turns least far.
_ORDERS = {
    'pelvis': (1, 0, 2),
    'thigh': (1, 2, 0),
    'shank': (1, 2, 0),
    'foot': (1, 2, 0),
    'forearm': (1, 2, 0),
    'hand': (2, 1, 0),
}
_OTHER_ORDER = (2, 0, 1)


# The HIERARCHY section.


@dataclass(slots=True, eq=False)
class BvhJoint:
    """A joint or end site while its block is being read."""

    name: str
    parent: int
    is_tip: bool
    offset: list[float] | None = None
    # (position or rotation, axis) of each number per frame
    channels: list[tuple[str, int]] | None = None


class _Tokens:
    """The words of a hierarchy, braces apart, and the line of the last one."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.line = path, 1
        self._words = (
            (line, word)
            for line, row in enumerate(text.split('\n'), start=1)
            for word in row.replace('{', ' { ').replace('}', ' } ').split()
        )

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.line, word = next(self._words)
        return word

    def need(self, wanted: str, field_name: str) -> str:
        """Return the next word; raise at the end."""
        for word in self:
            return word
        raise self.error(wanted, 'the end of the hierarchy', field_name)

    def expect(self, keyword: str) -> None:
        word = self.need(repr(keyword), keyword)
        if word.upper() != keyword.upper():
            raise self.error(repr(keyword), brief(word), keyword)

    def error(self, wanted: str, got: str, field_name: str) -> InputFileError:
        return InputFileError(self.path, wanted, got, self.line, field_name)


def read_hierarchy(path: Path, text: str) -> list[BvhJoint]:
    """Return joints and end sites up to the MOTION keyword, in their order; or InputFileError."""
    tokens = _Tokens(path, text)
    joints: list[BvhJoint] = []
    lines: dict[str, int] = {}
    # The blocks that are open, innermost last: no recursion, so no file is too deep.
    blocks: list[BvhJoint] = []
    tokens.expect('HIERARCHY')
    for word in tokens:
        key = word.upper()
        if key in ('ROOT', 'JOINT', 'END'):
            line = tokens.line
            joint = _open_block(tokens, key, joints, blocks)
            if joint.name in lines:
                got, hint = brief(joint.name), f'it is also on line {lines[joint.name]}'
                raise InputFileError(path, 'a new joint name', got, line, 'JOINT', hint)
            if len(joints) >= MAX_JOINTS:
                raise tokens.error(f'at most {MAX_JOINTS} joints', 'more', 'HIERARCHY')
            lines[joint.name] = line
            joints.append(joint)
            blocks.append(joint)
        elif key not in ('OFFSET', 'CHANNELS', '}'):
            raise tokens.error(_KEYWORDS, brief(word), 'HIERARCHY')
        elif not blocks:
            name = "'}'" if key == '}' else key
            raise tokens.error(f'{name} inside a joint', 'it outside', name)
        elif key == 'OFFSET':
            _read_offset(tokens, blocks[-1])
        elif key == 'CHANNELS':
            _read_channels(tokens, blocks[-1])
        else:
            _check_block(tokens, blocks.pop())
    if blocks:
        raise tokens.error("'}'", 'the end of the hierarchy', blocks[-1].name)
    if not joints:
        raise tokens.error('a ROOT joint', 'none', 'HIERARCHY')
    if not any(joint.channels for joint in joints):
        raise tokens.error('at least one channel', 'none', 'CHANNELS')
    return joints


def _open_block(
    tokens: _Tokens, key: str, joints: list[BvhJoint], blocks: list[BvhJoint]
) -> BvhJoint:
    parent = joints.index(blocks[-1]) if blocks else -1
    if key == 'END':
        tokens.expect('Site')
        while tokens.need("'{'", 'End Site') != '{':
            pass  # the name of an end site
        if not blocks:
            raise tokens.error('End Site inside a joint', 'one outside', 'End Site')
        ends = sum(joint.parent == parent and joint.is_tip for joint in joints)
        number = f' {ends + 1}' if ends else ''
        return BvhJoint(f'{blocks[-1].name}{number}{TIP_SUFFIX}', parent, True)
    if (key == 'ROOT') == bool(joints):
        raise tokens.error('one ROOT, and only JOINTs below it', key, 'HIERARCHY')
    if joints and not blocks:
        raise tokens.error('JOINT inside the ROOT block', 'JOINT after it', 'HIERARCHY')
    words: list[str] = []
    line = tokens.line
    while (word := tokens.need("'{'", key)) != '{':
        words.append(word)
    if not words or '}' in words:
        raise InputFileError(tokens.path, 'a joint name', 'none', line, key)
    return BvhJoint(' '.join(words), parent, False)


def _read_offset(tokens: _Tokens, joint: BvhJoint) -> None:
    words = [tokens.need('3 numbers', 'OFFSET') for _ in range(3)]
    values = parse_floats(words)
    if values is None or joint.offset is not None:
        got = brief(' '.join(words)) if values is None else 'a second OFFSET'
        raise tokens.error('3 finite numbers', got, f'{joint.name} OFFSET')
    joint.offset = values.tolist()


def _read_channels(tokens: _Tokens, joint: BvhJoint) -> None:
    place = f'{joint.name} CHANNELS'
    word = tokens.need('a channel count', place)
    count = parse_int(word)
    if count is None or not 0 <= count <= 6 or joint.channels is not None:
        got = brief(word) if joint.channels is None else 'a second CHANNELS'
        raise tokens.error('a channel count in 0 .. 6', got, place)
    joint.channels = []
    for _ in range(count):
        word = tokens.need('a channel name', place)
        channel = word[1:].lower(), 'xyz'.find(word[:1].lower())
        is_known = channel[0] in ('position', 'rotation') and channel[1] >= 0
        if not is_known or channel in joint.channels:
            wanted = f'{count} different ones of Xposition, Yposition, Zposition, Xrotation, '
            raise tokens.error(wanted + 'Yrotation, Zrotation', brief(word), place)
        joint.channels.append(channel)


def _check_block(tokens: _Tokens, joint: BvhJoint) -> None:
    if joint.offset is None:
        raise tokens.error('an OFFSET', 'none', f'{joint.name} OFFSET')
    if joint.is_tip and joint.channels:
        wanted, got = 'CHANNELS in joints only', 'CHANNELS in an End Site'
        raise tokens.error(wanted, got, f'{joint.name} CHANNELS')


# The reader.


def read_bvh(
    path: str | Path, unit_m: float = DEFAULT_UNIT_M, rate_hz: float | None = None
) -> ClipFile:
    """Return a BVH file in metres, axes as in it, at `rate_hz` if given; or InputFileError."""
    path = Path(path)
    text = read_text(path, 'BVH')
    motion = _MOTION_LINE.search(text)
    joints = read_hierarchy(path, text[: motion.start()] if motion else text)
    if motion is None:
        raise InputFileError(path, 'a MOTION section', 'the end of the file', field='MOTION')
    n_frames, frame_time_s, body = _read_head(path, text, motion.end(), rate_hz is None)
    n_channels = sum(len(joint.channels or ()) for joint in joints)
    values = _read_values(path, text, body, n_frames, n_channels)
    notes: tuple[str, ...] = ()
    if len(values) != n_frames:
        notes += (f'{len(values)} frames, where the file says {n_frames}',)
    if rate_hz is None:
        rate_hz = 1.0 / frame_time_s
        whole = round(rate_hz)  # if the rounded frame time means one, as 0.00833333 s does
        if whole and abs(rate_hz - whole) < _RATE_ROUNDING * whole:
            rate_hz = float(whole)
    if _is_in_radians(joints, values):
        values, notes = _in_degrees(joints, values), (*notes, _RADIANS)
    return replace(_assemble(path, joints, values, rate_hz, unit_m), notes=notes)


def _columns(joints: list[BvhJoint], kind: str) -> list[int]:
    kinds = [channel for joint in joints for channel, _ in joint.channels or ()]
    return [i for i, found in enumerate(kinds) if found == kind]


def _is_in_radians(joints: list[BvhJoint], values: Floats) -> bool:
    """Return whether no angle exceeds a turn in radians though the root travels far."""
    places = [i for i in _columns(joints, 'position') if i < len(joints[0].channels or ())]
    angles = values[:, _columns(joints, 'rotation')]
    if len(places) != 3 or not angles.size or np.abs(angles).max() > 2.0 * np.pi:
        return False
    reach = np.zeros(len(joints))  # along the bones from the root
    for i, joint in enumerate(joints):
        if joint.parent >= 0:
            reach[i] = reach[joint.parent] + np.linalg.norm(joint.offset)
    travelled = np.linalg.norm(values[:, places] - values[0, places], axis=1).max()
    return bool(travelled > _FAR * reach.max() and np.any(angles))


def _in_degrees(joints: list[BvhJoint], values: Floats) -> Floats:
    values, turns = values.copy(), _columns(joints, 'rotation')
    values[:, turns] = np.degrees(values[:, turns])
    return values


def _line_at(text: str, position: int) -> int:
    return text.count('\n', 0, position) + 1


def _read_head(path: Path, text: str, start: int, is_time_needed: bool) -> tuple[int, float, int]:
    """Return frame count, frame time [s], NaN where none is needed, and where values begin."""
    frames = _FRAMES.match(text, start)
    if frames is None:
        line = _line_at(text, start)
        raise InputFileError(path, "'Frames: <count>'", 'something else', line, 'Frames')
    count = parse_int(frames[1])
    if count is None or count < 1:
        line = _line_at(text, frames.start(1))
        raise InputFileError(path, 'a frame count >= 1', brief(frames[1]), line, 'Frames')
    time = _FRAME_TIME.match(text, frames.end())
    if not is_time_needed:
        return count, math.nan, time.end() if time else frames.end()
    if time is None:
        line = _line_at(text, len(text) - len(text[frames.end() :].lstrip()))
        wanted, got = "'Frame Time: <s>'", 'something else'
        raise InputFileError(path, wanted, got, line, 'Frame Time', _RATE_HINT)
    seconds = parse_float(time[1])
    if seconds is None or not _SHORTEST_FRAME_S <= seconds <= _LONGEST_FRAME_S:
        line = _line_at(text, time.start(1))
        wanted = f'seconds in {_SHORTEST_FRAME_S:g} .. {_LONGEST_FRAME_S:g}'
        raise InputFileError(path, wanted, brief(time[1]), line, 'Frame Time', _RATE_HINT)
    return count, seconds, time.end()


def _read_values(path: Path, text: str, body: int, n_frames: int, n_channels: int) -> Floats:
    """Return all channel values, a frame a row; one frame more or less than promised is taken."""
    first = _line_at(text, body)
    rows = ((first + i, row.split()) for i, row in enumerate(text[body:].split('\n')))
    lines = [(line, words) for line, words in rows if words]
    # Compared before anything is allocated: the promised count may be absurd.
    n_values = sum(len(words) for _, words in lines)
    is_by_line = all(len(words) == n_channels for _, words in lines)
    if is_by_line and lines and n_values // n_channels in (n_frames - 1, n_frames + 1):
        n_frames = n_values // n_channels
    if n_values != n_frames * n_channels:
        raise _count_error(path, lines or [(first, [])], n_frames, n_channels)
    values = parse_floats([word for _, words in lines for word in words])
    if values is None:
        line, words = next(row for row in lines if first_bad_word(row[1]) >= 0)
        bad = first_bad_word(words)
        got, place = brief(words[bad]), f'value {bad + 1}'
        raise InputFileError(path, 'a finite number', got, line, place)
    return values.reshape(n_frames, n_channels)


def _count_error(
    path: Path, lines: list[tuple[int, list[str]]], n_frames: int, n_channels: int
) -> InputFileError:
    """Return the error that explains best why the block has the wrong size."""
    last = lines[-1][0]
    odd = [(line, len(words)) for line, words in lines if len(words) != n_channels]
    # One frame a line, all lines there: the wrong line can be named.
    if odd and (len(lines) == n_frames or (len(odd) == 1 and odd[0][0] != last)):
        line, count = odd[0]
        return InputFileError(path, f'{n_channels} channel values', str(count), line, 'MOTION')
    whole, rest = divmod(sum(len(words) for _, words in lines), n_channels)
    got = f'{whole} frames' + (f' and {rest} of {n_channels} values' if rest else '')
    wanted = f'{n_frames} frames of {n_channels} values'
    hint = 'the motion block is cut off' if whole < n_frames else ''
    return InputFileError(path, wanted, got, last, 'Frames', hint)


def _assemble(
    path: Path, joints: list[BvhJoint], values: Floats, rate_hz: float, unit_m: float
) -> ClipFile:
    offsets = unit_m * np.array([joint.offset for joint in joints])
    rotations = np.zeros((len(values), len(joints), 4))
    translations = np.tile(offsets, (len(values), 1, 1))
    column = 0
    for index, joint in enumerate(joints):
        turns: list[int] = []
        axes: list[int] = []
        moves = False
        for kind, axis in joint.channels or ():
            if kind == 'rotation':
                turns.append(column)
                axes.append(axis)
            else:
                moves = True
                along = unit_m * values[:, column]
                middle, offset = float(np.median(along)), offsets[index, axis]
                # position channels stand for the OFFSET, or are added if they stay near zero
                is_added = joint.parent >= 0 and abs(middle) < abs(middle - offset)
                translations[:, index, axis] = along + offset if is_added else along
            column += 1
        rotations[:, index] = euler_to_quats(axes, np.radians(values[:, turns]))
        if joint.parent >= 0 and moves and not offsets[index].any():
            offsets[index] = np.median(translations[:, index], axis=0)
    body = tuple(j.name for j in joints), np.array([j.parent for j in joints]), offsets
    return ClipFile(path, rate_hz, *body, frozen(rotations), frozen(translations))


# The writer.
#
# The front is +Z, the left +X. The ends of hands and feet are the interaction points, so a motion
# read back has the same palms and soles. Angles are continuous over the frames.


def write_bvh(motion: Motion, path: str | Path) -> None:
    """Write a motion to a BVH file, all or nothing; its end-effectors are what its angles give."""
    write_text(path, bvh_text(motion))


def bvh_text(motion: Motion) -> str:
    skeleton = motion.skeleton
    ends = {SEGMENT_INDEX[n]: p for n, p in zip(END_EFFECTORS, skeleton.interaction_points)}
    ends[SEGMENT_INDEX['head']] = np.array([0.0, 0.0, _HEAD_PER_LEG * skeleton.leg_length])
    lines = ['HIERARCHY', *_joint_lines(0, '', _to_file_cm(skeleton.offsets), ends)]
    lines += ['MOTION', f'Frames: {motion.n_frames}', f'Frame Time: {1.0 / motion.rate_hz:.12g}']
    q_file = multiply(multiply(conjugate(Q_WORLD_Y_UP), motion.rotations), Q_WORLD_Y_UP)
    angles = np.empty((motion.n_frames, len(SEGMENTS), 3))
    orders = [_rotation_order(i) for i in range(len(SEGMENTS))]
    for order in set(orders):
        own = [i for i, other in enumerate(orders) if other == order]
        angles[:, own] = np.degrees(quats_to_continuous_euler(q_file[:, own], order))
    # the hierarchy lists joints in the order of SEGMENTS
    rows = np.hstack([_to_file_cm(motion.root_positions), angles.reshape(motion.n_frames, -1)])
    line = ' '.join([f'%.{_DIGITS}f'] * rows.shape[1])
    return '\n'.join([*lines, *(line % tuple(row) for row in rows.tolist())]) + '\n'


def _rotation_order(index: int) -> tuple[int, int, int]:
    return _ORDERS.get(SEGMENTS[index].split('_', 1)[-1], _OTHER_ORDER)


def _to_file_cm(points: Vec3s) -> Vec3s:
    return _CM_PER_M * rotate(conjugate(Q_WORLD_Y_UP), points)


def _joint_lines(index: int, indent: str, offsets: Vec3s, ends: dict[int, Vec3]) -> Iterator[str]:
    order = ' '.join(f'{"XYZ"[axis]}rotation' for axis in _rotation_order(index))
    channels = f'3 {order}' if index else f'6 Xposition Yposition Zposition {order}'
    yield f'{indent}{"JOINT" if index else "ROOT"} {SEGMENTS[index]}'
    yield f'{indent}{{'
    yield f'{indent}  OFFSET {_numbers(offsets[index])}'
    yield f'{indent}  CHANNELS {channels}'
    for child in np.flatnonzero(PARENTS == index):
        yield from _joint_lines(int(child), indent + '  ', offsets, ends)
    if index in ends:
        yield from (f'{indent}  End Site', f'{indent}  {{')
        yield f'{indent}    OFFSET {_numbers(_to_file_cm(ends[index]))}'
        yield f'{indent}  }}'
    yield f'{indent}}}'


def _numbers(values: Floats) -> str:
    return ' '.join(f'{value:.{_DIGITS}f}' for value in values)
