# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Cues, called: the nodes of a namespace take their sets of parameters."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from puppet_core.cue_file import Cue, OPTIONAL
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future


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
        asked: dict[str, dict[str, Any]] = {}
        for pattern, values in cue.settings.items():
            for node in filter(self._is_ready, self._matching(pattern)):
                asked.setdefault(node, {}).update(values)
        answers: dict[str, str] = {}
        if not asked:
            done('')

        def take(node: str, future: Future) -> None:
            result = future.result().result
            answers[node] = '' if result.successful else f'{node}: {result.reason}'
            if len(answers) == len(asked):
                done('; '.join(filter(None, answers.values())))

        for node, values in asked.items():
            parameters = [Parameter(name, value=value) for name, value in values.items()]
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
