# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A process of the table, where its program is installed, and its command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import shutil
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from puppet_core.io import ConfigError
from puppet_ros.process import middleware_settings

# Small arrays only: pools of threads for linear algebra cost more than they give.
ONE_THREAD = {
    'OMP_NUM_THREADS': '1',
    'OPENBLAS_NUM_THREADS': '1',
    'MKL_NUM_THREADS': '1',
    'NUMBA_NUM_THREADS': '1',
}


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
                word
                for node in self.nodes
                for word in ('--node', node.executable, *node.ros_arguments(config_dir))
            ]
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


def command_line(process: Process, config_dir: Path) -> list[str]:
    """
    Return the words that start a process.

    Raises
    ------
    ConfigError : if its program is not installed.

    """
    program = _find(process)
    return [program, *process.arguments, *process.ros_arguments(config_dir)]


def child_environment(environ: Mapping[str, str], **changes: str) -> dict[str, str]:
    """Return this environment for children: numerics in one thread, and `middleware_settings`."""
    given = {**environ, **changes}
    return {**ONE_THREAD, **given, **middleware_settings(given)}


def _find(process: Process) -> str:
    if not process.package:
        found = shutil.which(process.executable)
        if found is None:
            raise ConfigError(
                f'{process.executable}: expected this program on PATH, got none; '
                'it comes with a system installation of ROS 2'
            )
        return found
    try:
        prefix = get_package_prefix(process.package)
    except PackageNotFoundError as err:
        raise ConfigError(
            f'{process.package}: expected an installed package, found none; '
            'build the workspace and source its setup file'
        ) from err
    path = Path(prefix) / 'lib' / process.package / process.executable
    if not os.access(path, os.X_OK):
        raise ConfigError(f'{path}: expected an executable program, got none; build the workspace')
    return str(path)
