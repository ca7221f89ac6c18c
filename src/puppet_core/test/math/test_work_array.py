# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Small arrays that kernels take from the stack."""

from numba import njit
import numpy as np
from puppet_core.math.compiled import work_array, work_table
import pytest


def _outer(a, b, out):
    left, table = work_array(3), work_table(3, 2)
    for i in range(3):
        left[i] = 2.0 * a[i]
        for j in range(2):
            table[i, j] = left[i] * b[j]
    for i in range(3):
        out[i] = table[i]


def _many_times(n):
    total = 0.0
    for i in range(n):
        room = work_array(64)
        room[:] = i
        total += room[63]
    return total


@pytest.mark.parametrize('plain', [False, True], ids=['jit', 'py'])
def test_arrays_hold_what_is_written(plain: bool, rng: np.random.Generator) -> None:
    """Compiled, and in plain Python."""
    a, b, out = rng.normal(size=3), rng.normal(size=2), np.empty((3, 2))
    (_outer if plain else njit(_outer))(a, b, out)
    np.testing.assert_allclose(out, 2.0 * np.outer(a, b))


def test_a_loop_does_not_fill_the_stack() -> None:
    """A million times half a kilobyte would not fit."""
    assert njit(_many_times)(1_000_000) == pytest.approx(sum(range(1_000_000)))


def test_sizes_are_constants() -> None:
    """What is not known to the compiler cannot be on the stack."""
    with pytest.raises(Exception, match='work_array|_row'):
        njit(lambda n: work_array(n)[0])(3)
