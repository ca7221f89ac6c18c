# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""BIRDNET packets as bytes: everything written is read back, everything wrong is said."""

from birdnet_records import decode_records, encode_record, Record
from hypothesis import given
from hypothesis import strategies as st
from puppet_driver.devices import birdnet
from puppet_driver.devices import birdnet as birdnet_records
from puppet_driver.devices import birdnet as birdnet_status
from puppet_driver.devices.birdnet import Header, Message
from puppet_driver.errors import ProtocolError
import pytest

byte, word = st.integers(0, 0xFF), st.integers(0, 0xFFFF)
headers = st.builds(
    Header,
    message=st.sampled_from(Message),
    unit=byte,
    sequence=word,
    milliseconds=word,
    seconds=st.integers(0, 0xFFFFFFFF),
    error=byte,
    extension=word,
)
systems = st.builds(
    birdnet_status.SystemStatus,
    flags=byte,
    error=byte,
    n_units=byte,
    n_servers=byte,
    transmitter=byte,
    rate_mhz=st.integers(0, 999_999),
    chassis=byte,
    chassis_units=byte,
    first_address=byte,
    revision=st.tuples(byte, byte),
    units=st.binary(max_size=120),
)
tables = {
    name: st.tuples(*[word] * n_words)
    for name, n_words in (
        ('alpha_min', 7),
        ('alpha_max', 7),
        ('vm', 7),
        ('reference_frame', 3),
        ('angle_align', 3),
    )
}
units = st.builds(
    birdnet_status.UnitStatus,
    flags=byte,
    model=byte,
    revision=word,
    error=byte,
    setup=byte,
    format_byte=byte,
    report_rate=byte,
    scaling=word,
    hemisphere=byte,
    address=byte,
    transmitter=byte,
    spare=byte,
    spare_word=word,
    **tables,
)
formats = st.sampled_from(
    sorted(
        {(f.status_code, f.n_words) for f in birdnet_records.FORMATS.values()}
        | {(birdnet_records.NO_DATA, 0), (birdnet_records.THROUGH_DATA, 3)}
        | {(birdnet_records.BAD_SAMPLE, 7), (birdnet_records.BAD_SAMPLE, 0)}
    )
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Draw a record of any format."""
    code, n_words = draw(formats)
    signed = st.integers(-0x8000, 0x7FFF)
    words = tuple(draw(st.lists(signed, min_size=n_words, max_size=n_words)))
    return Record(draw(st.integers(1, 127)), code, words, draw(st.none() | word))


@given(headers, st.binary(max_size=200))
def test_packets_are_read_as_written(header, body):
    data = birdnet.encode_packet(header, body)
    packet, end = birdnet.find_packet(data, {header.message})
    assert packet == (header._replace(body_bytes=len(body)), body) and end == len(data)
    assert birdnet.decode_header(data) == packet.header


@given(systems)
def test_system_status_is_read_as_written(system):
    body = birdnet_status.encode_system(system)
    assert len(body) == 16 + len(system.units)
    assert birdnet_status.decode_system(body) == system


@given(units)
def test_unit_status_is_read_as_written(unit):
    body = birdnet_status.encode_unit(unit)
    assert len(body) == 70 and birdnet_status.decode_unit(body) == unit


@given(st.lists(records(), max_size=20))
def test_records_of_every_format_are_read_as_written(some):
    body = b''.join(map(encode_record, some))
    assert decode_records(body) == some


def test_a_packet_has_the_bytes_of_the_manual():
    header = Header(Message.GET_STATUS, 4, 0x1234, 0x01020304, 0x0567, 0, 0)
    assert birdnet.encode_packet(header, b'ab').hex(' ') == (
        '12 34 05 67 01 02 03 04 65 04 03 00 00 00 00 02 61 62'
    )


def test_a_record_has_the_bytes_of_the_manual():
    record = Record(2, birdnet_records.POSITION_QUATERNION, (1, -1, 256, 32767, 0, 0, -32768), 5)
    assert encode_record(record).hex(' ') == (
        '82 87 00 01 ff ff 01 00 7f ff 00 00 00 00 80 00 00 05'
    )


def test_setup_bytes_are_words_above_format():
    assert birdnet_records.setup_byte(birdnet_records.POSITION_QUATERNION) == 0x78
    assert birdnet_records.setup_byte(birdnet_records.POSITION_ANGLES) == 0x64


def test_both_orders_of_a_format_byte_are_understood():
    layout = birdnet_records.LAYOUT
    for code, known in birdnet_records.FORMATS.items():
        assert tuple(layout[code << 4 | known.n_words]) == (code, known.n_words)
        assert tuple(layout[known.n_words << 4 | code]) == (code, known.n_words)


def test_the_layout_needs_few_of_all_bytes():
    # what means nothing tells garbage from records
    assert (birdnet_records.LAYOUT[:, 0] == birdnet_records.INVALID).sum() > 190


@given(st.binary(max_size=400))
def test_any_bytes_are_searched_without_an_exception(data):
    packet, wanted = birdnet.find_packet(data, {Message.DATA})
    assert wanted > len(data) or packet is not None


@given(st.binary(max_size=60), st.lists(headers.filter(lambda h: h.message != 20), max_size=3))
def test_an_answer_is_found_behind_other_packets(body, others):
    before = b''.join(birdnet.encode_packet(h, body) for h in others)
    answer = birdnet.encode_packet(Header(Message.WAKE_UP_ANSWER, 7), b'x')
    for length in range(len(before), len(before + answer)):
        packet, wanted = birdnet.find_packet((before + answer)[:length], {20})
        assert packet is None and length < wanted <= len(before + answer)
    packet, end = birdnet.find_packet(before + answer + b'rest', {20})
    assert packet.header.unit == 7 and end == len(before + answer)


@pytest.mark.parametrize(
    'body, text',
    [
        (b'', 'expected a system status of 16 or more bytes, got 0'),
        (bytes(16), r"expected a rate of six digits in the system status, got b'\\x00"),
    ],
)
def test_a_wrong_system_status_is_refused(body, text):
    with pytest.raises(ProtocolError, match=text):
        birdnet_status.decode_system(body)


def test_a_short_unit_status_is_refused():
    with pytest.raises(ProtocolError, match='expected a unit status of 70 bytes, got 69'):
        birdnet_status.decode_unit(bytes(69))


def test_numbers_out_of_range_are_the_callers_mistake():
    with pytest.raises(ValueError, match='body: expected up to 3360 bytes'):
        birdnet.encode_packet(Header(Message.DATA), bytes(3361))
    status = birdnet_status.decode_system(b'\0\0\0\0\0' + b'120000' + bytes(5))
    with pytest.raises(ValueError, match='rate_mhz: expected at most six digits'):
        birdnet_status.encode_system(status._replace(rate_mhz=1_000_000))


@pytest.mark.parametrize(
    'header, text',
    [
        (Header(Message.STOP_DATA_ANSWER), ''),
        (Header(Message.SEND_SETUP_ANSWER, error=8), 'error 8 (illegal setup)'),
        (Header(Message.ILLEGAL, error=9), 'not allowed at this time, error 9 (not ready)'),
        (Header(Message.UNKNOWN), 'an unknown command'),
        (Header(Message.DATA, error=99), 'error 99 (not described in the manuals)'),
    ],
)
def test_errors_are_named(header, text):
    assert birdnet.packet_error_text(header) == text


def test_system_errors_are_named():
    status = birdnet_status.decode_system(b'\xe0\x1d\0\0\0' + b'120000' + bytes(5))
    assert birdnet_status.system_problem(status) == (
        'a system error, an error on the Fast Bird Bus, error 29 (transmitter off)'
    )
