# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels want no memory, divide as C does, and copy between arrays of any layout."""

import math
import sys

from numba.core.errors import NumbaRuntimeError, TypingError
import numpy as np
from puppet_core.math.compiled import copy, kernel
import pytest


def test_copy_takes_rows_and_parts_of_others() -> None:
    table, out = np.arange(12.0).reshape(3, 4), np.zeros(4)
    copy(table[1], out)
    np.testing.assert_array_equal(out, [4.0, 5.0, 6.0, 7.0])
    copy(table[:, 2], out[:3])
    np.testing.assert_array_equal(out, [2.0, 6.0, 10.0, 7.0])


def test_what_wants_memory_is_not_compiled() -> None:
    def fresh(n):  # type: ignore[no-untyped-def]
        return np.empty(n)[0]

    def overlapping(a):  # type: ignore[no-untyped-def]
        a[1:] = a[:-1]

    for function, argument in ((fresh, 3), (overlapping, np.zeros(3))):
        with pytest.raises((NumbaRuntimeError, TypingError)):
            kernel(function)(argument)


def test_division_by_zero_is_infinite_or_not_a_number() -> None:
    def share(a, b):  # type: ignore[no-untyped-def]
        return a / b

    assert kernel(share)(1.0, 0.0) == math.inf
    assert math.isnan(kernel(share)(0.0, 0.0))


def test_arrays_are_only_borrowed() -> None:
    """The caller's references are as many after a call as before."""
    table, out = np.ones((2, 3)), np.zeros(3)
    before = sys.getrefcount(table), sys.getrefcount(out)
    for _ in range(10):
        copy(table[0], out)
        first_column_sum(table)
    assert (sys.getrefcount(table), sys.getrefcount(out)) == before


@kernel
def first_column_sum(table):  # type: ignore[no-untyped-def]
    """Return the sum of the first numbers of a table's rows."""
    total = 0.0
    for row in table:
        total += row[0]
    return total
