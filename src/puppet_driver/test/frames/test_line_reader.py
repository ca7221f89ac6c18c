# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole driver without ROS against the emulator, over pseudo-terminals."""

from collections.abc import Callable, Iterator
from dataclasses import replace
import threading

import numpy as np
from puppet_core.io import build_config, check_values
from puppet_driver.devices.line import LineState
from puppet_driver.driver import make_reader
from puppet_driver.emulator.faults import FaultRates
from puppet_driver.emulator.server import EmulatorServer
from puppet_driver.frames.line_reader import LineReader, QUEUED_FRAMES, QueuedFrame
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
import pytest

POSITION_TOL_M = 3e-4  # half a step of the device's 14 bits at a range of 144 inches
ORIENTATION_TOL = 5e-4


class Session:
    """A reader on an emulator's ports, and what came of it."""

    def __init__(self, server: EmulatorServer, **options: object) -> None:
        ports = [str(line.pty.link) for line in server.lines]
        values = check_values(DRIVER_ROWS, {'ports': ports, **options})
        self.frames: list[tuple[int, np.ndarray]] = []
        self.news: list[tuple[bool, str]] = []
        self.reader: LineReader = make_reader(
            build_config(DriverConfig, values), self._keep, lambda *n: self.news.append(n)
        )
        self.reader.start()

    def _keep(self, frame: QueuedFrame) -> None:
        self.frames.append((frame.stamp_ns, frame.poses))

    def has(self, n_frames: int) -> Callable[[], bool]:
        """Return a condition: so many more frames have come."""
        wanted = len(self.frames) + n_frames
        return lambda: len(self.frames) >= wanted

    def states(self) -> list[LineState]:
        """Return the state of each line."""
        return [line.state for line in self.reader.lines]


@pytest.fixture
def session() -> Iterator[Callable[..., Session]]:
    """Yield a function that starts a reader and stops it afterwards."""
    sessions: list[Session] = []

    def start(server: EmulatorServer, **options: object) -> Session:
        sessions.append(Session(server, **options))
        return sessions[-1]

    yield start
    for one in sessions:
        one.reader.stop()
        assert one.reader.failure is None


def test_frames_are_the_emulated_poses(emulator, session, wait_until):
    server = emulator()
    run = session(server)

    def whole() -> list[np.ndarray]:  # a starved emulator may leave sensors out
        return [poses for _, poses in list(run.frames) if np.isfinite(poses).all()]

    assert wait_until(lambda: len(whole()) >= 30)
    truth = server.poses_so_far()
    for poses in whole()[:30]:
        error = np.abs(truth[..., :3] - poses[:, :3]).max(axis=(1, 2))
        nearest = truth[int(error.argmin())]
        assert error.min() < POSITION_TOL_M
        dots = np.abs(np.sum(nearest[:, 3:] * poses[:, 3:], axis=1))
        assert dots.min() > 1.0 - ORIENTATION_TOL


def test_frames_come_at_the_devices_rate_and_whole(emulator, session, wait_until):
    run = session(emulator())
    assert wait_until(run.has(10))
    start = len(run.frames)
    assert wait_until(run.has(120))
    steps_s = np.diff([f[0] for f in run.frames[start : start + 120]]) * 1e-9
    # the median: a starved emulator skips ticks
    assert np.median(steps_s) == pytest.approx(1.0 / 120.0, rel=0.1)
    assert np.diff([f[0] for f in run.frames]).min() > 0


@pytest.mark.parametrize('n_lines', [3, 14], ids=['three_lines', 'a_line_each'])
def test_any_spread_of_sensors_makes_the_same_frames(emulator, session, wait_until, n_lines):
    run = session(emulator(n_lines))
    assert wait_until(run.has(20))
    assert np.isfinite(run.frames[-1][1]).mean() > 0.9


def test_units_without_a_bus_need_no_addresses(emulator, session, wait_until):
    run = session(emulator(14, first_address=1), group_mode=False, first_address=1)
    assert wait_until(run.has(20))


@pytest.mark.parametrize('record_format', ['position_angles', 'position_matrix'])
def test_other_formats_make_the_same_frames(emulator, session, wait_until, record_format):
    server = emulator(7)
    run = session(server, record_format=record_format)
    assert wait_until(run.has(30))
    truth = server.poses_so_far()
    poses = run.frames[20][1]
    error = np.abs(truth[..., :3] - poses[:, :3]).max(axis=(1, 2))
    dots = np.abs(np.sum(truth[int(error.argmin()), :, 3:] * poses[:, 3:], axis=1))
    assert error.min() < POSITION_TOL_M and dots.min() > 1.0 - ORIENTATION_TOL


@pytest.mark.parametrize('group_mode', [True, False])
def test_point_mode_asks_for_each_frame(emulator, session, wait_until, group_mode):
    first = 2 if group_mode else 1
    server = emulator(3 if group_mode else 14, first_address=first)
    run = session(
        server, point_mode=True, group_mode=group_mode, first_address=first, rate_hz=100.0
    )
    assert wait_until(run.has(30))
    assert not any(line.device.is_streaming for line in server.lines)
    steps_s = np.diff([stamp_ns for stamp_ns, _ in run.frames]) * 1e-9
    # a starved machine asks late and then catches up, but never for more frames than are due
    assert np.mean(steps_s) > 0.008


