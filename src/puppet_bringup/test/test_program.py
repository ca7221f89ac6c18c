# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of the children."""

import os

from puppet_bringup.program import child_environment, send_without_shared_memory
import pytest

TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'


def test_children_compute_in_one_thread_and_share_no_memory() -> None:
    """Unless the caller says otherwise."""
    environ = child_environment({'HOME': '/home/x', 'OMP_NUM_THREADS': '2'}, ROS_DOMAIN_ID='7')
    assert environ[TRANSPORTS] == 'UDPv4'
    assert environ['NUMBA_NUM_THREADS'] == '1' and environ['OMP_NUM_THREADS'] == '2'
    assert environ['HOME'] == '/home/x' and environ['ROS_DOMAIN_ID'] == '7'


@pytest.mark.parametrize(('name', 'value'), [
    (TRANSPORTS, 'DEFAULT'),
    (TRANSPORTS, ''),
    ('FASTDDS_DEFAULT_PROFILES_FILE', '/etc/dds.xml'),
    ('FASTRTPS_DEFAULT_PROFILES_FILE', '/etc/dds.xml'),
])  # fmt: skip
def test_who_has_chosen_how_to_send_is_not_overruled(name: str, value: str) -> None:
    environ = child_environment({name: value})
    assert environ[name] == value
    assert environ.get(TRANSPORTS) == (value if name == TRANSPORTS else None)


def test_this_process_sends_as_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the user has chosen."""
    monkeypatch.setenv(TRANSPORTS, 'DEFAULT')
    send_without_shared_memory()
    assert os.environ[TRANSPORTS] == 'DEFAULT'
    monkeypatch.delenv(TRANSPORTS)
    send_without_shared_memory()
    assert os.environ[TRANSPORTS] == 'UDPv4'
