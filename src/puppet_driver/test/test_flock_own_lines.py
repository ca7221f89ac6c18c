# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A Flock whose units each have a line of their own: the master's configures their bus."""

from pathlib import Path

import numpy as np
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.flock_of_birds import FlockConfig, FlockOfBirds
from puppet_driver.emulator.faults import FaultRates, Faults
from puppet_driver.emulator.flock_simulator import Bus, FlockSimulator, Unit
from puppet_driver.emulator.server import EmulatedLine
from puppet_driver.emulator.simulator import LinePackets
from puppet_driver.emulator.transports import PtyTransport
from puppet_driver.errors import ProtocolError
import pytest
from test_flock_line import start
from test_polhemus_pty import Session

NAMES = ('pelvis', 'chest', 'left_hand')
N_UNITS = len(NAMES)


def devices_of_a_bus() -> list[FlockSimulator]:
    """Return the devices on the lines of units that share a bus."""
    bus = Bus({address: Unit(address, True) for address in range(1, N_UNITS + 1)})
    return [FlockSimulator(1, address, bus=bus) for address in bus.units]


def line_of(ordinal: int) -> FlockOfBirds:
    """Return the driver's side of a line."""
    return FlockOfBirds(
        FlockConfig(
            NAMES[ordinal : ordinal + 1],
            first_address=1,
            group_mode=False,
            n_all_sensors=N_UNITS,
            auto_configure_pause_s=0.3,
        )
    )


def test_the_masters_line_configures_the_bus_and_then_all_units_run():
    devices = devices_of_a_bus()
    said = [start(line_of(i), device) for i, device in enumerate(devices)]
    command = flock.change(flock.AUTO_CONFIGURE, [N_UNITS])
    assert [command in commands for commands in said] == [True, False, False]
    assert all(device.is_sending and not device.has_group_mode for device in devices)
    assert {device.sensor_units[0].command for device in devices} == {flock.POSITION_QUATERNION}


def test_a_bus_that_runs_is_not_configured_again():
    devices = devices_of_a_bus()
    start(line_of(0), devices[0])
    assert flock.change(flock.AUTO_CONFIGURE, [N_UNITS]) not in start(line_of(0), devices[0])


def test_a_unit_whose_master_is_not_there_says_so():
    text = r'expected a unit that runs, got none \(chest\); the unit at address 1 configures'
    with pytest.raises(ProtocolError, match=text):
        start(line_of(1), devices_of_a_bus()[1])


def test_units_on_lines_of_their_own_stream_over_terminals(emulator, tmp_path: Path, wait_until):
    # any server will do; its lines become those of one bus
    server = emulator(N_UNITS, sensors=NAMES, first_address=1)
    server.stop()
    for line in server.lines:
        line.pty.close()
    faults = Faults(FaultRates(), 1)
    server.lines = tuple(
        EmulatedLine(
            PtyTransport(tmp_path / f'own{i}'),
            device,
            LinePackets(device, slice(i, i + 1), faults),
        )
        for i, device in enumerate(devices_of_a_bus())
    )
    server._load_block(0)
    server.start()
    run = Session(
        server, 'flock_of_birds', 120.0, sensors=list(NAMES), group_mode=False, first_address=1
    )
    try:
        assert wait_until(run.has(40))
        assert wait_until(lambda: np.isfinite(run.frames[-1]).all())
        truth = server.poses_so_far()
        # a flock's words are 0.45 mm apart
        assert np.abs(truth[..., :3] - run.frames[-1][:, :3]).max(axis=(1, 2)).min() < 1e-3
        assert not [text for is_error, text in run.news if is_error]
    finally:
        run.reader.stop()
    assert run.reader.failure is None