def test_a_device_that_no_longer_answers_in_point_mode_is_started_again(
    emulator, session, wait_until
):
    server = emulator()
    run = session(server, point_mode=True)
    assert wait_until(run.has(20))
    device = server.lines[0].device
    record_error_code, device.receive = device.receive, lambda data, now_s: b''
    assert wait_until(lambda: any('got none for' in text for _, text in run.news))
    device.receive = record_error_code
    assert wait_until(lambda: run.states()[0] is LineState.STREAMING)


def test_a_full_line_at_the_devices_ceiling_loses_nothing(emulator, session, wait_until):
    server = emulator(rate_hz=144.0)
    run = session(server, rate_hz=144.0)
    assert wait_until(run.has(20))
    before = [line.status.counters for line in run.reader.lines]
    assert wait_until(run.has(288))
    for old, line in zip(before, run.reader.lines):
        new = line.status.counters
        assert new.records > old.records + 4 * 280
        assert replace(new, records=0) == replace(old, records=0)
    assert run.reader.queue.dropped == 0


def test_a_slow_consumer_does_not_slow_the_reading(emulator, session, wait_until):
    run = session(emulator())
    assert wait_until(run.has(10))
    never = threading.Event()
    run.reader.queue._on_frame = lambda frame: never.wait(0.05)
    queue = run.reader.queue
    assert wait_until(lambda: queue.dropped > 20)
    assert queue.deepest == QUEUED_FRAMES
    assert all(line.status.counters.resyncs == 0 for line in run.reader.lines)
    run.reader.queue._on_frame = run._keep
    assert wait_until(run.has(10))


def test_a_late_device_is_found(emulator, session, wait_until, tmp_path):
    server = emulator()
    links = [line.pty.link for line in server.lines]
    targets = [link.readlink() for link in links]
    for link in links:
        link.unlink()
    run = session(server)
    assert wait_until(lambda: sum(is_error for is_error, _ in run.news) == 3)
    for link, target in zip(links, targets):
        link.symlink_to(target)
    assert wait_until(run.has(20))


def test_a_vanished_device_is_said_and_found_again(emulator, session, wait_until):
    first = emulator()
    run = session(first)
    assert wait_until(run.has(20))
    first.stop()
    for line in first.lines:
        line.pty.close()
    assert wait_until(lambda: all(s is not LineState.STREAMING for s in run.states()))
    assert any('got the end of the line' in text for is_error, text in run.news if is_error)
    first.close = lambda: None
    emulator()
    assert wait_until(run.has(20))


def test_a_device_that_falls_silent_is_said_and_started_again(emulator, session, wait_until):
    server = emulator()
    run = session(server)
    assert wait_until(run.has(20))
    for line in server.lines:
        line.device.is_streaming = False
    assert wait_until(lambda: any('got none for' in text for _, text in run.news))
    assert wait_until(run.has(20))


def test_one_lost_line_leaves_the_others_running(emulator, session, wait_until):
    server = emulator()
    run = session(server)
    assert wait_until(run.has(20))
    # deaf and silent, as if unplugged behind its adapter
    server.lines[1].device.is_streaming = False
    server.lines[1].device.receive = lambda data, now_s: b''
    assert wait_until(lambda: run.states()[1] is not LineState.STREAMING)
    assert wait_until(run.has(60))
    poses = run.frames[-1][1]
    assert np.isnan(poses[5:10]).all() and np.isfinite(poses[:5]).all()


def test_bad_bytes_cost_records_and_nothing_else(emulator, session, wait_until):
    run = session(emulator(faults=FaultRates(bad_byte=0.002)))
    assert wait_until(run.has(240))
    counters = [line.status.counters for line in run.reader.lines]
    assert sum(c.resyncs for c in counters) > 0
    assert sum(c.records for c in counters) > 0.9 * 14 * 240


def test_a_port_without_a_device_is_named(session, wait_until, emulator):
    server = emulator()
    for line in server.lines:
        line.device.receive = lambda data, now_s: b''
    run = session(server, reply_timeout_s=0.05)
    assert wait_until(lambda: len(run.news) == 3)
    link = server.lines[0].pty.link
    assert f'{link}: expected a Flock of Birds to answer at 115200 bps' in run.news[0][1]


def test_a_busy_port_is_said_and_waited_for(emulator, session, wait_until):
    server = emulator()
    first = session(server)
    assert wait_until(first.has(10))
    second = session(server)
    assert wait_until(lambda: len(second.news) == 3)
    assert all('another program holds' in text for _, text in second.news)
    first.reader.stop()
    assert wait_until(second.has(10))


def test_stopping_stops_the_device(emulator, session, wait_until):
    server = emulator()
    run = session(server)
    assert wait_until(run.has(10))
    run.reader.stop()
    assert wait_until(lambda: not any(line.device.is_streaming for line in server.lines))
    assert not run.reader.is_running


def test_a_reader_can_be_started_again(emulator, session, wait_until):
    run = session(emulator())
    assert wait_until(run.has(10))
    run.reader.stop()
    run.reader.start()
    assert wait_until(run.has(10))
