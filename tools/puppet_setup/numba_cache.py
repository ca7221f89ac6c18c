# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The folder of numba's compiled kernels.

numba compiles a function anew when its own file changes, but not when a function that it calls
from another file does. So the folder is named after the contents of all files with kernels: a
change of any of them starts an empty cache.
"""

import os
from pathlib import Path
import shutil

from puppet_setup.checkout import Checkout
from puppet_setup.stamps import fingerprint

MARK = b'njit'
KEPT_CACHES = 3


def kernel_fingerprint(checkout: Checkout) -> str:
    """Return a digest of every source file that has kernels."""
    parts: list[bytes | str] = []
    for package in checkout.package_folders():
        for path in sorted((package / package.name).rglob('*.py')):
            content = path.read_bytes()
            if MARK in content:
                parts += [str(path.relative_to(checkout.root)), content]
    return fingerprint(parts)


def cache_folder(checkout: Checkout) -> Path:
    """Return the folder for the present kernels; make it, and remove old ones, if it is new."""
    parent = checkout.home / 'numba'
    folder = parent / kernel_fingerprint(checkout)
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        by_age = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in by_age[:-KEPT_CACHES]:
            shutil.rmtree(old, ignore_errors=True)
    else:
        os.utime(folder)
    return folder
