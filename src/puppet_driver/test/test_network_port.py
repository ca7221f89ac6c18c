# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Real sockets on the loopback: bytes pass, and whatever goes wrong is a LinkError."""

from collections.abc import Iterator
import select
import socket

from puppet_core.io import ConfigError
from puppet_driver.errors import LinkError
from puppet_driver.transport import network_port
from puppet_driver.transport.network_port import (
    open_network_port,
    parse_endpoint,
    TcpPort,
    UdpPort,
)
import pytest

HOST = '127.0.0.1'


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Yield a listening TCP socket."""
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(5.0)
        yield server


@pytest.fixture
def device() -> Iterator[socket.socket]:
    """Yield a bound UDP socket."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind((HOST, 0))
        udp.settimeout(5.0)
        yield udp


def name_of(server: socket.socket, scheme: str = 'tcp') -> str:
    """Return the port's name of a socket."""
    return f'{scheme}://{HOST}:{server.getsockname()[1]}'


def readable(port: network_port.NetworkPort) -> bool:
    """Return whether there is something to read within some seconds."""
    return bool(select.select([port], (), (), 5.0)[0])


def read(port: network_port.NetworkPort) -> bytes:
    """Return what arrives next."""
    assert readable(port)
    return port.read()


@pytest.mark.parametrize(
    'name, expected',
    [
        ('tcp://10.0.0.7', ('tcp', '10.0.0.7', 6000)),
        ('udp://motionstar.lab:5000', ('udp', 'motionstar.lab', 5000)),
        ('tcp://[::1]:7', ('tcp', '::1', 7)),
    ],
)
def test_names_say_protocol_host_and_port(name, expected):
    assert parse_endpoint(name) == expected
    assert parse_endpoint(str(parse_endpoint(name))) == expected


@pytest.mark.parametrize(
    'name',
    [
        'tcp://',
        'http://host:80',
        '/dev/ttyUSB0',
        'tcp://host:6000/more',
        'tcp:host:6000',
        'tcp://me@host',
    ],
)
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match=r'ports: expected tcp://HOST\[:PORT\] or udp'):
        parse_endpoint(name)


def test_bytes_pass_both_ways_by_tcp(listener):
    port = open_network_port(name_of(listener))
    everything = bytes(range(256))
    with listener.accept()[0] as device:
        port.write(everything)
        assert device.recv(1000) == everything
        device.sendall(everything)
        assert read(port) == everything
        assert not port.read()
    port.close()


def test_datagrams_pass_one_by_one(device):
    port = open_network_port(name_of(device, 'udp'))
    assert isinstance(port, UdpPort)
    port.write(b'command')
    data, address = device.recvfrom(1000)
    assert data == b'command'
    for answer in (b'first', b'second'):
        device.sendto(answer, address)
    assert [read(port), read(port)] == [b'first', b'second']
    port.close()


def test_old_bytes_are_forgotten_on_demand(listener, device):
    tcp, udp = open_network_port(name_of(listener)), open_network_port(name_of(device, 'udp'))
    udp.write(b'x')
    tcp.write(b'x')
    with listener.accept()[0] as connected:
        connected.sendall(b'stale' * 1000)
        address = device.recvfrom(10)[1]
        for datagram in (b'stale', b'', b'stale'):
            device.sendto(datagram, address)
        for port in (tcp, udp):
            assert readable(port)
            port.discard_input()
            assert not select.select([port], (), (), 0.0)[0]
            port.close()


def test_what_a_device_says_as_soon_as_it_is_connected_is_kept(listener):
    port = open_network_port(name_of(listener))
    with listener.accept()[0] as connected:
        connected.sendall(b'first')
        assert readable(port)
        port.discard_input()
        assert read(port) == b'first'
        connected.sendall(b'rest')
        assert readable(port)
        # from then on it is old
        port.discard_input()
        assert not select.select([port], (), (), 0.0)[0]
    port.close()


def test_strangers_datagrams_are_not_heard(device):
    port = UdpPort(name_of(device, 'udp'))
    port.write(b'x')
    address = device.recvfrom(10)[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(b'stranger', address)
        device.sendto(b'device', address)
        assert read(port) == b'device'
    port.close()


def test_a_refused_connection_is_said_with_what_to_do(listener):
    name = name_of(listener)
    listener.close()
    with pytest.raises(LinkError, match=f'{name}: expected a connection, got a refusal: nothing'):
        port = TcpPort(name)
        readable(port)
        port.read()


def test_a_refused_datagram_is_said(device):
    name = name_of(device, 'udp')
    device.close()
    port = UdpPort(name)
    port.write(b'x')
    assert readable(port)
    with pytest.raises(LinkError, match=f'{name}: expected a connected device, got a refusal'):
        port.read()
    port.close()


def test_the_end_of_a_connection_is_said(listener):
    port = TcpPort(name_of(listener))
    listener.accept()[0].close()
    assert readable(port)
    with pytest.raises(LinkError, match='got the end of the connection'):
        port.read()
    port.close()


def test_a_host_that_does_not_answer_is_said_after_a_while(monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr(network_port.time, 'monotonic', lambda: now_s[0])
    with socket.create_server((HOST, 0), backlog=0) as server:
        # one may wait to be accepted; the others' requests are not answered
        ports = [TcpPort(name_of(server)) for _ in range(3)]
        ports[-1].write(b'kept')
        ports[-1].discard_input()
        assert not ports[-1].read()
        now_s[0] = 1.1
        with pytest.raises(LinkError, match='expected a connection within 1 s, got none; check'):
            ports[-1].write(b'too late')
        for port in ports:
            port.close()


class ConnectsLater(socket.socket):
    """A socket that is connected on demand."""

    waiting: tuple = ()

    def connect_ex(self, address: tuple) -> int:
        """Only begin."""
        self.waiting = address
        return network_port.errno.EINPROGRESS


def test_what_is_said_before_the_connection_stands_is_said_when_it_does(listener, monkeypatch):
    monkeypatch.setattr(socket, 'socket', ConnectsLater)
    port = TcpPort(name_of(listener))
    port.write(b'first ')
    socket.socket.__mro__[1].connect_ex(port._socket, port._socket.waiting)
    device = listener.accept()[0]
    port.write(b'second')
    received = b''
    while len(received) < 12:
        received += device.recv(100)
    assert received == b'first second'
    port.close()
    device.close()


def test_a_last_command_arrives_although_input_is_unread(listener):
    port = TcpPort(name_of(listener))
    with listener.accept()[0] as device:
        device.sendall(bytes(5000))
        assert readable(port)
        port.write(b'stop')
        port.close()
        device.settimeout(5.0)
        assert device.recv(100) == b'stop' and device.recv(100) == b''
    port.close()
