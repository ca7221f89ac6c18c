# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole driver without ROS against an emulated MotionStar, over real loopback sockets."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import astuple
import socket

from birdnet_bytes import pose_error, POSITION_TOL_M, QUATERNION_TOL
import numpy as np
from puppet_core.io import build_config, check_values
from puppet_driver.devices.birdnet import UNIT_HAS_SENSOR
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.line import LineState
from puppet_driver.driver import make_reader
from puppet_driver.emulator.emulator import build_server, EmulatorConfig
from puppet_driver.emulator.faults import FaultRates
from puppet_driver.emulator.performer import NoiseLevels
from puppet_driver.emulator.server import EmulatorServer
from puppet_driver.frames.line_reader import LineReader, QueuedFrame
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
from puppet_driver.transport.network_port import Endpoint
import pytest

HOST = '127.0.0.1'
QUIET = NoiseLevels(0.0, 0.0, 0.0, 0.0)
EVERY_WAY = pytest.mark.parametrize('scheme', ['tcp', 'udp', 'tcp+udp'])


class Session:
    """A reader of some ports, and what came of it."""

    def __init__(self, ports: list[str], **options: object) -> None:
        given = {'device': 'motionstar', 'ports': ports, **options}
        config = build_config(DriverConfig, check_values(DRIVER_ROWS, given))
        self.frames: list[tuple[int, np.ndarray]] = []
        self.news: list[tuple[bool, str]] = []
        self.reader: LineReader = make_reader(config, self._keep, lambda *n: self.news.append(n))
        self.reader.start()

    def _keep(self, frame: QueuedFrame) -> None:
        self.frames.append((frame.stamp_ns, frame.poses))

    def has(self, n_frames: int) -> Callable[[], bool]:
        """Return a condition: so many more frames have come."""
        wanted = len(self.frames) + n_frames
        return lambda: len(self.frames) >= wanted

    def said(self, text: str) -> Callable[[], bool]:
        """Return a condition: an error with that text has been told."""
        return lambda: any(is_error and text in news for is_error, news in self.news)

    def n_streams(self) -> int:
        """Return how often it was told that a port streams."""
        return sum('streams' in news for is_error, news in self.news if not is_error)


@pytest.fixture
def serve(performance) -> Iterator[Callable[..., EmulatorServer]]:
    """Yield a function that starts an emulator and stops it afterwards."""
    servers: list[EmulatorServer] = []

    def start(port: int = 0, n_devices: int = 1, **options: object) -> EmulatorServer:
        config = EmulatorConfig(links=(), device='motionstar', **{'noise': QUIET, **options})
        addresses = [Endpoint('tcp', HOST, port)] * n_devices
        servers.append(build_server(config, performance, addresses))
        servers[-1].start()
        return servers[-1]

    yield start
    for one in servers:
        kill(one)


def kill(server: EmulatorServer) -> None:
    """Stop an emulator and close its sockets; harmless a second time."""
    if server.lines[0].pty._epoll.closed:
        return
    server.stop()
    server.close()


@pytest.fixture
def session() -> Iterator[Callable[..., Session]]:
    """Yield a function that starts a reader and stops it afterwards."""
    sessions: list[Session] = []

    def start(ports: list[str], **options: object) -> Session:
        sessions.append(Session(ports, **options))
        return sessions[-1]

    yield start
    for one in sessions:
        one.reader.stop()
        assert one.reader.failure is None


def names(server: EmulatorServer, scheme: str = 'tcp') -> list[str]:
    """Return the names of a server's ports."""
    return [str(line.pty.endpoint(scheme)) for line in server.lines]


@EVERY_WAY
def test_the_error_byte_of_data_packets_is_said_of_each_sensor(serve, session, wait_until, scheme):
    server = serve()
    run = session(names(server, scheme))
    assert wait_until(run.has(10))
    assert run.reader.lines[0].status.sensor_errors == ('',) * 14
    server.lines[0].device.data_error = 3
    text = 'error 3 (many sequence numbers missing)'
    assert wait_until(lambda: run.reader.lines[0].status.sensor_errors == (text,) * 14)
    server.lines[0].device.data_error = 0
    assert wait_until(run.has(10))
    assert run.reader.lines[0].status.sensor_errors == (text,) * 14


@EVERY_WAY
def test_frames_are_the_emulated_poses_and_stopping_stops(serve, session, wait_until, scheme):
    server = serve()
    run = session(names(server, scheme))
    assert wait_until(run.has(30))
    truth = server.poses_so_far()
    for _, poses in run.frames[:30]:
        nearest = np.abs(truth[..., :3] - poses[:, :3]).max(axis=(1, 2)).argmin()
        position, quaternion = pose_error(poses, truth[nearest])
        assert position < POSITION_TOL_M and quaternion < QUATERNION_TOL
    assert run.news == [(False, f'{names(server, scheme)[0]}: MotionStar streams 14 sensor(s)')]
    run.reader.stop()
    assert wait_until(lambda: not server.lines[0].device.is_streaming)


@EVERY_WAY
def test_frames_come_at_the_devices_rate_and_whole(serve, session, wait_until, scheme):
    run = session(names(serve(), scheme))
    assert wait_until(run.has(130))
    steps_s = np.diff([stamp for stamp, _ in run.frames[-120:]]) * 1e-9
    # the median: a starved emulator skips ticks
    assert np.median(steps_s) == pytest.approx(1.0 / 120.0, rel=0.1) and steps_s.min() > 0.0
    counters = run.reader.lines[0].status.counters
    # until it is known where the sensors are
    n_settling = CONFIRMATIONS * 14
    assert astuple(counters) == (counters.records, 0, 16 * n_settling, 0, 0)
    assert counters.records >= 130 * 14


