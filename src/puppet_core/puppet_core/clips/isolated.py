# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Readers that a damaged file can crash, in a process of their own with a limit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import importlib
import os
from pathlib import Path
import resource
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from puppet_core.io import ConfigError, how_to_install, InputFileError, require_file

MAX_MEMORY_BYTES = 8 * 2**30
TIME_LIMIT_S = 120.0
_NO_PACKAGE = 3  # exit code
_CHILD = f'import sys; from {__name__} import read_as_child; read_as_child(*sys.argv[1:])'

Content = dict[str, Any]


def read_isolated(
    path: Path, kind: str, package: str, reader: Callable[..., Content], *words: str
) -> Content:
    """Return what `reader(path, *words)` reads; InputFileError, ConfigError if not installed."""
    require_file(path, f'{kind} file')
    search = os.pathsep.join(entry for entry in sys.path if entry)
    with tempfile.TemporaryDirectory(prefix='clip_') as folder:
        out = Path(folder) / 'content.npz'
        place = (reader.__module__, reader.__name__)
        command = [sys.executable, '-c', _CHILD, *place, str(path), str(out), *words]
        try:
            done = subprocess.run(
                command,
                env=os.environ | {'PYTHONPATH': search},
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as err:
            got = f'one that takes longer than {TIME_LIMIT_S:g} s to read'
            raise InputFileError(path, f'a whole {kind} file', got) from err
        if done.returncode == _NO_PACKAGE:
            raise ConfigError(
                f'{path}: expected the package {package}, which reads {kind}, got none; '
                f'install it: {how_to_install(kind.lower(), package)}'
            )
        if done.returncode != 0:
            said = (done.stderr.strip().split('\n')[-1]).replace(': iostream error', '')
            got = f'a damaged one ({said[:200]})' if said else 'one that its reader crashes over'
            raise InputFileError(path, f'a whole {kind} file', got)
        with np.load(out) as content:
            return dict(content)


@contextmanager
def refuse_damage(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a damaged file leads to into an InputFileError."""
    try:
        with np.errstate(all='ignore'):
            yield
    except (InputFileError, ConfigError):
        raise
    except Exception as err:  # whatever look-ups and libraries raise
        got = f'a damaged one ({type(err).__name__}: {str(err)[:200]})'
        raise InputFileError(path, f'a whole {kind}', got) from err


def read_as_child(module: str, reader: str, path: str, out: str, *words: str) -> None:
    """Read a file, leave its content for the parent and end the process at once."""
    code = 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MAX_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, hard))
    try:
        np.savez(out, **getattr(importlib.import_module(module), reader)(path, *words))
    except ImportError:
        code = _NO_PACKAGE
    except Exception as err:  # whatever compiled code raises on a bad file
        sys.stderr.write((str(err).split('\n')[0] or type(err).__name__) + '\n')
        sys.stderr.flush()
        code = 1
    os._exit(code)  # what the library allocated is not worth freeing, nor safe to
