# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The emulated MotionStar as a host on a real socket sees it, and as a program."""

from collections.abc import Callable, Iterator
import os
import signal
import socket
import subprocess
import sys

from birdnet_bytes import unit_of
from birdnet_records import decode_records
from puppet_core.io import ConfigError
from puppet_driver.devices import birdnet as status
from puppet_driver.devices.birdnet import (
    BAD_SAMPLE,
    encode_packet,
    find_packet,
    FORMATS,
    Header,
    Message,
    Packet,
)
from puppet_driver.emulator import cli
from puppet_driver.emulator.emulator import build_server, EmulatorConfig
from puppet_driver.emulator.faults import FaultRates
from puppet_driver.emulator.performer import NoiseLevels
from puppet_driver.emulator.server import EmulatorServer
from puppet_driver.transport.network_port import Endpoint
import pytest

HOST = '127.0.0.1'
EXIT_S = 20.0
QUIET = NoiseLevels(0.0, 0.0, 0.0, 0.0)


def say(message: Message, unit: int = 0, body: bytes = b'') -> bytes:
    """Return a request."""
    return encode_packet(Header(message, unit), body)


@pytest.fixture
def server(performance) -> Iterator[Callable[..., EmulatorServer]]:
    """Yield a function that starts an emulator on a free port and stops it afterwards."""
    servers: list[EmulatorServer] = []

    def start(**options: object) -> EmulatorServer:
        config = EmulatorConfig(links=(), device='motionstar', **{'noise': QUIET, **options})
        servers.append(build_server(config, performance, [Endpoint('tcp', HOST, 0)]))
        servers[-1].start()
        return servers[-1]

    yield start
    for one in servers:
        one.stop()
        one.close()


class Host:
    """A host by TCP or UDP, who waits for what it asks for."""

    def __init__(self, server: EmulatorServer, is_udp: bool = False) -> None:
        kind = socket.SOCK_DGRAM if is_udp else socket.SOCK_STREAM
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.settimeout(5.0)
        self.socket.connect(server.lines[0].pty.link[1:])
        self._data = b''

    def ask(self, message: Message, wanted: Message, unit: int = 0, body: bytes = b'') -> Packet:
        """Send a request; return the next packet of a kind."""
        self.socket.sendall(say(message, unit, body))
        return self.await_packet(wanted)

    def await_packet(self, wanted: Message) -> Packet:
        """Return the next packet of a kind."""
        while True:
            packet, end = find_packet(self._data, {wanted})
            if packet is not None:
                self._data = self._data[end:]
                return packet
            self._data += self.socket.recv(4096)

    def run(self) -> None:
        """Wake the device and let it stream."""
        self.ask(Message.WAKE_UP, Message.WAKE_UP_ANSWER)
        self.ask(Message.RUN_CONTINUOUS, Message.RUN_CONTINUOUS_ANSWER)


@pytest.mark.parametrize('is_udp', [False, True], ids=['tcp', 'udp'])
def test_a_host_gets_a_packet_per_tick_with_all_units(server, is_udp):
    host = Host(server(), is_udp)
    host.run()
    packets = [host.await_packet(Message.DATA) for _ in range(20)]
    numbers = [p.header.sequence for p in packets]
    assert numbers == list(range(numbers[0], numbers[0] + 20))
    for packet in packets:
        assert [r.address for r in decode_records(packet.body)] == list(range(2, 16))
    host.ask(Message.STOP_DATA, Message.STOP_DATA_ANSWER)
    host.socket.close()


@pytest.mark.parametrize('is_udp', [False, True], ids=['tcp', 'udp'])
def test_a_single_shot_is_one_packet(server, is_udp):
    host = Host(server(), is_udp)
    host.ask(Message.WAKE_UP, Message.WAKE_UP_ANSWER)
    packet = host.ask(Message.SINGLE_SHOT, Message.DATA)
    assert len(decode_records(packet.body)) == 14
    # nothing but the answer follows
    after = host.ask(Message.STOP_DATA, Message.STOP_DATA_ANSWER)
    assert after.header.sequence == packet.header.sequence + 1
    host.socket.close()


@pytest.mark.parametrize('code', sorted(FORMATS))
def test_every_format_is_sent_as_set_up(server, code):
    host = Host(server())
    host.ask(Message.WAKE_UP, Message.WAKE_UP_ANSWER)
    unit = unit_of(3, code, status.SETUP_APPEND_BUTTONS)
    body = status.encode_unit(unit)
    host.ask(Message.SEND_SETUP, Message.SEND_SETUP_ANSWER, 3, body)
    records = decode_records(host.ask(Message.SINGLE_SHOT, Message.DATA).body)
    assert records[1].code == code and records[1].buttons == 0
    assert records[0].code == 4 and records[0].buttons is None
    host.socket.close()


