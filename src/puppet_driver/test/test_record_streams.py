# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Bytes of Polhemus devices and of the Flock of Birds to records: what is sent arrives, no more.

The damage is lost, repeated and inserted bytes, singly and in runs, and pure noise. A byte
changed into another of its kind leaves a record without a checksum to tell it by: such a
record is only known to stay on its sensor's path. The fuzz tests take FUZZ_BYTES
through each decoder; PUPPET_FUZZ_BYTES=10000000 in the environment makes it the full number.
"""

from dataclasses import astuple
from functools import cache
import os

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import phased_bytes
from polhemus_bytes import damage, keys, MODELS, open_stream, poses_of, REACH, received, records_of
from puppet_driver.devices.decoding import CONFIRMATIONS
from puppet_driver.devices.flock_of_birds import FlockStream
import pytest

pytestmark = pytest.mark.slow

SETTLING = 4 * CONFIRMATIONS  # records at the beginning of a run, until the paths are known
FUZZ_BYTES = int(os.environ.get('PUPPET_FUZZ_BYTES', 500_000))
BLOCK_BYTES = 500_000
N_TICKS = 40
# what records are made of: noise that looks like them is the hardest

FLOCK = 'flock_of_birds'
UNITS = (2, 3, 4, 5)
every = pytest.mark.parametrize('name', [*MODELS, FLOCK])
DRIVERS = ('fastrak', 'fastrak_ascii', 'liberty')
driven = pytest.mark.parametrize('name', [*DRIVERS, FLOCK])


def new_stream(name):
    return FlockStream(UNITS, 144) if name == FLOCK else open_stream(name)


def sensors_of(name):
    return len(UNITS) if name == FLOCK else min(4, MODELS[name].max_stations)


def encoded(name, poses):
    """Return the records of poses (n_ticks, sensors, 7) in the order they are sent."""
    if name == FLOCK:
        return phased_bytes.records_of(poses, UNITS)
    return records_of(name, poses)


@cache
def stream_of(name, n_ticks=N_TICKS):
    n = sensors_of(name)
    records = encoded(name, poses_of(n_ticks, n))
    # before, the first tick again and again, so that all of the rest continue a path
    sent = received(new_stream(name), [b''.join(CONFIRMATIONS * records[:n] + records)])
    assert len(sent) == len(records)
    return records, sent


@every
@settings(deadline=None, max_examples=50)
@given(cuts=st.lists(st.integers(0, 100_000), max_size=40))
def test_all_records_arrive_in_order_however_the_reads_are_cut(name, cuts):
    records, sent = stream_of(name)
    data = b''.join(records)
    places = [0, *sorted({c % (len(data) + 1) for c in cuts}), len(data)]
    stream = new_stream(name)
    got = received(stream, [data[a:b] for a, b in zip(places, places[1:])])
    # the first records of each sensor have no path to continue
    n = CONFIRMATIONS * sensors_of(name)
    assert got == sent[n:]
    assert astuple(stream.counters) == (len(records) - n, 0, n * len(records[0]), 0, 0)


@every
def test_a_record_is_whole_and_stamped_by_its_first_byte_at_every_split(name):
    records, sent = stream_of(name, 4)
    n = CONFIRMATIONS * sensors_of(name)
    data = b''.join(records[n : n + 2])
    for split in range(1, len(data)):
        stream = new_stream(name)
        stream.feed(b''.join(records[:n]))
        found = stream.feed(data[:split], 100) + stream.feed(data[split:], 900) + stream.flush()
        stamps = [record.stamp_ns for record in found]
        assert keys(found) == sent[n : n + 2]
        assert stamps == [100, 100 if split > len(records[0]) else 900]


@driven
@settings(max_examples=100, deadline=None)
@given(garbage=st.binary(min_size=1, max_size=300), place=st.integers(12, 4 * N_TICKS - 8))
def test_no_whole_record_is_lost_after_garbage(name, garbage, place):
    records, sent = stream_of(name)
    data = [b''.join(records[:place]), garbage, b''.join(records[place:])]
    got = received(new_stream(name), data)
    assert [r for r in got if r not in sent] == []
    # without an end of its own, a record before garbage is not believed
    assert len(got) >= len(sent) - SETTLING - (name == FLOCK)


@driven
@pytest.mark.slow
def test_fuzz_damaged_bytes_cost_their_records_only(name):
    rng = np.random.default_rng(12)
    size = 15 if name == FLOCK else len(MODELS[name].layout.allowed)
    records, sent = stream_of(name, BLOCK_BYTES // 4 // size)
    truth = set(sent)
    data = b''.join(records)
    for _ in range(-(-FUZZ_BYTES // BLOCK_BYTES)):
        arriving, hit = damage(rng, data, size)
        stream = new_stream(name)
        cuts = np.sort(rng.integers(0, len(arriving), len(arriving) // 200)).tolist()
        chunks = [arriving[a:b] for a, b in zip([0, *cuts], [*cuts, len(arriving)])]
        got = received(stream, chunks)
        assert set(got) <= truth
        # what is inserted between two records touches neither
        touched = set((hit // size).tolist()) | set(((hit - 1) // size).tolist())
        # without an end of its own, a record before garbage is not believed
        n_lost = len(touched | {i - 1 for i in touched} if name == FLOCK else touched)
        assert len(got) >= len(records) - n_lost - SETTLING
        counters = stream.counters
        stream.skip()
        assert len(got) * size + stream.counters.discarded_bytes == len(arriving)
        assert counters.records == len(got) and counters.resyncs > 0


@driven
def test_fuzz_changed_bytes_never_throw_a_sensor_off_its_path(name):
    rng = np.random.default_rng(4)
    records, sent = stream_of(name, 500)
    data = np.frombuffer(b''.join(records), dtype=np.uint8).copy()
    places = rng.choice(len(data), len(data) // 100, replace=False)
    data[places] = rng.integers(0, 256, len(places))
    got = received(new_stream(name), [data.tobytes()])
    spoilt = len(set((places // len(records[0])).tolist()))
    wrong = [r for r in got if r not in set(sent)]
    assert len(got) - len(wrong) >= len(records) - 3 * spoilt - SETTLING
    last = {}
    for ordinal, pose in got:
        position = np.array(pose[:3])
        if ordinal in last:
            assert np.linalg.norm(position - last[ordinal]) < 4.0 * REACH.distance_m
        last[ordinal] = position


@driven
def test_a_jump_costs_two_records(name):
    records, _ = stream_of(name)
    far = poses_of(N_TICKS)
    far[..., 0] += 1.0
    stream = new_stream(name)
    data = b''.join(records[:20] + encoded(name, far)[:20])
    got = received(stream, [data])
    assert len(got) == 40 - 2 * SETTLING
    assert stream.counters.implausible_records == SETTLING


def test_records_of_other_stations_are_rejected():
    records, _ = stream_of('fastrak')
    stream = open_stream('fastrak', 2)
    assert {r[0] for r in received(stream, [b''.join(records)])} == {0, 1}
    assert stream.counters.rejected_records == len(records) // 2
