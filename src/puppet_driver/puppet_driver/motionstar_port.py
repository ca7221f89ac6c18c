# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The ways to a MotionStar: one connection, datagrams, or a connection and datagrams for the data.

The third is named `tcp+udp://HOST[:PORT]`. Commands and their answers go by TCP, where none is
lost; data is asked for by a datagram, so that it comes as datagrams, none of which waits for a
lost one before it.

"""

import select
from typing import TYPE_CHECKING

from puppet_core.errors import ConfigError
from puppet_driver.birdnet import HEADER_BYTES, Message
from puppet_driver.birdnet_kernels import TYPE_AT
from puppet_driver.link import Port
from puppet_driver.network_port import (
    Endpoint,
    is_network_name,
    open_network_port,
    parse_endpoint,
    TcpPort,
    UdpPort,
)

if TYPE_CHECKING:
    from puppet_driver.parameters import DriverConfig

BOTH = 'tcp+udp'
REQUESTS_FOR_DATA = (Message.RUN_CONTINUOUS, Message.SINGLE_SHOT)


def parse_way(name: str) -> Endpoint:
    """
    Return what a port's name says, its scheme tcp, udp or tcp+udp.

    Raises
    ------
    ConfigError : naming the parameter and what it may be.

    """
    scheme, _, rest = name.partition('://')
    if not is_network_name(name) or scheme not in (BOTH, 'tcp', 'udp'):
        raise ConfigError(
            'ports: expected tcp://HOST[:PORT], udp://HOST[:PORT] or tcp+udp://HOST[:PORT] for '
            f'device motionstar, got {name!r}'
        )
    endpoint = parse_endpoint(f'tcp://{rest}')
    return endpoint._replace(scheme=scheme)


def has_datagrams(name: str) -> bool:
    """Return whether data comes in datagrams at the port of a name."""
    return parse_way(name).scheme != 'tcp'


class SplitPort:
    """
    A connection for commands and datagrams for data; a Port.

    Parameters
    ----------
    name : str
        `tcp+udp://HOST:PORT`.

    Raises
    ------
    LinkError : as TcpPort and UdpPort do.

    """

    def __init__(self, name: str) -> None:
        self.name = name
        endpoint = parse_way(name)
        self._commands = TcpPort(str(endpoint._replace(scheme='tcp')))
        self._data = UdpPort(str(endpoint._replace(scheme='udp')))
        # what goes wrong is said of the port that people know
        self._commands.name = self._data.name = name
        self._epoll = select.epoll()
        for port in (self._commands, self._data):
            self._epoll.register(port.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Return a descriptor that is readable when either is."""
        return self._epoll.fileno()

    def read_into(self, buffer: bytearray) -> int:
        """Read a datagram, or what has come by the connection; see NetworkPort."""
        return self._data.read_into(buffer) or self._commands.read_into(buffer)

    def write(self, data: bytes) -> None:
        """Send a command; see NetworkPort."""
        asks_for_data = len(data) >= HEADER_BYTES and data[TYPE_AT] in REQUESTS_FOR_DATA
        port = self._data if asks_for_data else self._commands
        port.write(data)

    def discard_input(self) -> None:
        """Forget what has arrived on both; see NetworkPort."""
        self._data.discard_input()
        self._commands.discard_input()

    def close(self) -> None:
        """Close both; never raises."""
        self._epoll.close()
        self._commands.close()
        self._data.close()


def open_motionstar_port(config: 'DriverConfig', name: str) -> Port:
    """Return the port of a name; raises as NetworkPort does."""
    return SplitPort(name) if parse_way(name).scheme == BOTH else open_network_port(name)
