# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The HIERARCHY section of a BVH file: its tokens, its tree, its channels."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from puppet_core.clip_file import TIP_SUFFIX
from puppet_core.clip_text import parse_floats, parse_int, shorten
from puppet_core.errors import InputFileError

MAX_JOINTS = 1000  # far above any body; bounds what a malformed file can cost
_KINDS = {'position': False, 'rotation': True}


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
