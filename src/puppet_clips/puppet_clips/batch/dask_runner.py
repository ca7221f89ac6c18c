# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Workers of a Dask cluster that do tasks (dask.distributed, an optional package).

The cluster is somebody's who keeps it running: nothing is started or stopped here. Its workers
see the same folders under the same names, and have the same version of the suite. The scheduler
gives the task of a worker that died to another one, and gives up a task that killed several. A
task that takes too long ends itself. The run ends when nobody is left to work.

"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from time import monotonic
from typing import Any, TYPE_CHECKING
from uuid import uuid4

from puppet_clips.batch.ledger import suite_version
from puppet_clips.batch.retarget_file import run_task
from puppet_clips.batch.task import failed, KILLED, Outcome, Task
from puppet_core.io import ConfigError

if TYPE_CHECKING:
    from distributed import Client

TASKS_PER_THREAD = 2  # one at work, one to go on with
MIN_TASKS = 4
RETRIES = 2
CONNECT_S = 10.0
WAIT_S = 0.05
LOOK_S = 1.0  # how often it is asked who works
NO_WORKER_S = 60.0  # a worker that died may be started again


class DaskRunner:
    """
    The workers of a cluster; see `task.Runner`.

    Parameters
    ----------
    address : str
        The scheduler's, e.g. tcp://127.0.0.1:8786.

    Raises
    ------
    ConfigError : if the package is missing, nobody answers, or a worker has another version.

    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as err:
            raise ConfigError(
                f'--dask: dask.distributed is not installed ({err}); pip install distributed'
            ) from err
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError, KeyError) as err:
            raise ConfigError(
                f'--dask: expected the address of a scheduler, got {address!r}: {_line(err)}'
            ) from err
        try:
            self._check_workers()
        except BaseException:
            self._client.close()
            raise

    def __call__(self, tasks: Iterator[Task]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each task, in the order in which they end."""
        from distributed import as_completed

        run, given = f'puppet-batch-{uuid4().hex}', dict[str, Task]()
        pool = as_completed(loop=self._client.loop, raise_errors=False)
        try:
            while True:
                with _scheduler_needed():
                    self._give(run, given, pool, tasks)
                    if not given:
                        return
                    watch = _Watch(self._client, max(task.timeout_s for task in given.values()))
                    while not (pool.has_ready() or pool.is_empty()):
                        with (
                            pool.thread_condition
                        ):  # it is notified of most outcomes, so not for long
                            pool.thread_condition.wait(WAIT_S)
                        watch.look()
                    future = next(pool)
                    outcome = _outcome(future, given.pop(future.key), watch)
                    future.release()
                yield outcome
        finally:
            self._client.close()  # what is given and not done is forgotten

    def _give(self, run: str, given: dict[str, Task], pool: Any, tasks: Iterator[Task]) -> None:
        """Give as many tasks as keep all workers busy, no more: a library may have millions."""
        threads = sum(self._client.nthreads().values())
        while len(given) < max(MIN_TASKS, TASKS_PER_THREAD * threads):
            task = next(tasks, None)
            if task is None:
                return
            key = f'{run}-{task.number}'
            given[key] = task
            pool.add(self._client.submit(run_task, task, key=key, pure=False, retries=RETRIES))

    def _check_workers(self) -> None:
        client: Client = self._client
        try:
            versions = client.run(suite_version)
        except ImportError as err:
            raise ConfigError(
                f'--dask: expected workers with the suite installed, got one without ({err})'
            ) from err
        for worker, version in versions.items():
            if version != suite_version():
                raise ConfigError(
                    f'--dask: expected workers of version {suite_version()}, got {version} at '
                    f'{worker}'
                )


class _Watch:
    """Whether an outcome can be expected, while one is waited for."""

    def __init__(self, client: Client, longest_s: float) -> None:
        self._client, self._longest_s = client, longest_s
        self._began = self._worked = self._looked = monotonic()

    def look(self) -> None:
        """Raise RuntimeError if nobody works any more."""
        now = monotonic()
        if now - self._looked > LOOK_S:
            self._looked = now
            self._worked = now if self._has_workers() else self._worked
        if now - self._worked > NO_WORKER_S:
            raise RuntimeError(
                f'the cluster has had no worker for {NO_WORKER_S:g} s; what is finished is kept'
            )
        # one is at work and the others wait for it, then each has its own time
        if 0.0 < (TASKS_PER_THREAD + 1) * self._longest_s < now - self._began - NO_WORKER_S:
            raise RuntimeError(
                'the workers finish no clip, though each may take at most '
                f'{self._longest_s:g} s; what is finished is kept'
            )

    def _has_workers(self) -> bool:
        async def threads() -> Any:
            scheduler = self._client.scheduler
            assert scheduler is not None
            return await scheduler.ncores()

        try:
            return bool(self._client.sync(threads, callback_timeout=CONNECT_S))
        except (OSError, TimeoutError, asyncio.TimeoutError):
            return False  # a scheduler that is gone takes what was given along


@contextmanager
def _scheduler_needed() -> Iterator[None]:
    """Report that the scheduler is gone, in place of the many ways in which that shows."""
    try:
        yield
    except (CancelledError, asyncio.CancelledError, OSError) as err:
        raise RuntimeError('the scheduler is gone; what is finished is kept') from err


def _outcome(future: Any, task: Task, watch: _Watch) -> Outcome:
    """
    Return what came of a task; one that the scheduler gave up has failed.

    An outcome that was lost with its worker is waited for, as the scheduler has it made again.

    """
    from distributed import KilledWorker

    while True:
        try:
            outcome = future.result(timeout=LOOK_S)
            break
        except (TimeoutError, asyncio.TimeoutError):
            watch.look()
        except (CancelledError, asyncio.CancelledError, OSError):
            raise
        except KilledWorker as err:
            return failed(task, KILLED, _line(err))
        except Exception as err:  # whatever a worker's installation raises
            return failed(task, f'its worker raised {type(err).__name__}', _line(err))
    assert isinstance(outcome, Outcome)
    return outcome


def _line(err: BaseException) -> str:
    return ' '.join(str(err).split()) or type(err).__name__
