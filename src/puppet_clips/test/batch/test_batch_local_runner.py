# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that do tasks: any number makes the same files, a dead one loses nothing."""

from contextlib import closing
from dataclasses import replace
import multiprocessing
import os
import signal
import threading
from time import monotonic

import batch_work
from puppet_clips.batch.batch_run import BatchResult, run_batch
from puppet_clips.batch.runners import LocalRunner, MAX_ATTEMPTS
from puppet_clips.batch.task import DONE, FAILED, KILLED, NO_MEMORY, SKIPPED
import pytest

pytestmark = pytest.mark.slow

DEADLINE_S = 120.0
NAMES = ('a.bvh', 'b/c.bvh', batch_work.VICTIM, 'x/y/z.bvh', batch_work.KILLER)


@pytest.fixture
def planned(walk_bvh, tmp_path, performer):
    return batch_work.plan_of(walk_bvh, tmp_path, performer, NAMES)


@pytest.fixture
def undisturbed(planned, tmp_path):
    run_batch(planned('one'), LocalRunner(1), BatchResult())
    return batch_work.outputs(tmp_path / 'one')


def test_a_killed_process_loses_nothing(planned, undisturbed, tmp_path):
    pid_file, killed = tmp_path / 'two' / 'pid', []

    def kill():
        end = monotonic() + DEADLINE_S
        while not pid_file.exists() and monotonic() < end:
            pass
        killed.append(int(pid_file.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = BatchResult()
    run_batch(planned('two'), LocalRunner(2, work=batch_work.waits_to_be_killed_once), result)
    killer.join()
    assert killed and result.counts[DONE] == len(NAMES)
    assert batch_work.outputs(tmp_path / 'two') == undisturbed


def test_a_clip_that_kills_its_process_fails_alone(planned, undisturbed, tmp_path):
    result = BatchResult()
    run_batch(planned('two'), LocalRunner(2, work=batch_work.dies_of_the_killer), result)
    assert result.counts == {DONE: len(NAMES) - 1, SKIPPED: 0, FAILED: 1}
    assert (tmp_path / 'two' / 'deaths').read_text() == MAX_ATTEMPTS * 'x'
    (failure,) = result.failures
    assert (failure['clip'], failure['reason']) == (batch_work.KILLER, KILLED)
    assert f'{MAX_ATTEMPTS} times, ended by SIGKILL' in failure['detail']
    assert b'SIGKILL' not in (tmp_path / 'two' / 'summary.csv').read_bytes()
    assert b'SIGKILL' in (tmp_path / 'two' / 'failed.csv').read_bytes()
    wanted = {name: data for name, data in undisturbed.items() if batch_work.KILLER not in name}
    assert batch_work.outputs(tmp_path / 'two') == wanted


def test_a_clip_that_hangs_fails_alone(planned, undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr('puppet_clips.batch.runners.GRACE_S', 0.0)
    result, tasks = BatchResult(), planned('two')
    # the others have all the time they need
    tasks = [replace(t, timeout_s=0.5 if t.name == batch_work.KILLER else 0.0) for t in tasks]
    run_batch(tasks, LocalRunner(2, work=batch_work.hangs_over_the_killer), result)
    (failure,) = result.failures
    assert failure['clip'] == batch_work.KILLER and 'at most 0.5 s' in failure['reason']
    wanted = {name: data for name, data in undisturbed.items() if batch_work.KILLER not in name}
    assert batch_work.outputs(tmp_path / 'two') == wanted
    assert not multiprocessing.active_children()


def test_tasks_are_taken_as_there_is_room_and_a_closed_run_leaves_no_process(planned):
    taken = []
    tasks = planned('two')
    (tasks[0].out_dir / '.batch' / 'parts').mkdir(parents=True)

    def lazily():
        for task in tasks:
            taken.append(task.number)
            yield task

    with closing(LocalRunner(2)(lazily())) as outcomes:
        assert next(outcomes).status == DONE
        assert len(taken) == 2  # the next is taken when the next outcome is asked for
        assert len(multiprocessing.active_children()) == 2
    assert not multiprocessing.active_children()


@pytest.mark.parametrize('limited', [True, False])
def test_too_little_memory_is_a_reason(planned, limited):
    """Whoever finds no memory, Python or a compiled library, the limit is named."""
    runner = (
        LocalRunner(1, memory_bytes=350 << 20)
        if limited
        else LocalRunner(1, work=batch_work.finds_no_memory)
    )
    result = BatchResult()
    run_batch(planned('two')[:1], runner, result)
    (failure,) = result.failures
    assert failure['reason'] == NO_MEMORY or (limited and failure['reason'] == KILLED)
    assert limited or '--memory-gib' in failure['detail']
