# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes as a group: stopped by SIGINT, SIGTERM, SIGKILL; on Linux none outlives us."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
import contextlib
import ctypes
from dataclasses import dataclass, field
from functools import partial
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time

from puppet_ros import program_start
from puppet_ros.program_start import is_program

KEPT_LINES = 40
STOP_STEPS = ((signal.SIGINT, 5.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
SOURCE_PATIENCE_S = 2.0
POLL_S = 0.02
_PR_SET_PDEATHSIG = 1
# loaded here, because a child that is forked beside other threads may not load anything
_prctl = ctypes.CDLL(None).prctl if sys.platform == 'linux' else None

LineSink = Callable[[str, str], None]


@dataclass(slots=True)
class Child:
    name: str
    command: tuple[str, ...]
    popen: subprocess.Popen
    reader: threading.Thread
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    is_reported: bool = False

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative for a signal; None while it runs."""
        return self.popen.poll()


class Supervisor:
    """Named children; `sources` are stopped first; `on_line(name, line)` is called in threads."""

    def __init__(
        self, on_line: LineSink, environ: Mapping[str, str], sources: Sequence[str] = ()
    ) -> None:
        self._on_line = on_line
        self._sources = tuple(sources)
        self._environ = dict(environ, PYTHONUNBUFFERED='1')
        self._children: dict[str, Child] = {}

    def __enter__(self) -> 'Supervisor':
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    @property
    def children(self) -> tuple[Child, ...]:
        """All children in the order of their start."""
        return tuple(self._children.values())

    def child(self, name: str) -> Child:
        return self._children[name]

    def start(self, name: str, command: Sequence[str]) -> Child:
        """Start a program; one of the same name must have ended."""
        old = self._children.get(name)
        assert old is None or old.exit_code is not None, f'{name} is running'
        child = Child(name, tuple(command), self._popen(command), threading.Thread(daemon=True))
        child.reader = threading.Thread(target=self._read, args=(child,), daemon=True)
        child.reader.start()
        self._children[name] = child
        return child

    def _popen(self, command: Sequence[str]) -> subprocess.Popen:
        is_ours = is_program(Path(command[0]))
        starter = (sys.executable, program_start.__file__) if is_ours else ()
        return subprocess.Popen(
            [*starter, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environ,
            text=True,
            errors='replace',
            start_new_session=True,
            preexec_fn=partial(_begin, os.getpid(), {signal.SIGINT} if is_ours else set()),
        )

    def ended(self) -> list[Child]:
        """Return the children that have ended since the last call."""
        news = [c for c in self.children if not c.is_reported and c.exit_code is not None]
        for child in news:
            child.reader.join(timeout=1.0)
            child.is_reported = True
        return news

    def stop(self) -> None:
        """End all children that still run, the sources first, and wait for them."""
        sources = [c for c in self.children if c.name in self._sources and c.exit_code is None]
        for child in sources:
            self._signal(child, signal.SIGINT)
        _wait(sources, SOURCE_PATIENCE_S)
        for number, patience_s in STOP_STEPS:
            running = [c for c in reversed(self.children) if c.exit_code is None]
            if not running:
                break
            for child in running:
                self._signal(child, number)
            _wait(running, patience_s)
        for child in self.children:
            child.reader.join(timeout=1.0)

    def _signal(self, child: Child, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if number == signal.SIGKILL:
                os.killpg(child.popen.pid, number)  # with whatever it started itself
            else:
                child.popen.send_signal(number)

    def _read(self, child: Child) -> None:
        assert child.popen.stdout is not None
        with child.popen.stdout as stream:
            for line in stream:
                child.lines.append(line.rstrip('\n'))
                self._on_line(child.name, child.lines[-1])


def describe_end(child: Child) -> str:
    code = child.exit_code
    if code is None:
        return 'is running'
    if code >= 0:
        return f'ended with exit code {code}'
    try:
        return f'was ended by {signal.Signals(-code).name}'
    except ValueError:
        return f'was ended by signal {-code}'


def _wait(children: Sequence[Child], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while any(c.exit_code is None for c in children) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _begin(parent: int, waiting: Set[signal.Signals]) -> None:
    """In the child: what is to be so before the program starts; it lets the signals come."""
    die_with_parent(parent)
    signal.pthread_sigmask(signal.SIG_BLOCK, waiting)


def die_with_parent(parent: int) -> None:
    """Ask Linux for SIGTERM when this process's parent ends; end now if it has ended before."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
