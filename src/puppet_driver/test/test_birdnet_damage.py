# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Damaged bytes of a MotionStar: no record that was not sent, and phase soon found.

The damage is lost and inserted bytes, runs of garbage, and changes of the bytes that tell the
structure; nothing tells a changed word from another. The environment variable
PUPPET_FUZZ_BYTES sets how many bytes the fuzz tests take, ten million for a full run.

"""

from dataclasses import astuple
import os

from birdnet_bytes import (
    all_sent,
    N_SENSORS,
    N_TICKS,
    new_stream,
    PACKETS,
    received,
    split,
)
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from puppet_driver.devices.birdnet import encode_packet, Header, HEADER_BYTES, Message
from puppet_driver.transport import MAX_READ_BYTES

FUZZ_BYTES = int(os.environ.get('PUPPET_FUZZ_BYTES', 1_000_000))

cuts = st.lists(st.integers(0, 10_000), max_size=40)


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=300), st.integers(1, N_TICKS - 2), cuts)
def test_phase_is_found_again_within_one_packet_after_garbage(garbage, n_before, where):
    data = b''.join(PACKETS[:n_before]) + garbage + b''.join(PACKETS[n_before:])
    records = received(new_stream(), split(data, where))
    assert all_sent(records) and len(records) >= N_SENSORS * (N_TICKS - 1)


def test_pure_garbage_yields_nothing_and_raises_nothing(rng):
    stream = new_stream()
    for _ in range(0, FUZZ_BYTES, MAX_READ_BYTES):
        assert not stream.feed(rng.bytes(MAX_READ_BYTES))
    assert stream.counters.discarded_bytes > 0.99 * FUZZ_BYTES - MAX_READ_BYTES


def damage(packet: bytes, rng: np.random.Generator) -> bytes:
    """Return a packet with bytes lost or inserted, or its structure told wrong."""
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


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=2000), cuts)
def test_any_bytes_at_all_are_taken_in_either_way(data, where):
    for has_datagrams in (False, True):
        stream = new_stream(has_datagrams=has_datagrams)
        assert received(stream, split(data, where)) == []


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
    body = PACKETS[0][HEADER_BYTES:]
    taken = [
        bool(stream.feed(encode_packet(Header(Message.DATA, sequence=n), body)))
        for n in (0xFFFE, 0xFFFF, 0, 1, 0xFFFF, 0x9000, 0x0010, 5, 6, 7, 8, 9)
    ]
    # an overtaken one; a new count far away, twice; one begun a little lower needs four
    assert taken == [True] * 4 + [False] + [True] * 2 + [False] * 3 + [True] * 2


def test_cut_short_datagrams_do_not_harm_the_next():
    for length in range(len(PACKETS[0])):
        stream = new_stream(has_datagrams=True)
        assert not stream.feed(PACKETS[0][:length])
        assert len(stream.feed(PACKETS[1])) == N_SENSORS
        assert astuple(stream.counters) == (N_SENSORS, 1, length, 0, 0)
