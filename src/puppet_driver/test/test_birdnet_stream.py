# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes of a MotionStar to records: everything sent arrives, once and in order."""

from dataclasses import astuple

from birdnet_bytes import (
    all_sent,
    N_SENSORS,
    N_TICKS,
    new_stream,
    PACKETS,
    packets_of,
    pose_error,
    POSITION_TOL_M,
    QUATERNION_TOL,
    received,
    sample_poses,
    SCALE_M,
    split,
    TRUTH,
)
from birdnet_records import encode_record, Record
from hypothesis import example, given, settings
from hypothesis import strategies as st
import numpy as np
from puppet_driver.devices import birdnet as status
from puppet_driver.devices.birdnet import (
    BAD_SAMPLE,
    encode_packet,
    FORMATS,
    Header,
    Message,
    POSITION_ANGLES,
    POSITION_MATRIX,
    POSITION_QUATERNION,
)
from puppet_driver.devices.motionstar import BirdnetStream
import pytest

GOOD_WORDS = (0, 0, 0, 32767, 0, 0, 0)
cuts = st.lists(st.integers(0, 10_000), max_size=40)


@pytest.mark.parametrize('code', [POSITION_ANGLES, POSITION_MATRIX, POSITION_QUATERNION])
@pytest.mark.parametrize('setup', [0, status.SETUP_APPEND_BUTTONS], ids=['bare', 'buttons'])
def test_every_format_with_a_pose_is_decoded(code, setup):
    records = received(new_stream(), packets_of(TRUTH, code, setup))
    poses = np.array([r.pose for r in records])
    position, quaternion = pose_error(poses, TRUTH.reshape(-1, 7))
    # an angle's count is pi / 32767; near Y = 90 degrees Z and X are worth less, together more
    assert position < POSITION_TOL_M and quaternion < 2.0 * QUATERNION_TOL


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


C = 23170  # full scale times the cosine of 45 degrees


@pytest.mark.parametrize(
    'code, words',
    [
        (POSITION_ANGLES, (16384, 0, 0)),
        # columns of the device's matrix: X has become Y, Y the reverse of X, Z is Z
        (POSITION_MATRIX, (0, 32767, 0, -32767, 0, 0, 0, 0, 32767)),
        (POSITION_QUATERNION, (C, 0, 0, C)),
    ],
)
def test_a_quarter_turn_to_the_right_is_one(code, words):
    # the device's Z points down, so its quarter turn about Z is to the right: REP-103's -Z
    body = encode_record(Record(2, code, (0, 0, 0, *words)))
    records = received(new_stream(), [encode_packet(Header(Message.DATA), body)])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(records[0].pose[3:], [half, 0.0, 0.0, -half], atol=1e-4)


def test_inverted_rotations_are_turned_round():
    truth = sample_poses(1)
    inverse = truth * np.array([1, 1, 1, 1, -1, -1, -1])
    for code in (POSITION_ANGLES, POSITION_MATRIX, POSITION_QUATERNION):
        records = received(new_stream(inverted=True), packets_of(inverse, code))
        poses = np.array([r.pose for r in records])
        assert pose_error(poses, truth[0])[1] < 2.0 * QUATERNION_TOL


@pytest.mark.parametrize('code', sorted(set(FORMATS) - {4, 5, 8}))
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


def test_answers_between_data_cost_nothing():
    answer = encode_packet(Header(Message.RUN_CONTINUOUS_ANSWER))
    stream = new_stream()
    assert len(received(stream, [answer + PACKETS[0] + answer + PACKETS[1]])) == 2 * N_SENSORS
    assert stream.counters.discarded_bytes == 0


def test_bad_samples_and_impossible_words_are_rejected_alone():
    body = b''.join(
        map(
            encode_record,
            (
                Record(2, BAD_SAMPLE, (0,) * 7),
                Record(3, POSITION_QUATERNION, GOOD_WORDS),
                Record(4, POSITION_QUATERNION, (0,) * 7),
                Record(5, POSITION_MATRIX, (0,) * 12),
            ),
        )
    )
    stream = new_stream()
    records = received(stream, [encode_packet(Header(Message.DATA), body)])
    assert [r.ordinal for r in records] == [1]
    assert astuple(stream.counters) == (1, 0, 16 + 16 + 26, 3, 0)


def test_units_that_are_not_ours_are_passed_over():
    stream = BirdnetStream((3, 5), (SCALE_M,) * 2)
    assert {r.ordinal for r in received(stream, PACKETS)} == {0, 1}
    assert astuple(stream.counters) == (2 * N_TICKS, 0, 0, 0, 0)


def test_each_unit_has_its_own_scale():
    stream = BirdnetStream((2, 3), (1.0, 2.0))
    words = (32767, 0, 0, 32767, 0, 0, 0)
    body = b''.join(encode_record(Record(a, POSITION_QUATERNION, words)) for a in (2, 3))
    records = received(stream, [encode_packet(Header(Message.DATA), body)])
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
