# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled once: from the package's folder, from the cache, or here."""

import os
from pathlib import Path
import subprocess
import sys

from puppet_core.math import kernel_cache
import pytest

SOURCE = """# Copyright
import math
import numpy as np
from puppet_core.math import array_kernel, kernel, on_first_compilation

compiled = []
on_first_compilation(lambda: compiled.append(1))


@kernel
def inner(x: float) -> float:
    return math.sin(x) + 1.0


@kernel
def outer(x: float) -> float:
    return inner(x) * 2.0


@array_kernel
def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.linalg.solve(matrix, right)


@kernel
def later(values: np.ndarray) -> float:
    return outer(values[0]) + math.cos(values[1])
"""
USE = """
import numpy as np, sample_kernels as k, math
assert abs(k.outer(0.5) - 2.0 * (math.sin(0.5) + 1.0)) < 1e-12
print(len(k.compiled), end=' ')
if LATER:
    k.later(np.array([0.5, 0.5]))
print(len(k.compiled))
"""


@pytest.fixture
def use(tmp_path):
    """Return a function that uses the kernels in a new process; it tells when it compiled."""
    source = tmp_path / 'package' / 'sample_kernels.py'
    source.parent.mkdir()
    source.write_text(SOURCE)

    def run(cache: str, later: bool = False, more: str = '', **environ: str) -> str:
        variables = os.environ | {'NUMBA_CACHE_DIR': str(tmp_path / cache), **environ}
        variables['PYTHONPATH'] = os.pathsep.join(
            (str(source.parent), variables.get('PYTHONPATH', ''))
        )
        code = f'{USE.replace("LATER", str(later))}\n{more}'
        done = subprocess.run(
            [sys.executable, '-c', code], env=variables, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return run


def test_second_process_compiles_nothing_and_may_compile_more(use):
    assert use('one') == '1 1'
    assert use('one') == '0 0'
    assert use('one', later=True) == '0 1'
    assert use('one', later=True) == '0 0'


def test_kernels_beside_the_source_are_used_until_it_changes(use, tmp_path):
    level = kernel_cache.level() or pytest.skip('kernels are shipped for x86-64 only')
    assert use('unused', **{kernel_cache.SHIP: level}) == '1 1'
    folder = tmp_path / 'package' / 'kernels' / level
    assert any(folder.glob('*.nbc')) and not any((tmp_path / 'unused').rglob('*.nbc'))
    assert use('two') == '0 0'
    assert use('two', later=True) == '0 1', 'what is not there is compiled, into the cache'
    assert any((tmp_path / 'two').rglob('*.nbc'))
    source = Path(tmp_path / 'package' / 'sample_kernels.py')
    source.write_text(SOURCE.replace('+ 1.0', '+  1.0'))
    assert use('three') == '1 1'


def test_linear_algebra_comes_out_of_the_cache(use):
    """It calls numba's own library, which a process that compiles nothing has to load, too."""
    solve = 'assert np.allclose(k.solved(2.0 * np.eye(3), np.ones(3)), 0.5)'
    assert use('one', more=solve) == '1 1'
    assert use('one', more=solve) == '0 0'


def test_processor_has_a_level_or_none():
    assert kernel_cache.level() in ('', *kernel_cache.LEVELS)
