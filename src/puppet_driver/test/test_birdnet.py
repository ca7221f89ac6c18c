# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
BIRDNET packets and their damage: what is sent arrives, once and in order, and nothing else does.

The damage is lost and inserted bytes, runs of garbage, and changes of the bytes that tell the
structure; nothing tells a changed word from another. The environment variable
PUPPET_FUZZ_BYTES sets how many bytes the fuzz tests take, ten million for a full run.
"""

from dataclasses import astuple
import os

from birdnet_bytes import (
    ADDRESSES,
    all_sent,
    encode_record,
    N_SENSORS,
    N_TICKS,
    new_stream,
    PACKETS,
    packets_of,
    received,
    Record,
    SCALE_M,
    split,
    TRUTH,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
import numpy as np
from puppet_driver.devices import birdnet
from puppet_driver.devices.decoding import KEPT_NS, SensorErrors
from puppet_driver.devices.flock_of_birds import (
    POSITION_ANGLES,
    POSITION_MATRIX,
    POSITION_QUATERNION,
)
from puppet_driver.devices.motionstar import BirdnetStream
import pytest

byte, word = st.integers(0, 0xFF), st.integers(0, 0xFFFF)
headers = st.builds(
    birdnet.Header,
    message=st.sampled_from(birdnet.Message),
    unit=byte,
    sequence=word,
    milliseconds=word,
    seconds=st.integers(0, 0xFFFFFFFF),
    error=byte,
    extension=word,
)


@given(headers, st.binary(max_size=200))
def test_packets_are_read_as_written(header, body):
    data = birdnet.encode_packet(header, body)
    packet, end = birdnet.find_packet(data, {header.message})
    assert packet == (header._replace(body_bytes=len(body)), body) and end == len(data)
    assert birdnet.decode_header(data) == packet.header


def test_a_packet_has_the_bytes_of_the_manual():
    header = birdnet.Header(birdnet.Message.GET_STATUS, 4, 0x1234, 0x01020304, 0x0567, 0, 0)
    assert birdnet.encode_packet(header, b'ab').hex(' ') == (
        '12 34 05 67 01 02 03 04 65 04 03 00 00 00 00 02 61 62'
    )


def test_a_record_has_the_bytes_of_the_manual():
    record = Record(2, POSITION_QUATERNION, (1, -1, 256, 32767, 0, 0, -32768), 5)
    assert encode_record(record).hex(' ') == (
        '82 87 00 01 ff ff 01 00 7f ff 00 00 00 00 80 00 00 05'
    )


def test_both_orders_of_a_format_byte_are_understood():
    layout = birdnet.LAYOUT
    for code, known in birdnet.FORMATS.items():
        assert tuple(layout[code << 4 | known.n_words]) == (code, known.n_words)
        assert tuple(layout[known.n_words << 4 | code]) == (code, known.n_words)


@given(st.binary(max_size=60), st.lists(headers.filter(lambda h: h.message != 20), max_size=3))
def test_an_answer_is_found_behind_other_packets(body, others):
    before = b''.join(birdnet.encode_packet(h, body) for h in others)
    answer = birdnet.encode_packet(birdnet.Header(birdnet.Message.WAKE_UP_ANSWER, 7), b'x')
    for length in range(len(before), len(before + answer)):
        packet, wanted = birdnet.find_packet((before + answer)[:length], {20})
        assert packet is None and length < wanted <= len(before + answer)
    packet, end = birdnet.find_packet(before + answer + b'rest', {20})
    assert packet.header.unit == 7 and end == len(before + answer)


MIRROR = (32767, 0, 0, 0, 32767, 0, 0, 0, -32767)
GOOD_WORDS = (0, 0, 0, 32767, 0, 0, 0)
cuts = st.lists(st.integers(0, 10_000), max_size=40)


@settings(deadline=None)
@example((0.0, 1.0, 0.0, 1.0))  # gimbal lock
@example((1.0, 0.3, 1.0, -0.3))
@given(st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.dot(q, q) > 0.01))
def test_all_attitudes_come_back_from_all_formats(q):
    q = np.array(q) / np.linalg.norm(q)
    truth = np.concatenate((np.zeros(3), q))[None, None]
    for code in (POSITION_ANGLES, POSITION_MATRIX, POSITION_QUATERNION):
        records = received(new_stream(), packets_of(truth, code))
        assert abs(np.dot(records[0].pose[3:], q)) > 1.0 - 1e-7


@pytest.mark.parametrize('code', sorted(set(birdnet.FORMATS) - {4, 5, 8}))
def test_formats_without_a_pose_are_counted_as_rejected(code):
    stream = new_stream()
    assert received(stream, packets_of(TRUTH[:2], code)) == []
    assert stream.counters.rejected_records == 2 * N_SENSORS and stream.counters.resyncs == 0


@settings(deadline=None)
@given(cuts)
def test_all_records_arrive_in_order_however_the_reads_are_cut(where):
    stream = new_stream()
    records = received(stream, split(b''.join(PACKETS), where))
    assert [r.ordinal for r in records] == list(range(N_SENSORS)) * N_TICKS
    assert all_sent(records) and astuple(stream.counters) == (len(records), 0, 0, 0, 0)


def test_bad_samples_and_impossible_words_are_rejected_alone():
    sent = [
        Record(2, birdnet.BAD_SAMPLE, (0,) * 7),
        Record(3, POSITION_QUATERNION, GOOD_WORDS),
        Record(4, POSITION_QUATERNION, (0,) * 7),
        Record(5, POSITION_MATRIX, (0,) * 12),
        Record(6, POSITION_MATRIX, (0, 0, 0, *MIRROR)),
    ]
    body = b''.join(map(encode_record, sent))
    stream = new_stream()
    records = received(stream, [birdnet.encode_packet(birdnet.Header(birdnet.Message.DATA), body)])
    assert [r.ordinal for r in records] == [1]
    assert astuple(stream.counters) == (1, 0, 16 + 16 + 26 + 26, 4, 0)


def test_units_that_are_not_ours_are_passed_over():
    stream = BirdnetStream((3, 5), (SCALE_M,) * 2)
    assert {r.ordinal for r in received(stream, PACKETS)} == {0, 1}
    assert astuple(stream.counters) == (2 * N_TICKS, 0, 0, 0, 0)


def test_each_unit_has_its_own_scale():
    stream = BirdnetStream((2, 3), (1.0, 2.0))
    words = (32767, 0, 0, 32767, 0, 0, 0)
    body = b''.join(encode_record(Record(a, POSITION_QUATERNION, words)) for a in (2, 3))
    records = received(stream, [birdnet.encode_packet(birdnet.Header(birdnet.Message.DATA), body)])
    assert [r.pose[0] for r in records] == [1.0, 2.0]


def test_a_packet_is_not_held_back_at_the_end_of_a_read():
    stream = new_stream()
    assert len(stream.feed(PACKETS[0])) == N_SENSORS
    assert len(stream.feed(PACKETS[1] + PACKETS[2])) == 2 * N_SENSORS


@pytest.mark.parametrize('pieces', [(b'noise' + PACKETS[0],), (PACKETS[0][:20], PACKETS[0][20:])])
def test_a_packet_after_garbage_or_in_pieces_is_held_until_the_line_is_quiet(pieces):
    stream = new_stream()
    for piece in pieces:
        assert not stream.is_holding and len(stream.feed(piece)) == 0
    assert stream.is_holding and len(stream.flush()) == N_SENSORS and not stream.is_holding


def test_a_packet_is_stamped_by_its_first_byte():
    stream = new_stream()
    stream.feed(PACKETS[0][:30], arrival_ns=100)
    data = PACKETS[0][30:] + PACKETS[1] + PACKETS[2][:1]
    assert [r.stamp_ns for r in stream.feed(data, arrival_ns=900)] == [100] * 5
    assert [r.stamp_ns for r in stream.feed(PACKETS[2][1:], arrival_ns=1700)] == [900] * 5
    assert [r.stamp_ns for r in stream.flush()] == [900] * 5


FUZZ_BYTES = int(os.environ.get('PUPPET_FUZZ_BYTES', 300_000))


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=300), st.integers(1, N_TICKS - 2), cuts)
def test_phase_is_found_again_within_one_packet_after_garbage(garbage, n_before, where):
    data = b''.join(PACKETS[:n_before]) + garbage + b''.join(PACKETS[n_before:])
    records = received(new_stream(), split(data, where))
    assert all_sent(records) and len(records) >= N_SENSORS * (N_TICKS - 1)


def damage(packet, rng):
    data = bytearray(packet)
    kind = rng.integers(4)
    place = int(rng.integers(len(data)))
    if kind == 0:
        del data[place : place + int(rng.integers(1, 40))]
    elif kind == 1:
        data[place:place] = rng.bytes(int(rng.integers(1, 200)))
    elif kind == 2:
        heads = [8, 10, 14, 15, *range(16, len(data), 16), *range(17, len(data), 16)]
        data[rng.choice(heads)] ^= 1 << int(rng.integers(8))
    else:
        del data[place:]
    return bytes(data)


def test_fuzz_mutated_bytes_give_nothing_that_was_not_sent(rng):
    pieces, is_whole = [], []
    n_bytes = 0
    while n_bytes < FUZZ_BYTES:
        packet = PACKETS[len(pieces) % N_TICKS]
        is_whole.append(rng.random() > 0.1)
        pieces.append(packet if is_whole[-1] else damage(packet, rng))
        n_bytes += len(pieces[-1])
    data = b''.join(pieces)
    stream = new_stream()
    start = 0
    while start < len(data):
        end = start + int(rng.integers(1, 600))
        assert all_sent(stream.feed(data[start:end]))
        start = end
    # a whole packet counts on a whole one behind it
    sure = np.logical_and(is_whole, np.append(is_whole[1:], False)).sum()
    assert stream.counters.records >= N_SENSORS * (sure - 1)
    stream.skip()
    counters = stream.counters
    assert counters.discarded_bytes + counters.records * 16 <= len(data)


def test_datagrams_lost_doubled_overtaken_and_cut_short(rng):
    stream = new_stream(has_datagrams=True)
    seen = []
    sent = []
    for tick, packet in enumerate(PACKETS):
        fate = rng.integers(6)
        if fate == 0:
            continue
        sent += [(tick, packet)] * (2 if fate == 1 else 1)
        if fate == 2:
            sent[-1] = (tick, packet[: int(rng.integers(len(packet)))])
        if fate == 3 and len(sent) > 1:
            sent[-1], sent[-2] = sent[-2], sent[-1]
    newest, expected = -1, 0
    for tick, packet in sent:
        records = stream.feed(packet)
        seen += records
        if len(packet) == len(PACKETS[0]) and tick > newest:
            newest, expected = tick, expected + 1
            assert len(records) == N_SENSORS
        else:
            assert not records
    assert len(seen) == N_SENSORS * expected and 15 < expected < N_TICKS
    assert all_sent(seen) and not stream.is_holding


def test_numbers_of_datagrams_wrap_and_may_begin_anew():
    stream = new_stream(has_datagrams=True)
    body = PACKETS[0][birdnet.HEADER_BYTES :]
    taken = [
        bool(
            stream.feed(
                birdnet.encode_packet(birdnet.Header(birdnet.Message.DATA, sequence=n), body)
            )
        )
        for n in (0xFFFE, 0xFFFF, 0, 1, 0xFFFF, 0x9000, 0x0010, 5, 6, 7, 8, 9)
    ]
    # an overtaken one; a new count far away, twice; one begun a little lower needs four
    assert taken == [True] * 4 + [False] + [True] * 2 + [False] * 3 + [True] * 2


SECOND_NS = 10**9


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_an_error_said_twice_stands_until_it_has_not_been_said_for_five_seconds(said):
    errors = SensorErrors(2)
    now_s, before, error, error_s = 0, 0, 0, 0
    for code, step_s in said:
        now_s += step_s
        errors.record(1, code, now_s * SECOND_NS)
        if code and code == before:
            error, error_s = code, now_s
        before = code
        expected = error if now_s - error_s < KEPT_NS // SECOND_NS else 0
        assert errors.standing(1) == expected
    assert errors.standing(0) == 0


def errors_after(error, unit, n_packets, *quiet_s):
    stream = new_stream()
    packets = iter(PACKETS)
    found = []
    for _ in range(n_packets):
        packet = next(packets)
        header = birdnet.decode_header(packet)._replace(error=error, unit=unit)
        stream.feed(birdnet.encode_packet(header, packet[birdnet.HEADER_BYTES :]))
    found.append([stream.sensor_error(i) for i in range(N_SENSORS)])
    for time_s in quiet_s:
        stream.feed(next(packets), time_s * SECOND_NS)
        found.append([stream.sensor_error(i) for i in range(N_SENSORS)])
    return found


def test_an_error_of_a_motionstar_is_of_all_its_sensors_and_passes():
    text = 'error 4 (sequence number repeated)'
    assert errors_after(4, 0, 3, 4, 5) == [[text] * N_SENSORS] * 2 + [[''] * N_SENSORS]
    assert errors_after(4, 0, 1, 1) == [[''] * N_SENSORS] * 2


def test_an_error_of_a_unit_is_of_its_sensor():
    expected = [''] * N_SENSORS
    expected[2] = 'error 200 (not described in the manuals)'
    assert errors_after(200, ADDRESSES[2], 3) == [expected]
