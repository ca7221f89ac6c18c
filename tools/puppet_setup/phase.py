# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A long command with its output in a log, one line of progress, and its failure in a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
import re
import selectors
import subprocess
import sys
import time
from typing import BinaryIO

from puppet_setup.faults import last_lines, likely_cause, SetupError

PLAIN_INTERVAL_S = 10.0
TERMINAL_INTERVAL_S = 0.2
STOP_PATIENCE_S = 5.0


def say(text: str) -> None:
    """Tell the user something, apart from the command's own output."""
    print(f'puppet: {text}', file=sys.stderr, flush=True)


@dataclass
class Progress:
    """One line on a terminal that is drawn again; plain lines now and then in a log."""

    title: str
    counted: re.Pattern[str] | None = None
    """Lines of output that are steps of the work."""
    total: int = 0
    """How many such lines are expected."""
    seen: int = 0
    started: float = field(default_factory=time.monotonic)
    shown: float = field(default_factory=time.monotonic)
    on_terminal: bool = field(default_factory=lambda: sys.stderr.isatty())

    def begin(self) -> None:
        """Show the title."""
        if not self.on_terminal:
            say(self.title)

    def feed(self, line: str) -> None:
        """Count a line of output."""
        if self.counted and self.counted.match(line):
            self.seen = min(self.seen + 1, self.total)

    def show(self) -> None:
        """Show where the work is, if it is time to."""
        now = time.monotonic()
        interval = TERMINAL_INTERVAL_S if self.on_terminal else PLAIN_INTERVAL_S
        if now - self.shown < interval:
            return
        self.shown = now
        steps = f'{self.seen} of {self.total}, ' if self.total else ''
        text = f'{self.title}: {steps}{now - self.started:.0f} s'
        if self.on_terminal:
            print(f'\r\x1b[Kpuppet: {text}', end='', file=sys.stderr, flush=True)
        else:
            say(f'  {text}')

    def end(self, outcome: str) -> None:
        """Show how it went and how long it took."""
        if self.on_terminal:
            print('\r\x1b[K', end='', file=sys.stderr)
        elapsed_s = time.monotonic() - self.started
        say(f'{self.title}: {outcome} ({elapsed_s:.0f} s)')


@dataclass(frozen=True)
class PhaseRunner:
    """Runs the commands of a set-up, one after the other."""

    logs: Path
    """Folder of the logs, one file a phase."""

    folder: Path
    """Working folder of the commands."""

    held: tuple[int, ...] = ()
    """Files that the commands keep open: a lock holds until the last of them has ended."""

    def run(self, command: list[str], environ: Mapping[str, str], progress: Progress,
            log_name: str) -> None:
        """
        Run a command to its end, or stop it if this process is interrupted.

        Raises
        ------
        SetupError : if it fails, with the likely cause or the end of its output.

        """
        log = self.logs / f'{log_name}.log'
        progress.begin()
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            with log.open('wb') as sink:
                status = self._follow(command, environ, sink, progress)
        except OSError as err:
            raise SetupError(f'{progress.title}: {likely_cause(str(err)) or err}') from err
        if status == 0:
            progress.end('done')
            return
        progress.end('failed')
        output = log.read_text(errors='replace')
        cause = likely_cause(output)
        if cause:
            raise SetupError(f'{progress.title}: {cause} (log: {log})')
        raise SetupError(f'{progress.title}: {command[0]} ended with status {status}; the end of'
                         f' {log} is\n{last_lines(output)}')

    def _follow(self, command: list[str], environ: Mapping[str, str], sink: BinaryIO,
                progress: Progress) -> int:
        """Copy the command's output to the log and the progress; return its exit status."""
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=dict(environ), cwd=self.folder,
                              pass_fds=self.held) as process:
            try:
                assert process.stdout is not None
                _copy_lines(process.stdout.fileno(), sink, progress)
                return process.wait()
            except BaseException:
                _stop(process)
                raise


def _copy_lines(source: int, sink: BinaryIO, progress: Progress) -> None:
    """Copy from a file descriptor until it ends, and let the progress see the lines."""
    rest = b''
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while True:
            progress.show()
            if not selector.select(TERMINAL_INTERVAL_S):
                continue
            data = os.read(source, 65536)
            if not data:
                return
            sink.write(data)
            *lines, rest = (rest + data).split(b'\n')
            for line in lines:
                progress.feed(line.decode(errors='replace'))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process, politely first."""
    process.terminate()
    try:
        process.wait(STOP_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
