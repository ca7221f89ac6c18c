# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bytes to records: everything sent arrives, nothing that was not sent does.

The damage is lost bytes, inserted bytes and runs of garbage; of turned bits see
test_bit_errors.py.

"""

from dataclasses import astuple

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from phased_bytes import ADDRESSES, decoded, RANGE_IN, records_of, smooth_poses
from puppet_driver.devices import flock_of_birds as flock
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.flock_of_birds import FlockStream
from puppet_driver.emulator.flock_simulator import record_words

N_TICKS = 40
RECORDS = records_of(smooth_poses(np.random.default_rng(5), N_TICKS, len(ADDRESSES)))
SENT = {a: np.array([decoded(r) for r in RECORDS if r[14] == a]) for a in ADDRESSES}
# records at the beginning of a run, until each sensor's path is known
SETTLING = CONFIRMATIONS * len(ADDRESSES)


def received(stream: FlockStream, chunks: list[bytes]) -> list[tuple]:
    """Return (address, words) of all records decoded from some reads."""
    records = [record for chunk in chunks for record in stream.feed(chunk)] + stream.flush()
    poses = np.array([record.pose for record in records]).reshape(-1, 7)
    words = record_words(flock.POSITION_QUATERNION, poses, RANGE_IN)
    return [(ADDRESSES[record.ordinal], row) for record, row in zip(records, words)]


def was_sent(record: tuple) -> bool:
    """Return whether a decoded record is one of RECORDS, but for the quaternion's rescaling."""
    address, words = record
    return bool((np.abs(SENT[address] - words).max(axis=1) <= 8).any())


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    """Return the data cut into reads."""
    places = [0, *sorted({c % (len(data) + 1) for c in cuts}), len(data)]
    return [data[a:b] for a, b in zip(places, places[1:])]


cuts = st.lists(st.integers(0, 10_000), max_size=40)


@settings(deadline=None)
@given(cuts)
def test_all_records_arrive_in_order_however_the_reads_are_cut(where):
    stream = FlockStream(ADDRESSES, RANGE_IN)
    records = received(stream, split(b''.join(RECORDS), where))
    assert [r[0] for r in records] == list(ADDRESSES) * (N_TICKS - CONFIRMATIONS)
    assert astuple(stream.counters) == (len(RECORDS) - SETTLING, 0, 15 * SETTLING, 0, 0)


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=200), st.integers(SETTLING + 1, len(RECORDS) - 12))
def test_phase_is_found_again_within_one_record_after_garbage(garbage, record):
    stream = FlockStream(ADDRESSES, RANGE_IN)
    before, after = b''.join(RECORDS[:record]), b''.join(RECORDS[record:])
    n_before = len(received(stream, [before, garbage]))
    records = received(stream, [after])
    assert n_before + len(records) >= len(RECORDS) - 1 - SETTLING
    assert all(was_sent(r) for r in records)


def test_records_of_unknown_units_are_rejected():
    stream = FlockStream((2, 3), RANGE_IN)
    received_addresses = {r[0] for r in received(stream, [b''.join(RECORDS[:15])])}
    assert received_addresses == {2, 3}
    assert stream.counters.rejected_records == 9


def test_a_complete_record_is_not_held_back_at_the_end_of_a_read():
    # waiting for the next phasing bit would cost a whole tick on the last sensor
    stream = FlockStream(ADDRESSES, RANGE_IN)
    stream.feed(b''.join(RECORDS[:SETTLING]))
    stream.flush()
    assert len(stream.feed(b''.join(RECORDS[SETTLING : SETTLING + 5]))) == 5


def test_a_record_that_is_not_due_is_held_until_the_line_is_quiet():
    stream = FlockStream(ADDRESSES, RANGE_IN)
    received(stream, [b''.join(RECORDS[:15])])
    assert not stream.feed(RECORDS[17])
    assert stream.is_holding and len(stream.flush()) == 1 and not stream.is_holding


def test_a_true_jump_costs_two_records_of_each_sensor():
    stream = FlockStream(ADDRESSES, RANGE_IN)
    received(stream, [b''.join(RECORDS[:15])])
    far = records_of(smooth_poses(np.random.default_rng(8), 6, 5))
    records = received(stream, [b''.join(far)])
    assert [r[0] for r in records] == list(ADDRESSES) * 4
    assert astuple(stream.counters) == (5 + 20, 0, 15 * 20, 0, 10)


def test_two_records_astray_are_not_believed_even_if_they_agree():
    stream = FlockStream(ADDRESSES, RANGE_IN)
    received(stream, [b''.join(RECORDS[:15])])
    astray = bytearray(RECORDS[15])
    astray[2] ^= 0x40
    astray[3] ^= 0x20
    for tick in range(CONFIRMATIONS):
        data = bytes(astray) + b''.join(RECORDS[16 + 5 * tick : 20 + 5 * tick])
        assert {a for a, _ in received(stream, [data])} == set(ADDRESSES[1:])
    assert was_sent(received(stream, [RECORDS[25]])[0])
    assert stream.counters.implausible_records == CONFIRMATIONS


def test_a_record_is_stamped_by_its_first_byte():
    stream = FlockStream(ADDRESSES, RANGE_IN)
    stream.feed(b''.join(RECORDS[:SETTLING]))
    stream.flush()
    stream.feed(RECORDS[SETTLING][:4], arrival_ns=100)
    records = stream.feed(RECORDS[SETTLING][4:] + RECORDS[SETTLING + 1], arrival_ns=900)
    assert [r.stamp_ns for r in records] == [100, 900]


def test_lines_with_one_unit_have_no_address_bytes():
    stream = FlockStream((), RANGE_IN)
    bare = [record[:14] for record in RECORDS[::5]]
    assert len(stream.feed(b''.join(bare))) >= len(bare) - 1 - CONFIRMATIONS
