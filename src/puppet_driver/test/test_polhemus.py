# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Polhemus devices by bytes alone: how they start, what can be wrong, and their records."""

from dataclasses import replace
import struct

from device_start import burst, deaf, start
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from polhemus_bytes import MODELS, open_stream, poses_of, records_of
from puppet_core.math import quaternions as quaternion_batch
from puppet_driver.devices import polhemus
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.flock_of_birds import METRES_PER_INCH
from puppet_driver.devices.polhemus import decimal, Fastrak, Liberty
from puppet_driver.emulator.polhemus_simulator import (
    encode_records,
    FastrakSimulator,
    LibertySimulator,
    POWER_UP_ITEMS,
)
from puppet_driver.errors import LinkTimeout, ProtocolError
import pytest

CONFIG = polhemus.PolhemusConfig(('pelvis', 'left_hand'))
MAKERS = {
    'fastrak': (polhemus.Fastrak, FastrakSimulator),
    'fastrak_ascii': (polhemus.FastrakAscii, FastrakSimulator),
    'liberty': (polhemus.Liberty, LibertySimulator),
    'patriot': (polhemus.Patriot, lambda n: LibertySimulator(n, polhemus.Patriot)),
}
every = pytest.mark.parametrize('line, simulator', MAKERS.values(), ids=MAKERS)
WORDS = st.text('OHlU*F0123456789,\r-SPCcuf', max_size=30).map(str.encode)
SIMULATORS = (lambda: FastrakSimulator(3), lambda: LibertySimulator(3))


@every
def test_a_started_device_streams_what_the_stream_reads(line, simulator):
    device, tracker = simulator(2), line(CONFIG)
    said, notes = start(tracker, device)
    assert device.is_sending and notes == [] and said[-1][:1] == b'C'
    assert device.metres_per_unit == polhemus.METRES_PER_CENTIMETRE
    stream = tracker.open_stream()
    for _ in range(CONFIRMATIONS):
        assert not stream.feed(burst(device))
    records = stream.feed(burst(device))
    assert len(records) == tracker.n_sensors == 2
    np.testing.assert_allclose([r.pose for r in records], poses_of(1, 2)[0], atol=1e-4)


@every
@pytest.mark.parametrize('before', [b'\x13', b'O1,2', b'C\r'], ids=['held', 'noise', 'streaming'])
def test_a_device_is_started_whatever_it_heard_before_and_stopped(line, simulator, before):
    device = simulator(2)
    device.receive(before, 0.0)
    start(line(CONFIG), device)
    assert device.is_sending
    device.receive(line(CONFIG).stop_command(), 9.0)
    assert not device.is_sending


@pytest.mark.parametrize('name, vector', polhemus.HEMISPHERES.items())
def test_hemisphere_reaches_every_station(name, vector):
    config = replace(CONFIG, hemisphere=name)
    device, other = FastrakSimulator(2), LibertySimulator(2)
    start(polhemus.Fastrak(config), device)
    start(polhemus.Liberty(config), other)
    assert device.hemispheres == {1: vector, 2: vector} and other.hemisphere == vector


def test_stations_that_are_not_used_do_not_take_time():
    device = FastrakSimulator(4)
    start(polhemus.Fastrak(CONFIG), device)
    assert [device.active[k] for k in (1, 2, 3, 4)] == [True, True, False, False]


@every
def test_a_silent_port_is_reported_in_one_sentence(line, simulator):
    text = r'expected a Polhemus \w+ to answer at 115200 bps, got nothing; check its power'
    with pytest.raises(LinkTimeout, match=text):
        start(line(CONFIG), deaf)


@every
def test_a_missing_sensor_is_noted_and_the_other_streams(line, simulator):
    device = simulator(1)
    _, notes = start(line(CONFIG), device)
    assert device.is_sending and len(notes) == 1
    assert notes[0].startswith('station 2 (left_hand): expected a record, got none; check')


def test_a_device_without_any_sensor_is_refused():
    with pytest.raises(ProtocolError, match=r'station 1 \(pelvis\): expected a record, got none'):
        start(polhemus.Fastrak(CONFIG), FastrakSimulator(0))


@every
def test_error_characters_are_noted(line, simulator):
    device = simulator(2)
    device.error = ord('B')
    _, notes = start(line(CONFIG), device)
    assert len(notes) == 2 and "station 1 (pelvis): error 'B'" in notes[0]


def test_a_liberty_for_a_patriot_is_named():
    text = 'expected records of a Polhemus PATRIOT, got those of a LIBERTY; change the device'
    with pytest.raises(ProtocolError, match=text):
        start(polhemus.Patriot(CONFIG), LibertySimulator(2))


