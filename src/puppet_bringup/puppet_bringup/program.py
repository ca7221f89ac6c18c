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
from rclpy.utilities import get_rmw_implementation_identifier

# Small arrays only: pools of threads for linear algebra cost more than they give.
ONE_THREAD = {
    'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1',
    'NUMBA_NUM_THREADS': '1',
}  # fmt: skip

# Fast DDS. In shared memory, a process that is killed while it makes a port leaves whoever sends
# to it next waiting for ever, and the one that is started in its place is found seconds late. Over
# the loopback interface frames take no longer (doc/faults.md, doc/latency.md).
# If the range of discovery is this machine, rmw_fastrtps adds shared memory to whatever is chosen:
# so it is not told; the profile keeps nodes here instead.
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')  # new and old name
CHOICES = (TRANSPORTS, *PROFILES, 'ROS_DISCOVERY_SERVER')
RANGE, ONLY_HERE, PEERS = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS'
WIDER = ('', 'SUBNET', 'OFF', 'SYSTEM_DEFAULT')  # any other word is LOCALHOST to rcl
MIDDLEWARE, FAST_DDS = 'RMW_IMPLEMENTATION', 'rmw_fastrtps'
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
    Return the variables by which nodes send and are found.

    They are to be put above the given ones. None if the user has chosen any, or another
    middleware. Whoever keeps to this machine is kept there by the profile instead of by the range
    of discovery.

    Raises
    ------
    ConfigError : if the profile is not installed.

    """
    middleware = environ.get(MIDDLEWARE) or get_rmw_implementation_identifier()
    if not middleware.startswith(FAST_DDS) or any(name in environ for name in CHOICES):
        return {}
    is_only_here = environ.get(ONLY_HERE) == '1'  # of before Iron; peers do not count then
    stays = is_only_here or (environ.get(RANGE, '') not in WIDER and not environ.get(PEERS))
    profile = share.config_dir() / (LOOPBACK if stays else SUBNET)
    if not profile.is_file():
        raise ConfigError(f'{profile}: expected a profile of Fast DDS, got no such file')
    chosen = {RANGE: 'SYSTEM_DEFAULT'} if stays else {TRANSPORTS: 'UDPv4'}
    if is_only_here:
        chosen[ONLY_HERE] = '0'
    return {**chosen, **dict.fromkeys(PROFILES, str(profile))}


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
