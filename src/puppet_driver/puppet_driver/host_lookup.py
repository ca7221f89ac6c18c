# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Addresses of hosts, without waiting for a name server that does not answer.

The system's look-up of a name can take many seconds and cannot be broken off, while one thread
reads all lines. So it runs in a thread of its own, one for each name however often it is asked
for, and who asks meanwhile is told that it goes on.

"""

import ipaddress
import socket
import threading
from typing import Any

from puppet_driver.errors import LinkError

FIRST_WAIT_S = 0.1  # the usual look-up is much faster
Found = list[tuple[Any, ...]]
Key = tuple[str, int, socket.SocketKind]


class _Lookup:
    """One look-up, from its beginning until its result was fetched."""

    def __init__(self, key: Key) -> None:
        self.has_ended = threading.Event()
        self.result: tuple[Found, str] = [], ''
        self._key = key
        threading.Thread(target=self._run, name=f'look-up {key[0]}', daemon=True).start()

    def _run(self) -> None:
        try:
            self.result = _ask(*self._key)
        finally:
            self.has_ended.set()


class HostLookup:
    """Look-ups that go on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[Key, _Lookup] = {}

    def find(self, name: str, host: str, port: int, kind: socket.SocketKind) -> Found:
        """
        Return what getaddrinfo does.

        Parameters
        ----------
        name : str
            Of the port, for texts.
        host, port, kind
            What is looked for.

        Raises
        ------
        LinkError : if there is no such host, or nobody has said so yet.

        """
        key = host, port, kind
        found, problem = _ask(*key) if _is_address(host) else self._result(name, key)
        if problem:
            raise LinkError(f'{name}: expected the name or address of a host, got {problem}')
        return found

    def _result(self, name: str, key: Key) -> tuple[Found, str]:
        with self._lock:
            lookup = self._pending.get(key)
            wait_s = FIRST_WAIT_S if lookup is None else 0.0
            lookup = lookup or self._pending.setdefault(key, _Lookup(key))
        if not lookup.has_ended.wait(wait_s):
            raise LinkError(
                f'{name}: expected the address of {key[0]}, got no answer to the look-up yet; '
                'give the address itself or mend the name server'
            )
        with self._lock:
            self._pending.pop(key, None)
        return lookup.result


def _ask(host: str, port: int, kind: socket.SocketKind) -> tuple[Found, str]:
    """Return what was found and what the problem was, one of them empty."""
    try:
        return socket.getaddrinfo(host, port, type=kind), ''
    except OSError as err:
        return [], err.strerror or str(err)
    except UnicodeError as err:
        return [], str(err)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
