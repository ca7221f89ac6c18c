# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Packed arrays: one memory for Python and kernels, one layout for the kernels below."""

import os
from pathlib import Path
import subprocess
import sys
from typing import NamedTuple

from numba import njit
import numpy as np
from puppet_core.math.compiled import pack_arrays, unpack
import pytest


class Inner(NamedTuple):
    """Some arrays."""

    matrix: np.ndarray
    flags: np.ndarray


class Outer(NamedTuple):
    """Arrays, numbers and arrays further in, so that alignment needs gaps."""

    status: np.ndarray
    inner: Inner
    rate: float
    counts: np.ndarray
    is_on: bool


def example() -> Outer:
    """Return an example with all types."""
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
    record, views = packed[0], unpack(packed[0], Outer)
    scale(views.inner, views.rate, views.status)
    if record.is_on:
        record.rate = 4.0
    record.counts[1] = 9


def test_values_of_the_example_are_taken_over() -> None:
    packed, views = pack_arrays(example())
    assert packed.shape == (1,)
    np.testing.assert_array_equal(views.inner.matrix, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    np.testing.assert_array_equal(views.inner.flags, [1, 0, 1])
    np.testing.assert_array_equal(views.status, [0, 1, 2])
    np.testing.assert_array_equal(views.counts, [7, 8])
    assert views.rate == 2.5 and views.is_on
    assert isinstance(views, Outer) and isinstance(views.inner, Inner)
    again = unpack(packed[0], Outer)
    assert np.shares_memory(again.inner.matrix, views.inner.matrix) and again.rate == 2.5


def test_fields_are_contiguous_aligned_and_of_the_packed_memory() -> None:
    packed, views = pack_arrays(example())
    for view in (*views.inner, views.status, views.rate, views.counts, views.is_on):
        assert view.flags.c_contiguous and view.flags.aligned and view.flags.writeable
        assert np.shares_memory(view, packed)


def test_example_is_not_kept() -> None:
    source = example()
    _, views = pack_arrays(source)
    views.inner.matrix[:] = -1.0
    assert source.inner.matrix.min() == 0.0


def test_kernel_and_python_see_the_same_numbers() -> None:
    packed, views = pack_arrays(example())
    views.rate[()] = 3.0
    step(packed)
    np.testing.assert_array_equal(views.inner.matrix, [[0.0, 3.0, 6.0], [9.0, 12.0, 15.0]])
    np.testing.assert_array_equal(views.status, [1, 1, 2])
    np.testing.assert_array_equal(views.counts, [7, 9])
    assert views.rate == 4.0


def test_callees_are_compiled_for_plain_arrays() -> None:
    step(pack_arrays(example())[0])
    scale(example().inner, 1.0, np.zeros(3, dtype=np.uint8))
    assert len(scale.signatures) == 1


@pytest.mark.parametrize(
    'bad', [np.zeros((0, 3)), np.zeros(2, dtype=np.float32), np.ones(2, dtype=bool), 'text']
)
def test_other_fields_are_refused(bad) -> None:
    with pytest.raises(ValueError, match='status: expected numbers'):
        pack_arrays(example()._replace(status=bad))


KERNEL_MODULE = """
from typing import NamedTuple
from numba import njit
import numpy as np
from puppet_core.math.compiled import pack_arrays

class Numbers(NamedTuple):
    values: np.ndarray
    total: float

@njit(cache=True)
def add(packed):
    record = packed[0]
    for value in record.values:
        record.total += value

packed, views = pack_arrays(Numbers(np.ones((4,)), 0.5))
add(packed)
print(float(views.total), sum(add.stats.cache_hits.values()))
"""


def test_kernels_of_packed_arrays_are_cached_on_disk(tmp_path: Path) -> None:
    module = tmp_path / 'kernel_of_packed.py'
    module.write_text(KERNEL_MODULE)
    environment = os.environ | {'NUMBA_CACHE_DIR': str(tmp_path / 'cache')}
    runs = [
        subprocess.run(
            [sys.executable, str(module)], capture_output=True, text=True, env=environment
        )
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [['4.5', '0'], ['4.5', '1']], runs


def test_equal_records_are_of_one_type_object() -> None:
    """A call that finds another object compares the types field by field."""
    first, second = pack_arrays(example())[0], pack_arrays(example())[0]
    assert first.dtype is second.dtype and not np.shares_memory(first, second)
