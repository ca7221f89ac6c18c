# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that do tasks: any number makes the same files, a dead one loses nothing."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
import multiprocessing
import os
from pathlib import Path
import platform
import shutil
import signal
import threading
from time import monotonic

from batch_work import (
    asks_twice_for_room,
    dies_of_the_killer,
    finds_no_memory,
    hangs_over_the_killer,
    KILLER,
    outputs,
    VICTIM,
    waits_to_be_killed_once,
)
from puppet_clips.batch.batch_run import BatchResult, run_batch
from puppet_clips.batch.plan import find_clips, make_tasks
from puppet_clips.batch.runners import LocalRunner, MAX_ATTEMPTS
from puppet_clips.batch.task import DONE, FAILED, KILLED, NO_MEMORY, Reading, SKIPPED, Task
from puppet_core.body.character import Character
from puppet_retarget.importance.environment import floor_only
from puppet_retarget.offline.whole_motion import RetargetJob
import pytest

DEADLINE_S = 120.0
NAMES = ('a.bvh', 'b/c.bvh', VICTIM, 'x/y/z.bvh', KILLER)

Planned = Callable[[str], list[Task]]


@pytest.fixture
def planned(walk_bvh: Path, tmp_path: Path, performer: Character) -> Planned:
    """Return a function that plans the same library into a folder of a name."""
    for name in NAMES:
        path = tmp_path / 'in' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(walk_bvh, path)
    job = RetargetJob(performer, floor_only())

    def plan(out: str) -> list[Task]:
        names = find_clips(tmp_path / 'in', tmp_path / out)
        return make_tasks(tmp_path / 'in', tmp_path / out, names, [job], Reading())

    return plan


@pytest.fixture
def undisturbed(planned: Planned, tmp_path: Path) -> dict[str, bytes]:
    """Return what one process makes."""
    run_batch(planned('one'), LocalRunner(1), BatchResult())
    return outputs(tmp_path / 'one')


def test_three_processes_make_what_one_makes(
    planned: Planned, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    result = BatchResult()
    run_batch(planned('three'), LocalRunner(3), result)
    assert result.counts == {DONE: len(NAMES), SKIPPED: 0, FAILED: 0}
    assert len(undisturbed) == len(NAMES)
    assert outputs(tmp_path / 'three') == undisturbed


def test_a_killed_process_loses_nothing(
    planned: Planned, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    told, killed = tmp_path / 'two' / 'pid', []

    def kill() -> None:
        end = monotonic() + DEADLINE_S
        while not told.exists() and monotonic() < end:
            pass
        killed.append(int(told.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = BatchResult()
    run_batch(planned('two'), LocalRunner(2, work=waits_to_be_killed_once), result)
    killer.join()
    assert killed and result.counts[DONE] == len(NAMES)
    assert outputs(tmp_path / 'two') == undisturbed


def test_a_clip_that_kills_its_process_fails_alone(
    planned: Planned, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    result = BatchResult()
    run_batch(planned('two'), LocalRunner(2, work=dies_of_the_killer), result)
    assert result.counts == {DONE: len(NAMES) - 1, SKIPPED: 0, FAILED: 1}
    assert (tmp_path / 'two' / 'deaths').read_text() == MAX_ATTEMPTS * 'x'
    (failure,) = result.failures
    assert (failure['clip'], failure['reason']) == (KILLER, KILLED)
    assert f'{MAX_ATTEMPTS} times, ended by SIGKILL' in failure['detail']
    assert b'SIGKILL' not in (tmp_path / 'two' / 'summary.csv').read_bytes()
    assert b'SIGKILL' in (tmp_path / 'two' / 'failed.csv').read_bytes()
    wanted = {name: data for name, data in undisturbed.items() if KILLER not in name}
    assert outputs(tmp_path / 'two') == wanted


def test_a_clip_that_hangs_fails_alone(
    planned: Planned,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr('puppet_clips.batch.runners.GRACE_S', 0.0)
    result, tasks = BatchResult(), planned('two')
    # the others have all the time they need
    tasks = [replace(t, timeout_s=0.5 if t.name == KILLER else 0.0) for t in tasks]
    run_batch(tasks, LocalRunner(2, work=hangs_over_the_killer), result)
    (failure,) = result.failures
    assert failure['clip'] == KILLER and 'at most 0.5 s' in failure['reason']
    wanted = {name: data for name, data in undisturbed.items() if KILLER not in name}
    assert outputs(tmp_path / 'two') == wanted
    assert not multiprocessing.active_children()


def test_tasks_are_taken_as_there_is_room(planned: Planned) -> None:
    taken: list[int] = []
    tasks = planned('two')
    (tasks[0].out_dir / '.batch' / 'parts').mkdir(parents=True)

    def lazily() -> object:
        for task in tasks:
            taken.append(task.number)
            yield task

    with closing(LocalRunner(2)(lazily())) as outcomes:
        assert next(outcomes).status == DONE
        assert len(taken) == 2  # the next is taken when the next outcome is asked for


def test_a_closed_run_leaves_no_process(planned: Planned) -> None:
    tasks = planned('two')
    (tasks[0].out_dir / '.batch' / 'parts').mkdir(parents=True)
    with closing(LocalRunner(2)(iter(tasks))) as outcomes:
        next(outcomes)
        assert len(multiprocessing.active_children()) == 2
    assert not multiprocessing.active_children()


@pytest.mark.parametrize('limit_mib', [1, 350])
def test_too_little_memory_is_a_reason(planned: Planned, limit_mib: int) -> None:
    """Whoever finds no memory, Python or a compiled library, the limit is named."""
    result = BatchResult()
    run_batch(planned('two')[:1], LocalRunner(1, memory_bytes=limit_mib << 20), result)
    (failure,) = result.failures
    assert failure['reason'] == NO_MEMORY or (
        failure['reason'] == KILLED and '--memory-gib' in failure['detail']
    ), (failure['reason'], failure['detail'])


@pytest.mark.skipif(
    platform.libc_ver()[0] != 'glibc', reason='other libraries keep memory by rules of their own'
)
def test_a_process_keeps_the_memory_that_a_clip_has_freed(planned: Planned) -> None:
    result = BatchResult()
    run_batch(planned('two')[:1], LocalRunner(1, work=asks_twice_for_room), result)
    (failure,) = result.failures
    first, second = map(int, failure['detail'].split())
    assert second < 0.2 * first  # first: pages, small or huge


def test_a_process_without_memory_says_so(planned: Planned) -> None:
    result = BatchResult()
    run_batch(planned('two')[:1], LocalRunner(1, work=finds_no_memory), result)
    (failure,) = result.failures
    assert failure['reason'] == NO_MEMORY and '--memory-gib' in failure['detail']
