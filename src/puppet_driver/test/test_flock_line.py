# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starting a Flock of Birds, what its simulator obeys, and a sentence for whatever is wrong."""

from dataclasses import replace
from pathlib import Path
import re

from device_start import start
from hypothesis import given
from hypothesis import strategies as st
from puppet_core.io import ConfigError
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.flock_of_birds import FlockConfig, FlockOfBirds
from puppet_driver.emulator.emulator import EmulatorConfig
from puppet_driver.emulator.flock_simulator import FlockSimulator
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.parameters import DEFAULT_SENSORS
import pytest

QUATERNIONS = flock.FORMAT_COMMANDS['position_quaternion']
CONFIG = FlockConfig(('pelvis', 'chest', 'left_hand'))


@pytest.mark.parametrize('n_sensors', [3, 20])  # beyond fourteen, addresses are longer
@pytest.mark.parametrize('name, data', flock.HEMISPHERES.items())
def test_started_device_streams_position_and_quaternion_with_addresses(name, data, n_sensors):
    sensors = tuple(f's{i}' for i in range(n_sensors))
    device = FlockSimulator(n_sensors)
    start(FlockOfBirds(replace(CONFIG, sensors=sensors, hemisphere=name)), device)
    assert device.is_sending and device.has_group_mode and device.bus.is_configured
    assert {u.command for u in device.sensor_units} == {QUATERNIONS}
    assert [u.hemisphere for u in device.sensor_units] == [data] * n_sensors
    assert device.error_code == 0


@pytest.mark.parametrize('before', [flock.SLEEP, flock.XOFF + flock.examine(flock.STATUS)])
def test_a_device_that_sleeps_or_is_held_off_is_started(before):
    device = FlockSimulator(3)
    start(FlockOfBirds(CONFIG), device)
    device.receive(before, 9.0)
    start(FlockOfBirds(CONFIG), device)
    assert device.is_sending


@pytest.mark.parametrize('range_in', [36, 72])
def test_standard_ranges_are_chosen_by_command(range_in):
    device = FlockSimulator(3, range_in=36)
    start(FlockOfBirds(replace(CONFIG, range_in=range_in)), device)
    assert device.range_in == range_in


def test_one_unit_alone_needs_no_bus():
    device = FlockSimulator(1, first_address=1)
    config = replace(CONFIG, sensors=('pelvis',), first_address=1, group_mode=False)
    commands, _ = start(FlockOfBirds(config), device)
    assert device.is_sending and not device.has_group_mode
    assert not any(c.startswith(b'P') for c in commands)


def test_an_old_error_is_cleared_and_noted():
    device = FlockSimulator(3)
    device.error_code = 11
    _, notes = start(FlockOfBirds(CONFIG), device)
    assert notes == ['before this start the device had error 11 (RS-232 overrun or framing)']
    assert device.is_sending and device.error_code == 0


def test_a_missing_unit_is_named():
    with pytest.raises(ProtocolError, match=r'unit 4 \(left_hand\): .* got no such unit'):
        start(FlockOfBirds(CONFIG), FlockSimulator(2))


def test_a_unit_without_a_sensor_is_noted_and_the_others_stream():
    config = replace(CONFIG, sensors=(*CONFIG.sensors, 'right_hand'), first_address=1)
    device = FlockSimulator(3)
    _, notes = start(FlockOfBirds(config), device)
    assert device.is_sending and len(notes) == 1
    assert re.match(r'unit 1 \(pelvis\): .* got a unit without a sensor', notes[0])


def test_a_line_without_any_sensor_is_refused():
    device = FlockSimulator(3)
    for unit in device.sensor_units:
        unit.has_sensor = False
    with pytest.raises(ProtocolError, match=r'unit 2 \(pelvis\): .* got a unit without a sensor'):
        start(FlockOfBirds(CONFIG), device)


def test_a_bus_that_is_as_we_left_it_is_not_configured_again():
    device = FlockSimulator(3)
    first, _ = start(FlockOfBirds(CONFIG), device)
    again, _ = start(FlockOfBirds(CONFIG), device)
    command = flock.change(flock.AUTO_CONFIGURE, [4])
    assert command in first and command not in again and device.is_sending
    device.bus.is_configured = False
    assert command in start(FlockOfBirds(CONFIG), device)[0]


@pytest.mark.parametrize(
    'alter, text',
    [
        (lambda answer: b'', 'answer at 115200 bps, got nothing; check its power'),
        (lambda answer: answer[:1], r'got 1 byte\(s\) of a status'),
        (lambda answer: bytes(len(answer)), r'got 2 byte\(s\) of a status'),
    ],
    ids=['silence', 'cut', 'other_speed'],
)
def test_silence_or_a_broken_answer_is_no_device(alter, text):
    with pytest.raises(LinkTimeout, match=text):
        start(FlockOfBirds(CONFIG), FlockSimulator(3), alter)


def test_an_error_of_the_device_is_named():
    class Failing(FlockSimulator):
        def receive(self, data, now_s):
            self.error_code = self.error_code or 29
            return super().receive(data, now_s)

    with pytest.raises(ProtocolError, match=r'got error 29 \(transmitter off\)'):
        start(FlockOfBirds(CONFIG), Failing(3))


NAMES = ('pelvis', 'chest', 'left_hand')
N_UNITS = len(NAMES)


def devices_of_a_bus():
    links = tuple(Path(name) for name in NAMES)
    return EmulatorConfig(links, sensors=NAMES, shares_bus=True).make_devices()


@pytest.mark.parametrize('change', [{'device': 'fastrak'}, {'sensors': DEFAULT_SENSORS}])
def test_only_a_flock_with_a_line_for_each_sensor_shares_a_bus(change):
    config = replace(EmulatorConfig((Path('a'), Path('b')), sensors=NAMES[:2]), **change)
    with pytest.raises(ConfigError, match='shares_bus: expected a flock_of_birds with a line for'):
        replace(config, shares_bus=True).make_devices()


def line_of(ordinal):
    names = NAMES[ordinal : ordinal + 1]
    config = FlockConfig(names, first_address=1, group_mode=False, n_all_sensors=N_UNITS)
    return FlockOfBirds(replace(config, auto_configure_pause_s=0.3))


def test_the_masters_line_configures_the_bus_and_then_all_units_run():
    devices = devices_of_a_bus()
    said = [start(line_of(i), device)[0] for i, device in enumerate(devices)]
    command = flock.change(flock.AUTO_CONFIGURE, [N_UNITS])
    assert [command in commands for commands in said] == [True, False, False]
    assert all(device.is_sending and not device.has_group_mode for device in devices)
    assert {device.sensor_units[0].command for device in devices} == {QUATERNIONS}


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_any_bytes_are_answered_without_an_exception(messages):
    device = FlockSimulator(3)
    for i, message in enumerate(messages):
        assert isinstance(device.receive(message, float(i)), bytes)
