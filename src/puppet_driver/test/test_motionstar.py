# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starting a MotionStar: step by step, and a sentence for whatever is wrong."""

from collections.abc import Callable
from dataclasses import replace

from puppet_core.io import build_config, check_values, ConfigError
from puppet_driver.devices import birdnet as status
from puppet_driver.devices.birdnet import (
    decode_header,
    encode_packet,
    find_packet,
    Header,
    Message,
    POSITION_QUATERNION,
    setup_byte,
)
from puppet_driver.devices.line import StartSequence
from puppet_driver.devices.motionstar import MotionStar, MotionStarConfig
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.parameters import DRIVER_ROWS, DriverConfig
import pytest

CONFIG = MotionStarConfig(('pelvis', 'chest', 'left_hand'))
SILENCE = b''
Answer = Callable[[bytes], bytes]


def start(tracker: MotionStar, answer: Answer, notes: list[str] | None = None) -> list[Header]:
    """Run a start against a device, by bytes alone; return the headers of what was said."""
    said = []
    steps = tracker.start_exchanges()
    reply = None
    while True:
        try:
            exchange = steps.send(reply)
        except StopIteration:
            return said
        if exchange.note:
            reply = SILENCE
            if notes is not None:
                notes.append(exchange.note)
            continue
        said.append(decode_header(exchange.command))
        reply = answer(exchange.command)
        if exchange.measure is not None:
            reply = reply[: exchange.wanted_bytes(reply)]


def obey(device: MotionStarSimulator) -> Answer:
    """Return how a device answers."""
    return lambda command: device.receive(command, 1.5)


def altered(
    device: MotionStarSimulator, wanted: Message, change: Callable[[bytes], bytes]
) -> Answer:
    """Return how a device answers, its answers of one kind changed."""

    def answer(command: bytes) -> bytes:
        reply = device.receive(command, 1.5)
        packet, _ = find_packet(reply, {wanted})
        return reply if packet is None else change(reply)

    return answer


def with_body(change: Callable[[bytearray], object], at_unit: int) -> Callable[[bytes], bytes]:
    """Return a change of the body of answers about one unit."""

    def changed(reply: bytes) -> bytes:
        header, body = decode_header(reply), bytearray(reply[16:])
        if header.unit == at_unit:
            change(body)
        return encode_packet(header, bytes(body))

    return changed


def config(**given: object) -> DriverConfig:
    """Return a driver's config for the device."""
    values = {'device': 'motionstar', 'ports': ['tcp://10.0.0.7:6000'], **given}
    return build_config(DriverConfig, check_values(DRIVER_ROWS, values))


def test_started_device_streams_position_and_quaternion():
    device = MotionStarSimulator(3)
    said = start(MotionStar(CONFIG), obey(device))
    assert device.is_sending
    assert {u.format_byte for u in device.sensor_units} == {setup_byte(POSITION_QUATERNION)}
    assert [h.sequence for h in said] == list(range(1, len(said) + 1))
    kinds = [h.message for h in said if h.unit == 0]
    assert kinds[:3] == [Message.STOP_DATA, Message.WAKE_UP, Message.GET_STATUS]
    assert kinds[-1] is Message.RUN_CONTINUOUS


def test_a_running_device_is_started_anew():
    device = MotionStarSimulator(3)
    start(MotionStar(CONFIG), obey(device))
    start(MotionStar(CONFIG), obey(device))
    assert device.is_sending


def test_stop_command_ends_streaming():
    device, tracker = MotionStarSimulator(3), MotionStar(CONFIG)
    start(tracker, obey(device))
    device.receive(tracker.stop_command(), 2.0)
    assert device.is_awake and not device.is_streaming


@pytest.mark.parametrize('name, value', status.HEMISPHERES.items())
def test_hemisphere_reaches_every_unit_and_the_rest_stays(name, value):
    device = MotionStarSimulator(3)
    before = device.units[2]
    start(MotionStar(replace(CONFIG, hemisphere=name)), obey(device))
    assert [u.hemisphere for u in device.sensor_units] == [value] * 3
    after = device.units[2]
    assert after == before._replace(format_byte=after.format_byte, hemisphere=value)


@pytest.mark.parametrize('range_in', [36, 72, 144])
def test_the_scale_is_the_devices_own(range_in):
    device, tracker = MotionStarSimulator(3, range_in=range_in), MotionStar(CONFIG)
    start(tracker, obey(device))
    assert tracker._full_scales_m == pytest.approx([range_in * 0.0254] * 3)


def test_upper_bits_of_the_scale_are_another_matter():
    tracker = MotionStar(CONFIG)
    device = MotionStarSimulator(3, range_in=0x2000 | 144)
    start(tracker, obey(device))
    assert tracker._full_scales_m == pytest.approx([3.6576] * 3)


def test_lost_answers_are_asked_for_again():
    device, n_asked = MotionStarSimulator(3), [0]

    def answer(command: bytes) -> bytes:
        n_asked[0] += 1
        reply = device.receive(command, 1.5)
        if n_asked[0] % 3 == 0:
            return reply
        # data says that the device has heard the last request
        return encode_packet(Header(Message.DATA)) if device.is_sending else SILENCE

    start(MotionStar(CONFIG), answer)
    assert device.is_sending


def test_data_under_way_is_not_mistaken_for_an_answer():
    device = MotionStarSimulator(3)
    data = encode_packet(Header(Message.DATA), bytes(48))
    start(MotionStar(CONFIG), lambda command: data + device.receive(command, 1.5))
    assert device.is_sending


