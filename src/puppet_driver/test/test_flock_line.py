# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starting a line: the device's manual step by step, and a sentence for whatever is wrong."""

from dataclasses import replace
import re

from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.flock_of_birds import FlockConfig, FlockOfBirds
from puppet_driver.emulator.flock_simulator import FlockSimulator
from puppet_driver.errors import LinkTimeout, ProtocolError
import pytest

CONFIG = FlockConfig(('pelvis', 'chest', 'left_hand'))


def start(
    line: FlockOfBirds, device: FlockSimulator | None, notes: list[str] | None = None
) -> list[bytes]:
    """Run a line's start against a device, by bytes alone; return the commands."""
    said = []
    now_s = 0.0
    steps = line.start_exchanges()
    reply = None
    while True:
        try:
            exchange = steps.send(reply)
        except StopIteration:
            return said
        said.append(exchange.command)
        if exchange.note and notes is not None:
            notes.append(exchange.note)
        answer = device.receive(exchange.command, now_s) if device is not None else b''
        now_s += exchange.pause_s + (0.0 if answer else exchange.timeout_s)
        reply = answer[: exchange.reply_bytes]


def test_started_device_streams_position_and_quaternion_with_addresses():
    device = FlockSimulator(3)
    start(FlockOfBirds(CONFIG), device)
    assert device.is_sending and device.has_group_mode and device.is_configured
    assert {u.command for u in device.sensor_units} == {flock.POSITION_QUATERNION}
    assert device.error_code == 0


@pytest.mark.parametrize('name, data', flock.HEMISPHERES.items())
def test_hemisphere_reaches_every_unit(name, data):
    device = FlockSimulator(3)
    start(FlockOfBirds(replace(CONFIG, hemisphere=name)), device)
    assert [u.hemisphere for u in device.sensor_units] == [data] * 3


@pytest.mark.parametrize('range_in', [36, 72])
def test_standard_ranges_are_chosen_by_command(range_in):
    device = FlockSimulator(3, range_in=36)
    start(FlockOfBirds(replace(CONFIG, range_in=range_in)), device)
    assert device.range_in == range_in


def test_one_unit_alone_needs_no_bus():
    device = FlockSimulator(1, first_address=1)
    config = replace(CONFIG, sensors=('pelvis',), first_address=1, group_mode=False)
    said = start(FlockOfBirds(config), device)
    assert device.is_sending and not device.has_group_mode
    assert not any(c.startswith(b'P') for c in said)


def test_units_beyond_fourteen_are_found():
    device = FlockSimulator(20)
    sensors = tuple(f's{i}' for i in range(20))
    start(FlockOfBirds(replace(CONFIG, sensors=sensors)), device)
    assert device.is_sending


def test_a_sleeping_device_is_woken():
    device = FlockSimulator(3)
    device.receive(flock.SLEEP, 0.0)
    start(FlockOfBirds(CONFIG), device)
    assert device.is_sending


def test_an_old_error_is_cleared_and_noted():
    device, notes = FlockSimulator(3), []
    device.error_code = 11
    start(FlockOfBirds(CONFIG), device, notes)
    assert notes == ['before this start the device had error 11 (RS-232 overrun or framing)']
    assert device.is_sending and device.error_code == 0


def test_a_streaming_device_can_be_started_again():
    device = FlockSimulator(3)
    start(FlockOfBirds(CONFIG), device)
    start(FlockOfBirds(CONFIG), device)
    assert device.is_sending


def test_a_silent_port_is_said_in_one_sentence():
    text = r'expected a Flock of Birds to answer at 115200 bps, got nothing; check its power'
    with pytest.raises(LinkTimeout, match=text):
        start(FlockOfBirds(CONFIG), None)


def test_a_missing_unit_is_named():
    with pytest.raises(ProtocolError, match=r'unit 4 \(left_hand\): .* got no such unit'):
        start(FlockOfBirds(CONFIG), FlockSimulator(2))


def test_a_unit_without_a_sensor_is_noted_and_the_others_stream():
    config = replace(CONFIG, sensors=(*CONFIG.sensors, 'right_hand'), first_address=1)
    device, notes = FlockSimulator(3), []
    start(FlockOfBirds(config), device, notes)
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
    first = start(FlockOfBirds(CONFIG), device)
    again = start(FlockOfBirds(CONFIG), device)
    command = flock.change(flock.AUTO_CONFIGURE, [4])
    assert command in first and command not in again and device.is_sending
    device.is_configured = False
    assert command in start(FlockOfBirds(CONFIG), device)


def test_a_device_that_was_told_to_hold_off_is_released():
    device = FlockSimulator(3)
    start(FlockOfBirds(CONFIG), device)
    device.receive(flock.XOFF + flock.examine(flock.MODEL), 9.0)
    start(FlockOfBirds(CONFIG), device)
    assert device.is_sending


def test_two_bytes_that_are_no_status_are_not_a_device():
    class Wrong(FlockSimulator):
        """A device heard at a wrong speed."""

        def receive(self, data: bytes, now_s: float) -> bytes:
            """Answer with other bytes."""
            return bytes(len(super().receive(data, now_s)))

    with pytest.raises(LinkTimeout, match=r'got 2 byte\(s\) of a status'):
        start(FlockOfBirds(CONFIG), Wrong(3))


def test_an_error_of_the_device_is_named():
    class Failing(FlockSimulator):
        """A device whose transmitter is off."""

        def receive(self, data: bytes, now_s: float) -> bytes:
            """Fall back into the error after each command."""
            self.error_code = self.error_code or 29
            return super().receive(data, now_s)

    with pytest.raises(ProtocolError, match=r'got error 29 \(transmitter off\)'):
        start(FlockOfBirds(CONFIG), Failing(3))


def test_garbage_for_an_answer_is_not_taken_for_a_device():
    class Short(FlockSimulator):
        """A device that answers one byte only, as at a wrong speed."""

        def receive(self, data: bytes, now_s: float) -> bytes:
            """Cut the answer."""
            return super().receive(data, now_s)[:1]

    with pytest.raises(LinkTimeout, match=r'got 1 byte\(s\) of a status'):
        start(FlockOfBirds(CONFIG), Short(3))
