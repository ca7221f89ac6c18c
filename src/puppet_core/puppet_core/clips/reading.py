# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the readers of clip files share: text and numbers, damage, a process for what crashes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import importlib
from math import isfinite
import os
from pathlib import Path
import resource
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from puppet_core.io import ConfigError, how_to_install, InputFileError, require_file
from puppet_core.math import Floats

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


MAX_FILE_BYTES = 512 * 2**20  # hours of motion; bounds what a file that is none can cost
# Control characters that no text file has; tab, line ends, form feed and Ctrl-Z (DOS end of file)
# are left out.
_BINARY_BYTES = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0C, 0x0D, 0x1A}) + b'\x7f'
_PROBE_BYTES = 65536


def read_bytes(path: Path, kind: str) -> bytes:
    """Return what a file holds; raise InputFileError if it cannot be read or is too large."""
    try:
        if (size := require_file(path, f'{kind} file')) > MAX_FILE_BYTES:
            wanted = f'{kind} file of at most {MAX_FILE_BYTES >> 20} MiB'
            raise InputFileError(path, wanted, f'{size >> 20} MiB')
        return path.read_bytes()
    except OSError as err:
        raise InputFileError(path, f'a readable {kind} file', err.strerror or str(err)) from err


def read_text(path: Path, kind: str) -> str:
    """Return a file's text with one kind of line ends; InputFileError if that is impossible."""
    a_kind = f'{"an" if kind[0] in "AEIOU" else "a"} {kind}'
    data = read_bytes(path, kind)
    if not data or data.isspace():
        raise InputFileError(path, f'{a_kind} file', 'an empty file')
    probe = data[:_PROBE_BYTES]
    if b'\0' in data or len(probe.translate(None, _BINARY_BYTES)) != len(probe):
        raise InputFileError(path, f'{a_kind} text file', 'binary data')
    for other, usual in ((b'\x1a', b' '), (b'\r\n', b'\n'), (b'\r', b'\n')):
        if other in data:  # looking takes a tenth of replacing
            data = data.replace(other, usual)
    # bytes of another encoding stay what they are, so names in it stay distinct
    return data.decode('utf-8-sig', errors='backslashreplace')


def parse_float(word: str) -> float | None:
    """Return the finite number a token spells, None if it spells none."""
    try:
        value = float(word)
    except ValueError:
        return None
    # float() also reads '1_000', which no clip writer means.
    return value if isfinite(value) and '_' not in word else None


def parse_int(word: str) -> int | None:
    """Return the integer a token spells in plain decimal digits, None if it spells none."""
    digits = word[1:] if word[:1] in ('+', '-') else word
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def parse_floats(words: Sequence[str]) -> Floats | None:
    """Return the finite numbers that all tokens spell, shape (n,), None if one of them is not."""
    try:
        values = np.array(words, dtype=np.float64).reshape(-1)
    except ValueError:
        return None
    return values if np.isfinite(values).all() and '_' not in ' '.join(words) else None


def first_bad_word(words: Sequence[str]) -> int:
    """Return the index of the first token that is not a finite number, -1 if all are."""
    return next((i for i, word in enumerate(words) if parse_float(word) is None), -1)
