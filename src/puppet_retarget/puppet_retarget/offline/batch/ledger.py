# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What is finished in OUT_DIR: a record for each output, and who may write there.

A record holds the digest of all that the output was made from, the digest of the output, and
its line of the summary. An output counts as finished only if both digests are still right, so
neither a changed input nor a truncated output is taken for one.

"""

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import json
import os
from pathlib import Path
import shutil

from puppet_core import atomic_file
from puppet_core.errors import ConfigError
from puppet_retarget.offline.batch.digest import file_digest, value_digest
from puppet_retarget.offline.batch.task import LEDGER, PARTS, Row, Task
from puppet_retarget.offline.report_file import report_text

FORMAT = 'puppet-batch-record/1'


def task_key(task: Task) -> str:
    """
    Return the digest of all that decides a task's output.

    Raises
    ------
    OSError : if an input cannot be read.

    """
    reading = task.reading
    files = [task.clip, *([task.asf] if task.asf else [])]
    files += [Path(name) for name in (reading.name_map, reading.options.marker_set)
              if name is not None and Path(name).is_file()]  # fmt: skip
    return value_digest(
        task.parameters, [file_digest(path) for path in files], task.clip.suffix.lower()
    )


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
    """Note that a task's output is in its place."""
    record = {'format': FORMAT, 'key': key, 'output_sha256': output_sha256, 'row': row}
    atomic_file.write_text(task.record, report_text(record))


def forget(task: Task) -> bool:
    """Delete the record of a task; return whether there was one."""
    try:
        task.record.unlink()
    except OSError:
        return False
    return True


@contextmanager
def held(out_dir: Path) -> Iterator[None]:
    """
    Hold OUT_DIR for one run; what an ended one left half written is deleted first.

    Raises
    ------
    ConfigError : if another run holds it, or it cannot be written.

    """
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
                f'OUT_DIR: expected a folder of no other run, got {str(out_dir)!r}, which one '
                'is writing'
            ) from err
        _empty(parts)
        try:
            yield
        finally:
            _empty(parts)
    finally:
        os.close(lock)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
