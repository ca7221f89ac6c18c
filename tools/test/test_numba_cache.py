# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels outlive builds, but not a change of any kernel."""

import os
from pathlib import Path
import re

from puppet_setup.checkout import Checkout
from puppet_setup.numba_cache import cache_folder, has_kernel, KEPT_CACHES
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def test_same_kernels_same_cache(checkout: Checkout) -> None:
    """Also after a change of a file without kernels."""
    before = cache_folder(checkout)
    (checkout.source / 'puppet_core/puppet_core/errors.py').write_text('class Other: pass')
    assert cache_folder(checkout) == before


def test_changed_kernel_starts_an_empty_cache(checkout: Checkout) -> None:
    """Numba would keep using kernels that call the changed one from other files."""
    before = cache_folder(checkout)
    (checkout.source / 'puppet_core/puppet_core/quaternion.py').write_text('@njit # changed')
    after = cache_folder(checkout)
    assert after != before
    assert not list(after.iterdir())


@pytest.mark.parametrize('imported', [
    'from puppet_core.fastest import FASTEST_M_S', 'from puppet_core import fastest',
    'from puppet_core import (\n    errors,\n    fastest,\n)',
    'from puppet_core.limits import LIMIT',
])
def test_changed_number_starts_an_empty_cache(checkout: Checkout, imported: str) -> None:
    """A kernel holds the numbers that it imports, also those that come from further away."""
    package = checkout.source / 'puppet_core/puppet_core'
    (package / 'limits.py').write_text('from puppet_core.fastest import FASTEST_M_S as LIMIT')
    (package / 'fastest.py').write_text('FASTEST_M_S = 20.0')
    (package / 'kernels.py').write_text(f'{imported}\n\n\n@kernel\ndef step(): pass')
    before = cache_folder(checkout)
    (package / 'fastest.py').write_text('FASTEST_M_S = 15.0')
    assert cache_folder(checkout) != before


def test_every_kernel_of_the_suite_is_seen() -> None:
    """Whichever way it is marked."""
    modules = [path for path in REPOSITORY.glob('src/*/puppet_*/**/*.py')
               if 'numba' in (text := path.read_text()) or 'import kernel' in text]
    marked = [path for path in modules if re.search('^@.*(kernel|jit)', path.read_text(), re.M)]
    assert len(marked) > 50
    for path in marked:
        assert has_kernel(path.read_bytes()), path


def test_old_caches_are_removed(checkout: Checkout) -> None:
    """The newest few stay: a developer goes back and forth."""
    kernel = checkout.source / 'puppet_core/puppet_core/quaternion.py'
    for number in range(KEPT_CACHES + 2):
        kernel.write_text(f'@njit # {number}')
        folder = cache_folder(checkout)
        os.utime(folder, (number, number))
    assert len(list(folder.parent.iterdir())) == KEPT_CACHES
    assert cache_folder(checkout) == folder
