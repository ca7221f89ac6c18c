# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""frame_statistics: rates, percentiles and drops of one period."""

import numpy as np
from puppet_ros.node.diagnostics import FrameStatistics, MAX_LATENCIES
import pytest

pytestmark = pytest.mark.ros

SECOND = 1_000_000_000


def test_rate_and_percentiles_of_one_second() -> None:
    statistics = FrameStatistics()
    statistics.close_period(0)
    latencies_ns = np.linspace(1e6, 3e6, 100).astype(int)
    for i, latency in enumerate(latencies_ns):
        statistics.frame(int(i * SECOND / 100), int(i * SECOND / 100 - latency))
    report = statistics.close_period(SECOND)
    assert report.rate_hz == pytest.approx(100.0)
    assert report.latency_ms[0] == pytest.approx(2.0, abs=0.02)
    assert report.latency_ms[2] == pytest.approx(3.0)
    assert report.age_s == pytest.approx(0.01)


def test_drops_age_out_of_the_report_and_stay_in_the_total() -> None:
    statistics = FrameStatistics()
    statistics.drop('stale', 3)
    statistics.drop('stale', 0)
    assert statistics.close_period(SECOND).drops == 3
    assert statistics.close_period(2 * SECOND).drops == 0
    assert statistics.drops_by_reason == {'stale': 3}


def test_no_frame_ever_is_infinitely_old() -> None:
    report = FrameStatistics().close_period(SECOND)
    assert report.age_s == float('inf') and np.isnan(report.latency_ms[0])


def test_clock_set_back_gives_no_negative_rate_or_age() -> None:
    statistics = FrameStatistics()
    statistics.close_period(100 * SECOND)
    statistics.frame(100 * SECOND, 100 * SECOND)
    report = statistics.close_period(SECOND)
    assert report.rate_hz == 0.0 and report.age_s == 0.0


def test_more_frames_than_the_buffer_still_count() -> None:
    statistics = FrameStatistics()
    statistics.close_period(0)
    for i in range(MAX_LATENCIES + 500):
        statistics.frame(i, i)
    assert statistics.close_period(SECOND).frames == MAX_LATENCIES + 500
