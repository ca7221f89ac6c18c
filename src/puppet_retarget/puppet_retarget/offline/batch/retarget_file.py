# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The work itself: one clip read, retargeted, measured and written, wherever it is asked for."""

from collections.abc import Mapping
import hashlib
import os
import signal
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from puppet_core import atomic_file
from puppet_core.clip import read_clip
from puppet_core.clip_bvh_write import bvh_text
from puppet_core.errors import ConfigError, PuppetError
from puppet_retarget.importance.contact_rows import SELF_IMPORTANCE
from puppet_retarget.offline.batch import ledger
from puppet_retarget.offline.batch.digest import suite_version
from puppet_retarget.offline.batch.task import DONE, failed, Outcome, Row, SKIPPED, Task
from puppet_retarget.offline.clip_retarget import report, require_finite, retarget_motion

STAGES = ('read', 'retarget', 'quality', 'write')


def run_task(task: Task) -> Outcome:
    """
    Do a task, unless its output is there already; return what came of it.

    Raises nothing that a clip can cause: what goes wrong is the reason of the outcome.

    """
    try:
        if task.version != suite_version():
            raise ConfigError(
                f'worker: expected version {task.version} of the suite, got {suite_version()}'
            )
        clock = _Clock()
        key = ledger.task_key(task)
        row = None if task.redo else ledger.finished_row(task, key)
        if row is not None:
            return Outcome(task.number, SKIPPED, row)
        return Outcome(task.number, DONE, _make(task, key, clock))
    except (PuppetError, OSError, RuntimeError) as err:
        return _failed(task, str(err))
    except MemoryError:
        return _failed(task, 'expected a clip that fits into memory, got a longer one')
    except Exception as err:  # the edge of a worker: one clip must not end the run
        return _failed(task, f'{type(err).__name__}: {err}')


def death(code: int | None) -> str:
    """Return how a process ended, from its exit code as multiprocessing has it."""
    if code is not None and code < 0:
        try:
            return f'ended by {signal.Signals(-code).name}'
        except ValueError:
            return f'ended by signal {-code}'
    return f'ended with exit code {code}'


def _failed(task: Task, reason: str) -> Outcome:
    if ledger.forget(task):  # what is there was made of another input
        try:
            task.out.unlink(missing_ok=True)
        except OSError:
            pass
    return failed(task, reason)


def _make(task: Task, key: str, clock: '_Clock') -> Row:
    options = task.reading.options
    read = read_clip(task.clip, task.asf, task.reading.name_map, options)
    motion = read.motion
    clock.lap('read')
    result = retarget_motion(motion, task.job, self_columns=SELF_IMPORTANCE + 1)
    require_finite(result)
    clock.lap('retarget')
    figures = report(motion, task.job, result)
    clock.lap('quality')
    data = bvh_text(result.motion(task.job.character, motion.rate_hz)).encode()
    part = task.part()
    atomic_file.write_bytes(part, data)
    task.out.parent.mkdir(parents=True, exist_ok=True)
    os.replace(part, task.out)
    clock.lap('write')
    row = {
        **_flat(figures),
        'rate_hz': motion.rate_hz,
        'seconds': motion.n_frames / motion.rate_hz,
        'names': read.names,
        'notes': '; '.join(read.notes),
        'key': key,
        'output_sha256': hashlib.sha256(data).hexdigest(),
        **clock.columns(),
    }
    ledger.write_record(task, key, row['output_sha256'], row)
    return row


class _Clock:
    """Time of this thread by stages, and what passed on the wall."""

    def __init__(self) -> None:
        self._start, self._at = perf_counter(), thread_time()
        self._laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = thread_time()
        self._laps[f'cpu_{stage}_s'], self._at = now - self._at, now

    def columns(self) -> dict[str, float]:
        return {**self._laps, 'time_s': perf_counter() - self._start}


def _flat(figures: Mapping[str, Any], prefix: str = '') -> Row:
    """Return the report with one level of names, joined by underscores."""
    row: Row = {}
    for name, value in figures.items():
        if isinstance(value, Mapping):
            row |= _flat(value, f'{prefix}{name}_')
        else:
            row[prefix + name] = value.item() if isinstance(value, np.generic) else value
    return row
