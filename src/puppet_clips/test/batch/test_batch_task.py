# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One task: what spoils it is a reason, and a run that is over writes nothing any more."""

from dataclasses import replace
import os
from pathlib import Path
import shutil

from batch_work import outputs
from body_fixtures import floor_only
from puppet_clips.batch import ledger
from puppet_clips.batch.batch_run import BatchResult, run_batch
from puppet_clips.batch.plan import make_tasks
from puppet_clips.batch.retarget_file import run_task
from puppet_clips.batch.task import DONE, FAILED, Reading, SKIPPED
from puppet_retarget.offline.whole_motion import RetargetJob
import pytest

ODD_NAMES = (
    'a b.bvh',
    'ä-日本.bvh',
    'two\nlines.bvh',
    '"quoted",.bvh',
    os.fsdecode(b'\xff\xfe.bvh'),
    251 * 'x' + '.bvh',  # as long as a file system takes
)


@pytest.fixture
def task(walk_bvh, tmp_path, performer):
    (tmp_path / 'in').mkdir()
    shutil.copy(walk_bvh, tmp_path / 'in' / 'walk.bvh')
    job = RetargetJob(performer, floor_only())
    (task,) = make_tasks(tmp_path / 'in', tmp_path / 'out', ['walk.bvh'], [job], Reading())
    return task


def here(tasks):
    yield from map(run_task, tasks)


def test_a_run_that_is_over_writes_nothing(task):
    with ledger.held(task.out_dir) as first:
        left_over = replace(task, run=first, parameters='others')
    with ledger.held(task.out_dir) as second:
        assert run_task(replace(task, run=second)).status == DONE
        before = task.out.read_bytes(), task.record.read_bytes()
        assert run_task(left_over).status == FAILED
        assert (task.out.read_bytes(), task.record.read_bytes()) == before
        assert run_task(replace(task, run=second)).status == SKIPPED


@pytest.mark.parametrize('kind', ['pipe', 'loop', 'folder', 'gone', 'slow'])
def test_unreadable_clip_fails_with_a_reason(task, kind):
    if kind == 'slow':
        task = replace(task, timeout_s=1e-9)
    else:
        task.clip.unlink()
    if kind == 'pipe':  # to open it would be to wait
        os.mkfifo(task.clip)
    elif kind == 'folder':
        task.clip.mkdir()
    elif kind == 'loop':
        task.clip.symlink_to(task.clip)
    with ledger.held(task.out_dir) as run:
        outcome = run_task(replace(task, run=run))
    assert outcome.status == FAILED and not task.out.exists()
    assert ('--timeout' if kind == 'slow' else 'walk.bvh') in outcome.reason


def test_a_full_disk_is_a_reason_and_leaves_no_part(task, monkeypatch):
    def write(path, data):
        with open(path, 'wb') as file:
            file.write(data[: len(data) // 2])
        raise OSError(28, 'No space left on device', str(path))

    with ledger.held(task.out_dir) as run:
        monkeypatch.setattr(Path, 'write_bytes', write)
        outcome = run_task(replace(task, run=run))
        assert outcome.status == FAILED and 'No space left' in outcome.reason
        assert not list(replace(task, run=run).part().parent.iterdir()) and not task.out.exists()


def test_odd_names_are_done_and_listed(task):
    for name in ODD_NAMES:
        shutil.copy(task.clip, task.clip.with_name(name))
    tasks = make_tasks(task.clip.parent, task.out_dir, ODD_NAMES, [task.job], Reading())
    result = BatchResult()
    run_batch(tasks, here, result)
    assert result.counts == {DONE: len(ODD_NAMES), SKIPPED: 0, FAILED: 0}
    folder = task.job.character.name
    assert set(outputs(task.out_dir)) == {f'{folder}/{name}' for name in ODD_NAMES}
    text = (task.out_dir / 'summary.csv').read_text(encoding='utf-8')
    assert 'ä-日本.bvh' in text and '"two\nlines.bvh"' in text and r'\udcff\udcfe.bvh' in text
