# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Workers of a Dask cluster that do tasks (dask.distributed, an optional package).

The cluster is somebody's who keeps it running: nothing is started or stopped here. Its workers
see the same folders under the same names, and have the same version of the suite. The scheduler
gives the task of a worker that died to another one, and gives up a task that killed several.

"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError
from typing import Any, TYPE_CHECKING
from uuid import uuid4

from puppet_core.errors import ConfigError
from puppet_retarget.offline.batch.digest import suite_version
from puppet_retarget.offline.batch.retarget_file import run_task
from puppet_retarget.offline.batch.task import failed, Outcome, Task

if TYPE_CHECKING:
    from distributed import Client

TASKS_PER_THREAD = 2  # one at work, one to go on with
MIN_TASKS = 4
RETRIES = 2
CONNECT_S = 10.0


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
            self._give(run, given, pool, tasks)
            while given:
                future = next(pool)
                task = given.pop(future.key)
                yield _outcome(future, task)
                future.release()
                self._give(run, given, pool, tasks)
        finally:
            self._client.close()  # what is given and not done is forgotten

    def _give(
        self, run: str, given: dict[str, Task], pool: Any, tasks: Iterator[Task]
    ) -> None:
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


def _outcome(future: Any, task: Task) -> Outcome:
    """Return what a future holds; a task that the scheduler gave up has failed."""
    if future.status == 'finished':
        outcome = future.result()
        assert isinstance(outcome, Outcome)
        return outcome
    if future.status in ('cancelled', 'lost'):
        raise RuntimeError('the scheduler is gone; what is finished is kept')
    error = future.exception()
    if isinstance(error, CancelledError):
        raise RuntimeError('the scheduler is gone; what is finished is kept')
    return failed(task, f'{type(error).__name__}: {error}')


def _line(err: BaseException) -> str:
    return ' '.join(str(err).split()) or type(err).__name__
