# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Percentiles of the histogram against those of all values."""

import numpy as np
import pytest
from robustness.soak.time_histogram import TimeHistogram, WIDTH


@pytest.mark.parametrize('percent', [1.0, 50.0, 90.0, 99.0, 99.9])
def test_percentiles_are_those_of_the_values(percent):
    rng = np.random.default_rng(int(percent))
    times_s = 2e-3 * np.exp(0.7 * rng.standard_normal(200_000))
    histogram = TimeHistogram()
    for part in np.array_split(times_s, 17):
        histogram.add(part)
    wanted = np.percentile(times_s, percent)
    assert histogram.percentile_s(percent) == pytest.approx(wanted, rel=WIDTH)
    assert (histogram.count, histogram.longest_s) == (len(times_s), times_s.max())


def test_nothing_and_no_numbers_count_for_nothing():
    histogram = TimeHistogram()
    histogram.add(np.array([np.nan]))
    assert histogram.count == 0 and np.isnan(histogram.percentile_s(50.0))
    histogram.add(np.array([1e-9, 1e9, np.nan]))
    assert histogram.count == 2 and histogram.longest_s == 1e9
    histogram.reset()
    assert histogram.count == 0 and np.isnan(histogram.longest_s)
