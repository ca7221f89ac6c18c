# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The process that reads damaged files, started again behind each case that ends or holds it."""

from collections.abc import Iterator
from contextlib import suppress
import json
import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from robustness.fuzz.worker import CRASH, HANG, UNDAMAGED

CASE_LIMIT_S = 60.0  # of a case, on a machine that has other work
POLL_S = 0.05
WORKER = (sys.executable, '-m', 'robustness.fuzz.worker')


class Reader:
    """
    The process that reads; ended when it reports nothing for too long, or somebody stops the run.

    Parameters
    ----------
    seed : int
        Of the damage.
    folder : Path
        For the files, also those that reading takes; whoever made it removes it.
    stopping : Event
        Ends the process, whatever it does.

    """

    def __init__(self, seed: int, folder: Path, stopping: threading.Event) -> None:
        self._words = [str(seed), str(folder)]
        self._environ = {**os.environ, 'TMPDIR': str(folder)}
        self._stopping = stopping
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._deadline = math.inf
        self._was_slow = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> 'Reader':
        """Begin to watch it."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._closed.set()
        self._thread.join()
        self._end()

    def cases(self, name: str, first: int, count: int) -> Iterator[dict[str, Any]]:
        """Yield what becomes of cases of a kind, those that end their process too."""
        stop = first + count
        while first < stop:
            begun: dict[str, Any] | None = None
            for line in self._turn(name, first, stop - first):
                if 'end' in line:
                    return
                begun = line if 'begin' in line else None
                if begun is None:
                    yield line
            code = self._end()
            if self._stopping.is_set():
                return
            yield self._lost(begun or {'begin': first, 'what': 'between cases'}, name, code)
            if begun is None or begun['begin'] == UNDAMAGED:
                return  # the next process would end the same way
            first = begun['begin'] + 1

    def _turn(self, name: str, first: int, count: int) -> Iterator[dict[str, Any]]:
        """Yield its report of a turn; the last one is its end, if it comes to that."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended: there is nothing to report
            process.stdin.write(f'{name} {first} {count}\n')
            process.stdin.flush()
        self._give_time(CASE_LIMIT_S)
        for text in process.stdout:
            line = json.loads(text)
            self._give_time(math.inf if 'end' in line else CASE_LIMIT_S)
            yield line
            if 'end' in line:
                return

    def _started(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._process is None:
                # a group of its own: Ctrl-C is not for it, and what it starts ends with it
                self._process = subprocess.Popen(
                    [*WORKER, *self._words],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    env=self._environ,
                    start_new_session=True,
                )
                self._was_slow = False
            return self._process

    def _give_time(self, seconds: float) -> None:
        with self._lock:
            self._deadline = time.monotonic() + seconds

    def _watch(self) -> None:
        while not self._closed.wait(POLL_S):
            with self._lock:
                is_slow = time.monotonic() > self._deadline
                if self._process is not None and (is_slow or self._stopping.is_set()):
                    self._was_slow = is_slow
                    _kill(self._process)

    def _end(self) -> int:
        """End it and return its exit code, 0 if there is none."""
        with self._lock:
            process, self._process, self._deadline = self._process, None, math.inf
        if process is None:
            return 0
        _kill(process)
        with process:  # closes the pipes and waits
            with suppress(BrokenPipeError):
                process.communicate()
        return process.returncode

    def _lost(self, begun: dict[str, Any], name: str, code: int) -> dict[str, Any]:
        outcome = HANG if self._was_slow else CRASH
        return {
            'case': begun['begin'],
            'kind': name,
            'what': begun['what'],
            'outcome': outcome,
            'text': f'process: {code}',
            's': CASE_LIMIT_S if outcome == HANG else 0.0,
            'mb': 0.0,
        }


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
