# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Process-wide settings: those of the middleware, a free ROS domain, one node of a name."""

from collections.abc import Mapping
import os
from pathlib import Path
import socket
import sys
import time
from weakref import WeakSet

from puppet_core.io import ConfigError
from puppet_ros import config_files
from rclpy.context import Context
from rclpy.node import Node
from rclpy.utilities import get_rmw_implementation_identifier

# Fast DDS. In shared memory, a process that is killed while it makes a port leaves whoever sends
# to it next waiting for ever, and the one that is started in its place is found seconds late. Over
# the loopback interface frames take no longer (doc/ros2.md).
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

# Ports of a domain, DDSI-RTPS 9.6.1.1: 7400 + 250 d; participant p listens at + 10 + 2 p.
PORT_BASE, DOMAIN_GAIN, FIRST_UNICAST, PARTICIPANT_GAIN = 7400, 250, 10, 2
N_PARTICIPANTS = 10  # probed; the first of a domain may have a later number
HIGHEST_DOMAIN = 101  # above it, ports reach into Linux' ephemeral range

_held: dict[str, socket.socket] = {}  # by this process
NODE_MARK = 'puppet_node_'
_guarded: WeakSet[Context] = WeakSet()
NAME_PATIENCE_S = 2.0  # for a node that is ending, or was killed


def middleware_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """
    Return the variables by which nodes send and are found.

    They are to be put above the given ones. None if the user has chosen any, or another
    middleware. Whoever keeps to this machine is kept there by the profile instead of by the range
    of discovery. Raises ConfigError if the profile is not installed.
    """
    middleware = environ.get(MIDDLEWARE) or get_rmw_implementation_identifier()
    if not middleware.startswith(FAST_DDS) or any(name in environ for name in CHOICES):
        return {}
    is_only_here = environ.get(ONLY_HERE) == '1'  # of before Iron; peers do not count then
    stays = is_only_here or (environ.get(RANGE, '') not in WIDER and not environ.get(PEERS))
    profile = config_files.config_dir() / (LOOPBACK if stays else SUBNET)
    if not profile.is_file():
        raise ConfigError(f'{profile}: expected a profile of Fast DDS, got no such file')
    chosen = {RANGE: 'SYSTEM_DEFAULT'} if stays else {TRANSPORTS: 'UDPv4'}
    if is_only_here:
        chosen[ONLY_HERE] = '0'
    return {**chosen, **dict.fromkeys(PROFILES, str(profile))}


def free_domain() -> int:
    """Return a domain that nobody on this machine has; raise ConfigError if none is free."""
    start = os.getpid()  # another in each process, so that simultaneous starts rarely meet
    for domain in (1 + (start + i) % HIGHEST_DOMAIN for i in range(HIGHEST_DOMAIN)):
        first = PORT_BASE + DOMAIN_GAIN * domain + FIRST_UNICAST
        ports = (first + PARTICIPANT_GAIN * p for p in range(N_PARTICIPANTS))
        # to hold it, too: no participant may listen there yet
        if all(_is_free(port) for port in ports) and hold(f'puppet_domain_{domain}'):
            return domain
    raise ConfigError(f'ROS_DOMAIN_ID: expected a free one in 1 to {HIGHEST_DOMAIN}, got none')


def hold(name: str) -> bool:
    """Take a name on this machine for this process; return whether it could be had."""
    if name not in _held:
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f'\0{name}')  # no file: it is gone with the process
        except OSError:
            mark.close()
            return False
        mark.listen()
        _held[name] = mark
    return True


def holder(name: str) -> str:
    """Return which process holds a name on this machine, in words; '' for none."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)  # nobody accepts: the queue is full after a hundred
        try:
            probe.connect(f'\0{name}')
        except OSError as err:
            return 'another' if isinstance(err, BlockingIOError) else ''
        credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4)
    number = int.from_bytes(credentials, sys.byteorder)
    return f'process {number}' if number else 'one in another container'


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True


def guard_names(context: Context) -> None:
    """Let nodes that are made in a context from now on `claim` their names."""
    _guarded.add(context)


def claim(node: Node) -> None:
    """Hold the name of a node in a guarded context; ConfigError if another process does."""
    if node.context not in _guarded:
        return
    domain, name = node.context.get_domain_id(), node.get_fully_qualified_name()
    deadline = time.monotonic() + NAME_PATIENCE_S
    while not hold(_held_name(domain, name)):
        if time.monotonic() > deadline:
            check_free(domain, name)
        time.sleep(0.05)


def release_names() -> None:
    """Give back the names that nodes of this process have claimed."""
    for name in [name for name in _held if name.startswith(NODE_MARK)]:
        _held.pop(name).close()


def check_free(domain: int, name: str) -> None:
    """Raise ConfigError if a process has the node of a full name on a domain."""
    if other := holder(_held_name(domain, name)):
        raise ConfigError(
            f'{name}: expected no other such node on domain {domain}, got {other}; '
            'end it, choose another ROS_DOMAIN_ID, or let both publish by allow_second:=true'
        )


def _held_name(domain: int, name: str) -> str:
    return f'{NODE_MARK}{domain}{name}'
