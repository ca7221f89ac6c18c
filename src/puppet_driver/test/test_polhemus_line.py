# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starting Polhemus devices by bytes alone, what their simulators obey, and what can be wrong."""

from collections.abc import Callable
from dataclasses import replace

from device_start import burst, deaf, start
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from polhemus_bytes import poses_of
from puppet_driver.devices import polhemus
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.emulator.polhemus_simulator import FastrakSimulator, LibertySimulator, RESET_S
from puppet_driver.emulator.server import DeviceSimulator
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import Tracker
import pytest

CONFIG = polhemus.PolhemusConfig(('pelvis', 'left_hand'))
MAKERS: dict[str, tuple[Callable[..., Tracker], Callable[[int], DeviceSimulator]]] = {
    'fastrak': (lambda c: polhemus.Fastrak(c), FastrakSimulator),
    'fastrak_ascii': (lambda c: polhemus.FastrakAscii(c), FastrakSimulator),
    'liberty': (polhemus.Liberty, LibertySimulator),
    'patriot': (lambda c: polhemus.Patriot(c), lambda n: LibertySimulator(n, polhemus.Patriot)),
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
def test_a_silent_port_is_said_in_one_sentence(line, simulator):
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
def test_reset_takes_ten_seconds_and_forgets(simulator):
    device = simulator()
    device.receive(b'fF1\rCC\r', 0.0)
    device.receive(polhemus.RESET, 1.0)
    assert not device.is_sending
    device.receive(b'PPP', 1.0 + 0.9 * RESET_S)
    assert device.take_poll_requests() == 0
    device.receive(b'P', 1.0 + RESET_S)
    assert device.take_poll_requests() == 1


@pytest.mark.parametrize('simulator', SIMULATORS)
@given(messages=st.lists(st.binary(max_size=30) | WORDS, max_size=20))
def test_no_bytes_make_a_twin_raise(simulator, messages):
    device = simulator()
    for i, message in enumerate(messages):
        assert isinstance(device.receive(message, 20.0 * i), bytes)
    assert isinstance(burst(device), bytes)
