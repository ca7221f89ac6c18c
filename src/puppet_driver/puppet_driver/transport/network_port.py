# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A device on the network: a TCP connection, or a UDP socket bound to one peer address."""

import errno
import os
import socket
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from puppet_core.io import ConfigError
from puppet_driver.errors import LinkError
from puppet_driver.transport.serial_port import MAX_READ_BYTES

DEFAULT_PORT = 6000  # the MotionStar's
SCHEMES = ('tcp', 'udp')
CONNECT_TIMEOUT_S = 1.0
DRAIN_BYTES = 65536

_PROBLEMS = {
    errno.ECONNREFUSED: 'a refusal: nothing listens there; check the device and the port number',
    errno.ECONNRESET: 'a reset connection',
    errno.EPIPE: 'a closed connection',
    errno.EMFILE: 'too many open files; close some or restart the node',
    errno.ETIMEDOUT: 'no answer from the host; check its power, the network and its address',
    errno.EHOSTUNREACH: 'no route to the host; check its power, the network and its address',
    errno.ENETUNREACH: 'no route to the network; check the cable and the address',
}


class Endpoint(NamedTuple):
    scheme: str  # One of SCHEMES
    host: str  # Address or name
    port: int  # Number of the port there

    def __str__(self) -> str:
        host = f'[{self.host}]' if ':' in self.host else self.host
        return f'{self.scheme}://{host}:{self.port}'


def is_network_name(name: str) -> bool:
    return '://' in name


def parse_endpoint(name: str) -> Endpoint:
    """Return what `tcp://HOST[:PORT]` or `udp://HOST[:PORT]` means; ConfigError if neither."""
    try:
        parts = urlsplit(name)
        port = DEFAULT_PORT if parts.port is None else parts.port
    except ValueError as err:
        raise ConfigError(f'ports: expected a port number from 0 to 65535 in {name!r}') from err
    extra = parts.path or parts.query or parts.fragment or parts.username
    if parts.scheme not in SCHEMES or not parts.hostname or extra:
        raise ConfigError(f'ports: expected tcp://HOST[:PORT] or udp://HOST[:PORT], got {name!r}')
    return Endpoint(parts.scheme, parts.hostname, port)


class NetworkPort:
    """
    A TCP connection to `tcp://HOST:PORT`, or datagrams to and from `udp://HOST:PORT` alone.

    Raise LinkError for an unknown host, a refusal, or a connection that has gone (not by `close`),
    ConfigError if the name is no endpoint.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        endpoint = parse_endpoint(name)
        self._is_stream = endpoint.scheme == 'tcp'
        kind = socket.SOCK_STREAM if self._is_stream else socket.SOCK_DGRAM
        try:
            found = socket.getaddrinfo(endpoint.host, endpoint.port, type=kind)
        except (OSError, UnicodeError) as err:
            got = getattr(err, 'strerror', None) or str(err)
            raise LinkError(f'{name}: expected the name or address of a host, got {got}') from err
        family, _, protocol, _, address = found[0]
        try:
            self._socket = socket.socket(family, kind, protocol)
        except OSError as err:
            raise LinkError(f'{name}: expected a socket, got {_problem(err.errno or 0)}') from err
        self._is_fresh = True
        self._since_s, self._unsent = time.monotonic(), b''
        self._descriptor = self._socket.fileno()
        self._socket.setblocking(False)
        try:
            if self._is_stream:
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = self._socket.connect_ex(address)
        except OSError as err:
            code = err.errno or 0
        self._is_connecting = code == errno.EINPROGRESS
        if code not in (0, errno.EINPROGRESS):
            self._socket.close()
            raise LinkError(f'{name}: expected a connection, got {_problem(code)}')

    def fileno(self) -> int:
        return self._descriptor

    def discard_input(self) -> None:
        """Forget the bytes that have arrived, once something was sent or read."""
        while not self._is_fresh and self._receive(DRAIN_BYTES) is not None:
            pass

    def read(self) -> bytes:
        """Return what has arrived, of datagrams the first."""
        return self._receive(MAX_READ_BYTES) or b''

    def write(self, data: bytes) -> None:
        """Send a command, or keep it until the connection stands."""
        if self._is_connecting:
            self._unsent += data
            if not self._has_connected():
                return
            data, self._unsent = self._unsent, b''
        try:
            n_bytes = self._socket.send(data) if data else 0
        except OSError as err:
            raise self._gone(err) from err
        self._is_fresh = self._is_fresh and not data
        if n_bytes != len(data):
            raise LinkError(f'{self.name}: expected to send {len(data)} bytes, sent {n_bytes}')

    def close(self) -> None:
        """Close it after what was sent; never raises."""
        if self._is_stream:
            try:
                # unread input would turn the end into a reset, which overtakes the last command
                self._socket.shutdown(socket.SHUT_WR)
                self._is_fresh = False
                self.discard_input()
            except (OSError, LinkError):
                pass
        self._socket.close()

    def _receive(self, n_bytes: int) -> bytes | None:
        try:
            data = os.read(self._descriptor, n_bytes)
        except BlockingIOError:
            return None
        except OSError as err:
            raise self._gone(err) from err
        self._is_fresh = False
        if not data and self._is_stream:
            raise LinkError(
                f'{self.name}: expected a connected device, got the end of the connection'
            )
        return data

    def _gone(self, err: OSError) -> LinkError:
        expected = 'a connection' if self._is_connecting else 'a connected device'
        return LinkError(f'{self.name}: expected {expected}, got {_problem(err.errno or 0)}')

    def _has_connected(self) -> bool:
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise self._gone(OSError(code, os.strerror(code)))
        try:
            self._socket.getpeername()
        except OSError as err:
            if time.monotonic() - self._since_s > CONNECT_TIMEOUT_S:
                raise LinkError(
                    f'{self.name}: expected a connection within {CONNECT_TIMEOUT_S:g} s, got '
                    'none; check the power of the host, the network and its address'
                ) from err
            return False
        self._is_connecting = False
        return True


def _problem(code: int) -> str:
    return _PROBLEMS.get(code, os.strerror(code))
