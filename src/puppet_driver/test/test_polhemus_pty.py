# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Polhemus devices through the whole driver without ROS, over pseudo-terminals."""

from collections.abc import Callable, Iterator

import numpy as np
from puppet_core.io import build_config, check_values, ConfigError
from puppet_driver.devices import DEVICES
from puppet_driver.devices.line import LineState
from puppet_driver.driver import make_reader
from puppet_driver.emulator.emulator import EmulatorConfig, SIMULATORS
from puppet_driver.emulator.faults import FaultRates
from puppet_driver.emulator.server import EmulatorServer
from puppet_driver.frames.assembler import FrameAssembler
from puppet_driver.frames.line_reader import LineReader
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
import pytest
from test_emulator_cli import EXIT_S, run

# device, lines for fourteen sensors, rate [Hz], tolerance of positions [m]
SET_UPS = [
    ('fastrak', 4, 30.0, 1e-6),
    ('fastrak_ascii', 4, 30.0, 6e-5),
    ('liberty', 1, 20.0, 1e-6),
    ('patriot', 7, 60.0, 1e-6),
]
every = pytest.mark.parametrize('device, n_lines, rate_hz, tolerance_m', SET_UPS)


def config_of(device: str, n_lines: int, rate_hz: float, **more: object) -> DriverConfig:
    """Return the driver's parameters for some lines."""
    values = {'device': device, 'rate_hz': rate_hz, 'ports': [f'p{i}' for i in range(n_lines)]}
    return build_config(DriverConfig, check_values(DRIVER_ROWS, values | more))


class Session:
    """A reader on an emulator's ports, and what came of it."""

    def __init__(
        self, server: EmulatorServer, device: str, rate_hz: float, **more: object
    ) -> None:
        ports = [str(line.pty.link) for line in server.lines]
        config = config_of(device, len(ports), rate_hz, **{'ports': ports, **more})
        self.frames: list[np.ndarray] = []
        self.news: list[tuple[bool, str]] = []
        self.reader: LineReader = make_reader(config, self._keep, lambda *n: self.news.append(n))
        self.reader.start()

    def _keep(self, assembler: FrameAssembler) -> None:
        self.frames.append(assembler.poses.copy())

    def has(self, n_frames: int) -> Callable[[], bool]:
        """Return a condition: so many more frames have come."""
        wanted = len(self.frames) + n_frames
        return lambda: len(self.frames) >= wanted


@pytest.fixture
def session() -> Iterator[Callable[..., Session]]:
    """Yield a function that starts a reader and stops it afterwards."""
    sessions: list[Session] = []

    def start(*arguments: object, **options: object) -> Session:
        sessions.append(Session(*arguments, **options))
        return sessions[-1]

    yield start
    for one in sessions:
        one.reader.stop()
        assert one.reader.failure is None


@every
def test_frames_are_the_emulated_poses_and_stopping_stops_the_device(
    emulator, session, wait_until, device, n_lines, rate_hz, tolerance_m
):
    server = emulator(n_lines, device=device, rate_hz=rate_hz)
    run = session(server, device, rate_hz)
    assert wait_until(run.has(8))
    truth = server.poses_so_far()
    for poses in run.frames[2:8]:
        error = np.nanmax(np.abs(truth[..., :3] - poses[:, :3]), axis=(1, 2))
        nearest = truth[int(error.argmin())]
        assert error.min() < tolerance_m
        dots = np.abs(np.sum(nearest[:, 3:] * poses[:, 3:], axis=1))
        assert np.nanmin(dots) > 1.0 - 1e-7
    assert np.isfinite(run.frames[-1]).mean() > 0.9
    run.reader.stop()
    assert wait_until(lambda: not any(line.device.is_streaming for line in server.lines))


def test_a_silenced_device_is_said_and_started_again(emulator, session, wait_until):
    server = emulator(4, device='fastrak', rate_hz=30.0)
    run = session(server, 'fastrak', 30.0)
    assert wait_until(run.has(5))
    for line in server.lines:
        line.device.is_streaming = False
    assert wait_until(lambda: any('Polhemus FASTRAK, got none for' in t for _, t in run.news))
    assert wait_until(run.has(5))


