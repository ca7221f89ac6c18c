# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where installed programs are, and the command line that starts a process of the table."""

from collections.abc import Mapping
import os
from pathlib import Path
import shutil

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from puppet_bringup.process import Process
from puppet_core.errors import ConfigError
from puppet_ros.middleware import middleware_settings

# Small arrays only: pools of threads for linear algebra cost more than they give.
ONE_THREAD = {
    'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1',
    'NUMBA_NUM_THREADS': '1',
}  # fmt: skip


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
