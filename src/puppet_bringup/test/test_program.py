# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of the children."""

import os
from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

import psutil
from puppet_bringup.program import child_environment
from puppet_ros.private_domain import (
    DOMAIN_GAIN,
    FIRST_UNICAST,
    free_domain,
    PARTICIPANT_GAIN,
    PORT_BASE,
)
import pytest

TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE'
OLD_PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE'
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
CHOSEN = {TRANSPORTS, PROFILES, OLD_PROFILES}
TALKER = (
    'import rclpy; from std_msgs.msg import String; rclpy.init(); '
    "node = rclpy.create_node('talker'); node.create_publisher(String, 'talk', 1); "
    "print('ready', flush=True); input()"
)


def test_children_compute_in_one_thread_and_share_no_memory() -> None:
    """Unless the caller says otherwise."""
    environ = child_environment({'HOME': '/home/x', 'OMP_NUM_THREADS': '2'}, ROS_DOMAIN_ID='7')
    assert environ[TRANSPORTS] == 'UDPv4' and RANGE not in environ
    assert environ['NUMBA_NUM_THREADS'] == '1' and environ['OMP_NUM_THREADS'] == '2'
    assert environ['HOME'] == '/home/x' and environ['ROS_DOMAIN_ID'] == '7'


@pytest.mark.parametrize('given', [{}, {RANGE: 'LOCALHOST'}])
def test_children_are_found_soon(given: dict[str, str]) -> None:
    """Their profile is installed, and announces them five times a second."""
    environ = child_environment(given)
    assert environ[PROFILES] == environ[OLD_PROFILES]
    root = ElementTree.fromstring(Path(environ[PROFILES]).read_text())
    names = {'d': 'http://www.eprosima.com'}
    (period,) = root.findall('.//d:leaseAnnouncement/d:nanosec', names)
    assert int(period.text or 0) <= 200_000_000


@pytest.mark.parametrize(('name', 'value'), [
    (TRANSPORTS, 'DEFAULT'), (TRANSPORTS, ''), (PROFILES, '/etc/dds.xml'),
    (OLD_PROFILES, '/etc/dds.xml'),
])  # fmt: skip
def test_who_has_chosen_how_to_send_is_not_overruled(name: str, value: str) -> None:
    environ = child_environment({name: value, RANGE: 'LOCALHOST'})
    assert environ[name] == value and environ[RANGE] == 'LOCALHOST'
    assert CHOSEN & environ.keys() == {name}


def test_peers_elsewhere_are_left_to_be_reached() -> None:
    environ = child_environment({RANGE: 'LOCALHOST', 'ROS_STATIC_PEERS': '10.0.0.2'})
    assert environ[RANGE] == 'LOCALHOST' and 'subnet' in environ[PROFILES]


def test_children_that_keep_to_this_machine_have_no_shared_memory_and_no_other_address() -> None:
    """As the real middleware does it: rmw_fastrtps adds shared memory to the range LOCALHOST."""
    domain = free_domain()
    environ = child_environment({**_unchosen(), RANGE: 'LOCALHOST'}, ROS_DOMAIN_ID=str(domain))
    with subprocess.Popen(
        [sys.executable, '-c', TALKER], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as talker:  # fmt: skip
        try:
            assert talker.stdout is not None
            assert talker.stdout.readline() == 'ready\n'
            process = psutil.Process(talker.pid)
            sockets = process.net_connections('udp')
            assert {s.laddr.ip for s in sockets if s.laddr.port in _ports(domain)} == {'127.0.0.1'}
            assert not [m.path for m in process.memory_maps() if '/fastrtps_' in m.path]
        finally:
            talker.kill()


def _unchosen() -> dict[str, str]:
    """Return this environment as it is without any choice of how to send."""
    return {name: value for name, value in os.environ.items() if name not in CHOSEN}


def _ports(domain: int) -> range:
    first = PORT_BASE + DOMAIN_GAIN * domain
    return range(first, first + FIRST_UNICAST + 32 * PARTICIPANT_GAIN)
