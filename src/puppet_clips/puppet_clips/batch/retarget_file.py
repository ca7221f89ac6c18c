# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One task of a batch: a clip is read, retargeted, measured and written, on any runner."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
import errno
import hashlib
from pathlib import Path
import signal
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from puppet_clips.batch import ledger
from puppet_clips.batch.ledger import suite_version
from puppet_clips.batch.task import DONE, failed, NO_MEMORY, Outcome, Row, SKIPPED, Task
from puppet_core.body import Motion, N_SEGMENTS
from puppet_core.clips import bvh_text, read_clip
from puppet_core.io import PuppetError
from puppet_retarget.importance import SELF_IMPORTANCE
from puppet_retarget.offline import is_bag, report, require_finite, retarget_motion

MEMORY_EXIT = 77  # exit code of a process that got no memory outside of a task
STAGES = ('hash', 'read', 'retarget', 'quality', 'write')

_FRAMES = 8
_RATE_HZ = 100.0


def run_task(task: Task) -> Outcome:
    """Do a task that is not done; what goes wrong with a clip is the reason of the outcome."""
    start = thread_time()
    try:
        outcome = _outcome(task)
    except (PuppetError, OSError, RuntimeError) as err:
        outcome = failed(task, NO_MEMORY if wants_memory(err) else str(err))
    except MemoryError:
        outcome = failed(task, NO_MEMORY)
    except Exception as err:  # the edge of a worker: one clip must not end the run
        outcome = failed(task, f'{type(err).__name__}: {err}')
    return replace(outcome, cpu_s=thread_time() - start)


def timed_out(task: Task) -> str:
    return f'expected to take at most {task.timeout_s:g} s, took longer; see --timeout'


def wants_memory(error: BaseException) -> bool:
    """Return whether an error means that there is no memory left."""
    return isinstance(error, MemoryError) or getattr(error, 'errno', None) == errno.ENOMEM


def death(code: int | None) -> str:
    """Return how a process ended, from its exit code as multiprocessing has it."""
    if code == MEMORY_EXIT:
        return 'ran out of memory; see --memory-gib'
    if code is not None and code < 0:
        try:
            return f'ended by {signal.Signals(-code).name}'
        except ValueError:
            return f'ended by signal {-code}'
    return f'ended with exit code {code}'


def _outcome(task: Task) -> Outcome:
    if task.version != suite_version():
        return failed(
            task, f'worker: expected version {task.version} of the suite, got {suite_version()}'
        )
    clock = _Clock(task)
    key = ledger.task_key(task)
    row = None if task.redo else ledger.finished_row(task, key)
    if row is not None:
        return Outcome(task.number, SKIPPED, row)
    clock.lap('hash')
    motion, names, notes = _read(task)
    clock.lap('read')
    return Outcome(task.number, DONE, _make(task, key, clock, motion, names, notes))


def _read(task: Task) -> tuple[Motion, str, tuple[str, ...]]:
    """Return the performer's motion, the joint names that fitted, and what is odd about it."""
    if is_bag(task.clip):
        from puppet_view.bag_motion import read_bag_motion

        return read_bag_motion(task.clip)[0], '', ()
    read = read_clip(task.clip, task.asf, task.reading.name_map, task.reading.options)
    return read.motion, read.names, read.notes


def _make(
    task: Task, key: str, clock: '_Clock', motion: Motion, names: str, notes: tuple[str, ...]
) -> Row:
    result = retarget_motion(
        motion, task.job, clock.require_time, self_columns=SELF_IMPORTANCE + 1
    )
    require_finite(result)
    clock.lap('retarget')
    figures = report(motion, task.job, result)
    clock.lap('quality')
    data = result.file_data(task.job.character, motion.rate_hz, task.out.suffix)
    ledger.put(task, data, task.out)
    clock.lap('write')
    row = {
        **_flat(figures),
        'rate_hz': motion.rate_hz,
        'seconds': motion.n_frames / motion.rate_hz,
        'names': names,
        'notes': '; '.join(notes),
        'key': key,
        'output_sha256': hashlib.sha256(data).hexdigest(),
        **clock.columns(),
    }
    ledger.write_record(task, key, row['output_sha256'], row)
    return row


class _Clock:
    """Time of this thread by stages, and what passed on the wall, which has an end."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._start, self._at = perf_counter(), thread_time()
        self._laps: dict[str, float] = {}

    def require_time(self, frames: int = 0) -> None:
        """Raise TimeoutError if no time is left."""
        if 0.0 < self._task.timeout_s < perf_counter() - self._start:
            raise TimeoutError(timed_out(self._task))

    def lap(self, stage: str) -> None:
        self.require_time()
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


def warm_up(tasks: Iterable[Task]) -> None:
    """Run everything that the tasks need on a few frames, for each character."""
    jobs = {id(task.job): task.job for task in tasks}
    for job in jobs.values():
        skeleton = job.character.skeleton
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (_FRAMES, N_SEGMENTS, 1))
        roots = np.tile([0.0, 0.0, skeleton.leg_length], (_FRAMES, 1))
        still = Motion.from_rotations(skeleton, _RATE_HZ, roots, rotations)
        report(still, job, retarget_motion(still, job))
        with TemporaryDirectory() as folder:
            clip = Path(folder, 'still.bvh')
            clip.write_text(bvh_text(still), encoding='utf-8')
            read_clip(clip)
