# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Other trackers' topics: what names mean, and samples to frames, whatever is missing or late."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import SAMPLE_MISSING, SAMPLE_OK
from puppet_driver.pose_topics import (
    MAX_MISSED_TICKS,
    plan_topics,
    PoseMerger,
    TopicPlan,
    transform_poses,
)
import pytest

MS = 1_000_000
TIMEOUT_NS = 4 * MS
IDENTITY = (1.0, 0.0, 0.0, 0.0)
ORIGIN, NOWHERE = (0.0, 0.0, 0.0), (np.nan, 0.0, 0.0)


def merger(n=2):
    return PoseMerger(tuple('abcdef'[:n]), TIMEOUT_NS)


def add(one, row, stamp_ns, now_ns=None, x=0.0):
    now_ns = stamp_ns if now_ns is None else now_ns
    return one.add(row, stamp_ns, now_ns, (x, row, 0.0, *IDENTITY))


def test_frame_is_complete_when_all_sensors_are_in():
    one = merger()
    assert add(one, 1, 10 * MS) == []
    (frame,) = add(one, 0, 12 * MS)
    assert frame.stamp_ns == 12 * MS and frame.frame_index == 0 and frame.sensors == ('a', 'b')
    np.testing.assert_array_equal(frame.positions[:, 1], [0.0, 1.0])
    np.testing.assert_allclose(frame.ages_s, [0.0, 0.002])
    assert (frame.status == SAMPLE_OK).all()


def test_sensor_that_comes_again_ends_the_tick():
    one = merger()
    add(one, 0, 10 * MS)
    (frame,) = add(one, 0, 18 * MS)
    assert list(frame.status) == [SAMPLE_OK, SAMPLE_MISSING] and frame.stamp_ns == 10 * MS
    assert np.isnan(frame.positions[1]).all() and np.isnan(frame.quaternions[1]).all()


def test_tick_ends_after_the_timeout():
    one = merger()
    add(one, 0, 10 * MS, now_ns=100 * MS)
    assert one.expire(103 * MS) is None
    frame = one.expire(104 * MS)
    assert frame is not None and frame.status[1] == SAMPLE_MISSING
    assert one.expire(200 * MS) is None


def test_lost_sensor_is_not_waited_for_until_it_returns():
    one = merger()
    for tick in range(MAX_MISSED_TICKS):
        add(one, 0, (tick + 1) * 8 * MS)
        assert one.expire((tick + 2) * 8 * MS) is not None
    assert len(add(one, 0, 100 * MS)) == 1  # at once
    add(one, 1, 108 * MS)
    (frame,) = add(one, 0, 109 * MS)
    assert (frame.status == SAMPLE_OK).all()
    assert add(one, 0, 116 * MS) == []


@pytest.mark.parametrize(
    ('position', 'quaternion'),
    [
        (NOWHERE, IDENTITY),
        (ORIGIN, (0.0, 0.0, 0.0, 0.0)),
        (ORIGIN, (np.nan, 0.0, 0.0, 0.0)),
        ((np.inf, 0.0, 0.0), IDENTITY),
        (ORIGIN, (2.0, 0.0, 0.0, 0.0)),
        (ORIGIN, (1e200,) * 4),
    ],
)
def test_garbage_is_counted_and_dropped(position, quaternion):
    one = merger(1)
    assert one.add(0, MS, MS, (*position, *quaternion)) == []
    assert one.counters['invalid_samples'] == 1
    assert len(add(one, 0, 2 * MS)) == 1


