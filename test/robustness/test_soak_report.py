# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What a soak remembers and says of a run whose every number is known."""

from collections.abc import Mapping

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.monitor import INDEX  # noqa: E402,I100
from robustness.process_usage import FullUsage  # noqa: E402
from robustness.soak.record import FrameTally, TakenLog, UsageSeries  # noqa: E402
from robustness.soak.report import is_missed, judged, Soak  # noqa: E402

PERIOD_NS = 100_000_000
START_NS = 1_795_219_683_000_000_000
LATENCY_NS = 2_000_000
N_MINUTES, A_MINUTE = 60, 600
# index -> how many topics saw the frame; the others saw it on all five
LOST = {70: 0, 700: 1, 701: 3, 30_000: 4}


def tally_of(lost: Mapping[int, int], taken_every: int = 15) -> tuple[FrameTally, TakenLog]:
    """Return the tally of an hour at 10 Hz, frames taken out of the log as they come."""
    log, tally = TakenLog(), FrameTally(N_MINUTES)
    for i in range(N_MINUTES * A_MINUTE):
        stamp = START_NS + i * PERIOD_NS
        for topic in range(lost.get(i, 5)):
            row = log.arrived(topic, stamp, stamp + LATENCY_NS * (36_000 + i) // 36_000)
            row[INDEX] = 5000 + i
        if i % taken_every == taken_every - 1:
            tally.add(log.take(i * 0.1 - 0.3), 0.0)
    tally.add(log.take(float('inf')), 0.0)
    tally.close_minute()
    return tally, log


@pytest.fixture(scope='module')
def hour():
    """Return an hour with four lost frames, twice as slow at its end."""
    return tally_of(LOST)


def test_lost_frames_are_counted_by_index_and_place(hour):
    tally, log = hour
    assert (tally.published, tally.lost) == (N_MINUTES * A_MINUTE, 4)
    assert tally.lost_where() == {
        'nowhere': 1,
        '/tracker/raw': 1,
        '/tracker/filtered': 0,
        '/performer/posture': 1,
        '/importance': 1,
    }
    assert len(log) == 0
    lost = tally.minutes()['lost']
    assert lost[[0, 1, 50]] == pytest.approx([1, 2, 1]) and lost.sum() == 4


def test_minutes_have_their_own_times(hour):
    minutes = hour[0].minutes()
    assert len(minutes['time_s']) == N_MINUTES and minutes['frames'].sum() == N_MINUTES * A_MINUTE
    middles = 2.0 + np.arange(0.5, 60.0) / 30.0
    assert minutes['p50_ms'] == pytest.approx(middles, rel=0.01)
    assert minutes['max_ms'] == pytest.approx(middles + 1.0 / 60.0, rel=0.001)
    assert hour[0].latency_ms()['max'] == pytest.approx(4.0, abs=1e-3)


def test_frames_that_a_log_has_given_away_do_not_come_back():
    log = TakenLog()
    for i in range(3000):
        log.arrived(0, START_NS + i * PERIOD_NS, START_NS + i * PERIOD_NS)
        taken = log.take(i * 0.1 - 1.0)
        assert len(taken) <= 2 and len(log) <= 12
    log.arrived(4, START_NS + (i - 500) * PERIOD_NS, START_NS + i * PERIOD_NS)  # far too late
    assert len(log) <= 12 and not np.isfinite(log.table()[:, 6]).any()


def test_an_index_that_was_not_seen_is_no_loss():
    tally, log = FrameTally(1), TakenLog()
    for i in range(1000):
        row = log.arrived(4, START_NS + i * PERIOD_NS, START_NS + i * PERIOD_NS)
        if i not in (0, 1, 400):
            row[INDEX] = i
    tally.add(log.take(float('inf')), 0.0)
    assert (tally.published, tally.solved, tally.lost) == (1000, 1000, 0)


def soak_of(growth_mb_h: float, hour: tuple[FrameTally, TakenLog]) -> Soak:
    """Return an hour in which one of two processes grows."""
    series = UsageSeries(('monitor', 'retarget'), 721)
    for time_s in np.arange(5.0, 3601.0, 5.0):
        usage = {
            'monitor': FullUsage(10.0, 230.0, 130.0, 135.0, 150.0, 20, 30),
            'retarget': FullUsage(
                12.5, 230.0, 120.0 + growth_mb_h * time_s / 3600.0, 125.0, 140.0, 15, 18
            ),
        }
        series.add(float(time_s), usage, 40.0)
    drops = {'retarget': {'drops': 3, 'drops_unmatched': 3}, 'pose_filter': {'drops': 0}}
    return Soak({'rate_hz': 10.0}, 3600.0, hour[0], series, drops)


def test_the_process_that_grows_is_named(hour):
    for growth, outcome in ((0.0, 'kept'), (0.5, 'kept'), (4.0, 'missed')):
        soak = soak_of(growth, hour)
        evaluations = judged(soak)
        outcomes = {one.what: one.evaluation.outcome for one in evaluations}
        assert outcomes['memory of retarget'] == outcome
        assert [outcomes[what] for what in ('memory of monitor', 'threads', 'files')] == [
            'kept'
        ] * 3
        assert outcomes['latency'] == 'missed'  # it doubled
        assert is_missed(evaluations)
