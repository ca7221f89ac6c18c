# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The emulator's cables: what a host sees of them, and that no host can hold it up."""

from contextlib import ExitStack, suppress
from dataclasses import replace
import os
from pathlib import Path
import select
import time

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.procedural.motion_loop import LoopedMotion
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.emulator import server as server_module
from puppet_driver.emulator.emulator import EmulatorConfig, within_range
from puppet_driver.emulator.transports import PtyTransport
import pytest
import serial

BURST_BYTES = 5 * 12  # power-up format of five units


@pytest.fixture
def line(tmp_path):
    line = PtyTransport(tmp_path / 'ports' / 'line0')
    yield line
    with suppress(OSError):
        line.close()


@pytest.fixture
def open_port():
    with ExitStack() as ports:
        yield lambda server, index=0: ports.enter_context(
            serial.Serial(str(server.lines[index].pty.link), 115200, timeout=1.0)
        )


def start_streams(server, open_port):
    ports = [open_port(server, i) for i in range(len(server.lines))]
    for port in ports:
        port.write(flock.change(flock.GROUP_MODE, [1]) + flock.STREAM)
    return ports


def test_nothing_is_sent_while_nobody_listens(line):
    line.poll()
    assert not line.is_open
    line.send(b'lost')
    port = serial.Serial(str(line.link), timeout=0.05)
    line.poll()
    assert line.is_open
    assert port.read(10) == b''
    line.send(b'heard')
    assert port.read(5) == b'heard'
    port.close()
    line.poll()
    assert not line.is_open


def test_a_host_that_does_not_read_holds_up_nothing(line):
    descriptor = os.open(line.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    line.poll()
    for _ in range(4000):
        line.send(bytes(75))
    while select.select([descriptor], (), (), 0.0)[0]:
        os.read(descriptor, 65536)
    line.send(b'again')
    assert os.read(descriptor, 10) == b'again'
    os.close(descriptor)


def test_an_old_link_is_replaced_and_a_file_is_not(tmp_path):
    link = tmp_path / 'line0'
    link.symlink_to('/nowhere')
    PtyTransport(link).close()
    assert not link.is_symlink()
    link.write_text('precious')
    with pytest.raises(ConfigError, match=f'{link}: expected a place for a link'):
        PtyTransport(link)
    assert link.read_text() == 'precious'


def test_ticks_are_paced_by_the_clock(emulator, open_port, wait_until):
    server = emulator()
    start_streams(server, open_port)
    assert wait_until(lambda: server.tick > 20)
    start_tick, start_s = server.tick, time.monotonic()
    assert wait_until(lambda: server.tick >= start_tick + 120)
    # ticks may be late, and catch up 0.1 s of that, but never run ahead of the clock
    assert time.monotonic() - start_s > 0.85


def test_performance_waits_for_all_lines(emulator, open_port, wait_until):
    server = emulator()
    first = open_port(server)
    first.write(flock.STREAM)
    assert len(first.read(10 * BURST_BYTES)) > 0 and server.tick == 0
    ports = [open_port(server, i) for i in range(1, len(server.lines))]
    for port in ports:
        port.write(flock.STREAM)
    assert wait_until(lambda: server.tick > 10)


def test_a_line_that_nobody_opens_is_waited_for_a_while(
    emulator, open_port, wait_until, monkeypatch
):
    monkeypatch.setattr(server_module, 'LAST_LINE_S', 0.2)
    server = emulator()
    open_port(server).write(flock.STREAM)
    assert wait_until(lambda: server.tick > 10)


def test_performance_begins_anew_after_a_silence(emulator, open_port, wait_until):
    server = emulator(restart_after_s=0.2)
    ports = start_streams(server, open_port)
    assert wait_until(lambda: server.tick > 30)
    for port in ports:
        port.write(flock.STREAM_STOP)
    assert wait_until(lambda: server.tick == 0)


def test_device_hears_what_a_host_sends_right_before_it_closes(emulator, open_port, wait_until):
    server = emulator(1, sensors=('pelvis', 'chest'))
    device = server.lines[0].device
    port = open_port(server)
    port.write(flock.STREAM)
    assert wait_until(lambda: device.is_streaming)
    server.stop()  # nothing is read until the host has gone
    port.write(flock.STREAM_STOP + flock.POINT + flock.EXAMINE_VALUE)
    port.close()
    server.start()
    assert wait_until(lambda: not device.is_streaming)
    # neither the unanswered point nor the command cut short reaches the next host
    assert wait_until(lambda: not server.lines[0].pty.is_open)
    port = open_port(server)
    port.write(flock.examine(flock.GROUP_MODE))
    assert port.read(1) == b'\x00'
    port.close()


def test_performer_too_far_away_is_moved_into_range(performance):
    config = EmulatorConfig(links=(Path('x'),))
    assert within_range(config, performance) is performance
    motion = performance.motion
    far = replace(
        motion,
        root_positions=motion.root_positions + [9.0, 0.0, 0.0],
        end_effectors=motion.end_effectors + [9.0, 0.0, 0.0],
    )
    moved = within_range(config, LoopedMotion(far, 0)).motion
    assert np.abs(moved.root_positions[:, :2]).max() < 3.0
    np.testing.assert_allclose(moved.root_positions[:, 2], motion.root_positions[:, 2])
    with pytest.raises(ConfigError, match='expected to stay within 0.90 m'):
        within_range(EmulatorConfig(links=(Path('x'),), range_in=36), performance)