def test_several_devices_make_one_frame(serve, session, wait_until):
    run = session(names(serve(n_devices=2)))
    assert wait_until(run.has(20))
    assert np.isfinite(run.frames[-1][1]).mean() > 0.9


@EVERY_WAY
def test_a_killed_device_is_said_and_found_again(serve, session, wait_until, scheme):
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


def test_a_late_device_is_found(serve, session, wait_until):
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
    run = session([f'tcp://{HOST}:{port}'])
    assert wait_until(run.said('got a refusal: nothing listens there; check the device and the'))
    serve(port)
    assert wait_until(run.has(20))


@EVERY_WAY
def test_a_device_that_falls_silent_is_said_and_started_again(serve, session, wait_until, scheme):
    server = serve()
    run = session(names(server, scheme))
    assert wait_until(run.has(20))
    server.lines[0].device.is_streaming = False
    assert wait_until(run.said('expected records of MotionStar, got none for 0.5 s'))
    assert wait_until(run.has(20))


def test_a_reset_connection_is_said_and_made_anew(serve, session, wait_until):
    server = serve()
    run = session(names(server))
    assert wait_until(run.has(20))
    server.lines[0].pty._client.shutdown(socket.SHUT_RDWR)
    assert wait_until(run.said('got the end of the connection'))
    assert wait_until(run.has(20)) and run.n_streams() == 2


def test_another_kind_of_server_is_said(session, wait_until):
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(5.0)
        run = session([f'tcp://{HOST}:{server.getsockname()[1]}'], reply_timeout_s=0.1)
        has_said = run.said('byte(s) without an answer; check its power')
        with server.accept()[0] as client:
            client.settimeout(5.0)
            # the driver hangs up after some attempts, perhaps with an answer under way
            with suppress(ConnectionError):
                while client.recv(100):
                    client.send(b'HTTP/1.1 400 Bad Request\r\n\r\n')
        assert wait_until(has_said)


@EVERY_WAY
def test_a_silent_device_is_named(serve, session, wait_until, scheme):
    server = serve()
    server.lines[0].device.receive = lambda data, now_s: b''
    run = session(names(server, scheme), reply_timeout_s=0.05)
    assert wait_until(run.said('expected a MotionStar to answer to wake up, got nothing; check'))


def test_a_rate_that_the_device_does_not_have_is_said(serve, session, wait_until):
    run = session(names(serve(rate_hz=100.0)))
    assert wait_until(run.said('expected 120 measurements a second, got 100; set rate_hz'))


def test_a_unit_without_a_sensor_is_noted_and_the_others_stream(serve, session, wait_until):
    server = serve()
    units = server.lines[0].device.units
    units[4] = units[4]._replace(flags=units[4].flags & ~UNIT_HAS_SENSOR)
    run = session(names(server))
    assert wait_until(run.has(20))
    assert run.said('unit 4 (left_upper_arm): expected a sensor, got a unit without one')()
    is_there = np.isfinite(run.frames[-1][1]).all(axis=1)
    assert is_there.tolist() == [row != 2 for row in range(14)]


def test_a_sensor_that_is_not_there_is_named(serve, session, wait_until):
    run = session(names(serve(first_address=1)))
    assert wait_until(run.said('unit 15 (right_foot): expected a sensor, got no such unit'))


@EVERY_WAY
def test_bad_bytes_cost_packets_and_nothing_else(serve, session, wait_until, scheme):
    server = serve(faults=FaultRates(bad_byte=0.0005))
    run = session(names(server, scheme))
    assert wait_until(run.has(150))
    counters = run.reader.lines[0].status.counters
    assert counters.resyncs > 0 and counters.records > 0.5 * 14 * 150
    assert run.n_streams() == 1


def test_datagrams_lost_doubled_overtaken_and_cut_short(serve, session, wait_until, rng):
    server = serve()
    cable = server.lines[0].pty
    send, late = cable.send, []

    def mangle(data: bytes) -> None:
        fate = rng.integers(12) if len(data) > 100 else 4
        if fate == 0:
            return
        if fate == 1:
            send(data)
        if fate == 2:
            data = data[: int(rng.integers(len(data)))]
        if fate == 3:
            late.append(data)
            return
        send(data)
        while late:
            send(late.pop())

    cable.send = mangle
    run = session(names(server, 'udp'))
    assert wait_until(run.has(150))
    counters = run.reader.lines[0].status.counters
    assert counters.rejected_records > 0 and counters.resyncs > 0 and run.n_streams() == 1
    truth = server.poses_so_far()
    for _, poses in run.frames[-50:]:
        found = np.isfinite(poses[:, 0])
        error = np.abs(truth[:, found, :3] - poses[found, :3]).max(axis=(1, 2))
        assert error.min() < POSITION_TOL_M


def test_a_serial_device_may_be_behind_a_network_adapter(session, wait_until):
    # any device speaks over any port: here it is only asked, and is not there
    with socket.create_server((HOST, 0)) as server:
        run = session(
            [f'tcp://{HOST}:{server.getsockname()[1]}'],
            device='flock_of_birds',
            sensors=['pelvis'],
            reply_timeout_s=0.05,
        )
        assert wait_until(run.said('expected a Flock of Birds to answer at 115200 bps, got'))
