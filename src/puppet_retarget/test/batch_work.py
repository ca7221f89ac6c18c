# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Work that processes of the batch tests are given: the real one, with accidents."""

import os
from pathlib import Path
import signal

from puppet_retarget.offline.batch.retarget_file import run_task
from puppet_retarget.offline.batch.task import Outcome, Task

VICTIM, KILLER = 'victim.bvh', 'killer.bvh'


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


def outputs(folder: Path) -> dict[str, bytes]:
    """Return the clips below a folder by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob('*.bvh'))
    }
