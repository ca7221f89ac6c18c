# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Run a long command: its output in a log, one line of progress, its failure in a sentence."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
import re
import subprocess
import sys
import time

PLAIN_INTERVAL_S = 10.0
TERMINAL_INTERVAL_S = 0.3
STOP_TIMEOUT_S = 5.0

# What the output of a failed command contains -> what it means and what to do.
KNOWN_CAUSES = {
    r'No space left on device': 'the disk is full; free some room (about 2 GB are needed)',
    r'name resolution|NewConnection|Network is unreach|Max retries|ConnectionReset|ReadTimeout'
    r'|ProxyError': 'the Python package index cannot be reached; check the network, the proxy'
    ' settings or PIP_INDEX_URL',
    r'SSLError|CERTIFICATE_VERIFY_FAILED': 'the certificate of the Python package index is not'
    ' trusted; set PIP_CERT to your certificates',
    r'requirement (\S+) \(from versions: none\)|No matching distribution found for (\S+)': 'the'
    ' Python package index does not answer, or does not have {} for this machine: wheels exist for'
    ' Linux on x86-64 with CPython 3.10 to 3.13; check PIP_INDEX_URL, or install ROS 2 Jazzy or'
    ' Kilted and source it',
    r'Permission denied': 'a file cannot be written; check who owns the checkout',
}

# What pip prints once per package with a local package index: not worth reading.
NOISE = re.compile(r'^WARNING: Location .* is ignored')


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


def report(text: str) -> None:
    """Tell the user something, apart from the command's own output."""
    print(f'puppet: {text}', file=sys.stderr, flush=True)


def likely_cause(output: str) -> str:
    """Return the sentence for the first known cause in the output; empty if none is known."""
    for pattern, sentence in KNOWN_CAUSES.items():
        if match := re.search(pattern, output):
            return sentence.format(next(filter(None, match.groups()), ''))
    return ''


def last_lines(output: str, count: int = 15) -> str:
    """Return the last lines of the output that are worth reading."""
    lines = [line for line in output.splitlines() if line.strip() and not NOISE.match(line)]
    return '\n'.join(lines[-count:])


@dataclass(frozen=True)
class Runner:
    """Runs the commands of a set-up, one after the other."""

    logs: Path  # Folder of the logs, one file a command
    folder: Path  # Working folder of the commands
    # Files that the commands keep open: a lock holds until the last of them has ended
    held: tuple[int, ...] = ()

    def run(
        self,
        name: str,
        title: str,
        command: list[str],
        environ: Mapping[str, str],
        step: str = '',
        total: int = 0,
    ) -> None:
        """
        Run a command to its end, or stop it if this process is interrupted.

        Lines of output that match `step` are counted up to `total`. Raises SetupError with the
        likely cause, or the end of the output, if the command fails.
        """
        log = self.logs / f'{name}.log'
        erase = '\r\x1b[K' if sys.stderr.isatty() else ''
        end, interval_s = ('', TERMINAL_INTERVAL_S) if erase else ('\n', PLAIN_INTERVAL_S)
        started = time.monotonic()
        if not erase:
            report(title)
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            with log.open('wb') as sink:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    env=dict(environ),
                    cwd=self.folder,
                    pass_fds=self.held,
                )
            try:
                while _wait(process, interval_s):
                    steps = len(re.findall(step, log.read_text(errors='replace'), re.MULTILINE))
                    counted = f'{min(steps, total)} of {total}, ' if total else ''
                    took = f'{counted}{time.monotonic() - started:.0f} s'
                    text = f'{erase}puppet: {title}: {took}'
                    print(text, end=end, file=sys.stderr, flush=True)
            finally:  # of what was interrupted
                process.terminate()
                if _wait(process, STOP_TIMEOUT_S):
                    process.kill()
        except OSError as err:
            raise SetupError(f'{title}: {likely_cause(str(err)) or err}') from err
        status = process.returncode
        print(erase, end='', file=sys.stderr)
        report(f'{title}: {"failed" if status else "done"} ({time.monotonic() - started:.0f} s)')
        if status:
            output = log.read_text(errors='replace')
            if cause := likely_cause(output):
                raise SetupError(f'{title}: {cause} (log: {log})')
            raise SetupError(
                f'{title}: {command[0]} ended with status {status}; the end of {log} is\n'
                + last_lines(output)
            )


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait for the end of the process; return whether it still runs after the time."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)
    return process.poll() is None
