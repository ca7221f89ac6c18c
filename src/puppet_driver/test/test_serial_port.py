# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Real pyserial on real pseudo-terminals."""

from collections.abc import Iterator
import os
import select
import tty

from puppet_driver.errors import LinkError
from puppet_driver.transport.serial_port import SerialPort
import pytest

BAUD = 115200


@pytest.fixture
def pty_pair() -> Iterator[tuple[int, str]]:
    """Yield the device's end of a pseudo-terminal and the name of the host's."""
    master, slave = os.openpty()
    tty.setraw(slave)
    name = os.ttyname(slave)
    os.close(slave)
    yield master, name
    try:
        os.close(master)
    except OSError:
        pass  # the test pulled the plug


def readable(port: SerialPort) -> bool:
    """Return whether there is something to read within a second."""
    return bool(select.select([port], (), (), 1.0)[0])


def test_bytes_pass_both_ways_unchanged(pty_pair):
    master, name = pty_pair
    port = SerialPort(name, BAUD)
    everything = bytes(range(256))
    os.write(master, everything)
    assert readable(port) and port.read() == everything
    port.write(everything[:100])
    assert os.read(master, 1000) == everything[:100]
    port.close()


def test_old_bytes_are_forgotten_at_opening(pty_pair):
    master, name = pty_pair
    os.write(master, b'stale')
    port = SerialPort(name, BAUD)
    assert not select.select([port], (), (), 0.0)[0]
    port.close()


def test_a_busy_port_is_named(pty_pair):
    _, name = pty_pair
    port = SerialPort(name, BAUD)
    with pytest.raises(LinkError, match=f'{name}: expected a free port, .* close that program'):
        SerialPort(name, BAUD)
    port.close()


def test_a_pulled_plug_is_noticed(pty_pair):
    master, name = pty_pair
    port = SerialPort(name, BAUD)
    os.close(master)
    assert readable(port)
    with pytest.raises(LinkError, match=name):
        port.read()
    with pytest.raises(LinkError, match=name):
        port.write(b'?')
    port.close()
    port.close()
