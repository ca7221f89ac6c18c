# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How the suite's processes send and are found: settings of the middleware, as variables."""

from collections.abc import Mapping
from pathlib import Path

from puppet_core.io import ConfigError
from puppet_ros import share
from rclpy.utilities import get_rmw_implementation_identifier

# Fast DDS. In shared memory, a process that is killed while it makes a port leaves whoever sends
# to it next waiting for ever, and the one that is started in its place is found seconds late. Over
# the loopback interface frames take no longer (doc/faults.md, doc/latency.md).
# If the range of discovery is this machine, rmw_fastrtps adds shared memory to whatever is chosen:
# so it is not told; the profile keeps nodes here instead. Both profiles make room for what comes
# while a process sleeps.
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')  # new and old name
CHOICES = (TRANSPORTS, *PROFILES, 'ROS_DISCOVERY_SERVER')
RANGE, ONLY_HERE, PEERS = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS'
WIDER = ('', 'SUBNET', 'OFF', 'SYSTEM_DEFAULT')  # any other word is LOCALHOST to rcl
MIDDLEWARE, FAST_DDS = 'RMW_IMPLEMENTATION', 'rmw_fastrtps'
SUBNET, LOOPBACK = Path('fastdds') / 'subnet.xml', Path('fastdds') / 'loopback.xml'


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
