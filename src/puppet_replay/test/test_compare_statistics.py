# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics of a stream are those of all its values at once."""

import numpy as np
from puppet_replay.compare.differences import component_name, FieldStatistics
import pytest

LABELS, AXES = ('left_hand', 'right_hand'), ('x', 'y', 'z')


def taken(values: np.ndarray, block: int = 1000, tolerance: float = 0.1) -> FieldStatistics:
    """Return the statistics of values (n, 2), given in blocks; frame i is from i * 10 ns."""
    found = FieldStatistics('mm', tolerance)
    for first in range(0, len(values), block):
        part = values[first : first + block]
        index = np.arange(first, first + len(part))
        found.add(part, np.ones(part.shape, int), 10 * index, index, LABELS, AXES)
    return found


@pytest.mark.parametrize('scale', [1e-12, 1.0, 1e6])
def test_figures_are_those_of_numpy(scale: float) -> None:
    """The 99th percentile to 1 %, the others exactly."""
    values = scale * np.random.default_rng(1).gamma(0.5, size=(5000, 2))
    found = taken(values)
    assert found.n == 10_000
    assert found.max == values.max()
    assert found.rms == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-12)
    exact = np.percentile(values, 99, method='inverted_cdf')
    assert exact <= found.p99 <= 1.01 * exact


def test_blocks_do_not_matter() -> None:
    """One frame at a time says the same as all at once."""
    values = np.random.default_rng(2).exponential(size=(60, 2))
    one, many = taken(values, 1), taken(values, 60)
    assert (one.max, one.p99, one.n_beyond) == (many.max, many.p99, many.n_beyond)
    assert (one.worst, one.first) == (many.worst, many.first)
    assert one.rms == pytest.approx(many.rms)


def test_first_and_worst_are_named() -> None:
    """The first beyond the tolerance, and the greatest, with stamp, frame and component."""
    values = np.full((50, 2), 0.05)
    values[20, 1], values[30, 0] = 0.2, 0.9
    found = taken(values, 7)
    assert (found.first.frame_index, found.first.component) == (20, 'right_hand y')
    assert (found.worst.frame_index, found.worst.component) == (30, 'left_hand y')
    assert found.worst.stamp_ns == 300 and found.n_beyond == 2


def test_the_first_is_first_by_stamp() -> None:
    """Also where messages come in another order."""
    found = FieldStatistics('mm', 0.1)
    for index in (5, 3, 9):
        at = np.array([index])
        found.add(np.array([[1.0]]), np.zeros((1, 1), int), at, at, (), ())
    assert found.first.frame_index == 3


def test_what_is_no_number_is_counted_and_left_out_of_the_mean() -> None:
    """It is the greatest difference, though."""
    values = np.full((10, 2), 3.0)
    values[4, 0] = np.inf
    found = taken(values)
    assert (found.n_invalid, found.max, found.worst.frame_index) == (1, np.inf, 4)
    assert found.rms == 3.0


def test_equal_streams_have_no_worst() -> None:
    """Zeros alone: nothing is first, nothing is worst."""
    found = taken(np.zeros((5, 2)))
    assert (found.worst, found.first, found.p99, found.rms) == (None, None, 0.0, 0.0)


def test_rows_without_a_name_have_a_number() -> None:
    """And axes without a name none."""
    assert component_name((), ('x',), 3, 0) == '[3] x'
    assert component_name(('knee',), ('',), 0, 0) == 'knee'
