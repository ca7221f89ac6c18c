# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A real scheduler and real workers on loopback, one killed: the files of the local run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
import json
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
from time import monotonic
from types import SimpleNamespace

from batch_work import outputs
from puppet_clips.batch import runners
from puppet_clips.batch.batch_run import BatchResult, run_batch
from puppet_clips.batch.plan import find_clips, make_tasks
from puppet_clips.batch.runners import DaskRunner, LocalRunner
from puppet_clips.batch.task import DONE, FAILED, KILLED, Outcome, Reading, SKIPPED, Task
from puppet_core.body.character import Character
from puppet_core.io import ConfigError
from puppet_retarget.importance.environment import floor_only
from puppet_retarget.offline.whole_motion import RetargetJob
import pytest

pytest.importorskip('distributed', reason='pip install distributed')

DEADLINE_S = 120.0
N_CLIPS = 12

Start = Callable[..., subprocess.Popen]


@pytest.fixture
def started() -> list[subprocess.Popen]:
    """Return the programs that were started, the scheduler first."""
    return []


@pytest.fixture
def start(started: list[subprocess.Popen]) -> Iterator[Start]:
    """Return a function that starts a program of Dask, which ends with the test."""
    with ExitStack() as stack:

        def call(program: str, *words: str) -> subprocess.Popen:
            process = subprocess.Popen(
                [sys.executable, '-m', f'distributed.cli.dask_{program}', *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, 'PYTHONPATH': ':'.join(sys.path)},
            )
            started.append(process)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        yield call


@pytest.fixture
def scheduler(start: Start, tmp_path: Path) -> str:
    """Return the address of a scheduler."""
    file, end = tmp_path / 'scheduler.json', monotonic() + DEADLINE_S
    process = start(
        'scheduler',
        '--host',
        '127.0.0.1',
        '--port',
        '0',
        '--no-dashboard',
        '--scheduler-file',
        str(file),
    )
    while monotonic() < end and process.poll() is None:
        try:
            return json.loads(file.read_text())['address']
        except (OSError, ValueError):
            pass
    raise AssertionError('the scheduler did not start')


@pytest.fixture
def workers(start: Start, scheduler: str, tmp_path: Path) -> list[subprocess.Popen]:
    """Return two workers, both known to the scheduler."""
    from distributed import Client

    processes = [
        start(
            'worker',
            scheduler,
            '--nthreads',
            '1',
            '--no-nanny',
            '--no-dashboard',
            '--local-directory',
            str(tmp_path / f'worker{n}'),
        )
        for n in range(2)
    ]
    with Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=DEADLINE_S)
    return processes


@pytest.fixture
def planned(walk_bvh: Path, tmp_path: Path, performer: Character) -> Callable[[str], list[Task]]:
    """Return a function that plans the same library into a folder of a name."""
    (tmp_path / 'in').mkdir()
    for number in range(N_CLIPS):
        shutil.copy(walk_bvh, tmp_path / 'in' / f'{number}.bvh')
    job = RetargetJob(performer, floor_only())

    def plan(out: str) -> list[Task]:
        names = find_clips(tmp_path / 'in', tmp_path / out)
        return make_tasks(tmp_path / 'in', tmp_path / out, names, [job], Reading())

    return plan


@pytest.mark.slow
def test_a_killed_worker_changes_no_byte(
    workers: list[subprocess.Popen],
    scheduler: str,
    planned: Callable[[str], list[Task]],
    tmp_path: Path,
) -> None:
    def kill(outcome: Outcome) -> None:
        if workers[0].poll() is None:
            workers[0].send_signal(signal.SIGKILL)
            workers[0].wait()

    result = BatchResult()
    run_batch(planned('dask'), DaskRunner(scheduler), result, kill)
    assert workers[0].returncode == -signal.SIGKILL and workers[1].poll() is None
    # of an outcome that was lost with its worker the output is found finished
    assert result.counts[DONE] + result.counts[SKIPPED] == N_CLIPS and not result.counts[FAILED]
    run_batch(planned('local'), LocalRunner(1), BatchResult())
    assert outputs(tmp_path / 'dask') == outputs(tmp_path / 'local')
    tables = [(tmp_path / out / 'summary.csv').read_bytes() for out in ('dask', 'local')]
    assert tables[0] == tables[1]
    again = BatchResult()
    run_batch(planned('dask'), DaskRunner(scheduler), again)
    assert again.counts == {DONE: 0, SKIPPED: N_CLIPS, FAILED: 0}


@pytest.mark.slow
def test_a_scheduler_that_goes_ends_the_run(
    workers: list[subprocess.Popen],
    scheduler: str,
    started: list[subprocess.Popen],
    planned: Callable[[str], list[Task]],
    tmp_path: Path,
) -> None:
    def kill(outcome: Outcome) -> None:
        started[0].kill()

    result = BatchResult()
    with pytest.raises(RuntimeError, match='the scheduler is gone'):
        run_batch(planned('dask'), DaskRunner(scheduler), result, kill)
    assert 1 <= result.counts[DONE] < N_CLIPS
    assert (tmp_path / 'dask' / 'summary.csv').is_file()


@pytest.mark.slow
def test_a_cluster_without_workers_ends_the_run(
    workers: list[subprocess.Popen],
    scheduler: str,
    planned: Callable[[str], list[Task]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr('puppet_clips.batch.runners.LOOK_S', 0.1)
    monkeypatch.setattr('puppet_clips.batch.runners.NO_WORKER_S', 2.0)

    def kill(outcome: Outcome) -> None:
        for worker in workers:
            worker.kill()

    result = BatchResult()
    with pytest.raises(RuntimeError, match='has had no worker'):
        run_batch(planned('dask'), DaskRunner(scheduler), result, kill)
    assert 1 <= result.counts[DONE] < N_CLIPS


def test_a_clip_that_killed_its_workers_has_the_local_reason(
    planned: Callable[[str], list[Task]],
) -> None:
    from distributed import KilledWorker

    class Given:
        def result(self) -> Outcome:
            raise KilledWorker('a-key', SimpleNamespace(address='tcp://127.0.0.1:9'), 3)

    outcome = runners._outcome(Given(), planned('dask')[0])
    assert (outcome.status, outcome.reason) == (FAILED, KILLED)
    assert 'a-key' in outcome.detail


def test_nobody_at_the_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('puppet_clips.batch.runners.CONNECT_S', 0.5)
    with pytest.raises(ConfigError, match='--dask: expected the address of a scheduler'):
        DaskRunner('tcp://127.0.0.1:9')
    with pytest.raises(ConfigError, match='--dask: expected the address of a scheduler'):
        DaskRunner('nowhere at all')
