# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps from jittering arrivals: nearer to the truth, in order, and steady over what happens."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from puppet_driver.frames.clock import ClockFit
import pytest

START_NS = 1_700_000_000_000_000_000
LEARNT = 1500  # ticks after which the drift has been found
MS = 1e6


class Run(NamedTuple):
    """What was sent, what came, and what was made of it [ns]."""

    sent_ns: np.ndarray
    arrivals_ns: np.ndarray
    stamps_ns: np.ndarray
    clock: ClockFit

    def error(self, start=LEARNT, stop=None):
        """Return the stamps' errors from a tick on [ns]."""
        return (self.stamps_ns - self.sent_ns)[start:stop]

    def delay(self, start=LEARNT):
        """Return the arrivals' errors from a tick on [ns]."""
        return (self.arrivals_ns - self.sent_ns)[start:]


def ticks(n, rate_hz, ppm):
    """Return the times of a device's ticks [ns]."""
    period_ns = 1e9 / rate_hz / (1.0 + 1e-6 * ppm)
    return START_NS + np.rint(np.arange(n) * period_ns).astype(np.int64)


def late(sent_ns, mean_ms, seed=1):
    """Return arrivals in order, with exponential delays [ns]."""
    delays = np.random.default_rng(seed).exponential(mean_ms * MS, len(sent_ns))
    return np.maximum.accumulate(sent_ns + np.rint(delays).astype(np.int64))


def follow(sent_ns, arrivals_ns, nominal_hz):
    clock = ClockFit(nominal_hz)
    stamps_ns = np.array([clock.stamp(int(a)) for a in arrivals_ns])
    return Run(sent_ns, arrivals_ns, stamps_ns, clock)


def simulate(n=4000, rate_hz=120.0, ppm=0.0, mean_ms=0.5):
    sent_ns = ticks(n, rate_hz, ppm)
    return follow(sent_ns, late(sent_ns, mean_ms), rate_hz)


def rms(values):
    return float(np.std(values))


@settings(max_examples=25, deadline=None)
@given(
    ppm=st.floats(-200.0, 200.0),
    mean_ms=st.floats(0.05, 0.8),
    rate_hz=st.sampled_from([60.0, 103.3, 120.0, 144.0]),
)
def test_jitter_is_removed_whatever_the_drift(ppm, mean_ms, rate_hz):
    run = simulate(rate_hz=rate_hz, ppm=ppm, mean_ms=mean_ms)
    assert rms(run.error()) < 0.15 * rms(run.delay())
    assert 0.0 <= np.median(run.error()) < 0.3 * mean_ms * MS
    assert run.clock.status.drift_ppm == pytest.approx(ppm, abs=60.0 * mean_ms + 5.0)
    assert run.clock.status.restarts == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-50 * 10**6, 300 * 10**6), min_size=2, max_size=400))
def test_stamps_increase_and_precede_arrivals_whatever_comes(steps):
    arrivals = START_NS + np.cumsum(np.array(steps, dtype=np.int64))
    run = follow(arrivals, arrivals, 120.0)
    assert np.diff(run.stamps_ns).min() > 0
    # where the clock goes back, or ticks come together, they are put a quarter of a period apart
    spread_ns = round(0.25e9 / 120.0)
    highest = run.stamps_ns[0]
    for stamp_ns, arrival_ns in zip(run.stamps_ns, arrivals):
        highest = max(highest + spread_ns, arrival_ns)
        assert stamp_ns <= highest


@settings(max_examples=20, deadline=None)
@given(st.floats(0.3, 20.0), st.floats(0.0, 1.0))
def test_after_a_gap_the_old_period_meets_the_new_phase(gap_s, phase):
    first = ticks(3000, 120.0, 120.0)
    again = ticks(1000, 120.0, 120.0) + (first[-1] - START_NS) + int(1e9 * gap_s + phase * 8e6)
    sent = np.concatenate((first, again))
    run = follow(sent, late(sent, 0.3), 120.0)
    assert run.clock.status.restarts == 1
    assert rms(run.error(3000 + 32)) < 0.3 * rms(run.delay())
    assert np.abs(run.error(3000)).max() < np.abs(run.delay(0)).max() + 0.5 * MS


