# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of the children."""

from pathlib import Path
from xml.etree import ElementTree

from puppet_bringup.program import child_environment
import pytest

TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE'
OLD_PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE'


def test_children_compute_in_one_thread_and_share_no_memory() -> None:
    """Unless the caller says otherwise."""
    environ = child_environment({'HOME': '/home/x', 'OMP_NUM_THREADS': '2'}, ROS_DOMAIN_ID='7')
    assert environ[TRANSPORTS] == 'UDPv4'
    assert environ['NUMBA_NUM_THREADS'] == '1' and environ['OMP_NUM_THREADS'] == '2'
    assert environ['HOME'] == '/home/x' and environ['ROS_DOMAIN_ID'] == '7'


def test_children_are_found_soon() -> None:
    """Their profile is installed, and announces them five times a second."""
    environ = child_environment({})
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
    environ = child_environment({name: value})
    assert environ[name] == value
    assert {TRANSPORTS, PROFILES, OLD_PROFILES} & environ.keys() == {name}
