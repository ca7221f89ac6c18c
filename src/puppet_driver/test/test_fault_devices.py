# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Every kind of device through every kind of fault, on real pseudo-terminals and sockets.

All devices have each fault at once, each with a driver of its own that is never restarted.
How long each recovery took is printed; that it takes a second at most is checked in
test_recovery.py, by a clock that no busy computer can hold up, and so is what half a record and
a missing sensor cost.
"""

from functools import partial
import socket
import struct
import time

from driver_session import Session
from driver_session import wait as session_wait
from faulty_transport import FaultyTransport
import numpy as np
from puppet_driver.devices.polhemus import XOFF
from puppet_driver.emulator.emulator import build_server, EmulatorConfig, SIMULATORS
from puppet_driver.emulator.performer import NoiseLevels
from puppet_driver.emulator.transports import NetworkTransport
from puppet_driver.transport.network_port import Endpoint
import pytest

pytestmark = pytest.mark.slow

SENSORS = ('left_hand', 'right_hand')
DEVICES = ('flock_of_birds', 'fastrak', 'liberty', 'patriot', 'motionstar')
RATE_HZ = 50.0
NETWORKED = ('motionstar',)
QUIET = NoiseLevels(0.0, 0.0, 0.0, 0.0)
UNPLUGGED_S, SILENT_S, NOISY_S = 3.0, 0.9, 1.0
BIT_ERROR_RATE = 0.01
ABRUPTLY = struct.pack('ii', 1, 0)  # how a connection is closed


class Rig:
    def __init__(self, name, server):
        self.name, self.server = name, server
        line = server.lines[0]
        remake = None
        if name in NETWORKED:
            host, port = line.pty.link.host, line.pty.link.port
            remake = lambda: NetworkTransport(host, port)  # noqa: E731
        self.cable, self.device = FaultyTransport(line.pty, remake=remake), line.device
        server.lines = (line._replace(pty=self.cable),)
        server.start()
        self.session = Session(server, device=name, rate_hz=RATE_HZ, sensors=list(SENSORS))
        self.record_bytes = SIMULATORS[name].record_bytes

    @property
    def line(self):
        return self.session.reader.lines[0].status

    @property
    def has_records(self):
        return self.session.reader.lines[0].has_records

    def is_whole_since(self, n_frames):
        return any(np.isfinite(poses).all() for poses in self.session.poses[n_frames:])


wait = partial(session_wait, seconds=30.0)


def last(seconds):
    until_s = time.monotonic() + seconds
    assert wait(lambda: time.monotonic() >= until_s)


@pytest.fixture(scope='module')
def rigs(tmp_path_factory, performance):
    folder = tmp_path_factory.mktemp('lines')
    made = []
    for name in DEVICES:
        link = Endpoint('tcp', '127.0.0.1', 0) if name in NETWORKED else folder / name
        config = EmulatorConfig((link,), name, SENSORS, RATE_HZ, noise=QUIET, restart_after_s=0.0)
        made.append(Rig(name, build_server(config, performance)))
    assert wait(lambda: all(rig.is_whole_since(20) for rig in made))
    yield made
    for rig in made:
        rig.session.stop()
        rig.server.stop()
        rig.server.close()


@pytest.fixture
def at_rest(rigs):
    n_frames = [len(rig.session.poses) for rig in rigs]
    assert wait(lambda: all(rig.is_whole_since(n + 5) for rig, n in zip(rigs, n_frames)))
    return [rig.line for rig in rigs]


def recover(rigs, what):
    since_s = time.monotonic()
    n_frames = [len(rig.session.poses) for rig in rigs]
    took_s = {}

    def are_whole():
        for rig, n in zip(rigs, n_frames):
            if rig.name not in took_s and rig.has_records and rig.is_whole_since(n):
                took_s[rig.name] = time.monotonic() - since_s
        return len(took_s) == len(rigs)

    assert wait(are_whole), f'{what}: {took_s}'
    print(what, *(f'{name} {seconds:.2f} s' for name, seconds in took_s.items()))


@pytest.mark.parametrize(
    'what, fault, cure, seconds',
    [
        ('unplugged', {'is_plugged': False}, {'is_plugged': True}, UNPLUGGED_S),
        ('silence', {'is_cut': True}, {'is_cut': False}, SILENT_S),
        ('wrong speed', {'baud_rate_bps': 9600}, {'baud_rate_bps': 115200}, SILENT_S),
        ('XOFF', {}, {}, 0.0),
    ],
)
def test_silence_is_an_error_until_its_cause_is_over(rigs, at_rest, what, fault, cure, seconds):
    hit = [rig for rig in rigs if what in {'unplugged', 'silence'} or rig.name not in NETWORKED]
    starts = [rig.line.starts for rig in hit]
    for rig in hit:
        vars(rig.cable).update(fault)
        if what == 'XOFF':
            rig.device.receive(XOFF, time.monotonic())
    last(seconds)
    assert wait(lambda: not any(rig.has_records for rig in hit))
    for rig in hit:
        assert rig.line.error.startswith(str(rig.cable.link)), rig.name
        vars(rig.cable).update(cure)
    recover(hit, what)
    assert [rig.line.starts for rig in hit] == [n + 1 for n in starts]


def test_one_bit_in_a_hundred_turned(rigs, at_rest):
    n_sent = [rig.cable.n_sent for rig in rigs]
    for rig in rigs:
        rig.cable.bit_error_rate = BIT_ERROR_RATE
    last(NOISY_S)
    for rig in rigs:
        rig.cable.bit_error_rate = 0.0
    recover(rigs, 'bit errors')
    for rig, was, n_before in zip(rigs, at_rest, n_sent):
        now = rig.line
        n_bytes = rig.cable.n_sent - n_before
        lost = now.counters.discarded_bytes - was.counters.discarded_bytes
        n_records = now.counters.records - was.counters.records
        assert now.starts == was.starts, rig.name
        assert now.counters.resyncs > was.counters.resyncs
        # what is under way at either end, a few packets, and a packet's header
        accounted = lost + n_records * rig.record_bytes
        header_bytes = 16 * (n_records // 2) if rig.name in NETWORKED else 0
        slack = 12 * len(SENSORS) * rig.record_bytes + header_bytes
        assert 0 < lost < n_bytes and abs(accounted - n_bytes) <= slack


@pytest.mark.parametrize('fault', ['reset', 'abandon'])
def test_a_connection_that_is_lost(rigs, at_rest, fault):
    networked = [rig for rig in rigs if rig.name in NETWORKED]
    starts, abandoned = [rig.line.starts for rig in networked], []
    for rig in networked:
        transport = rig.cable._transport
        if fault == 'reset':
            transport._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPTLY)
            transport._drop_client()
        else:
            # as one who has lost power does: the host sees nothing
            transport._epoll.unregister(transport._client)
            abandoned.append(transport._client)
            transport._client, transport._unsent = None, b''
    assert wait(lambda: not any(rig.has_records for rig in networked))
    recover(networked, fault)
    assert [rig.line.starts for rig in networked] == [n + 1 for n in starts]
    for client in abandoned:
        client.close()
