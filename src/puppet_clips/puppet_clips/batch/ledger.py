# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The ledger of a batch: a record for each finished output in OUT_DIR, and the lock on the folder.

An output is finished if its digest, and that of all it was made from, still match its record.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
import fcntl
from functools import cache
import hashlib
from importlib import metadata
from importlib.util import find_spec
import json
import os
from pathlib import Path
import shutil
from typing import Any
from uuid import uuid4

import numpy as np
from puppet_clips.batch.task import LEDGER, PARTS, Row, Task
from puppet_core import named_files
from puppet_core.clips import c3d
from puppet_core.io import ConfigError, InputFileError
from puppet_retarget.offline import is_bag, report_text

# their numbers are ours; not all are installed where no such clip is read
LIBRARIES = ('numba', 'llvmlite', 'numpy', 'scipy', 'ezc3d', 'ufbx', 'mcap', 'zstandard', 'lz4')
PACKAGES = ('puppet_core', 'puppet_retarget', 'puppet_clips', 'puppet_ros')

FORMAT = 'puppet-batch-record/2'


def file_digest(path: str | Path) -> str:
    total = hashlib.sha256()
    with open(path, 'rb') as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def value_digest(*values: Any) -> str:
    """
    Return the SHA-256 of dataclasses, mappings, sequences, arrays, paths, texts, numbers, None.

    Equal values have equal digests in every process. Raises TypeError for anything else.
    """
    text = json.dumps(values, default=_plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return what JSON has no form for, with its kind, as something that it has one for."""
    if is_dataclass(value) and not isinstance(value, type):
        contents = {field.name: getattr(value, field.name) for field in fields(value)}
        return {type(value).__qualname__: contents}
    if isinstance(value, np.ndarray):
        return {value.dtype.str: [value.shape, value.tobytes().hex()]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f'expected a value made of plain data, got {type(value).__name__}')


@cache
def suite_version() -> str:
    """Return the digest of the code and libraries that decide what an output contains."""
    specs = [find_spec(name) for name in PACKAGES]  # imports none of them; ROS's may be missing
    folders = [
        Path(place) for spec in specs if spec for place in spec.submodule_search_locations or ()
    ]
    files = {
        f'{folder.name}/{path.relative_to(folder).as_posix()}': file_digest(path)
        for folder in folders
        for path in folder.rglob('*.py')
    }
    return value_digest([_library_version(name) for name in LIBRARIES], files)[:16]


def _library_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def task_key(task: Task) -> str:
    """Return the digest of all that decides a task's output, or InputFileError or OSError."""
    inputs = [file_digest(path) for path in _inputs(task)]
    return value_digest(task.parameters, inputs, task.clip.suffix.lower())


def _inputs(task: Task) -> list[Path]:
    """Return the files that a task reads; a pipe among them would be waited for for ever."""
    reading = task.reading
    files = [task.clip]
    if is_bag(task.clip):
        from puppet_ros.bags import bag_files  # imports ROS, which other clips do not need

        files = bag_files(task.clip)
    files += [task.asf] if task.asf else []
    named = reading.name_map, reading.options.marker_set, reading.options.body_model
    files += [Path(name) for name in named if name is not None and Path(name).is_file()]
    if task.clip.suffix.lower() == '.gltf':
        files += sorted(task.clip.parent.glob('*.bin'))
    if task.clip.suffix.lower() == c3d.SUFFIX:
        names = named_files.available('markersets')
        files += map(named_files.marker_set_file, names)  # each may be the one that fits
    for path in files:
        if path.exists() and not path.is_file():
            raise InputFileError(path, 'a file', 'something else')
    return files


def finished_row(task: Task, key: str) -> Row | None:
    """Return the summary's line of an output that is whole and of this key, else None."""
    try:
        record = json.loads(task.record.read_text(encoding='utf-8'))
        if record['format'] != FORMAT or record['key'] != key:
            return None
        if record['output_sha256'] != file_digest(task.out):
            return None
        row = record['row']
        return row if isinstance(row, dict) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_record(task: Task, key: str, output_sha256: str, row: Row) -> None:
    record = {'format': FORMAT, 'key': key, 'output_sha256': output_sha256, 'row': row}
    put(task, report_text(record).encode(), task.record)


def put(task: Task, data: bytes, path: Path) -> None:
    """
    Write a file of OUT_DIR, all or nothing.

    It goes through the folder of its run, which the next run deletes: a process that was left over
    by a run that was killed writes nothing any more. Raises OSError if that cannot be done.
    """
    part = task.part()
    try:
        part.write_bytes(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, path)
    except OSError as err:
        part.unlink(missing_ok=True)
        # names the file to make, for that of the part is another one in each run
        raise OSError(err.errno, err.strerror, str(path)) from err


@contextmanager
def held(out_dir: Path) -> Iterator[str]:
    """Hold OUT_DIR for one run, cleaned, and yield its name; ConfigError if that cannot be."""
    parts = out_dir / LEDGER / PARTS
    try:
        parts.mkdir(parents=True, exist_ok=True)
        lock = os.open(out_dir / LEDGER / 'lock', os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as err:
        reason = err.strerror or str(err)
        raise ConfigError(
            f'OUT_DIR: expected a writable folder, got {str(out_dir)!r}: {reason}'
        ) from err
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as err:
            raise ConfigError(
                f'OUT_DIR: expected a folder that no other run uses, got {str(out_dir)!r}'
            ) from err
        run = uuid4().hex
        shutil.rmtree(parts, ignore_errors=True)
        (parts / run).mkdir(parents=True)
        try:
            yield run
        finally:
            shutil.rmtree(parts, ignore_errors=True)
    finally:
        os.close(lock)
