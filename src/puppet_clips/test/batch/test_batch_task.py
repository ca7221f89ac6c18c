# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One task: what spoils it is a reason, and a run that is over writes nothing any more."""

from dataclasses import replace
import os
from pathlib import Path
import shutil

from batch_work import outputs
from body_fixtures import floor_only
from puppet_clips.batch import ledger, retarget_file
from puppet_clips.batch.batch_run import BatchResult, run_batch
from puppet_clips.batch.plan import make_tasks
from puppet_clips.batch.retarget_file import run_task
from puppet_clips.batch.task import DONE, FAILED, Reading, SKIPPED
from puppet_core.clips.load import read_clip
from puppet_core.io import InputFileError
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


def test_a_clip_that_is_being_written_is_not_taken(task, monkeypatch):
    def read(path, *rest):
        found = read_clip(path)
        with open(path, 'a', encoding='utf-8') as file:
            file.write('\n')
        return found

    monkeypatch.setattr(retarget_file, 'read_clip', read)
    with ledger.held(task.out_dir) as run:
        outcome = run_task(replace(task, run=run))
    assert outcome.status == FAILED and 'is being written' in outcome.reason
    assert not task.out.exists()


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


def test_only_a_clip_that_was_refused_takes_its_output_along(task, monkeypatch):
    """What else goes wrong says nothing of the output of an earlier run."""
    run_batch([task], here, BatchResult())
    made = task.out.read_bytes(), task.record.read_bytes()

    def fails_with(error):
        def read(*_):
            raise error

        result = BatchResult()
        with monkeypatch.context() as patch:
            patch.setattr(retarget_file, 'read_clip', read)
            run_batch([replace(task, redo=True)], here, result)
        assert result.counts[FAILED] == 1

    lost = InputFileError(task.clip, 'a readable file', 'an error')
    lost.__cause__ = OSError(5, 'Input/output error')
    refused = InputFileError(task.clip, 'a clip', 'none')  # of the very input it was made of
    for error in (MemoryError(), OSError(28, 'No space left'), RuntimeError(), lost, refused):
        fails_with(error)
        assert (task.out.read_bytes(), task.record.read_bytes()) == made
    for spoilt in (
        replace(task, version='another', redo=True),
        replace(task, timeout_s=1e-9, redo=True),
    ):
        run_batch([spoilt], here, BatchResult())
        assert (task.out.read_bytes(), task.record.read_bytes()) == made
    task.clip.write_text('no clip')
    run_batch([task], here, BatchResult())
    assert not task.out.exists() and not task.record.exists()


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
