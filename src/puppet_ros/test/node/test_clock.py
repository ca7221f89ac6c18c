# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Jumps back of a stream's time, and streams thinned evenly."""

import numpy as np
from puppet_ros.node.clock import BACK_NS, ClockJumpDetector, RateLimit
import pytest

pytestmark = pytest.mark.ros

TICK_NS = 8_333_333


def test_jitter_and_repetition_are_no_jump():
    watch = ClockJumpDetector()
    stamps = [10 * TICK_NS, 12 * TICK_NS, 11 * TICK_NS, 11 * TICK_NS, 13 * TICK_NS]
    assert not any(watch.went_back(stamp) for stamp in stamps)


def test_a_jump_is_reported_once_and_time_goes_on_from_there():
    watch = ClockJumpDetector()
    watch.went_back(10 * BACK_NS)
    assert not watch.went_back(9 * BACK_NS)  # just not
    assert watch.went_back(9 * BACK_NS - 1)
    assert not watch.went_back(9 * BACK_NS)
    assert watch.went_back(0)


def test_late_stamps_do_not_hide_a_jump():
    """Small steps back do not add up: the latest stamp counts, not the last."""
    watch = ClockJumpDetector()
    told = [watch.went_back((10 - k) * BACK_NS // 4) for k in range(6)]
    assert told == [False] * 5 + [True]


def _passed(limit, times_ns):
    return np.flatnonzero([limit.passes(int(t)) for t in times_ns])


@pytest.mark.parametrize(('rate_hz', 'every'), [(60.0, 2), (30.0, 4), (20.0, 6), (120.0, 1)])
def test_divisor_of_the_stream_takes_every_nth(rate_hz, every):
    passed = _passed(RateLimit(rate_hz), np.arange(240) * TICK_NS)
    assert set(np.diff(passed)) == {every}


def test_jitter_does_not_make_it_uneven():
    rng = np.random.default_rng(20261120)
    times = np.arange(1200) * TICK_NS + rng.uniform(-1e6, 1e6, size=1200)
    assert set(np.diff(_passed(RateLimit(60.0), times))) == {2}


def test_rate_is_never_exceeded():
    rng = np.random.default_rng(20261120)
    times = np.cumsum(rng.exponential(3e6, size=5000))
    passed = times[_passed(RateLimit(30.0), times)]
    assert len(passed) <= 30.0 * (times[-1] - times[0]) * 1e-9 + 2


def test_late_one_makes_nobody_hurry():
    limit = RateLimit(10.0)
    assert limit.passes(0)
    assert limit.passes(550_000_000)
    assert not limit.passes(600_000_000)


def test_clock_set_back_starts_anew():
    limit = RateLimit(10.0)
    assert limit.passes(10**12)
    assert limit.passes(0)


def test_zero_lets_nothing_pass():
    limit = RateLimit(0.0)
    assert not limit.is_open
    assert not limit.passes(0)
