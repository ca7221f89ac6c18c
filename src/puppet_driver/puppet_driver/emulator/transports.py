# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The ways between an emulated device and a host; nothing here ever blocks."""

from contextlib import suppress
import os
from pathlib import Path
import select
import socket
import termios
import tty

from puppet_core.io import ConfigError
from puppet_driver.transport import Endpoint

READ_BYTES = 65536
BIND_ATTEMPTS = 20  # for a number that is free for both, if any will do


class PtyTransport:
    """A pseudo-terminal behind a link, losing what nobody reads; ConfigError if that is a file."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self._master, slave = os.openpty()
        self._slave_name = os.ttyname(slave)
        tty.setraw(slave)
        # a terminal that has been open once reports when it is not
        os.close(slave)
        os.set_blocking(self._master, False)
        self._poll = select.poll()
        self._poll.register(self._master, select.POLLHUP)
        self.is_open = False  # Whether a host is there
        try:
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink():
                link.unlink()
            link.symlink_to(self._slave_name)
        except OSError as err:
            os.close(self._master)
            raise ConfigError(f'{link}: expected a place for a link, got {err.strerror}') from err

    def fileno(self) -> int:
        """Return the descriptor, for select; meaningful while `is_open`."""
        return self._master

    def poll(self) -> None:
        was_open, self.is_open = self.is_open, not self._poll.poll(0)
        if self.is_open and not was_open:
            with suppress(termios.error):  # what the last host did not read is not the new one's
                termios.tcflush(self._master, termios.TCOFLUSH)

    def receive(self) -> bytes:
        """Return what the host has sent, empty if nothing or gone."""
        try:
            return os.read(self._master, READ_BYTES)
        except OSError:
            return b''

    def send(self, data: bytes) -> None:
        """Send to the host, or drop what it does not take."""
        if self.is_open:
            with suppress(OSError):
                os.write(self._master, data)

    def close(self) -> None:
        os.close(self._master)
        if self.link.is_symlink() and os.readlink(self.link) == self._slave_name:
            self.link.unlink()


class NetworkTransport:
    """
    A TCP and a UDP port of the same number, 0 for any free one; ConfigError if it is taken.

    Its methods are a PtyTransport's. The host is whoever connected last, or sent the last
    datagram; it is answered the way it asked. What it does not read is dropped, whole packets at a
    time.
    """

    def __init__(self, host: str, port: int) -> None:
        self._listener, self._datagrams = _bind_both(host, port)
        self._host, self._port = self._listener.getsockname()[:2]
        self._client: socket.socket | None = None
        self._peer: tuple | None = None
        self._unsent = b''
        self._epoll = select.epoll()
        self._epoll.register(self._listener, select.EPOLLIN)
        self._epoll.register(self._datagrams, select.EPOLLIN)

    @property
    def link(self) -> Endpoint:
        """Name under which a host finds it by TCP."""
        return self.endpoint('tcp')

    def endpoint(self, scheme: str) -> Endpoint:
        return Endpoint(scheme, self._host, self._port)

    def fileno(self) -> int:
        return self._epoll.fileno()

    @property
    def is_open(self) -> bool:
        return self._client is not None or self._peer is not None

    def receive(self) -> bytes:
        self.poll()
        return self._receive_stream() or self._receive_datagram()

    def send(self, data: bytes) -> None:
        if self._peer is not None:
            self._send_datagram(data, self._peer)
        elif self._client is not None:
            self._unsent = self._push(self._unsent)
            self._unsent = self._unsent or self._push(data)

    def close(self) -> None:
        self._drop_client()
        self._epoll.close()
        self._listener.close()
        self._datagrams.close()

    def poll(self) -> None:
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
            return b''

    def _send_datagram(self, data: bytes, peer: tuple) -> None:
        if data:
            with suppress(OSError):
                self._datagrams.sendto(data, peer)


Transport = PtyTransport | NetworkTransport


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
