# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starting a MotionStar, what its simulator obeys, and a sentence for whatever is wrong."""

from dataclasses import replace
import re

from device_start import deaf, start
from hypothesis import given
from hypothesis import strategies as st
from line_bench import Bench, MS
import numpy as np
from puppet_driver.devices import birdnet as status
from puppet_driver.devices.birdnet import (
    decode_header,
    encode_packet,
    find_packet,
    Header,
    Message,
    setup_byte,
)
from puppet_driver.devices.flock_of_birds import POSITION_QUATERNION
from puppet_driver.devices.line import LineState
from puppet_driver.devices.motionstar import MotionStar, MotionStarConfig
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator
from puppet_driver.errors import LinkTimeout, ProtocolError
import pytest

CONFIG = MotionStarConfig(('pelvis', 'chest', 'left_hand'))


def altered(wanted, change):
    def changed(reply):
        packet, _ = find_packet(reply, {wanted})
        return reply if packet is None else change(reply)

    return changed


def with_body(change, at_unit):
    def changed(reply):
        header, body = decode_header(reply), bytearray(reply[16:])
        if header.unit == at_unit:
            change(body)
        return encode_packet(header, bytes(body))

    return changed


def put(place, value):
    return lambda body: body.__setitem__(place, value)


def test_a_started_device_streams_position_and_quaternion_until_it_is_stopped():
    device, tracker = MotionStarSimulator(3), MotionStar(CONFIG)
    # a running device is started anew
    for _ in range(2):
        commands, _ = start(tracker, device)
        assert device.is_sending
    assert {u.format_byte for u in device.sensor_units} == {setup_byte(POSITION_QUATERNION)}
    headers = [decode_header(command) for command in commands]
    assert np.diff([h.sequence for h in headers]).tolist() == [1] * (len(headers) - 1)
    kinds = [h.message for h in headers if h.unit == 0]
    assert kinds[:3] == [Message.STOP_DATA, Message.WAKE_UP, Message.GET_STATUS]
    assert kinds[-1] is Message.RUN_CONTINUOUS
    device.receive(tracker.stop_command(), 2.0)
    assert device.is_awake and not device.is_streaming


@pytest.mark.parametrize('name, value', status.HEMISPHERES.items())
def test_hemisphere_reaches_every_unit_and_the_rest_stays(name, value):
    device = MotionStarSimulator(3)
    before = device.units[2]
    start(MotionStar(replace(CONFIG, hemisphere=name)), device)
    assert [u.hemisphere for u in device.sensor_units] == [value] * 3
    after = device.units[2]
    assert after == before._replace(format_byte=after.format_byte, hemisphere=value)


@pytest.mark.parametrize('range_in', [36, 72, 144])
def test_the_scale_is_the_devices_own(range_in):
    device, tracker = MotionStarSimulator(3, range_in=range_in), MotionStar(CONFIG)
    start(tracker, device)
    assert tracker._full_scales_m == pytest.approx([range_in * 0.0254] * 3)


def test_lost_answers_are_asked_for_again():
    device, n_asked = MotionStarSimulator(3), [0]

    def answer(command, now_s):
        n_asked[0] += 1
        reply = device.receive(command, now_s)
        if n_asked[0] % 3 == 0:
            return reply
        # data says that the device has heard the last request
        return encode_packet(Header(Message.DATA)) if device.is_sending else b''

    start(MotionStar(CONFIG), answer)
    assert device.is_sending


@pytest.mark.parametrize('skipped', [0, 30], ids=['whole', 'half'])
def test_data_under_way_is_not_mistaken_for_an_answer(skipped):
    device = MotionStarSimulator(3)
    data = encode_packet(Header(Message.DATA), bytes(48))[skipped:]
    start(MotionStar(CONFIG), device, lambda answer: data + answer)
    assert device.is_sending


def say(data):
    return lambda command, now_s: data


def refuse(message, error=0):
    return say(encode_packet(Header(message, error=error)))


@pytest.mark.parametrize(
    'answer, error, text',
    [
        (deaf, LinkTimeout, 'a MotionStar to answer to wake up, got nothing; check its power'),
        (say(b'HTTP/1.1 400 Bad Request\r\n\r\n'), LinkTimeout, r'wake up, got 84 byte\(s\) wi'),
        (say(encode_packet(Header(Message.DATA), bytes(20))), LinkTimeout, r'got 108 byte\(s\)'),
        (refuse(Message.ILLEGAL, 9), ProtocolError, r'status, got not .*, error 9 \(not ready\)'),
        (refuse(Message.UNKNOWN), ProtocolError, 'answer to get status, got an unknown command'),
    ],
)
def test_silence_and_wrong_answers_are_reported(answer, error, text):
    with pytest.raises(error, match=text):
        start(MotionStar(CONFIG), answer)