def test_bad_bytes_cost_records_and_nothing_else(emulator, session, wait_until):
    server = emulator(1, device='liberty', rate_hz=20.0, faults=FaultRates(bad_byte=0.002))
    run = session(server, 'liberty', 20.0)
    assert wait_until(run.has(30))
    counters = run.reader.lines[0].status.counters
    assert counters.resyncs > 0 and counters.records > 0.7 * 14 * 30


def test_a_missing_sensor_is_noted_and_the_others_stream(emulator, session, wait_until):
    server = emulator(4, device='fastrak', rate_hz=30.0)
    server.lines[0].device.n_sensors = 3
    run = session(server, 'fastrak', 30.0)
    assert wait_until(run.has(10))
    assert any('station 4 (left_forearm): expected a record' in text for _, text in run.news)
    assert wait_until(lambda: np.isfinite(run.frames[-1][[0, 1, 2, *range(4, 14)]]).all())
    assert np.isnan(run.frames[-1][3]).all()


@pytest.mark.parametrize('device, title', [('fastrak', 'FASTRAK'), ('patriot', 'PATRIOT')])
def test_a_port_without_a_device_is_named(emulator, session, wait_until, device, title):
    server = emulator(1, device=device, rate_hz=30.0, sensors=('pelvis', 'chest'))
    server.lines[0].device.receive = lambda data, now_s: b''
    run = session(server, device, 30.0, sensors=['pelvis', 'chest'], reply_timeout_s=0.05)
    assert wait_until(lambda: len(run.news) == 1)
    assert f'expected a Polhemus {title} to answer at 115200 bps, got nothing' in run.news[0][1]
    assert run.reader.lines[0].state is not LineState.STREAMING


def test_another_model_is_named(emulator, session, wait_until):
    server = emulator(1, device='liberty', rate_hz=20.0, sensors=('pelvis', 'chest'))
    run = session(server, 'patriot', 20.0, sensors=['pelvis', 'chest'])
    assert wait_until(lambda: any('got those of a LIBERTY' in text for _, text in run.news))


@every
def test_twins_and_devices_agree_on_the_records_size(device, n_lines, rate_hz, tolerance_m):
    config = config_of(device, n_lines, rate_hz)
    assert SIMULATORS[device].record_bytes == config.trackers[0].record_bytes
    assert sum(t.n_sensors for t in config.trackers) == 14
    assert set(SIMULATORS) <= set(DEVICES)


@pytest.mark.parametrize(
    'device, n_lines, rate_hz, text',
    [
        (
            'fastrak',
            3,
            10.0,
            r'ports: expected 4 or more for 14 sensors of a Polhemus FASTRAK, which '
            'has 4 stations, got 3',
        ),
        ('fastrak', 4, 120.0, r'rate_hz: expected value <= 30 for 4 sensor\(s\) on a FASTRAK'),
        ('patriot', 6, 30.0, 'ports: expected 7 or more .* 2 stations, got 6'),
        ('patriot', 7, 120.0, 'rate_hz: expected value <= 60 of a Polhemus PATRIOT, got 120'),
        ('liberty', 14, 300.0, 'rate_hz: expected value <= 240 of a Polhemus LIBERTY, got 300'),
        ('liberty', 1, 240.0, 'ports: expected 14 or more lines for 14 sensors at 115200 bps'),
    ],
)
def test_what_a_device_cannot_do_is_refused_by_name(device, n_lines, rate_hz, text):
    with pytest.raises(ConfigError, match=text):
        config_of(device, n_lines, rate_hz)


def test_parameters_of_other_devices_do_not_matter():
    config = config_of('liberty', 7, 120.0, range_in=100, first_address=126, group_mode=False)
    assert config.sensors_per_line == (2,) * 7


def test_the_emulators_program_has_as_many_lines_as_the_device_needs(tmp_path):
    program = run('--ports-dir', str(tmp_path), '--device', 'fastrak', '--rate-hz', '30')
    ports = program.stdout.readline().split()[1:]
    program.terminate()
    assert program.wait(EXIT_S) == 0 and len(ports) == 4


def test_an_unknown_device_is_refused_by_the_emulator():
    with pytest.raises(ConfigError, match="device: expected one of flock_of_birds, .* 'sextant'"):
        EmulatorConfig(links=(), device='sextant')


def test_too_few_lines_are_refused_by_the_emulator(emulator):
    with pytest.raises(ConfigError, match='lines: expected 4 or more for 14 sensors, 4 each'):
        emulator(3, device='fastrak')