def test_half_a_data_packet_before_an_answer_does_no_harm():
    device = MotionStarSimulator(3)
    half = encode_packet(Header(Message.DATA), bytes(48))[30:]
    start(MotionStar(CONFIG), lambda command: half + device.receive(command, 1.5))
    assert device.is_sending


def refuse(message: Message, error: int = 0) -> Answer:
    """Return how a device answers that refuses everything."""
    return lambda command: encode_packet(Header(message, error=error))


@pytest.mark.parametrize(
    'answer, error, text',
    [
        (
            lambda command: SILENCE,
            LinkTimeout,
            r'expected a MotionStar to answer to wake up, got nothing; check its power',
        ),
        (
            lambda command: b'HTTP/1.1 400 Bad Request\r\n\r\n',
            LinkTimeout,
            r'answer to wake up, got 84 byte\(s\) without an answer',
        ),
        (
            lambda command: encode_packet(Header(Message.DATA), bytes(20)),
            LinkTimeout,
            r'answer to wake up, got 108 byte\(s\) without an answer',
        ),
        (
            refuse(Message.ILLEGAL, 9),
            ProtocolError,
            r'answer to get status, got not allowed at this time, error 9 \(not ready\)',
        ),
        (
            refuse(Message.UNKNOWN),
            ProtocolError,
            'expected an answer to get status, got an unknown command',
        ),
    ],
)
def test_silence_and_wrong_answers_are_said(answer, error, text):
    with pytest.raises(error, match=text):
        start(MotionStar(CONFIG), answer)


STATUS = Message.GET_STATUS_ANSWER


@pytest.mark.parametrize(
    'unit, change, text',
    [
        (0, lambda b: b.clear(), 'expected a system status of 16 or more bytes, got 0'),
        (
            0,
            lambda b: b.__setitem__(0, 0xC8),
            'the system to be ready, got a system error, a failing',
        ),
        (
            0,
            lambda b: b.__setitem__(18, 0x40),
            r'unit 3 \(chest\): expected a sensor, got no such unit among 4',
        ),
        (0, lambda b: b.__delitem__(slice(18, None)), r'unit 3 \(chest\): .* got no such unit'),
    ],
)
def test_what_a_status_says_is_checked(unit, change, text):
    with pytest.raises(ProtocolError, match=text):
        start(MotionStar(CONFIG), altered(MotionStarSimulator(3), STATUS, with_body(change, unit)))


def test_a_rate_that_the_device_does_not_take_is_said():
    with pytest.raises(ProtocolError, match='expected 100 measurements a second, got 120; set'):
        start(MotionStar(replace(CONFIG, rate_hz=100.0)), obey(MotionStarSimulator(3)))


def test_a_refused_setup_is_said_with_its_unit():
    device = MotionStarSimulator(3)
    answer = altered(
        device,
        Message.SEND_SETUP_ANSWER,
        lambda reply: encode_packet(decode_header(reply)._replace(error=8)),
    )
    with pytest.raises(ProtocolError, match=r'to send setup, got error 8 \(illegal setup\)'):
        start(MotionStar(CONFIG), answer)


class Deaf:
    """A port that nothing comes from."""

    name = 'port'

    def write(self, data: bytes) -> None:
        """Take it."""

    def discard_input(self) -> None:
        """Have none."""


def test_answers_may_come_byte_by_byte_and_late():
    device, tracker, now_ns = MotionStarSimulator(3), MotionStar(CONFIG), 0
    said: list[bytes] = []
    port = Deaf()
    port.write = said.append
    sequence = StartSequence(tracker.start_exchanges(), port)
    is_started = sequence.begin(now_ns)
    while not is_started:
        replies = b''.join(device.receive(command, 1.5) for command in said)
        said.clear()
        for i in range(len(replies)):
            is_started = sequence.on_bytes(replies[i : i + 1], now_ns) or is_started
        if not said and not is_started:
            now_ns = sequence.deadline_ns
            is_started = sequence.on_time(now_ns)
    # only the pause after stopping and one wait for an answer to it
    assert device.is_sending and now_ns == 100_000_000


def test_choosing_the_device_is_a_parameter():
    trackers = config().trackers
    assert [t.title for t in trackers] == ['MotionStar'] and trackers[0].n_sensors == 14


def test_several_devices_share_the_sensors():
    trackers = config(ports=['udp://a', 'udp://b']).trackers
    assert [t.n_sensors for t in trackers] == [7, 7]
    assert [t._config.port for t in trackers] == ['udp://a', 'udp://b']


@pytest.mark.parametrize(
    'given, text',
    [
        (
            {'ports': ['/dev/ttyUSB0']},
            r"ports: expected tcp://HOST\[:PORT\], udp://.* device motionstar, got '/dev/ttyUSB0'",
        ),
        ({'ports': ['http://host']}, r"ports: expected tcp://HOST\[:PORT\].* got 'http://host'"),
        ({'ports': ['tcp://host:70000']}, 'ports: expected a port number from 0 to 65535'),
        (
            {'ports': ['tcp://a', 'udp://b']},
            'ports: expected all tcp://, all udp:// or .* tcp://a,',
        ),
        (
            {'rate_hz': 150.0},
            r'rate_hz: expected 20.0 <= value <= 144.0 for device motionstar, got',
        ),
        ({'first_address': 108}, r'first_address: expected addresses up to 120 .* got 121'),
    ],
)
def test_what_cannot_work_is_refused_by_name(given, text):
    with pytest.raises(ConfigError, match=text):
        config(**given)


def test_a_frame_is_awaited_without_a_lines_speed():
    assert config().frame_wait_s == pytest.approx(3.0 / 120.0)
