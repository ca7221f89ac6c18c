# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Work that processes of the batch tests are given, and what they leave behind."""

import csv
import errno
import os
import shutil
import signal

from body_fixtures import floor_only
from puppet_clips.batch.plan import find_clips, make_tasks
from puppet_clips.batch.retarget_file import run_task
from puppet_clips.batch.task import Reading
from puppet_retarget.offline.whole_motion import RetargetJob

VICTIM, KILLER = 'victim.bvh', 'killer.bvh'


def waits_to_be_killed_once(task):
    pid_file = task.out_dir / 'pid'
    if task.name == VICTIM and not pid_file.exists():
        part = pid_file.with_suffix('.part')
        part.write_text(str(os.getpid()))
        part.rename(pid_file)
        signal.pause()
    return run_task(task)


def dies_of_the_killer(task):
    if task.name == KILLER:
        with open(task.out_dir / 'deaths', 'a', encoding='utf-8') as file:
            file.write('x')
        os.kill(os.getpid(), signal.SIGKILL)
    return run_task(task)


def hangs_over_the_killer(task):
    if task.name == KILLER:
        signal.pause()
    return run_task(task)


def finds_no_memory(task):
    raise OSError(errno.ENOMEM, 'Cannot allocate memory')


def plan_of(clip, folder, character, names):
    for name in names:
        path = folder / 'in' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(clip, path)
    job = RetargetJob(character, floor_only())

    def plan(out):
        found = find_clips(folder / 'in', folder / out)
        return make_tasks(folder / 'in', folder / out, found, [job], Reading())

    return plan


def outputs(folder, pattern='*.bvh'):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob(pattern))
    }


def finished(out):
    """Return how many clips have their record; folders come and go meanwhile."""
    try:
        return len(list(out.glob('.batch/records/**/*.json')))
    except FileNotFoundError:
        return 0


def table(path):
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))
