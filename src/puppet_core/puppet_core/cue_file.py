# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Cues of a show: named sets of parameters that the running nodes take at a word.

What matters differs from scene to scene: an animator assigns environment and influence distances
in accordance with the context (Shin2002 sec. 4.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from puppet_core.io import brief, InputFileError, load_yaml, Section

FORMAT = 'puppet-cues/1'
EVERY_PUPPET = 'retarget*'  # retarget, and retarget_2 and so on of further puppets
SHORT: Mapping[str, tuple[str, ...]] = {
    'environment': ('importance', EVERY_PUPPET, 'visualization'),
    'influence_distances_m': ('importance', EVERY_PUPPET),
    'character': ('retarget', 'visualization'),
    'solver': (EVERY_PUPPET,),
}
"""Parameters that go without their node, and the nodes that take them."""

OPTIONAL = ('visualization',)  # nodes without which a cue is complete
FILES = ('environment', 'character')  # parameters that may be paths, from the folder of the file


@dataclass(frozen=True, slots=True)
class Cue:
    name: str
    settings: Mapping[str, Mapping[str, Any]]  # Values by node, or pattern of nodes, and parameter


def load_cues(path: str | Path) -> tuple[Cue, ...]:
    """Read a file of cues, in their order; an InputFileError names file, line and key."""
    source = load_yaml(path, FORMAT)
    entries = source.section('cues')
    cues = tuple(_read_cue(name, entries.section(name)) for name in entries.keys())
    if not cues:
        raise source.error('cues', 'at least one', 'none')
    source.finish()
    return cues


def _read_cue(name: str, entry: Section) -> Cue:
    settings: dict[str, dict[str, Any]] = {}
    for key in entry.keys():
        value = entry.raw(key)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, (bool, int, float, str)) for part in parts):
            raise entry.error(key, 'a value or a list of them', brief(value))
        node, dot, parameter = key.partition('.')
        if not dot and key not in SHORT:
            raise entry.error(key, f'NODE.PARAMETER or one of {", ".join(SHORT)}', brief(key))
        nodes, parameter = ((node,), parameter) if dot else (SHORT[key], key)
        beside = entry.path.parent / value if parameter in FILES and value else None
        if beside is not None and beside.is_file():
            value = str(beside.resolve())
        for one in nodes:
            settings.setdefault(one, {})[parameter] = value
    if not settings:
        raise InputFileError(entry.path, 'parameters', 'none', entry.line, entry.name)
    return Cue(name, settings)
