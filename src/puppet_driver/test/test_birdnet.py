# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""BIRDNET packets as bytes: everything written is read back, everything wrong is said."""

from birdnet_records import encode_record, Record
from hypothesis import given
from hypothesis import strategies as st
from puppet_driver.devices import birdnet
from puppet_driver.devices import birdnet as birdnet_records
from puppet_driver.devices import birdnet as birdnet_status
from puppet_driver.devices.birdnet import Header, Message

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
