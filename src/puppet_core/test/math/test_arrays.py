# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The border check of arrays."""

import numpy as np
from puppet_core.io import ConfigError
from puppet_core.math.arrays import check_array, read_only
import pytest


def test_fitting_array_passes_uncopied():
    array = np.ones((4, 3))
    assert check_array('offsets', array, (4, 3)) is array


@pytest.mark.parametrize(
    'values', [np.ones((3, 4), np.float32), np.ones((4, 3)).T, [[1, 2, 3, 4]] * 3]
)
def test_everything_becomes_contiguous_float64(values):
    array = check_array('points', values, (3, None))
    assert array.dtype == np.float64 and array.flags.c_contiguous


@pytest.mark.parametrize(
    'values, shape, text',
    [
        ([1.0, 2.0], (3,), 'points: expected shape (3), got (2,)'),
        (np.ones((2, 2)), (None, 3), 'points: expected shape (any, 3), got (2, 2)'),
        ('abc', (3,), "points: expected numbers, got 'abc'"),
        ([[1.0], [2.0, 3.0]], (2, 2), 'points: expected numbers, got [[1.0], [2.0, 3.0]]'),
        ([1.0, np.nan], (2,), 'points: expected finite numbers, got nan at (1,)'),
        ([[1.0, -np.inf]], (1, 2), 'points: expected finite numbers, got -inf at (0, 1)'),
    ],
)
def test_errors_name_the_array_and_both_sides(values, shape, text):
    with pytest.raises(ConfigError) as caught:
        check_array('points', values, shape)
    assert str(caught.value) == text


def test_read_only_is_a_copy_that_refuses_writes():
    source = np.zeros(3)
    kept = read_only(source)
    source[0] = 1.0
    assert kept[0] == 0.0
    with pytest.raises(ValueError, match='read-only'):
        kept[0] = 2.0
