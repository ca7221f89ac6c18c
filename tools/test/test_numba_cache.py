# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels outlive builds, but not a change of any kernel."""

import os

from puppet_setup.checkout import Checkout
from puppet_setup.numba_cache import cache_folder, KEPT_CACHES


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


def test_old_caches_are_removed(checkout: Checkout) -> None:
    """The newest few stay: a developer goes back and forth."""
    kernel = checkout.source / 'puppet_core/puppet_core/quaternion.py'
    for number in range(KEPT_CACHES + 2):
        kernel.write_text(f'@njit # {number}')
        folder = cache_folder(checkout)
        os.utime(folder, (number, number))
    assert len(list(folder.parent.iterdir())) == KEPT_CACHES
    assert cache_folder(checkout) == folder
