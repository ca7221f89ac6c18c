# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Work that processes of the batch tests are given, and what they leave behind."""

import csv
import errno
import os
from pathlib import Path
import resource
import signal

import numpy as np
from puppet_clips.batch.retarget_file import run_task
from puppet_clips.batch.task import failed, Outcome, Task

VICTIM, KILLER = 'victim.bvh', 'killer.bvh'
ROOM_BYTES = 20_000_000
NO_ROOM = 'pages'


def waits_to_be_killed_once(task: Task) -> Outcome:
    """Tell the own process id and wait, the first time that the victim is at work."""
    told = task.out_dir / 'pid'
    if task.name == VICTIM and not told.exists():
        part = told.with_suffix('.part')
        part.write_text(str(os.getpid()))
        part.rename(told)
        signal.pause()
    return run_task(task)


def dies_of_the_killer(task: Task) -> Outcome:
    """Die over one clip every time, after noting that."""
    if task.name == KILLER:
        with open(task.out_dir / 'deaths', 'a', encoding='utf-8') as file:
            file.write('x')
        os.kill(os.getpid(), signal.SIGKILL)
    return run_task(task)


def hangs_over_the_killer(task: Task) -> Outcome:
    """Never end one clip."""
    if task.name == KILLER:
        signal.pause()
    return run_task(task)


def finds_no_memory(task: Task) -> Outcome:
    """Fail as what is outside of a task does."""
    raise OSError(errno.ENOMEM, 'Cannot allocate memory')


def asks_twice_for_room(task: Task) -> Outcome:
    """Fill a room and free it, twice; tell how many pages the system gave for each."""
    told = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        rows = [np.ones(ROOM_BYTES // 80) for _ in range(10)]
        told.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        del rows
    return failed(task, NO_ROOM, f'{told[0]} {told[1]}')


def outputs(folder: Path) -> dict[str, bytes]:
    """Return the clips below a folder by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob('*.bvh'))
    }


def finished(out: Path) -> int:
    """Return how many clips have their record; folders come and go meanwhile."""
    try:
        return len(list(out.glob('.batch/records/**/*.json')))
    except FileNotFoundError:
        return 0


def table(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV file."""
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))
