# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A TCP and a UDP port of the same number, as the network between an emulated device and a host.

The device has one host at a time: whoever connected last, or sent the last datagram. It is
answered the way it asked. What is sent while nobody is there is lost; what a slow host does
not read is dropped, whole packets at a time. Nothing here ever blocks.

"""

import select
import socket
import struct

from puppet_core.io import ConfigError
from puppet_driver.transport import Endpoint

READ_BYTES = 65536
ABRUPTLY = struct.pack('ii', 1, 0)  # how a connection is closed
BIND_ATTEMPTS = 20  # for a number that is free for both, if any will do


class NetworkTransport:
    """
    A device's address.

    Parameters
    ----------
    host : str
        Address to listen at, such as 127.0.0.1.
    port : int
        Number of the port, 0 for any free one.

    Raises
    ------
    ConfigError : if the address cannot be had.

    """

    def __init__(self, host: str, port: int) -> None:
        self.dropped_bytes = 0
        self.is_open = False
        self._listener, self._datagrams = _bind_both(host, port)
        self._host, self._port = self._listener.getsockname()[:2]
        self._client: socket.socket | None = None
        self._peer: tuple | None = None
        self._abandoned: list[socket.socket] = []
        self._unsent = b''
        self._epoll = select.epoll()
        self._epoll.register(self._listener, select.EPOLLIN)
        self._epoll.register(self._datagrams, select.EPOLLIN)

    @property
    def link(self) -> Endpoint:
        """Name under which a host finds it by TCP."""
        return self.endpoint('tcp')

    def endpoint(self, scheme: str) -> Endpoint:
        """Return the name by either protocol."""
        return Endpoint(scheme, self._host, self._port)

    def fileno(self) -> int:
        """Return a descriptor that is readable whenever there is something to process."""
        return self._epoll.fileno()

    def look(self) -> bool:
        """Let a new host in; return whether it is news that one is there."""
        was_open = self.is_open
        self._accept()
        self.is_open = self._client is not None or self._peer is not None
        return self.is_open != was_open

    def receive(self) -> bytes:
        """Return what the host has sent, empty if nothing or gone."""
        self.look()
        data = self._receive_stream() or self._receive_datagram()
        self.is_open = self._client is not None or self._peer is not None
        return data

    def send(self, data: bytes) -> None:
        """Send to the host, or drop what it does not take."""
        if self._peer is not None:
            self._send_datagram(data, self._peer)
        elif self._client is not None:
            self.check_backlog()
            if self._unsent:
                self.dropped_bytes += len(data)
            else:
                self._unsent = self._push(data)

    def check_backlog(self) -> None:
        """Try again to send the rest of a packet."""
        if self._unsent:
            self._unsent = self._push(self._unsent)

    def reset(self) -> None:
        """Break the connection off: the host sees a reset."""
        if self._client is not None:
            self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPTLY)
        self._drop_client()

    def abandon(self) -> None:
        """Forget the connection as one who has lost power does: the host sees nothing."""
        if self._client is not None:
            self._epoll.unregister(self._client)
            self._abandoned.append(self._client)
        self._client, self._unsent = None, b''

    def close(self) -> None:
        """Close the port: the host sees the end of the connection."""
        self._drop_client()
        for connection in self._abandoned:
            connection.close()
        self._epoll.close()
        self._listener.close()
        self._datagrams.close()

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        self._drop_client()
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._epoll.register(client, select.EPOLLIN)
        self._client, self._peer = client, None

    def _drop_client(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client, self._unsent = None, b''

    def _receive_stream(self) -> bytes:
        if self._client is None:
            return b''
        try:
            data = self._client.recv(READ_BYTES)
        except BlockingIOError:
            return b''
        except OSError:
            data = b''
        if not data:
            self._drop_client()
        else:
            self._peer = None
        return data

    def _receive_datagram(self) -> bytes:
        try:
            data, self._peer = self._datagrams.recvfrom(READ_BYTES)
        except OSError:
            return b''
        return data

    def _push(self, data: bytes) -> bytes:
        """Send what fits; return the rest."""
        assert self._client is not None
        try:
            return data[self._client.send(data) :]
        except BlockingIOError:
            return data
        except OSError:
            self.dropped_bytes += len(data)
            return b''

    def _send_datagram(self, data: bytes, peer: tuple) -> None:
        if not data:
            return
        try:
            self._datagrams.sendto(data, peer)
        except OSError:
            self.dropped_bytes += len(data)


def _bind_both(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    for attempt in range(BIND_ATTEMPTS):
        family = socket.AF_INET6 if ':' in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        datagrams = socket.socket(family, socket.SOCK_DGRAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            datagrams.bind(listener.getsockname())
            listener.listen(1)
        except (OSError, OverflowError) as err:
            listener.close()
            datagrams.close()
            if port == 0 and attempt + 1 < BIND_ATTEMPTS:
                continue
            text = getattr(err, 'strerror', None) or str(err)
            raise ConfigError(f'{host}:{port}: expected a free address, got {text}') from err
        listener.setblocking(False)
        datagrams.setblocking(False)
        return listener, datagrams
    raise AssertionError('unreachable')