STATUS = Message.GET_STATUS_ANSWER


@pytest.mark.parametrize(
    'unit, change, text',
    [
        (0, lambda b: b.clear(), 'expected a system status of 16 or more bytes, got 0'),
        (0, put(slice(5, 11), bytes(6)), 'a rate of six digits in the system status, got b'),
        (0, put(0, 0xC8), 'the system to be ready, got a system error, a failing'),
        (0, put(18, 0x40), r'unit 3 \(chest\): expected a sensor, got no such unit among 4'),
        (0, lambda b: b.__delitem__(slice(18, None)), r'unit 3 \(chest\): .* got no such unit'),
    ],
)
def test_bad_status_is_refused(unit, change, text):
    with pytest.raises(ProtocolError, match=text):
        start(MotionStar(CONFIG), MotionStarSimulator(3), altered(STATUS, with_body(change, unit)))


def test_a_rate_that_the_device_does_not_take_is_reported():
    with pytest.raises(ProtocolError, match='expected 100 measurements a second, got 120; set'):
        start(MotionStar(replace(CONFIG, rate_hz=100.0)), MotionStarSimulator(3))


def test_a_refused_setup_is_reported_with_its_unit():
    refused = altered(
        Message.SEND_SETUP_ANSWER,
        lambda reply: encode_packet(decode_header(reply)._replace(error=8)),
    )
    with pytest.raises(ProtocolError, match=r'to send setup, got error 8 \(illegal setup\)'):
        start(MotionStar(CONFIG), MotionStarSimulator(3), refused)


def test_answers_may_come_byte_by_byte_and_late():
    bench = Bench('motionstar')
    bench.run(1)
    while bench.line.state is LineState.STARTING:
        answers, bench.port.arrived = bench.port.arrived, b''
        for i in range(len(answers)):
            bench.send(answers[i : i + 1])
        if bench.line.state is LineState.STARTING and not bench.port.arrived:
            bench.now_ns = bench.line.deadline_ns
            bench.line.on_time(bench.now_ns)
    # only the pause after stopping and one wait for an answer to it
    assert bench.device.is_sending and bench.now_ns == 101 * MS


def fail(body):
    body[0], body[4] = 0xC4, 32


@pytest.mark.parametrize(
    'unit, change, text',
    [
        (0, put(18, 0xD0), 'a sensor, got a unit without one among 4; check its cables'),
        (3, lambda b: b.__delitem__(slice(60, None)), 'a unit status of 70 bytes, got 60'),
        (3, fail, r'it to be ready, got error 32 \(sensor saturated\)'),
        (3, put(11, 9), 'its status, .* of unit 9'),
        (3, put(slice(8, 10), bytes(2)), 'a full scale .* got 0 inch'),
    ],
)
def test_a_unit_that_lacks_something_is_noted_and_the_others_stream(unit, change, text):
    device, tracker = MotionStarSimulator(3), MotionStar(CONFIG)
    commands, notes = start(tracker, device, altered(STATUS, with_body(change, unit)))
    text = rf'unit 3 \(chest\): expected {text}'
    assert device.is_sending and len(notes) == 1 and re.match(text, notes[0])
    assert {decode_header(command).unit for command in commands} >= {0, 2, 4}
    # nor does a device without any other unit start
    device = MotionStarSimulator(3)
    tracker = MotionStar(replace(CONFIG, sensors=('chest',), first_address=3))
    with pytest.raises(ProtocolError, match=text):
        start(tracker, device, altered(STATUS, with_body(change, unit)))
    assert not device.is_streaming


def test_a_unit_in_error_may_refuse_its_setup():
    device = MotionStarSimulator(3)
    device.units[3] = device.units[3]._replace(flags=0xC4, error=32)

    def refuse_of_unit(reply):
        header = decode_header(reply)
        return encode_packet(header._replace(error=8 if header.unit == 3 else 0))

    _, notes = start(
        MotionStar(CONFIG), device, altered(Message.SEND_SETUP_ANSWER, refuse_of_unit)
    )
    assert device.is_sending and len(notes) == 1 and 'error 32' in notes[0]


def answer_of(device, message, unit=0, body=b''):
    return decode_header(device.receive(encode_packet(Header(message, unit), body), 2.25))


@given(st.lists(st.binary(max_size=60), max_size=10))
def test_any_bytes_are_answered_without_an_exception(chunks):
    device = MotionStarSimulator(3)
    for chunk in chunks:
        device.receive(chunk, 0.0)
    device.on_disconnect()
    assert answer_of(device, Message.WAKE_UP).message is Message.WAKE_UP_ANSWER
