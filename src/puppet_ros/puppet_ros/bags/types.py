# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Message types: classes, definitions (MCAP's `ros2msg`) and hashes, compared with a bag's."""

from collections.abc import Iterable, Iterator
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
    return _hash(definition_of(msgtype), msgtype)


def require_same_types(reader: 'BagReader', topics: Iterable[str]) -> list[str]:
    """
    Refuse messages of another version; return a warning for each type without a version.

    Raises InputFileError naming the type, and ConfigError if a type is not installed.
    """
    warnings = []
    for topic in topics:
        info = reader.info[topic]
        recorded = {info.type_hash} if info.type_hash else set()
        if info.definition:
            recorded.add(_hash(info.definition, info.type))
        if recorded - {type_hash_of(info.type)}:
            expected, got = f'{info.type} as installed here', 'that of an older version'
            hint = 'replay the bag by the version that recorded it, or record it anew'
            raise InputFileError(reader.path, expected, got, field=topic, hint=hint)
        if not recorded:
            warnings.append(f'{topic}: no definition of {info.type}; read as the one installed')
    return warnings


@cache
def _hash(definition: str, msgtype: str) -> str:
    """Return the hash of a type, which is that of its fields; '' if the text is none."""
    types = get_typestore(Stores.EMPTY)
    try:
        types.register(get_types_from_msg(definition, msgtype))
        return types.hash_rihs01(msgtype)
    except (TypesysError, KeyError, RecursionError):
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


def _text(msgtype: str) -> str:
    match = _TYPE.fullmatch(msgtype)
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if match is not None and prefix:
            path = Path(prefix) / 'share' / match[1] / 'msg' / f'{match[2]}.msg'
            if path.is_file():
                return path.read_text(encoding='utf-8')
    raise ConfigError(f'{msgtype}: expected an installed message, got none')
