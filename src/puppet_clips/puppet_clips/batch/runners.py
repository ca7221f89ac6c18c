# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Who does the tasks of a batch: processes of this machine, or the workers of a Dask cluster.

The task of a process that died is given again, and given up after several. One that takes too long
ends itself, or is ended with its process. Nothing of the cluster is started or stopped here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
import multiprocessing
from multiprocessing import forkserver
from multiprocessing.connection import Connection
import os
import resource
import signal
import threading
from time import monotonic
from typing import Any

from puppet_clips.batch.ledger import suite_version
from puppet_clips.batch.retarget_file import death, MEMORY_EXIT, run_task, timed_out, wants_memory
from puppet_clips.batch.task import failed, KILLED, NO_MEMORY, Outcome, Task
from puppet_core.io import ConfigError, how_to_install

MAX_ATTEMPTS = 3
# read when numpy is loaded: a process works on one core
THREAD_VARIABLES = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
# read by glibc when a process begins: what a clip has freed is kept for the next one [bytes];
# given back, every page of it would have to be asked for anew, by all processes in turn
HEAP_VARIABLES = {'MALLOC_MMAP_THRESHOLD_': 32 << 20, 'MALLOC_TRIM_THRESHOLD_': 256 << 20}
GRACE_S = 30.0  # a process may take to begin, and to end a task that takes too long
_JOIN_S = 5.0

TASKS_PER_THREAD = 2  # of a cluster: one at work, one to go on with
MIN_TASKS = 4
RETRIES = 2
CONNECT_S = 10.0
LOOK_S = 1.0  # how often the cluster is asked who works
NO_WORKER_S = 60.0  # a worker that died may be started again


