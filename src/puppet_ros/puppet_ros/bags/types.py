# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Message types: classes, definitions and hashes of the installed ones, compared with a bag's.

A definition is in the form of rosbag2's MCAP files, encoding `ros2msg`: the text of the type's
.msg file, then that of each type in it, deep first and sorted, each after a line of = and one
of its name.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
import importlib
import os
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

from puppet_core.io import ConfigError, InputFileError
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError

if TYPE_CHECKING:
    from puppet_ros.bags.reader import BagReader

RULE = '=' * 80
Fields = Mapping[str, Mapping[str, str]]
"""Kind by name of each field, in their order, by message type."""
_TYPE = re.compile(r'([a-z][a-z0-9_]*)/msg/([A-Z][A-Za-z0-9]*)')


def class_of(msgtype: str) -> Any | None:
    """Return the Python class of a type like puppet_msgs/msg/PoseFrame; None if there is none."""
    match = _TYPE.fullmatch(msgtype)
    if match is None:
        return None
    try:
        return getattr(importlib.import_module(f'{match[1]}.msg'), match[2], None)
    except ImportError:
        return None


@cache
def definition_of(msgtype: str) -> str:
    """Return the text of a type and all it stands on; raise ConfigError if it is not installed."""
    texts: dict[str, str] = {}
    _collect(msgtype, texts)
    first, *others = texts
    inner = (f'{RULE}\nMSG: {name.replace("/msg/", "/")}\n{texts[name]}' for name in others)
    return '\n'.join((texts[first], *inner))


@cache
def type_hash_of(msgtype: str) -> str:
    """Return the hash of an installed type, as in RIHS01_e369.."""
    types = get_typestore(Stores.EMPTY)
    types.register(get_types_from_msg(definition_of(msgtype), msgtype))
    return types.hash_rihs01(msgtype)


@cache
def fields_of(definition: str, msgtype: str) -> Fields:
    """Return the fields of a type and all it stands on; raise ValueError if the text is none."""
    try:
        types = get_types_from_msg(definition, msgtype)
    except (TypesysError, KeyError, RecursionError) as err:
        raise ValueError(' '.join(str(err).split())[:80]) from err
    return {
        name: {field: _kind(node) for field, node in fields} for name, (_, fields) in types.items()
    }


def require_same_types(reader: 'BagReader', topics: Iterable[str]) -> list[str]:
    """
    Refuse messages of another version; return a warning for each type without a version.

    Raises InputFileError naming the type and the first difference, and ConfigError if a type is
    not installed.
    """
    warnings = []
    for topic in topics:
        info = reader.info[topic]
        installed = definition_of(info.type)
        expected, difference = f'{info.type} as installed here', ''
        if info.definition:
            try:
                recorded = fields_of(info.definition, info.type)
            except ValueError as err:
                difference = f'no definition of it ({err})'
            else:
                difference = first_difference(recorded, fields_of(installed, info.type))
        elif not info.type_hash:
            warnings.append(f'{topic}: no definition of {info.type}; read as the one installed')
        if not difference and info.type_hash and info.type_hash != type_hash_of(info.type):
            expected = f'{info.type} with the hash {type_hash_of(info.type)[:18]}..'
            difference = f'{info.type_hash[:18]}..'
        if difference:
            hint = 'it was recorded with another version of the messages'
            raise InputFileError(reader.path, expected, difference, field=topic, hint=hint)
    return warnings


def first_difference(recorded: Fields, installed: Fields) -> str:
    """Return in words the first field of one that the other does not have; '' if none."""
    for name, new in installed.items():
        if name not in recorded:
            return f'no {name}'
        old, where = recorded[name], f' in {name}'
        for field in (*new, *old):
            if field not in old:
                return f'no field {field!r}{where}'
            if field not in new:
                return f'one more field, {old[field]} {field}{where}'
            if old[field] != new[field]:
                return f'{old[field]} {field}{where} instead of {new[field]}'
        if list(old) != list(new):
            return f'the fields{where} in another order'
    return ''


def _collect(msgtype: str, texts: dict[str, str]) -> None:
    """Add the text of a type, and of all it stands on, unless it is there."""
    if msgtype in texts:
        return
    texts[msgtype] = _text(msgtype)
    _, fields = get_types_from_msg(texts[msgtype], msgtype)[msgtype]
    for inner in sorted({name for _, node in fields for name in _names(node)}):
        _collect(inner, texts)


def _names(node: Any) -> Iterator[str]:
    """Yield the message type that a field of rosbags stands on, if any."""
    kind, about = node
    if kind == Nodetype.NAME:
        yield about
    elif kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        yield from _names(about[0])


def _kind(node: Any) -> str:
    """Return the type of a field of rosbags as .msg files write it."""
    kind, about = node
    if kind == Nodetype.NAME:
        return str(about)
    name, bound = about
    if kind == Nodetype.BASE:
        return f'{name}<={bound}' if bound else name
    if kind == Nodetype.ARRAY:
        return f'{_kind(name)}[{bound}]'
    return f'{_kind(name)}[<={bound}]' if bound else f'{_kind(name)}[]'


def _text(msgtype: str) -> str:
    match = _TYPE.fullmatch(msgtype)
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if match is not None and prefix:
            path = Path(prefix) / 'share' / match[1] / 'msg' / f'{match[2]}.msg'
            if path.is_file():
                return path.read_text(encoding='utf-8')
    raise ConfigError(f'{msgtype}: expected an installed message, got none')
