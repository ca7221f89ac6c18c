# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Thinning a stream evenly, jitter and clocks notwithstanding."""

import numpy as np
from puppet_ros.node.clock import RateLimit
import pytest

TICK_NS = 8_333_333


def _passed(limit: RateLimit, times_ns: np.ndarray) -> np.ndarray:
    return np.flatnonzero([limit.passes(int(t)) for t in times_ns])


@pytest.mark.parametrize(('rate_hz', 'every'), [(60.0, 2), (30.0, 4), (20.0, 6), (120.0, 1)])
def test_divisor_of_the_stream_takes_every_nth(rate_hz: float, every: int) -> None:
    passed = _passed(RateLimit(rate_hz), np.arange(240) * TICK_NS)
    assert set(np.diff(passed)) == {every}


def test_jitter_does_not_make_it_uneven() -> None:
    rng = np.random.default_rng(20261120)
    times = np.arange(1200) * TICK_NS + rng.uniform(-1e6, 1e6, size=1200)
    assert set(np.diff(_passed(RateLimit(60.0), times))) == {2}


def test_rate_is_never_exceeded() -> None:
    rng = np.random.default_rng(20261120)
    times = np.cumsum(rng.exponential(3e6, size=5000))
    passed = times[_passed(RateLimit(30.0), times)]
    assert len(passed) <= 30.0 * (times[-1] - times[0]) * 1e-9 + 2


def test_late_one_makes_nobody_hurry() -> None:
    limit = RateLimit(10.0)
    assert limit.passes(0)
    assert limit.passes(550_000_000)
    assert not limit.passes(600_000_000)


def test_clock_set_back_starts_anew() -> None:
    limit = RateLimit(10.0)
    assert limit.passes(10**12)
    assert limit.passes(0)


def test_zero_lets_nothing_pass() -> None:
    limit = RateLimit(0.0)
    assert not limit.is_open
    assert not limit.passes(0)
