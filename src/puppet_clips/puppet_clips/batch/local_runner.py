# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Processes of this machine that do tasks, one task at a time each.

A process that dies takes nothing with it but the task it had, which is given again; so it is
known which task was at work when a process died, and one that kills every process is given up.
A task that takes too long ends itself; one that does not get to that is ended with its process.

"""

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
import math
import multiprocessing
from multiprocessing.connection import Connection, wait
import os
import resource
import signal
from time import monotonic

from puppet_clips.batch.retarget_file import death, MEMORY_EXIT, run_task, timed_out, wants_memory
from puppet_clips.batch.task import failed, KILLED, NO_MEMORY, Outcome, Task

MAX_ATTEMPTS = 3
# read when numpy is loaded: a process works on one core
THREAD_VARIABLES = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
# read by glibc when a process begins: what a clip has freed is kept for the next one [bytes];
# given back, every page of it would have to be asked for anew, by all processes in turn
HEAP_VARIABLES = {'MALLOC_MMAP_THRESHOLD_': 32 << 20, 'MALLOC_TRIM_THRESHOLD_': 256 << 20}
GRACE_S = 30.0  # a process may take to begin, and to end a task that takes too long
_JOIN_S = 5.0


class LocalRunner:
    """
    So many processes; see `task.Runner`.

    Parameters
    ----------
    workers : int
        How many.
    memory_bytes : int
        Address space that each may have; a clip that wants more fails. 0 for any.
    work : callable
        What is done with a task, a function of a module.

    """

    def __init__(
        self,
        workers: int,
        memory_bytes: int = 0,
        work: Callable[[Task], Outcome] = run_task,
    ) -> None:
        self._workers, self._memory_bytes, self._work = workers, memory_bytes, work

    def __call__(self, tasks: Iterator[Task]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each task, in the order in which they end."""
        deaths: dict[int, list[int | None]] = defaultdict(list)  # exit codes
        again: deque[Task] = deque()
        workers: list[_Worker] = []
        try:
            while True:
                self._give(workers, again, tasks)
                busy = {worker.connection: worker for worker in workers if worker.task}
                if not busy:
                    return
                for connection in wait(list(busy), _shortest(busy.values())):
                    worker = busy[connection]  # type: ignore[index]
                    task, outcome = worker.task, worker.outcome()
                    assert task is not None
                    if outcome is None:
                        workers.remove(worker)
                        code = worker.end()
                        deaths[task.number].append(code)
                        if len(deaths[task.number]) < MAX_ATTEMPTS:
                            again.append(task)
                            continue
                        outcome = _over_which_they_died(
                            task, deaths[task.number], limited=self._memory_bytes > 0
                        )
                    yield outcome
                yield from self._late(workers)
        finally:
            for worker in workers:
                worker.end()

    def _late(self, workers: list['_Worker']) -> Iterator[Outcome]:
        """End processes that have been at their task for too long; it is not given again."""
        for worker in [worker for worker in workers if worker.left_s() <= 0.0]:
            workers.remove(worker)
            task = worker.task
            worker.end()
            assert task is not None
            yield failed(task, timed_out(task))

    def _give(self, workers: list['_Worker'], again: deque[Task], tasks: Iterator[Task]) -> None:
        """Give a task to everybody who has none, while there are any."""
        idle = [worker for worker in workers if worker.task is None]
        while idle or len(workers) < self._workers:
            task = again.popleft() if again else next(tasks, None)
            if task is None:
                return
            if not idle:
                idle.append(_Worker(self._work, self._memory_bytes))
                workers.append(idle[0])
            idle.pop().give(task)


class _Worker:
    """A process, and the task that it is at."""

    def __init__(self, work: Callable[[Task], Outcome], memory_bytes: int) -> None:
        # a server has everything imported; what it forks inherits no pipe of another's
        context = multiprocessing.get_context('forkserver')
        context.set_forkserver_preload([run_task.__module__])
        self.connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, work, memory_bytes), daemon=True
        )
        with _environment():
            self._process.start()
        theirs.close()
        self.task: Task | None = None
        self._end = math.inf

    def give(self, task: Task) -> None:
        """Send a task."""
        self.task = task
        self._end = monotonic() + task.timeout_s + GRACE_S if task.timeout_s else math.inf
        try:
            self.connection.send(task)
        except OSError:
            pass  # it is dead, which `outcome` finds out

    def left_s(self) -> float:
        """Return the time until its task has to be ended [s], inf without a task."""
        return max(self._end - monotonic(), 0.0) if self.task else math.inf

    def outcome(self) -> Outcome | None:
        """Return what came of the task, None if the process died over it."""
        self.task = None
        try:
            outcome = self.connection.recv()
        except (EOFError, OSError):
            return None
        assert isinstance(outcome, Outcome)
        return outcome

    def end(self) -> int | None:
        """End the process, if it has not ended; return its exit code."""
        self.connection.close()  # one that has no task ends by that
        if self.task is not None:
            self._process.terminate()
        self._process.join(_JOIN_S)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        return self._process.exitcode


def _over_which_they_died(task: Task, codes: Sequence[int | None], *, limited: bool) -> Outcome:
    """
    Return the failure of a task over which processes died.

    That one of them said it wanted memory is its reason. Compiled libraries do not say it: with a
    limit, processes ended by SIGSEGV and by SIGABRT were seen.

    """
    ends = ', '.join(dict.fromkeys(death(code) for code in codes))
    if MEMORY_EXIT in codes:
        return failed(task, NO_MEMORY, f'{len(codes)} times, {ends}')
    hint = ', maybe for want of memory; see --memory-gib' if limited else ''
    return failed(task, KILLED, f'{len(codes)} times, {ends}{hint}')


def _serve(connection: Connection, work: Callable[[Task], Outcome], memory_bytes: int) -> None:
    """Do tasks until nobody is at the other end."""
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


def _shortest(workers: Iterable[_Worker]) -> float | None:
    """Return the time until the first one has to be ended [s], None for none."""
    left_s = min(worker.left_s() for worker in workers)
    return left_s if math.isfinite(left_s) else None


@contextmanager
def _environment() -> Iterator[None]:
    """Let what is started keep to one thread, and its heap unless the user has set it."""
    ours = dict.fromkeys(THREAD_VARIABLES, '1')
    if not HEAP_VARIABLES.keys() & os.environ.keys():
        ours.update({name: str(value) for name, value in HEAP_VARIABLES.items()})
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
