# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Required input files, and atomic output files: written beside the old one, then renamed."""

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import stat
import tempfile

from puppet_core.io.errors import ConfigError, cut, InputFileError

NAME_MAX, PATH_MAX = 255, 4000  # [bytes] of a file system; a path grows by the folders above it

_NAMES = (
    (stat.S_ISDIR, 'a folder'),
    (stat.S_ISFIFO, 'a pipe'),
    (stat.S_ISSOCK, 'a socket'),
    (stat.S_ISCHR, 'a device'),
    (stat.S_ISBLK, 'a device'),
)


def check_name(label: str, name: str) -> None:
    """Refuse by ConfigError what no file can be called, however it is used: too long a name."""
    parts = name.encode(errors='replace').split(b'/')
    if max(map(len, parts)) > NAME_MAX or len(name) > PATH_MAX:
        expected = f'a name of at most {NAME_MAX} bytes, or a path of such and at most {PATH_MAX}'
        raise ConfigError(f'{label}: expected {expected}, got {cut(name)!r}')


def require_file(path: str | Path, kind: str = 'file') -> int:
    """Return a file's size; InputFileError for a pipe or device, which might never end."""
    found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode):
        names = [name for is_kind, name in _NAMES if is_kind(found.st_mode)]
        got = names[0] if names else 'something else'
        raise InputFileError(path, f'a readable {kind}', got)
    return found.st_size


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """
    Yield a temporary path beside `path` that takes its place when the block succeeds.

    Its suffix is that of `path`. A link is followed; what is no file, such as /dev/stdout, is
    written to when the block has succeeded.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f'{path}: expected a file name, got a folder')
    special = target.exists() and not target.is_file()
    if not special:
        target = target.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f'.{target.stem}.', suffix=target.suffix, dir=None if special else target.parent
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if special:
            with open(temporary, 'rb') as source, open(target, 'wb') as sink:
                shutil.copyfileobj(source, sink)
            return
        mask = os.umask(0)
        os.umask(mask)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except OSError as err:
        if err.filename in (None, name):  # a full disk, for one
            err.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def run_folder(name: str) -> Iterator[Path]:
    """Yield a temporary folder for this run; those of killed runs of that name are deleted."""
    for old in Path(tempfile.gettempdir()).glob(f'{name}_*_*'):
        process = old.name.removeprefix(f'{name}_').partition('_')[0]
        if process.isdecimal() and not Path('/proc', process).exists():
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f'{name}_{os.getpid()}_') as folder:
        yield Path(folder)


def check_writable(path: str | Path, name: str) -> None:
    """Raise ConfigError, naming the argument, for an output that cannot be written."""
    target = Path(path)
    if target.is_dir():
        raise ConfigError(f'{name}: expected a file name, got the folder {str(path)!r}')
    if target.exists() and not target.is_file():
        return  # a pipe or terminal; nothing is made beside it
    folder = target.resolve().parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as err:
        reason = err.strerror or str(err)
        raise ConfigError(
            f'{name}: expected a writable folder, got {str(folder)!r}: {reason}'
        ) from err


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, all or nothing."""
    write_bytes(path, text.encode('utf-8'))


def write_bytes(path: str | Path, data: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(data)
