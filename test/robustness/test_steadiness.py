# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Growth is found, what is flat passes however noisy, and what is short is not judged."""

import numpy as np
import pytest
from robustness.soak.steadiness import (
    judge_count,
    judge_drift,
    judge_growth,
    judge_losses,
    judge_rate,
    KEPT,
    MISSED,
    trend,
    UNDECIDED,
    warm_up_s,
)

HOUR_S = np.arange(0.0, 3600.0, 5.0)


def growth(values: np.ndarray, times_s: np.ndarray = HOUR_S) -> str:
    """Return the outcome for a series of memory [MB]."""
    return judge_growth(trend(times_s, values)).outcome


def test_line_has_its_slope_and_no_doubt():
    found = trend(HOUR_S, 100.0 + 3.5 * HOUR_S / 3600.0)
    assert found.per_hour == pytest.approx(3.5)
    assert (found.low_per_hour, found.high_per_hour) == pytest.approx((3.5, 3.5))
    assert found.stretch_s == HOUR_S[-1]


def test_flat_passes_and_a_slow_leak_is_found():
    flat = np.full(len(HOUR_S), 230.0)
    assert growth(flat) == KEPT
    assert growth(flat + 0.9 * HOUR_S / 3600.0) == KEPT
    assert growth(flat + 1.2 * HOUR_S / 3600.0) == MISSED
    assert growth(flat - 50.0 * HOUR_S / 3600.0) == KEPT


@pytest.mark.parametrize('seed', range(20))
def test_noise_and_single_steps_are_no_growth_and_hide_none(seed):
    rng = np.random.default_rng(seed)
    noise = 0.3 * rng.standard_normal(len(HOUR_S))
    noise += 0.3 * (np.sin(HOUR_S / rng.uniform(30.0, 300.0)) + (rng.random(len(HOUR_S)) < 0.02))
    step = 1.05 * (HOUR_S > rng.uniform(600.0, 3000.0))  # one arena of Python's
    assert growth(230.0 + noise) == KEPT
    assert growth(230.0 + 0.2 * noise + step) != MISSED
    assert growth(230.0 + noise + 3.0 * HOUR_S / 3600.0) == MISSED


def test_leak_in_steps_of_an_arena_is_found():
    steps = 1.05 * np.floor(HOUR_S / 600.0)
    assert growth(steps) == MISSED


def test_slope_is_that_of_all_pairs():
    """Theil and Sen by themselves, over the medians of blocks of one."""
    rng = np.random.default_rng(3)
    times, values = np.sort(rng.uniform(0.0, 3600.0, 50)), rng.standard_normal(50)
    i, j = np.triu_indices(50, 1)
    slopes = (values[j] - values[i]) / (times[j] - times[i]) * 3600.0
    found = trend(times, values)
    assert found.per_hour == pytest.approx(np.median(slopes))
    assert found.low_per_hour < found.per_hour < found.high_per_hour


def test_too_short_is_not_judged():
    times = np.arange(0.0, 500.0, 5.0)
    assert growth(1000.0 * times, times) == UNDECIDED
    for n in range(3):
        assert growth(np.zeros(n), np.arange(n) * 1000.0) == UNDECIDED
    assert growth(np.full(len(HOUR_S), np.nan)) == UNDECIDED


def test_values_that_are_missing_are_left_out():
    values = 230.0 + 2.0 * HOUR_S / 3600.0
    values[::3] = np.nan
    assert trend(HOUR_S, values).per_hour == pytest.approx(2.0)


def test_latency_may_drift_by_a_tenth_of_its_median_an_hour():
    minutes = np.arange(30.0, 3600.0, 60.0)
    for drift, outcome in ((0.0, KEPT), (0.15, KEPT), (-1.0, KEPT), (0.3, MISSED)):
        found = judge_drift(trend(minutes, 2.0 + drift * minutes / 3600.0), 2.0)
        assert (found.outcome, found.limit) == (outcome, pytest.approx(0.2))


@pytest.mark.parametrize(
    ('frames', 'lost', 'outcome'),
    [
        (432_000, 0, KEPT),
        (432_000, 4, KEPT),
        (432_000, 5, MISSED),
        (2400, 0, UNDECIDED),
        (2400, 1, MISSED),
        (0, 0, UNDECIDED),
    ],
)
def test_lost_frames(frames, lost, outcome):
    assert judge_losses(frames, lost).outcome == outcome


def test_frames_that_a_rate_has():
    """Short runs may lack two at their ends, and are not judged to be kept."""
    assert judge_rate(432_000, 120.0, 3600.0).outcome == KEPT
    assert judge_rate(431_960, 120.0, 3600.0).outcome == KEPT
    assert judge_rate(431_950, 120.0, 3600.0).outcome == MISSED
    assert judge_rate(216_000, 120.0, 3600.0)[1:] == (1e-4, 0.5)
    assert judge_rate(1198, 120.0, 10.0).outcome == UNDECIDED
    assert judge_rate(1196, 120.0, 10.0).outcome == MISSED
    assert judge_rate(0, 120.0, 0.0).outcome == UNDECIDED


def test_counts_may_not_be_higher_at_the_end():
    steady = np.full(100, 15.0)
    steady[40:45] = 17.0  # a log file was open
    assert judge_count(steady).outcome == KEPT
    assert judge_count(np.arange(100.0)).outcome == MISSED
    assert judge_count(np.array([1.0])).outcome == UNDECIDED


def test_warm_up_is_a_fifth_but_ten_minutes_at_most():
    assert (warm_up_s(100.0), warm_up_s(3600.0), warm_up_s(86400.0)) == (20.0, 600.0, 600.0)
