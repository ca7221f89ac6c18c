# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The emulated device obeys as the manual says."""

from hypothesis import given
from hypothesis import strategies as st
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.emulator.flock_simulator import AUTO_CONFIGURE_S, CHANGEABLE, FlockSimulator
import pytest


@pytest.mark.parametrize('number', flock.VALUE_BYTES)
def test_examine_answers_with_the_documented_size(number):
    assert len(FlockSimulator(4).receive(flock.examine(number), 0.0)) == flock.VALUE_BYTES[number]


def test_status_word_tells_format_and_stream():
    device = FlockSimulator(2)
    device.receive(b'\xf1' + flock.POSITION_QUATERNION + flock.STREAM, 0.0)
    word = flock.little_endian(device.receive(flock.examine(flock.STATUS), 0.0))
    assert word & flock.STATUS_STREAMING and (word >> 1) & 0xF == 8


def test_flock_status_marks_controller_and_sensors():
    device = FlockSimulator(2)
    device.receive(flock.change(flock.AUTO_CONFIGURE, [3]), 0.0)
    status = device.receive(flock.examine(flock.FLOCK_STATUS), AUTO_CONFIGURE_S)
    assert len(status) == 14
    assert status[0] & flock.UNIT_EXTENDED_RANGE and not status[0] & flock.UNIT_HAS_SENSOR
    assert all(s & flock.UNIT_HAS_SENSOR and s & flock.UNIT_RUNNING for s in status[1:3])
    assert not any(status[3:])


def test_device_is_deaf_while_it_configures_the_bus():
    device = FlockSimulator(2)
    device.receive(flock.change(flock.AUTO_CONFIGURE, [3]), 0.0)
    assert device.receive(flock.examine(flock.STATUS), 0.5 * AUTO_CONFIGURE_S) == b''
    assert device.receive(flock.examine(flock.STATUS), AUTO_CONFIGURE_S)


@pytest.mark.parametrize('number', CHANGEABLE)
def test_what_is_changed_is_examined_unit_by_unit(number):
    device = FlockSimulator(2)
    data = list(range(1, 1 + flock.VALUE_BYTES[number]))
    device.receive(flock.address_prefix(3) + flock.change(number, data), 0.0)
    there = device.receive(flock.address_prefix(3) + flock.examine(number), 0.0)
    other = device.receive(flock.address_prefix(2) + flock.examine(number), 0.0)
    assert there == bytes(data) != other


def test_what_cannot_be_changed_is_an_illegal_command():
    device = FlockSimulator(2)
    device.receive(flock.change(flock.CRYSTAL, [1, 2]), 0.0)
    assert device.receive(flock.examine(flock.ERROR_CODE), 0.0) == b'\x06'


def test_prefix_directs_a_command_to_one_unit():
    device = FlockSimulator(3)
    device.receive(flock.address_prefix(3) + flock.POSITION_QUATERNION, 0.0)
    formats = {u.address: u.command for u in device.sensor_units}
    assert formats[3] == flock.POSITION_QUATERNION != formats[2]


def test_unknown_unit_sets_an_error_that_reading_clears():
    device = FlockSimulator(2)
    device.receive(flock.address_prefix(9) + flock.POSITION_QUATERNION, 0.0)
    assert device.receive(flock.examine(flock.ERROR_CODE), 0.0) == b'\x0d'
    assert device.receive(flock.examine(flock.ERROR_CODE), 0.0) == b'\x00'


def test_illegal_command_sets_error_six():
    device = FlockSimulator(2)
    device.receive(b'\x01', 0.0)
    assert device.receive(flock.examine(flock.ERROR_CODE), 0.0) == b'\x06'


def test_point_answers_once_and_ends_the_stream():
    device = FlockSimulator(2)
    device.receive(flock.STREAM + flock.POINT, 0.0)
    assert (
        not device.is_streaming
        and device.take_poll_requests() == 1
        and device.take_poll_requests() == 0
    )


def test_xoff_holds_the_stream_and_xon_releases_it():
    device = FlockSimulator(2)
    device.receive(flock.STREAM + b'\x13', 0.0)
    assert device.is_streaming and not device.is_sending
    device.receive(b'\x11', 0.0)
    assert device.is_sending


@pytest.mark.parametrize('command, every', flock.REPORT_RATES.items())
def test_report_rates(command, every):
    device = FlockSimulator(2)
    device.receive(command, 0.0)
    assert device.report_every == every


def test_commands_may_come_byte_by_byte():
    device = FlockSimulator(3)
    message = flock.address_prefix(2) + flock.set_hemisphere('left')
    for i in range(len(message)):
        device.receive(message[i : i + 1], 0.0)
    assert device.sensor_units[0].hemisphere == flock.HEMISPHERES['left']


def test_a_command_cut_short_is_forgotten_when_the_host_hangs_up():
    device = FlockSimulator(3)
    device.receive(flock.HEMISPHERE, 0.0)
    device.on_disconnect()
    assert len(device.receive(flock.examine(flock.STATUS), 0.0)) == 2


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_no_bytes_make_the_device_raise(messages):
    device = FlockSimulator(3)
    for i, message in enumerate(messages):
        assert isinstance(device.receive(message, float(i)), bytes)
