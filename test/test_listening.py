# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What listens for others: pages are reached on this machine only, by the kernel's own table."""

from contextlib import suppress
from ipaddress import ip_address, IPv4Address, IPv6Address
import os
from pathlib import Path
import re
import signal
import socket
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('viser', reason='viser is not installed')

from marked_processes import program  # noqa: E402,I100
from source_tree import ROOT  # noqa: E402

pytestmark = pytest.mark.ros

EXIT_S = 300.0  # a first start compiles meanwhile
LISTEN = '0A'  # linux/include/net/tcp_states.h
MOTION = str(ROOT / 'test' / 'goldens' / 'blubby_importance_based.mcap')
PAGES = {
    'demo': ('puppet_view', 'puppet_view'),
    'view': ('puppet_clips', 'puppet_clip', 'view', MOTION),
}


def listening(pid: int) -> list[tuple[IPv4Address | IPv6Address, int]]:
    """Return addresses and ports at which a process accepts connections (TCP)."""
    own, found = set(), []
    for link in Path(f'/proc/{pid}/fd').iterdir():
        with suppress(OSError):
            own.add(os.readlink(link))
    for table in ('tcp', 'tcp6'):
        for line in Path(f'/proc/{pid}/net/{table}').read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == LISTEN and f'socket:[{cells[9]}]' in own:
                address, port = cells[1].split(':')
                found.append((_address(address), int(port, 16)))
    return found


def _address(digits: str) -> IPv4Address | IPv6Address:
    """Return an address of words in the order of bytes of this machine."""
    words = [int(word, 16).to_bytes(4, sys.byteorder) for word in re.findall('.{8}', digits)]
    return ip_address(b''.join(words))


def test_what_is_open_to_others_is_seen():
    """The table that the test below trusts tells one from the other."""
    with socket.socket() as everywhere, socket.socket() as here:
        everywhere.bind(('0.0.0.0', 0))
        here.bind(('127.0.0.1', 0))
        for one in (everywhere, here):
            one.listen()
        found = {port: address.is_loopback for address, port in listening(os.getpid())}
        assert found[here.getsockname()[1]] and not found[everywhere.getsockname()[1]]


@pytest.mark.parametrize('page', PAGES)
def test_a_page_is_reached_on_this_machine_only(mark, page):
    package, name, *arguments = PAGES[page]
    with subprocess.Popen(
        [sys.executable, program(name, package), *arguments],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith('open http://'), process.communicate(timeout=EXIT_S)
        there = listening(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=EXIT_S)
    assert process.returncode in (0, 130) and 'Traceback' not in err  # a node, a command
    assert f':{there[0][1]}' in line
    assert all(address.is_loopback for address, _ in there)
