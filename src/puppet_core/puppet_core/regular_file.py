# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a path leads to a file: a pipe or a device could be read for ever."""

from pathlib import Path
import stat

from puppet_core.errors import InputFileError

_NAMES = (
    (stat.S_ISDIR, 'a folder'), (stat.S_ISFIFO, 'a pipe'), (stat.S_ISSOCK, 'a socket'),
    (stat.S_ISCHR, 'a device'), (stat.S_ISBLK, 'a device'),
)  # fmt: skip


def require_file(path: str | Path, kind: str = 'file') -> int:
    """
    Return the size of a file, links followed.

    Raises
    ------
    InputFileError : for what is no file.
    OSError : if it cannot be looked at.

    """
    found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode):
        names = [name for is_kind, name in _NAMES if is_kind(found.st_mode)]
        got = names[0] if names else 'something else'
        raise InputFileError(path, f'a readable {kind}', got)
    return found.st_size
