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
from puppet_ros import share

# Small arrays only: pools of threads for linear algebra cost more than they give.
ONE_THREAD = {
    'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1',
    'NUMBA_NUM_THREADS': '1',
}  # fmt: skip

# Fast DDS. In shared memory, a process that is killed while it makes a port leaves whoever sends
# to it next waiting for ever, and others go on looking for a killed one there for seconds before
# the one that is started in its place is found. Over the loopback interface frames take no longer.
# If the range of discovery is this machine, rmw_fastrtps adds shared memory to whatever is chosen:
# so it is not told; the profile keeps nodes here instead (doc/faults.md).
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')  # new and old name
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
PEERS = 'ROS_STATIC_PEERS'
SUBNET, LOOPBACK = Path('fastdds') / 'subnet.xml', Path('fastdds') / 'loopback.xml'


def command_line(process: Process, config_dir: Path) -> list[str]:
    """
    Return the words that start a process.

    Raises
    ------
    ConfigError : if its program is not installed.

    """
    program = _find(process)
    return [program, *process.arguments, *process.ros_arguments(config_dir)]


def middleware_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """
    Return the variables by which nodes send and are found; none if the user has chosen any.

    They are to be put above the given ones. Whoever keeps to this machine, with LOCALHOST as the
    range of discovery, is kept there by the profile instead of by the range.

    """
    if any(name in environ for name in (TRANSPORTS, *PROFILES)):
        return {}
    stays = environ.get(RANGE) == 'LOCALHOST' and not environ.get(PEERS)
    profile = share.config_dir() / (LOOPBACK if stays else SUBNET)
    if not profile.is_file():
        return {}
    chosen = {RANGE: 'SYSTEM_DEFAULT'} if stays else {TRANSPORTS: 'UDPv4'}
    return {**chosen, **dict.fromkeys(PROFILES, str(profile))}


def child_environment(environ: Mapping[str, str], **changes: str) -> dict[str, str]:
    """Return this environment for children: numerics in one thread, and `middleware_settings`."""
    return {**ONE_THREAD, **environ, **middleware_settings(environ), **changes}


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
