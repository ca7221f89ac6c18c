# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Ports on real pseudo-terminals and sockets: bytes pass, and what goes wrong is a LinkError."""

import os
import select
import socket
import tty

from puppet_core.io import ConfigError
from puppet_driver.errors import LinkError
from puppet_driver.transport import network_port
from puppet_driver.transport.network_port import NetworkPort, parse_endpoint
from puppet_driver.transport.serial_port import SerialPort
import pytest

HOST = '127.0.0.1'
BAUD = 115200


class PtyDevice:
    def __init__(self):
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.name = os.ttyname(slave)
        os.close(slave)
        self.port = SerialPort(self.name, BAUD)
        self.gone = self.name

    def send(self, data):
        os.write(self._master, data)

    def receive(self):
        return os.read(self._master, 1000)

    def close(self):
        if self._master >= 0:
            os.close(self._master)
            self._master = -1


class SocketDevice:
    def __init__(self, scheme):
        kind = socket.SOCK_STREAM if scheme == 'tcp' else socket.SOCK_DGRAM
        with socket.socket(socket.AF_INET, kind) as own:
            own.bind((HOST, 0))
            self.name = f'{scheme}://{HOST}:{own.getsockname()[1]}'
            if scheme == 'tcp':
                own.listen()
                self.port = NetworkPort(self.name)
                self._socket = own.accept()[0]
                self.gone = 'expected a connected device, got the end of the connection'
            else:
                self.port = NetworkPort(self.name)
                self.port.write(b'hello')
                self._socket = own.dup()
                self._socket.connect(own.recvfrom(10)[1])
                self.gone = f'{self.name}: expected a connected device, got a refusal'
        self._socket.settimeout(5.0)
        self.send, self.close = self._socket.sendall, self._socket.close

    def receive(self):
        return self._socket.recv(1000)


@pytest.fixture(params=['serial', 'tcp', 'udp'])
def device(request):
    one = PtyDevice() if request.param == 'serial' else SocketDevice(request.param)
    yield one
    one.close()
    one.port.close()
    one.port.close()


@pytest.fixture
def listener():
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(5.0)
        yield server


def name_of(server):
    return f'tcp://{HOST}:{server.getsockname()[1]}'


def readable(port, seconds=5.0):
    return bool(select.select([port], (), (), seconds)[0])


def test_old_bytes_are_forgotten_on_demand(device):
    device.port.write(b'x')
    for data in (b'stale' * 100, b'stale'):
        device.send(data)
    assert readable(device.port)
    device.port.discard_input()
    assert not readable(device.port, 0.0)


def test_a_device_that_has_gone_is_reported(device):
    device.close()
    if device.name.startswith('udp'):
        device.port.write(b'x')
    assert readable(device.port)
    with pytest.raises(LinkError, match=device.gone):
        device.port.read()


def test_a_busy_serial_port_is_named():
    device = PtyDevice()
    with pytest.raises(LinkError, match=f'{device.name}: expected a free port, .* close that'):
        SerialPort(device.name, BAUD)
    device.port.close()
    SerialPort(device.name, BAUD).close()
    device.close()


@pytest.mark.parametrize('path', ['/dev/nothing', '/dev', __file__])
def test_path_that_is_no_serial_port_is_refused(path):
    with pytest.raises(LinkError, match=f'{path}: expected a serial port, got'):
        SerialPort(path, BAUD)


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
    ['tcp://', 'http://host:80', '/dev/ttyUSB0', 'tcp://host:1/more', 'tcp:host:1', 'tcp://me@h'],
)
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match=r'ports: expected tcp://HOST\[:PORT\] or udp'):
        parse_endpoint(name)


def test_first_bytes_of_a_connection_are_kept(listener):
    port = NetworkPort(name_of(listener))
    with listener.accept()[0] as connected:
        connected.sendall(b'first')
        assert readable(port)
        port.discard_input()
        assert port.read() == b'first'
        connected.sendall(b'rest')
        assert readable(port)
        # from then on it is old
        port.discard_input()
        assert not readable(port, 0.0)
    port.close()


def test_datagrams_come_one_by_one_and_strangers_are_not_heard():
    device = SocketDevice('udp')
    device.port.write(b'x')
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(b'stranger', device.port._socket.getsockname())
    for answer in (b'first', b'second'):
        device.send(answer)
    for answer in (b'first', b'second'):
        assert readable(device.port) and device.port.read() == answer
    device.close()
    device.port.close()


def test_a_refused_connection_is_reported_with_what_to_do(listener):
    name = name_of(listener)
    listener.close()
    with pytest.raises(LinkError, match=f'{name}: expected a connection, got a refusal: nothing'):
        port = NetworkPort(name)
        readable(port)
        port.read()


def test_a_host_that_does_not_answer_is_reported_after_a_while(monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr(network_port.time, 'monotonic', lambda: now_s[0])
    with socket.create_server((HOST, 0), backlog=0) as server:
        # one may wait to be accepted; the others' requests are not answered
        ports = [NetworkPort(name_of(server)) for _ in range(3)]
        ports[-1].write(b'kept')
        ports[-1].discard_input()
        assert not ports[-1].read()
        now_s[0] = 1.1
        with pytest.raises(LinkError, match='expected a connection within 1 s, got none; check'):
            ports[-1].write(b'too late')
        for port in ports:
            port.close()


class ConnectsLater(socket.socket):
    waiting: tuple = ()

    def connect_ex(self, address):
        self.waiting = address
        return network_port.errno.EINPROGRESS


def test_bytes_written_before_the_connection_stands_are_sent_later(listener, monkeypatch):
    monkeypatch.setattr(socket, 'socket', ConnectsLater)
    port = NetworkPort(name_of(listener))
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
    port = NetworkPort(name_of(listener))
    with listener.accept()[0] as device:
        device.sendall(bytes(5000))
        assert readable(port)
        port.write(b'stop')
        port.close()
        device.settimeout(5.0)
        assert device.recv(100) == b'stop' and device.recv(100) == b''


@pytest.mark.parametrize('host', ['a..b', 64 * 'x', 'no.host.invalid'])
def test_an_unknown_host_is_reported(host):
    with pytest.raises(LinkError, match=f'tcp://{host}: expected the name or address'):
        NetworkPort(f'tcp://{host}')