def test_units_may_report_seldom_or_not_at_all(server):
    host = Host(server())
    host.ask(Message.WAKE_UP, Message.WAKE_UP_ANSWER)
    for address, change in ((2, {'format_byte': 0}), (3, {'report_rate': 8})):
        body = status.encode_unit(unit_of(address)._replace(**change))
        host.ask(Message.SEND_SETUP, Message.SEND_SETUP_ANSWER, address, body)
    host.run()
    units = [
        {r.address for r in decode_records(host.await_packet(Message.DATA).body)}
        for _ in range(60)
    ]
    assert not any(2 in u for u in units) and all(4 in u for u in units)
    assert any(3 in u for u in units) and not all(3 in u for u in units)
    host.socket.close()


def test_drop_outs_are_bad_samples(server):
    host = Host(server(faults=FaultRates(drop_out=1.0)))
    host.ask(Message.WAKE_UP, Message.WAKE_UP_ANSWER)
    records = decode_records(host.ask(Message.SINGLE_SHOT, Message.DATA).body)
    assert {r.code for r in records} == {BAD_SAMPLE} and len(records) == 14
    host.socket.close()


def test_the_host_that_came_last_is_served(server):
    emulator = server()
    first, second = Host(emulator), Host(emulator)
    second.ask(Message.WAKE_UP, Message.WAKE_UP_ANSWER)
    assert first.socket.recv(10) == b''
    for host in (first, second):
        host.socket.close()


def test_a_host_that_leaves_ends_the_stream(server, wait_until):
    emulator = server()
    host = Host(emulator)
    host.run()
    assert emulator.lines[0].device.is_streaming
    host.socket.close()
    assert wait_until(lambda: not emulator.lines[0].device.is_streaming)


def test_a_host_that_does_not_read_loses_whole_packets(server, wait_until):
    emulator = server()
    cable = emulator.lines[0].pty
    host = Host(emulator)
    host.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    host.run()
    emulator.stop()
    packet = encode_packet(Header(Message.DATA), bytes(3000))
    while cable.dropped_bytes < 10 * len(packet):
        cable.send(packet)
    received = b''
    while cable._unsent:
        received += host.socket.recv(65536)
        cable.check_backlog()
    cable.send(packet)
    while not received.endswith(packet[-3000:]) or len(received) % len(packet) != 0:
        received += host.socket.recv(65536)
        start = received.find(packet)
        received = received[max(start, 0) :]
    assert received == packet * (len(received) // len(packet))
    host.socket.close()


def test_a_taken_address_is_refused(performance):
    config = EmulatorConfig(links=(), device='motionstar')
    with socket.create_server((HOST, 0)) as taken:
        address = Endpoint('tcp', *taken.getsockname())
        with pytest.raises(ConfigError, match=f'{HOST}:{address.port}: expected a free address'):
            build_server(config, performance, [Endpoint('tcp', HOST, 0), address])


def test_the_program_prints_its_address_and_ends_with_zero():
    program = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'puppet_driver.emulator.cli',
            '--device',
            'motionstar',
            '--listen',
            f'{HOST}:0',
            f'{HOST}:0',
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    word, *ports = program.stdout.readline().split()
    assert word == 'ready' and len(ports) == 2
    assert all(port.startswith(f'tcp://{HOST}:') for port in ports)
    program.send_signal(signal.SIGTERM)
    _, errors = program.communicate(timeout=EXIT_S)
    assert program.returncode == 0 and errors == ''


@pytest.mark.parametrize(
    'arguments, text',
    [
        (['--listen', 'host:port'], 'expected a port number from 0 to 65535'),
        (['--listen', '256.256.256.256:0'], '256.256.256.256:0: expected a free address'),
        (['--rate-hz', '150'], 'rate_hz: expected 20.0 <= value <= 144.0'),
        (['--listen', *[f'{HOST}:0'] * 15], 'expected 1 to 14 line(s)'),
    ],
)
def test_bad_input_is_one_sentence_and_exit_two(capsys, arguments, text):
    assert cli.main(['--device', 'motionstar', *arguments]) == 2
    said = capsys.readouterr().err
    assert text in said and said.count('\n') == 1