@pytest.mark.parametrize('line', [polhemus.Fastrak(CONFIG), polhemus.Liberty(CONFIG)])
def test_another_device_is_not_taken_for_it(line):
    def parrot(command, now_s):
        return (command + b'hello \r\n' * 40)[:53] + b'\r\n' + bytes(100)

    with pytest.raises(ProtocolError, match=r'expected .* got b.*; check the device parameter'):
        start(line, parrot)


@pytest.mark.parametrize('simulator', SIMULATORS)
@given(messages=st.lists(st.binary(max_size=30) | WORDS, max_size=20))
def test_any_bytes_are_answered_without_an_exception(simulator, messages):
    device = simulator()
    for i, message in enumerate(messages):
        assert isinstance(device.receive(message, 20.0 * i), bytes)
    assert isinstance(burst(device), bytes)


ANGLE_TOL = {True: 3e-4, False: 1e-6}  # of decimal and of binary numbers [rad]
POSITION_TOL_M = {True: 0.00501 * 0.01, False: 2e-7}  # a float32 of a few hundred centimetres
coordinates = st.floats(-2.5, 2.5)
quaternions = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def decode(name, record):
    stream = open_stream(name)
    assert stream.record_pattern.fullmatch(record)
    found = stream.decode(record)
    return None if found is None else np.array(found[1])


@pytest.mark.parametrize('name', MODELS)
@settings(max_examples=60, deadline=None)
@given(position=st.tuples(coordinates, coordinates, coordinates), q=quaternions)
def test_every_format_survives_the_line(name, position, q):
    pose = np.concatenate((position, quaternion_batch.normalize(np.array(q))))
    _, record = records_of(name, np.array([[pose, pose]]))
    layout = MODELS[name].layout
    assert len(record) == len(layout.allowed)
    back = decode(name, record)
    np.testing.assert_allclose(back[:3], pose[:3], atol=POSITION_TOL_M[layout.is_ascii])
    turned = min(np.linalg.norm(back[3:] - pose[3:]), np.linalg.norm(back[3:] + pose[3:]))
    assert 4.0 * np.arcsin(0.5 * turned) < ANGLE_TOL[layout.is_ascii]


def test_a_fastrak_wakes_up_with_decimals_of_angles_in_inches():
    half = np.radians(15.0)
    # the nose up by 30 degrees is an elevation, of which REP-103's pitch is the reverse
    pose = np.array([[0.254, 0.0, -0.0508, np.cos(half), 0.0, -np.sin(half), 0.0]])
    layout = Fastrak.layout._replace(is_ascii=True)
    record = encode_records(layout, POWER_UP_ITEMS, 2, pose, METRES_PER_INCH)
    text = record.tobytes().replace(b'-0.00', b' 0.00')
    assert text == b'02   10.00   0.00   2.00   0.00  30.00   0.00\r\n'


def test_binary_record_of_the_manual():
    body = struct.pack('<7f', 100.0, 0.0, -50.0, 1.0, 0.0, 0.0, 0.0) + b'\r\n'
    record = b'LY' + bytes((2,)) + b'C ' + bytes(1) + struct.pack('<h', 30) + body
    np.testing.assert_allclose(decode('liberty', record), [1.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])


@given(st.integers(-99999, 99999))
@pytest.mark.parametrize('form', ['{:7.2f}', '{:+7.2f}', '{:07.2f}', '{: =+7.2f}'])
def test_decimals_are_read_however_they_are_padded(form, hundredths):
    assert decimal(form.format(hundredths / 100).encode()) == hundredths / 100


@pytest.mark.parametrize('text', ['1 2.000', '--1.000', '-+1.000', '  .    ', '12.3 45'])
def test_malformed_decimals_are_refused(text):
    with pytest.raises(ValueError):
        decimal(text.encode())


@pytest.mark.parametrize(
    'values',
    [
        (1001.0, 0, 0, 1, 0, 0, 0),
        (0, 0, 0, 1.01, 0, 0, 0),
        (0, 0, 0, 0, 0, 0, 0),
        (float('nan'), 0, 0, 1, 0, 0, 0),
        (0, 0, 0, float('inf'), 0, 0, 0),
    ],
)
def test_impossible_poses_are_refused(values):
    record = b'LY\x01C \x00' + struct.pack('<h7f', 30, *values) + b'\r\n'
    assert decode('liberty', record) is None


def test_commands_are_those_of_the_manual():
    assert polhemus.command(polhemus.ITEMS, 3, *polhemus.FASTRAK_ITEMS) == b'O3,2,11,1\r'
    assert polhemus.command(polhemus.ITEMS, '*', *polhemus.LIBERTY_ITEMS) == b'O*,2,7,1\r'
    assert (len(Fastrak.layout.allowed), len(Liberty.layout.allowed)) == (33, 38)
