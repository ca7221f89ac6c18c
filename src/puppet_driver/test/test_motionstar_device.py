# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The commanding side of the emulated MotionStar: what it answers, and what it refuses."""

from birdnet_bytes import unit_of
from hypothesis import given
from hypothesis import strategies as st
from puppet_driver.devices import birdnet as status
from puppet_driver.devices.birdnet import (
    decode_header,
    encode_packet,
    Header,
    Message,
    POSITION_QUATERNION,
    setup_byte,
)
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator
import pytest


def say(message: Message, unit: int = 0, body: bytes = b'') -> bytes:
    """Return a request."""
    return encode_packet(Header(message, unit), body)


def answer_of(
    device: MotionStarSimulator, message: Message, unit: int = 0, body: bytes = b''
) -> Header:
    """Return the header of the answer to a request."""
    return decode_header(device.receive(say(message, unit, body), 2.25))


@pytest.fixture
def device() -> MotionStarSimulator:
    """Return a device that has been woken."""
    device = MotionStarSimulator(3)
    device.receive(say(Message.WAKE_UP), 0.0)
    return device


def test_a_device_that_sleeps_is_not_ready():
    device = MotionStarSimulator(3)
    answer = answer_of(device, Message.GET_STATUS)
    assert answer.message is Message.ILLEGAL and answer.error == 9
    assert answer_of(device, Message.WAKE_UP).message is Message.WAKE_UP_ANSWER
    assert answer_of(device, Message.GET_STATUS).message is Message.GET_STATUS_ANSWER
    assert answer_of(device, Message.SHUT_DOWN).message is Message.SHUT_DOWN_ANSWER
    assert not device.is_awake


def test_answers_are_numbered_and_timed(device):
    first, second = (answer_of(device, Message.STOP_DATA) for _ in range(2))
    assert second.sequence == first.sequence + 1
    assert (first.seconds, first.milliseconds) == (2, 250)
    assert answer_of(device, Message.SYNC_SEQUENCE).sequence == 1


def test_a_running_device_refuses_to_be_set_up(device):
    answer_of(device, Message.RUN_CONTINUOUS)
    for message in (Message.GET_STATUS, Message.SEND_SETUP, Message.RUN_CONTINUOUS):
        answer = answer_of(device, message)
        assert answer.message is Message.ILLEGAL and answer.error == 5


@pytest.mark.parametrize('message', [Message.DATA, Message.WAKE_UP_ANSWER])
def test_what_only_a_device_says_is_not_understood(device, message):
    assert answer_of(device, message).message is Message.UNKNOWN


def test_units_that_are_not_there_have_no_status(device):
    assert answer_of(device, Message.GET_STATUS, 5).error == 7
    assert answer_of(device, Message.SEND_SETUP, 5, status.encode_unit(unit_of(5))).error == 8


@pytest.mark.parametrize(
    'change',
    [
        {'format_byte': 0x99},
        {'report_rate': 3},
        {'hemisphere': 6},
        {'address': 3},
    ],
)
def test_setups_without_sense_change_nothing(device, change):
    before, version = device.units[2], device.version
    body = status.encode_unit(before._replace(**change))
    assert answer_of(device, Message.SEND_SETUP, 2, body).error == 8
    assert answer_of(device, Message.SEND_SETUP, 2, body[:30]).error == 8
    assert device.units[2] == before and device.version == version


def test_rates_out_of_range_are_refused(device):
    system = status.decode_system(device.receive(say(Message.GET_STATUS), 0.0)[16:])
    for rate_mhz, error in ((20_000, 0), (144_000, 0), (19_999, 8), (144_001, 8)):
        body = status.encode_system(system._replace(rate_mhz=rate_mhz))
        assert answer_of(device, Message.SEND_SETUP, 0, body).error == error


@given(st.lists(st.binary(max_size=60), max_size=10))
def test_any_bytes_are_answered_without_an_exception(chunks):
    device = MotionStarSimulator(3)
    for chunk in chunks:
        device.receive(chunk, 0.0)
    device.on_disconnect()
    assert answer_of(device, Message.WAKE_UP).message is Message.WAKE_UP_ANSWER


def test_requests_may_come_in_pieces(device):
    request = say(Message.SEND_SETUP, 2, status.encode_unit(device.units[2]))
    answers = [device.receive(request[i : i + 1], 0.0) for i in range(len(request))]
    assert answers[:-1] == [b''] * (len(request) - 1)
    assert decode_header(answers[-1]).message is Message.SEND_SETUP_ANSWER


def test_setup_bytes_of_the_driver_are_understood():
    assert unit_of(2).format_byte == setup_byte(POSITION_QUATERNION) == 0x78
