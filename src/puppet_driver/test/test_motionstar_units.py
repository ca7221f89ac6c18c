# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Units of a MotionStar that lack something: noted, while the others stream."""

from dataclasses import replace
import re

from puppet_driver.devices.birdnet import decode_header, encode_packet, Message
from puppet_driver.devices.motionstar import MotionStar
from puppet_driver.emulator.motionstar_simulator import MotionStarSimulator
from puppet_driver.errors import ProtocolError
import pytest
from test_motionstar import altered, CONFIG, start, STATUS, with_body

UNIT_FAULTS = [
    (
        0,
        lambda b: b.__setitem__(18, 0xD0),
        r'unit 3 \(chest\): expected a sensor, got a unit without one among 4; check its cables',
    ),
    (
        3,
        lambda b: b.__delitem__(slice(60, None)),
        r'unit 3 \(chest\): expected a unit status of 70 bytes, got 60',
    ),
    (
        3,
        lambda b: b.__setitem__(0, 0xC4) or b.__setitem__(4, 32),
        r'unit 3 \(chest\): expected it to be ready, got error 32 \(sensor saturated\)',
    ),
    (3, lambda b: b.__setitem__(11, 9), r'unit 3 \(chest\): expected its status, .* of unit 9'),
    (
        3,
        lambda b: b.__setitem__(slice(8, 10), bytes(2)),
        r'unit 3 \(chest\): expected a full scale .* got 0 inch',
    ),
]
unit_faults = pytest.mark.parametrize('unit, change, text', UNIT_FAULTS)


@unit_faults
def test_a_unit_that_lacks_something_is_noted_and_the_others_stream(unit, change, text):
    device, notes = MotionStarSimulator(3), []
    answer = altered(device, STATUS, with_body(change, unit))
    said = start(MotionStar(CONFIG), answer, notes)
    assert device.is_sending and len(notes) == 1 and re.match(text, notes[0])
    assert {h.unit for h in said if h.message is Message.SEND_SETUP} >= {0, 2, 4}


@unit_faults
def test_a_device_without_any_usable_unit_is_refused_with_the_reason(unit, change, text):
    device, sensors = MotionStarSimulator(3), ('chest',)
    tracker = MotionStar(replace(CONFIG, sensors=sensors, first_address=3))
    with pytest.raises(ProtocolError, match=text):
        start(tracker, altered(device, STATUS, with_body(change, unit)))
    assert not device.is_streaming


def test_a_unit_in_error_may_refuse_its_setup():
    device, notes = MotionStarSimulator(3), []
    device.units[3] = device.units[3]._replace(flags=0xC4, error=32)
    setup = altered(
        device,
        Message.SEND_SETUP_ANSWER,
        lambda reply: encode_packet(
            decode_header(reply)._replace(error=8 if decode_header(reply).unit == 3 else 0)
        ),
    )
    start(MotionStar(CONFIG), setup, notes)
    assert device.is_sending and len(notes) == 1 and 'error 32' in notes[0]


def test_a_unit_without_a_known_scale_is_not_listened_to():
    tracker = MotionStar(CONFIG)
    start(tracker, altered(MotionStarSimulator(3), STATUS, with_body(UNIT_FAULTS[-1][1], 3)))
    assert tracker.open_stream()._ordinal_of == {2: 0, 4: 2}