def test_repeated_and_older_samples_are_dropped_but_a_clock_set_back_is_followed():
    one = merger(1)
    base = 10_000 * MS
    assert len(add(one, 0, base)) == 1
    assert add(one, 0, base) == [] and add(one, 0, base - 5 * MS) == []
    assert one.counters['old_samples'] == 2
    (frame,) = add(one, 0, base - 5000 * MS)
    assert frame.stamp_ns == base - 5000 * MS


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(-3, 20), st.integers(0, 6), st.booleans()),
        max_size=60,
    )
)
def test_every_sample_is_in_one_frame_or_counted(events):
    one, frames, now_ns, base_ns = merger(4), [], 0, 10**12
    for number, (row, stamp_step_ms, wait_ms, is_garbage) in enumerate(events):
        now_ns += wait_ms * MS
        base_ns += stamp_step_ms * MS
        place = NOWHERE if is_garbage else (float(number), 0.0, 0.0)
        frames += one.add(row, base_ns, now_ns, (*place, *IDENTITY))
        expired = one.expire(now_ns)
        frames += [expired] if expired is not None else []
    last = one.expire(now_ns + TIMEOUT_NS)
    frames += [last] if last is not None else []
    numbers = [x for frame in frames for x in frame.positions[:, 0] if np.isfinite(x)]
    counters = one.counters
    assert len(set(numbers)) == len(numbers)
    assert len(numbers) + counters['invalid_samples'] + counters['old_samples'] == len(events)
    assert (np.diff([frame.stamp_ns for frame in frames]) > 0).all()
    assert all((frame.ages_s >= 0.0).all() for frame in frames)
    assert [frame.frame_index for frame in frames] == list(range(counters['frames']))
    missing = sum(int((frame.status == SAMPLE_MISSING).sum()) for frame in frames)
    assert missing == counters['missing_samples']


SENSORS = ('pelvis', 'head')


@pytest.mark.parametrize(
    ('entries', 'plans'),
    [
        (['/a', '/b'], [('/a', False, {0: 0}), ('/b', False, {0: 1})]),
        (['/x/{sensor}/p'], [('/x/pelvis/p', False, {0: 0}), ('/x/head/p', False, {0: 1})]),
        (['/poses[*]'], [('/poses', True, {0: 0, 1: 1})]),
        (['/poses[7]', '/poses[2]'], [('/poses', True, {7: 0, 2: 1})]),
        (['/poses[0]', '/head'], [('/poses', True, {0: 0}), ('/head', False, {0: 1})]),
    ],
)
def test_entries_name_topic_and_pose_of_each_sensor(entries, plans):
    assert list(plan_topics(SENSORS, entries)) == [TopicPlan(*plan) for plan in plans]


@pytest.mark.parametrize(
    ('entries', 'text'),
    [
        (['/a'], 'topics: expected one for each of the 2 sensors'),
        (['/a', '/a'], 'got /a for pelvis and head'),
        (['/a[1]', '/a[1]'], r'got /a\[1\] for pelvis and head'),
        (['/a[1]', '/a'], 'expected /a with an index or without, got both'),
        (['/a[x]', '/b'], 'expected TOPIC or TOPIC'),
        (['/a[*]', '/b'], 'expected TOPIC or TOPIC'),
        (['', '/b'], 'expected TOPIC or TOPIC'),
    ],
)
def test_entry_that_means_nothing_is_named(entries, text):
    with pytest.raises(ConfigError, match=text):
        plan_topics(SENSORS, entries)


def test_poses_are_turned_row_by_row(rng):
    n = 5
    origins, turns = rng.normal(size=(n, 3)), quaternion_batch.exp(rng.normal(size=(n, 3)))
    positions, quaternions = rng.normal(size=(n, 3)), quaternion_batch.exp(rng.normal(size=(n, 3)))
    positions[2] = quaternions[2] = np.nan
    expected = origins + 0.001 * quaternion_batch.rotate(turns, positions)
    turned = quaternion_batch.multiply(turns, quaternions)
    quaternions[4] *= 1.1  # a device's rounding is taken out
    transform_poses(origins, turns, 0.001, positions, quaternions)
    np.testing.assert_allclose(positions, expected, atol=1e-15)
    np.testing.assert_allclose(quaternions, turned, atol=1e-12)
    assert np.isnan(positions[2]).all() and np.isnan(quaternions[2]).all()
