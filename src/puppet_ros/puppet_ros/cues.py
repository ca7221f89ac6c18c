# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Cues of a show: named sets of parameters that the running nodes take at a word.

What matters differs from scene to scene: an animator assigns environment and influence distances
in accordance with the context (Shin2002 sec. 4.1). A file has the sets; each node takes all of
its values or none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from puppet_core.io import brief, InputFileError, load_yaml, Section
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

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


class CueCaller:
    """Sets the parameters of cues on the nodes in the namespace of its own node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clients: dict[str, AsyncParameterClient] = {}

    def missing(self, cue: Cue) -> tuple[str, ...]:
        """Return the nodes that a cue needs and that are not there."""
        needed = {pattern: self._matching(pattern) for pattern in cue.settings}
        return tuple(
            pattern
            for pattern, nodes in needed.items()
            if pattern not in OPTIONAL and not (nodes and all(map(self._is_ready, nodes)))
        )

    def call(self, cue: Cue, done: Callable[[str], None]) -> None:
        """Ask all nodes; `done` gets '' when all have taken theirs, or why some have not."""
        if missing := self.missing(cue):
            done(f'{", ".join(missing)}: not there to take {cue.name!r}')
            return
        asked = {
            node: [Parameter(name, value=value) for name, value in values.items()]
            for pattern, values in cue.settings.items()
            for node in self._matching(pattern)
            if self._is_ready(node)
        }
        answers: dict[str, str] = {}

        def take(node: str, future: Future) -> None:
            result = future.result().result
            answers[node] = '' if result.successful else f'{node}: {result.reason}'
            if len(answers) == len(asked):
                done('; '.join(filter(None, answers.values())))

        for node, parameters in asked.items():
            future = self._client(node).set_parameters_atomically(parameters)
            future.add_done_callback(lambda answer, node=node: take(node, answer))

    def _matching(self, pattern: str) -> list[str]:
        """Return the nodes of a pattern in the own namespace."""
        home, known = self._node.get_namespace(), self._node.get_node_names_and_namespaces()
        return sorted({n for n, space in known if space == home and fnmatchcase(n, pattern)})

    def _client(self, node: str) -> AsyncParameterClient:
        if node not in self._clients:
            self._clients[node] = AsyncParameterClient(self._node, node)
        return self._clients[node]

    def _is_ready(self, node: str) -> bool:
        return bool(self._client(node).services_are_ready())
