# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A name server that does not answer holds up nobody, and no threads pile up."""

from collections.abc import Callable
import socket
import threading

from puppet_driver.errors import LinkError
from puppet_driver.transport import network_port as host_lookup
from puppet_driver.transport.network_port import HostLookup
import pytest

ASKED = ('tcp://lab:6000', 'lab', 6000, socket.SOCK_STREAM)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return a name server that answers once this is set."""
    may_answer = threading.Event()
    real = socket.getaddrinfo

    def look_up(host: str, *more: object, **options: object) -> object:
        if host != 'lab':
            return real(host, *more, **options)
        may_answer.wait(30.0)
        return ['found']

    monkeypatch.setattr(socket, 'getaddrinfo', look_up)
    monkeypatch.setattr(host_lookup, 'FIRST_WAIT_S', 0.01)
    return may_answer


def test_a_look_up_that_takes_long_is_told_and_fetched_later(
    server: threading.Event, wait_until: Callable[..., bool]
) -> None:
    lookup = HostLookup()
    n_threads = threading.active_count()
    for _ in range(20):
        with pytest.raises(LinkError, match=r'tcp://lab:6000: .* no answer to the look-up yet'):
            lookup.find(*ASKED)
    assert threading.active_count() == n_threads + 1
    server.set()
    assert wait_until(lambda: threading.active_count() == n_threads)
    assert lookup.find(*ASKED) == ['found']
    assert not lookup._pending


def test_addresses_need_no_name_server(server: threading.Event) -> None:
    n_threads = threading.active_count()
    found = HostLookup().find('tcp://127.0.0.1:7', '127.0.0.1', 7, socket.SOCK_STREAM)
    assert found[0][4] == ('127.0.0.1', 7) and threading.active_count() == n_threads


def test_names_are_asked_anew_each_time(
    server: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.set()
    monkeypatch.setattr(host_lookup, 'FIRST_WAIT_S', 10.0)
    lookup = HostLookup()
    assert lookup.find(*ASKED) == ['found']

    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, 'Name or service not known')

    monkeypatch.setattr(socket, 'getaddrinfo', refuse)
    with pytest.raises(LinkError, match='expected the name or address of a host, got Name or'):
        lookup.find(*ASKED)
    assert not lookup._pending
