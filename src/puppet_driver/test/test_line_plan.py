# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How many sensors go on a line."""

from hypothesis import given
from hypothesis import strategies as st
from puppet_core.io import ConfigError
from puppet_driver.transport import (
    burst_seconds,
    sensors_per_line,
    spread,
)
import pytest


@given(st.integers(1, 100), st.integers(1, 20))
def test_sensors_are_spread_evenly(n_sensors, n_lines):
    if n_lines > n_sensors:
        return
    counts = spread(n_sensors, n_lines)
    assert sum(counts) == n_sensors and max(counts) - min(counts) <= 1
    assert sorted(counts, reverse=True) == list(counts)


@pytest.mark.parametrize('n_lines', [0, 15])
def test_impossible_numbers_of_lines_are_refused(n_lines):
    with pytest.raises(ConfigError, match=r'ports: expected 1 to 14 line\(s\)'):
        spread(14, n_lines)


@pytest.mark.parametrize('rate_hz, count', [(144.0, 5), (120.0, 6), (100.0, 7)])
def test_line_capacity_is_the_documented_one(rate_hz, count):
    # TRACKERS.md: 768 records/s at 115200 bps: 5 sensors at 144 Hz or 6 at 120 Hz
    assert sensors_per_line(115200, 15, rate_hz) == count


def test_burst_time():
    assert burst_seconds(5, 115200, 15) == pytest.approx(6.51e-3, rel=1e-3)
