# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Series of the plots: gaps, spans, contacts, residuals and statistics."""

import numpy as np
from puppet_replay.plots import reading
import pytest

T = np.concatenate((np.arange(0.0, 1.0, 0.1), np.arange(3.0, 4.0, 0.1)))


def test_a_gap_is_a_hole_and_nothing_else_is_lost():
    assert reading.pieces(T) == [slice(0, 10), slice(10, 20)]
    times, values = reading.with_gaps(T, np.stack((T, 2.0 * T), axis=-1))
    assert np.isnan(times[10]) and np.isnan(values[10]).all() and len(times) == 21
    np.testing.assert_array_equal(np.delete(times, 10), T)
    np.testing.assert_array_equal(np.delete(values, 10, axis=0)[:, 1], 2.0 * T)
    assert reading.pieces(np.zeros(0)) == []
    assert len(reading.with_gaps(np.zeros(0), np.zeros(0))[1]) == 0


def test_a_foot_stands_while_it_is_low_and_slow():
    """Five frames low and still, five low and fast, ten high; counted by hand."""
    places = np.zeros((20, 2, 3))
    places[5:10, 0, 0] = np.arange(1, 6) * 0.1  # 1 m/s at 10 Hz
    places[10:, 0, 2] = 0.3
    left, right = reading.contacts(reading.Soles('performer', T, places))
    np.testing.assert_allclose(left, [(0.0, 0.4)])
    np.testing.assert_allclose(right, [(0.0, 0.9), (3.0, 3.9)])  # from the first frame on


def test_contacts_bridge_an_instant_and_are_no_shorter_than_a_step():
    """Frames at 100 Hz: a lift of 0.04 s is bridged, one of 0.2 s not, 0.05 s down is no step."""
    times = np.arange(200) * 0.01
    places = np.zeros((200, 2, 3))
    places[50:54, 0, 2] = places[100:120, 0, 2] = 0.2
    places[:, 1, 2] = 0.2
    places[80:85, 1, 2] = 0.0
    left, right = reading.contacts(reading.Soles('performer', times, places))
    np.testing.assert_allclose(left, [(0.0, 0.99), (1.21, 1.99)], atol=1e-9)
    assert right == []


def test_statistics_are_those_of_the_finite_values():
    row = reading.statistics(reading.Series('a', 'mm', np.array([1.0, np.nan, 3.0, 8.0])))
    assert row['name'] == 'a' and row['count'] == 3
    assert (row['min_mm'], row['max_mm'], row['mean_mm'], row['p50_mm']) == (1.0, 8.0, 4.0, 3.0)
    assert row['std_mm'] == pytest.approx(np.sqrt(26.0 / 3.0))
    assert row['p99_mm'] == pytest.approx(3.0 + 0.98 * 5.0)
    nothing = reading.Series('b', '', np.array([np.nan]))
    assert reading.statistics(nothing) == {'name': 'b', 'count': 0}


def test_the_sensor_that_moves_most_is_chosen_by_finite_places():
    still, lively = np.zeros((9, 3)), np.zeros((9, 3))
    lively[:5, 0] = np.arange(5.0)
    lively[5:] = np.nan
    assert (
        reading.most_moving_sensor({'a': still, 'b': lively, 'c': np.full((9, 3), np.nan)}) == 'b'
    )


def test_log_times_without_any_delay_are_those_of_a_replay():
    def latency(age_ms, hop_ms):
        hops = np.zeros(0) if hop_ms is None else np.full(3, hop_ms)
        source = '' if hop_ms is None else '/tracker/raw'
        return reading.Latency('/a', np.arange(3.0), np.full(3, age_ms), source, hops, hops)

    assert reading.is_of_a_replay([latency(5.0, None), latency(5.0, 0.0)])
    assert not reading.is_of_a_replay([latency(5.0, None), latency(5.0, 0.1)])
    assert reading.is_of_a_replay([latency(0.0, None)])
    assert not reading.is_of_a_replay([latency(1.0, None)])