class LocalRunner:
    """
    So many processes; see `task.Runner`.

    Each has an address space of `memory_bytes`, a clip that needs more fails; 0 for any. `work`,
    a function of a module, is what is done with a task.
    """

    def __init__(
        self, workers: int, memory_bytes: int = 0, work: Callable[[Task], Outcome] = run_task
    ) -> None:
        self._n_workers, self._memory_bytes, self._work = workers, memory_bytes, work

    def __call__(self, tasks: Iterator[Task]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each task, in the order in which they end."""
        # the server has everything imported and the environment of its start; compiled code loads
        # BLAS, which would wait for ever for the memory that a limited process does not have
        preloaded = [run_task.__module__, 'scipy.linalg.blas']
        multiprocessing.get_context('forkserver').set_forkserver_preload(preloaded)
        with _environment():
            forkserver.ensure_running()
        self._ending = threading.Event()
        self._workers: list[_Worker] = []
        self._own = threading.local()  # the process of each thread
        given: set[Future[Outcome]] = set()
        threads = ThreadPoolExecutor(self._n_workers)
        try:
            while True:
                room = self._n_workers - len(given)
                given |= {threads.submit(self._do, task) for task in islice(tasks, room)}
                if not given:
                    return
                done, given = wait(given, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            self._ending.set()
            for worker in self._workers:
                worker.end()
            threads.shutdown()

    def _do(self, task: Task) -> Outcome:
        """Have a task done by the process of this thread, or by the next ones if it dies."""
        codes: list[int | None] = []
        while len(codes) < MAX_ATTEMPTS and not self._ending.is_set():
            worker = getattr(self._own, 'worker', None)
            if worker is None:
                worker = self._own.worker = _Worker(self._work, self._memory_bytes)
                self._workers.append(worker)
                if self._ending.is_set():
                    worker.end()
            try:
                return worker.outcome(task)
            except TimeoutError:
                worker.end()
                self._own.worker = None
                return failed(task, timed_out(task))
            except (EOFError, OSError):
                codes.append(worker.end())
                self._own.worker = None
        return _over_which_they_died(task, codes, limited=self._memory_bytes > 0)


class _Worker:
    def __init__(self, work: Callable[[Task], Outcome], memory_bytes: int) -> None:
        context = multiprocessing.get_context('forkserver')
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, work, memory_bytes), daemon=True
        )
        self._process.start()
        self._is_busy = False
        self._ending = threading.Lock()
        theirs.close()

    def outcome(self, task: Task) -> Outcome:
        """Return what came of a task; raise EOFError or OSError if the process died over it."""
        self._is_busy = True
        self._connection.send(task)
        if not self._connection.poll(task.timeout_s + GRACE_S if task.timeout_s else None):
            raise TimeoutError
        outcome = self._connection.recv()
        self._is_busy = False
        assert isinstance(outcome, Outcome)
        return outcome

    def end(self) -> int | None:
        """End the process, if it has not ended; return its exit code."""
        with self._ending:  # by its own thread and by the run
            if self._is_busy:
                self._process.terminate()
            else:
                self._connection.close()  # which it notices
            self._process.join(_JOIN_S)
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join()
            return self._process.exitcode


def _over_which_they_died(task: Task, codes: Sequence[int | None], *, limited: bool) -> Outcome:
    """Return the failure of a task over which processes died, some of them for want of memory."""
    ends = ', '.join(dict.fromkeys(death(code) for code in codes))
    if MEMORY_EXIT in codes:
        return failed(task, NO_MEMORY, f'{len(codes)} times, {ends}')
    hint = ', perhaps out of memory; see --memory-gib' if limited else ''
    return failed(task, KILLED, f'{len(codes)} times, {ends}{hint}')


def _serve(connection: Connection, work: Callable[[Task], Outcome], memory_bytes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who gives tasks ends us
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    while True:
        try:
            connection.send(work(connection.recv()))
        except (EOFError, OSError, MemoryError) as err:
            if wants_memory(err):
                os._exit(MEMORY_EXIT)  # to end in order would want some
            return


@contextmanager
def _environment() -> Iterator[None]:
    """Let what is started keep to one thread, and its heap unless the user has set it."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, '1'))
    if not HEAP_VARIABLES.keys() & before.keys():
        os.environ.update({name: str(value) for name, value in HEAP_VARIABLES.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class DaskRunner:
    """The workers of a scheduler's cluster; ConfigError if there is none of this version."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as err:
            hint = how_to_install('cluster', 'distributed')
            raise ConfigError(f'--dask: distributed is not installed ({err}); {hint}') from err
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError, KeyError) as err:
            raise ConfigError(
                f'--dask: expected the address of a scheduler, got {address!r}: {_line(err)}'
            ) from err
        try:
            _check_workers(self._client)
        except BaseException:
            self._client.close()
            raise

    def __call__(self, tasks: Iterator[Task]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each task, in the order in which they end."""
        executor = self._client.get_executor(pure=False, retries=RETRIES)
        given: dict[Future[Outcome], Task] = {}
        worked = monotonic()
        try:
            while True:
                # as many as keep all workers busy, no more: a library may have millions
                with _scheduler_needed():
                    threads = sum(self._client.nthreads().values())
                    room = max(MIN_TASKS, TASKS_PER_THREAD * threads) - len(given)
                    given |= {
                        executor.submit(run_task, task): task for task in islice(tasks, room)
                    }
                if not given:
                    return
                done, _ = wait(given, LOOK_S, return_when=FIRST_COMPLETED)
                for future in done:
                    with _scheduler_needed():
                        outcome = _outcome(future, given.pop(future))
                    yield outcome
                now = monotonic()
                worked = now if done or threads else worked
                if now - worked > NO_WORKER_S:
                    raise RuntimeError(
                        f'the cluster has had no worker for {NO_WORKER_S:g} s; finished outputs '
                        'is kept'
                    )
        finally:
            self._client.close()  # what is given and not done is forgotten


def _check_workers(client: Any) -> None:
    try:
        versions = client.run(suite_version)
    except ImportError as err:
        raise ConfigError(
            f'--dask: expected workers with the suite installed, got one without ({err})'
        ) from err
    for worker, version in versions.items():
        if version != suite_version():
            raise ConfigError(
                f'--dask: expected workers of version {suite_version()}, got {version} at {worker}'
            )


@contextmanager
def _scheduler_needed() -> Iterator[None]:
    """Report that the scheduler is gone, in place of the many ways in which that shows."""
    try:
        yield
    except (CancelledError, asyncio.CancelledError, OSError, TimeoutError) as err:
        raise RuntimeError('the scheduler is gone; finished outputs are kept') from err


def _outcome(future: Future[Outcome], task: Task) -> Outcome:
    """Return what came of a task; one that the scheduler gave up has failed."""
    from distributed import KilledWorker

    try:
        return future.result()
    except (CancelledError, asyncio.CancelledError, OSError):
        raise
    except KilledWorker as err:
        return failed(task, KILLED, _line(err))
    except Exception as err:  # whatever a worker's installation raises
        return failed(task, f'its worker raised {type(err).__name__}', _line(err))


def _line(err: BaseException) -> str:
    return ' '.join(str(err).split()) or type(err).__name__
