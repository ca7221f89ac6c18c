# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels want no memory, divide as C does, and share packed memory with Python."""

import math
from typing import NamedTuple

from numba import njit
from numba.core.errors import NumbaRuntimeError, TypingError
import numpy as np
from puppet_core.math.compiled import copy, kernel, pack_arrays, work_array
import pytest


def test_copy_takes_rows_and_parts_of_others():
    table, out = np.arange(12.0).reshape(3, 4), np.zeros(4)
    copy(table[1], out)
    np.testing.assert_array_equal(out, [4.0, 5.0, 6.0, 7.0])
    copy(table[:, 2], out[:3])
    np.testing.assert_array_equal(out, [2.0, 6.0, 10.0, 7.0])


def test_kernels_that_allocate_are_refused():
    def fresh(n):
        return np.empty(n)[0]

    def overlapping(a):
        a[1:] = a[:-1]

    for function, argument in ((fresh, 3), (overlapping, np.zeros(3))):
        with pytest.raises((NumbaRuntimeError, TypingError)):
            kernel(function)(argument)


def test_division_by_zero_is_infinite_or_not_a_number():
    def share(a, b):
        return a / b

    assert kernel(share)(1.0, 0.0) == math.inf
    assert math.isnan(kernel(share)(0.0, 0.0))


def _many_times(n):
    total = 0.0
    for i in range(n):
        room = work_array(64)
        room[:] = i
        total += room[63]
    return total


def test_a_loop_does_not_fill_the_stack():
    """A million times half a kilobyte would not fit."""
    assert njit(_many_times)(1_000_000) == pytest.approx(sum(range(1_000_000)))


class Inner(NamedTuple):
    matrix: np.ndarray
    flags: np.ndarray


class Outer(NamedTuple):
    """Arrays, numbers and arrays further in, so that alignment needs gaps."""

    status: np.ndarray
    inner: Inner
    rate: float
    counts: np.ndarray
    is_on: bool


def example():
    inner = Inner(np.arange(6.0).reshape(2, 3), np.array([1, 0, 1], dtype=np.uint8))
    return Outer(np.arange(3, dtype=np.uint8), inner, 2.5, np.array([7, 8]), True)


@njit
def scale(inner, factor, out):
    for i in range(inner.matrix.shape[0]):
        for k in range(inner.matrix.shape[1]):
            inner.matrix[i, k] *= factor
    out[0] = inner.flags[2]


@njit
def step(packed):
    record = packed[0]
    scale(record.inner, record.rate, record.status)
    if record.is_on:
        record.rate = 4.0
    record.counts[1] = 9


def test_kernel_and_python_see_the_same_numbers():
    packed, views = pack_arrays(example())
    views.rate[()] = 3.0
    step(packed)
    np.testing.assert_array_equal(views.inner.matrix, [[0.0, 3.0, 6.0], [9.0, 12.0, 15.0]])
    np.testing.assert_array_equal(views.status, [1, 1, 2])
    np.testing.assert_array_equal(views.counts, [7, 9])
    assert views.rate == 4.0
