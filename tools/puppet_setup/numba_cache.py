# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The folder of numba's compiled kernels.

numba compiles a function anew when its own file changes, but not when a function that it calls
from another file does, nor when a number does that it has from there. So the folder is named after
the contents of all files with kernels and of what those import: a change of any of them starts an
empty cache.
"""

from collections.abc import Iterator
import os
from pathlib import Path
import re
import shutil

from puppet_setup.checkout import Checkout
from puppet_setup.stamps import fingerprint

MARKS = (b'@kernel', b'@njit')
# the module, then its names, which may be modules of a package
IMPORT = re.compile(rb'^from (puppet_[\w.]+) import (\([^)]*\)|[^\n]*)', re.MULTILINE)
NAME = re.compile(rb'\w+')
KEPT_CACHES = 3


def kernel_fingerprint(checkout: Checkout) -> str:
    """Return a digest of every source file that has kernels, and of what those import."""
    modules = dict(_modules(checkout))
    wanted = [name for name, content in modules.items() if has_kernel(content)]
    compiled = set(wanted)
    while wanted:
        found = modules.keys() & _imported(modules[wanted.pop()]) - compiled
        compiled |= found
        wanted += found
    parts: list[bytes | str] = []
    for name in sorted(compiled):
        parts += [name, modules[name]]
    return fingerprint(parts)


def has_kernel(content: bytes) -> bool:
    """Return whether a module has functions that are compiled."""
    return any(mark in content for mark in MARKS)


def _modules(checkout: Checkout) -> Iterator[tuple[str, bytes]]:
    """Yield the suite's modules, by name, with their text."""
    for package in checkout.package_folders():
        for path in (package / package.name).rglob('*.py'):
            name = '.'.join(path.relative_to(package).with_suffix('').parts)
            yield name.removesuffix('.__init__'), path.read_bytes()


def _imported(content: bytes) -> set[str]:
    """Return what a module may import from the suite's packages; not all of it need exist."""
    found = set()
    for module, names in IMPORT.findall(content):
        found.add(module.decode())
        found |= {f'{module.decode()}.{name.decode()}' for name in NAME.findall(names)}
    return found


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
