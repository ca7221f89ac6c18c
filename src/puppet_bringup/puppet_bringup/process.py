# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One program of a running graph, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import json
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Process:
    """One program to start."""

    name: str
    """Node name, and what its log lines are prefixed with."""

    package: str
    """Package that installs it; '' for a program on PATH."""

    executable: str
    """Its name in the package's lib folder."""

    is_node: bool = True
    """Whether it takes ROS arguments."""

    arguments: tuple[str, ...] = ()
    """Its own arguments."""

    parameter_file: str = ''
    """Relative to the configuration folder."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """On top of the file's."""

    remappings: tuple[tuple[str, str], ...] = ()
    """From and to, of topics."""

    nodes: 'tuple[Process, ...]' = ()
    """What runs in it, if it is a process for several nodes."""

    def ros_arguments(self, config_dir: Path) -> list[str]:
        """Return what follows the program on a command line; nothing for other programs."""
        if self.nodes:
            return [
                word for node in self.nodes
                for word in ('--node', node.executable, *node.ros_arguments(config_dir))
            ]  # fmt: skip
        if not self.is_node:
            return []
        words = ['--ros-args', '-r', f'__node:={self.name}']
        if self.parameter_file:
            words += ['--params-file', str(config_dir / self.parameter_file)]
        for name, value in self.parameters.items():
            # JSON is YAML, and keeps numbers, texts and lists apart
            words += ['-p', f'{name}:={json.dumps(value)}']
        for old, new in self.remappings:
            words += ['-r', f'{old}:={new}']
        return words
