# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Emulated MotionStars and the whole driver without ROS, over real loopback sockets."""

from dataclasses import astuple
from functools import partial
import socket

from birdnet_bytes import POSITION_TOL_M
from driver_session import nearest_error
import numpy as np
from puppet_driver.devices.birdnet import (
    decode_header,
    encode_packet,
    find_packet,
    Header,
    Message,
)
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.line import LineState
from puppet_driver.emulator.emulator import build_server, EmulatorConfig
from puppet_driver.emulator.performer import NoiseLevels
from puppet_driver.transport.network_port import Endpoint
import pytest

pytestmark = pytest.mark.slow

HOST = '127.0.0.1'
EVERY_WAY = pytest.mark.parametrize('scheme', ['tcp', 'udp', 'tcp+udp'])


@pytest.fixture
def serve(performance):
    servers = []

    def start(port=0, n_devices=1, **options):
        links = (Endpoint('tcp', HOST, port),) * n_devices
        options.setdefault('noise', NoiseLevels(0.0, 0.0, 0.0, 0.0))
        config = EmulatorConfig(links, 'motionstar', **options)
        servers.append(build_server(config, performance))
        servers[-1].start()
        return servers[-1]

    yield start
    for one in servers:
        kill(one)


def kill(server):
    if server.lines[0].pty._epoll.closed:
        return
    server.stop()
    server.close()


@pytest.fixture
def session(session):
    return partial(session, device='motionstar')


def names(server, scheme='tcp'):
    return [str(line.pty.endpoint(scheme)) for line in server.lines]


@EVERY_WAY
def test_frames_are_the_emulated_poses_and_stopping_stops(serve, session, wait_until, scheme):
    server = serve()
    run = session(names(server, scheme))
    assert wait_until(run.has(130))
    for poses in run.poses[:30]:
        position, _ = nearest_error(server.source.block(0, server.tick + 2), poses)
        assert position < POSITION_TOL_M
    steps_s = np.diff(run.stamps_ns[-120:]) * 1e-9
    # the median: a starved emulator skips ticks
    assert np.median(steps_s) == pytest.approx(1.0 / 120.0, rel=0.1) and steps_s.min() > 0.0
    counters = run.reader.lines[0].status.counters
    # until it is known where the sensors are
    n_settling = CONFIRMATIONS * 14
    assert astuple(counters) == (counters.records, 0, 16 * n_settling, 0, 0)
    assert run.news == [(False, f'{names(server, scheme)[0]}: MotionStar streams 14 sensor(s)')]
    run.reader.stop()
    assert wait_until(lambda: not server.lines[0].device.is_streaming)


def test_several_devices_make_one_frame(serve, session, wait_until):
    run = session(names(serve(n_devices=2)))
    assert wait_until(run.has(20))
    assert np.isfinite(run.poses[-1]).mean() > 0.9


@EVERY_WAY
def test_a_killed_device_is_reported_and_found_again(serve, session, wait_until, scheme):
    first = serve()
    run = session(names(first, scheme))
    assert wait_until(run.has(20))
    address = first.lines[0].pty.link
    kill(first)
    line = run.reader.lines[0]
    assert wait_until(run.said(f'{scheme}://{HOST}:{address.port}: expected'))
    # pauses double from failure to failure
    assert wait_until(lambda: line._retry_s >= 0.1) and line.state is not LineState.STREAMING
    serve(address.port)
    assert wait_until(run.has(20)) and run.n_streams() == 2
    assert line._retry_s == 0.05


def test_commands_go_by_tcp_and_data_comes_by_udp(serve, session, wait_until):
    server = serve()
    cable = server.lines[0].pty
    heard = {'stream': [], 'datagram': []}
    for kind, messages in heard.items():
        receive = getattr(cable, f'_receive_{kind}')

        def listen(receive=receive, messages=messages):
            data = receive()
            messages += [decode_header(data).message] if data else []
            return data

        setattr(cable, f'_receive_{kind}', listen)
    sent = []
    send = cable._send_datagram
    cable._send_datagram = lambda data, peer: (sent.append(data), send(data, peer))
    run = session(names(server, 'tcp+udp'))
    assert wait_until(run.has(60))
    assert heard['datagram'] == [Message.RUN_CONTINUOUS]
    assert {Message.WAKE_UP, Message.GET_STATUS, Message.SEND_SETUP} <= set(heard['stream'])
    assert [decode_header(data).message for data in sent[:3]] == [
        Message.RUN_CONTINUOUS_ANSWER,
        Message.DATA,
        Message.DATA,
    ]
    assert np.isfinite(run.poses[-1]).all()
    run.reader.stop()
    assert wait_until(lambda: not server.lines[0].device.is_streaming)
    assert heard['stream'][-1] is Message.STOP_DATA


def say(message, unit=0, body=b''):
    return encode_packet(Header(message, unit), body)


class Host:
    def __init__(self, server):
        self.socket = socket.create_connection(server.lines[0].pty.link[1:], 5.0)
        self._data = b''

    def ask(self, message, wanted, unit=0, body=b''):
        self.socket.sendall(say(message, unit, body))
        return self.await_packet(wanted)

    def await_packet(self, wanted):
        while True:
            packet, end = find_packet(self._data, {wanted})
            if packet is not None:
                self._data = self._data[end:]
                return packet
            self._data += self.socket.recv(4096)

    def run(self):
        self.ask(Message.WAKE_UP, Message.WAKE_UP_ANSWER)
        self.ask(Message.RUN_CONTINUOUS, Message.RUN_CONTINUOUS_ANSWER)


def test_a_host_that_does_not_read_loses_whole_packets(serve, wait_until):
    server = serve()
    cable = server.lines[0].pty
    host = Host(server)
    host.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    host.run()
    server.stop()
    packet = encode_packet(Header(Message.DATA), bytes(3000))
    while not cable._unsent:
        cable.send(packet)
    received = b''
    while cable._unsent:
        received += host.socket.recv(65536)
        cable.send(packet)
    cable.send(packet)
    while not received.endswith(packet[-3000:]) or len(received) % len(packet) != 0:
        received += host.socket.recv(65536)
        start = received.find(packet)
        received = received[max(start, 0) :]
    assert received == packet * (len(received) // len(packet))
    host.socket.close()
