# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The definitions of installed message types, with all they stand on, and their hashes.

In the form of rosbag2's MCAP files, encoding `ros2msg`: the text of the type's .msg file, then
that of each type in it, deep first and sorted, each after a line of = and one of its name.

"""

from functools import cache
import importlib
import json
import os
from pathlib import Path
import re
from typing import Any

from puppet_core.errors import ConfigError

RULE = '=' * 80
PRIMITIVES = {
    'bool', 'byte', 'char', 'float32', 'float64', 'int8', 'uint8', 'int16', 'uint16', 'int32',
    'uint32', 'int64', 'uint64', 'string', 'wstring', 'time', 'duration',
}
_FIELD = re.compile(r'\s*([A-Za-z][\w/]*)(<=\d+)?(\[(?:<=)?\d*\])?\s+([A-Za-z]\w*)\s*(=)?')
_TYPE = re.compile(r'[a-z][a-z0-9_]*/(?:msg/)?[A-Z][A-Za-z0-9]*')


def class_of(msgtype: str) -> Any | None:
    """Return the Python class of a type like puppet_msgs/msg/PoseFrame; None if there is none."""
    package, _, rest = msgtype.partition('/')
    kind, _, name = rest.partition('/')
    if not name or not msgtype.replace('/', '').isidentifier():
        return None
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name, None)
    except ImportError:
        return None


@cache
def definition_of(msgtype: str) -> str:
    """
    Return the text of a type and of all it stands on.

    Raises
    ------
    ConfigError : if one of them is not installed.

    """
    names: list[str] = []
    _collect(short_name(msgtype), names)
    texts = [_text(names[0])]
    texts += [f'{RULE}\nMSG: {name}\n{_text(name)}' for name in names[1:]]
    return '\n'.join(texts)


@cache
def type_hash_of(msgtype: str) -> str:
    """Return the hash of an installed type, as in RIHS01_e369..; '' if it is not known."""
    path = _share_file(short_name(msgtype), 'json')
    if path is None:
        return ''
    hashes = json.loads(path.read_text(encoding='utf-8')).get('type_hashes', [])
    return next((row['hash_string'] for row in hashes if row['type_name'] == msgtype), '')


def short_name(msgtype: str) -> str:
    """Return package/Name of package/msg/Name."""
    return msgtype.replace('/msg/', '/')


def fields_of(definition: str) -> dict[str, list[tuple[str, str]]]:
    """
    Return type and name of each field, by message; the one that is defined is ''.

    Comments, constants and default values are left out: they do not change what is sent.

    """
    found: dict[str, list[tuple[str, str]]] = {'': []}
    name = ''
    for line in definition.splitlines():
        if line.startswith('MSG: '):
            name = short_name(line[5:].strip())
            found[name] = []
            continue
        match = _FIELD.match(line)
        if match and not match[5]:
            found[name].append((match[1] + (match[2] or '') + (match[3] or ''), match[4]))
    return found


def _collect(name: str, names: list[str]) -> None:
    if name in names:
        return
    names.append(name)
    package = name.partition('/')[0]
    inner = set()
    for kind, _ in fields_of(_text(name))['']:
        base = re.split(r'[<\[]', kind)[0]
        if base not in PRIMITIVES:
            inner.add(_full(base, package))
    for dependency in sorted(inner):
        _collect(dependency, names)


def _full(name: str, package: str) -> str:
    if name == 'Header':
        return 'std_msgs/Header'
    return short_name(name) if '/' in name else f'{package}/{name}'


@cache
def _text(name: str) -> str:
    path = _share_file(name, 'msg')
    if path is None:
        raise ConfigError(f'{name}: expected an installed message, got none')
    return path.read_text(encoding='utf-8')


def _share_file(name: str, suffix: str) -> Path | None:
    if not _TYPE.fullmatch(name):
        return None
    package, _, kind = name.partition('/')
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    for prefix in prefixes:
        path = Path(prefix) / 'share' / package / 'msg' / f'{kind}.{suffix}'
        if path.is_file():
            return path
    return None
