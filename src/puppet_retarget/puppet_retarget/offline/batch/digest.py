# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Digests of files, of configured values, and of the suite's own code."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
import hashlib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

# their numbers are ours; not all are installed where no such clip is read
LIBRARIES = ('numba', 'llvmlite', 'numpy', 'scipy', 'ezc3d', 'mcap', 'zstandard', 'lz4')
PACKAGES = ('puppet_core', 'puppet_retarget', 'puppet_ros')
_Hash = Any  # what hashlib makes


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    total = hashlib.sha256()
    with open(path, 'rb') as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def value_digest(*values: Any) -> str:
    """
    Return the SHA-256 of what values consist of.

    Takes dataclasses, mappings, sequences, arrays, paths, texts, numbers and None, each in the
    others. Equal values have equal digests in every process.

    Raises
    ------
    TypeError : for anything else, of which nobody could say that.

    """
    total = hashlib.sha256()
    _feed(total, values)
    return total.hexdigest()


@cache
def suite_version() -> str:
    """Return the digest of the code and libraries that decide what an output looks like."""
    total = hashlib.sha256()
    _feed(total, [_library_version(name) for name in LIBRARIES])
    for folder in code_folders():
        for path in sorted(folder.rglob('*.py')):
            _feed(total, (path.relative_to(folder).as_posix(), path.read_bytes()))
    return total.hexdigest()[:16]


def code_folders() -> list[Path]:
    """Return the folders of the suite's packages that make an output; ROS's may be missing."""
    specs = [find_spec(name) for name in PACKAGES]  # which imports none of them
    return [Path(place) for spec in specs if spec is not None
            for place in spec.submodule_search_locations or ()]  # fmt: skip


def _library_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _feed(total: _Hash, value: Any) -> None:
    """Add a value: its kind, its size, then what it holds, so that no two run together."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        _open(total, type(value).__qualname__, len(names))
        for name in names:
            _feed(total, name)
            _feed(total, getattr(value, name))
    elif isinstance(value, np.ndarray):
        _open(total, f'array {value.dtype.str}', value.ndim)
        _feed(total, value.shape)
        total.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        _open(total, 'mapping', len(value))
        for key in sorted(value, key=str):
            _feed(total, key)
            _feed(total, value[key])
    elif isinstance(value, bytes):
        _open(total, 'bytes', len(value))
        total.update(value)
    elif isinstance(value, (str, Path)):
        data = str(value).encode()
        _open(total, 'text', len(data))
        total.update(data)
    elif value is None or isinstance(value, (bool, int, float, np.generic)):
        text = repr(value.item() if isinstance(value, np.generic) else value)
        _open(total, f'number {text}', 0)
    elif isinstance(value, Sequence):
        _open(total, 'sequence', len(value))
        for item in value:
            _feed(total, item)
    else:
        raise TypeError(f'expected a value made of plain data, got {type(value).__name__}')


def _open(total: _Hash, kind: str, size: int) -> None:
    total.update(f'{kind}:{size};'.encode())