def test_a_tick_later_than_a_period_is_not_a_lost_one_for_long():
    run = simulate(mean_ms=2.0, n=6000)
    assert rms(run.delay()) > 1.9 * MS
    assert rms(run.error()) < 0.25 * rms(run.delay())


@pytest.mark.parametrize('jump_ms', [5.0, -4.0, 2000.0, -3.6e6])
def test_a_clock_that_is_set_is_followed_within_half_a_second(jump_ms):
    sent = ticks(3000, 120.0, 30.0)
    sent[2000:] += int(jump_ms * MS)
    run = follow(sent, late(sent - 0, 0.3) if jump_ms > 0 else sent + 100_000, 120.0)
    settled = run.error(2000 + 70)
    assert np.abs(settled - np.median(run.error(1000, 2000))).max() < 1.5 * MS
    steps = np.diff(run.stamps_ns)
    assert (steps > 0).sum() >= len(steps) - (jump_ms < -1000.0)


@pytest.mark.parametrize('drift_ppm, lost', [(0.0, 0.0), (150.0, 0.0), (-80.0, 0.15)])
@pytest.mark.parametrize('factor', [1 / 3, 0.5, 1.0, 1.1, 2.0, 3.0])
def test_the_devices_own_rate_is_found_whatever_the_configuration_says(factor, drift_ppm, lost):
    rate_hz = 120.0 * factor
    sent = ticks(4000, rate_hz, drift_ppm)
    arrivals = late(sent, 0.3)
    kept = np.random.default_rng(6).random(len(sent)) >= lost
    run = follow(sent[kept], arrivals[kept], 120.0)
    status = run.clock.status
    assert status.is_tracking and status.is_known and not status.is_unsteady
    assert status.rate_hz == pytest.approx(rate_hz * (1.0 + 1e-6 * drift_ppm), rel=2e-4)
    assert rms(run.error()) < 0.2 * rms(run.delay())
    assert np.diff(run.stamps_ns).min() > 0
    assert (run.stamps_ns <= run.arrivals_ns).all()


@pytest.mark.parametrize(
    'first_hz, then_hz', [(120.0, 60.0), (120.0, 240.0), (40.0, 120.0), (120.0, 116.0)]
)
def test_a_rate_that_changes_is_found_again(first_hz, then_hz):
    first = ticks(1000, first_hz, 0.0)
    again = ticks(1500, then_hz, 0.0) + (first[-1] - START_NS) + round(1e9 / then_hz)
    sent = np.concatenate((first, again))
    run = follow(sent, late(sent, 0.3), 120.0)
    assert run.clock.status.rate_hz == pytest.approx(then_hz, rel=1e-3)
    assert rms(run.error(1600)) < 0.3 * rms(run.delay(1600))


@pytest.mark.parametrize('lost, mean_ms', [(0.45, 0.5), (0.7, 0.2)])
@pytest.mark.parametrize('factor', [0.5, 1.0])
def test_a_rate_is_no_other_because_most_ticks_are_lost(factor, lost, mean_ms):
    rate_hz = 120.0 * factor
    sent = ticks(12000, rate_hz, 50.0)
    arrivals = late(sent, mean_ms)
    kept = np.random.default_rng(5).random(len(sent)) >= lost
    run = follow(sent[kept], arrivals[kept], 120.0)
    assert run.clock.status.restarts == 0
    assert run.clock.status.rate_hz == pytest.approx(rate_hz, rel=2e-4)
    assert rms(run.error()) < 0.3 * rms(run.delay())


def test_without_a_steady_time_stamps_are_arrivals_and_that_is_reported():
    steps = np.random.default_rng(8).exponential(8.3 * MS, 2000)
    arrivals = START_NS + np.rint(np.cumsum(steps + MS)).astype(np.int64)
    run = follow(arrivals, arrivals, 120.0)
    status = run.clock.status
    assert status.is_unsteady and not status.is_tracking and status.is_known
    assert (run.stamps_ns >= run.arrivals_ns).all()
    assert np.median(run.stamps_ns - run.arrivals_ns) == 0
    assert status.rate_hz == pytest.approx(1e3 / (1.0 + 8.3 * np.log(2.0)), rel=0.3)


def test_removed_jitter_is_reported():
    run = simulate(mean_ms=0.5, n=8000)
    # exponential delays: root mean square is the mean times the root of two
    assert run.clock.status.jitter_s == pytest.approx(0.5e-3 * 2.0**0.5, rel=0.3)
