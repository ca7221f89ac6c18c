# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet stress chaos`: faults happen to the running graph, and it must get over each of them.

Emulated tracker and all nodes run on a private ROS domain, kept as `puppet_up` keeps them. In a
seeded order nodes are killed and stopped, the tracker is unplugged, processors are taken, and
bad neighbours appear on the topics. For each fault it is measured when the joint states were
back, whether they were finite and without a jump, and what the diagnostics said.
"""

import argparse
from collections.abc import Sequence
from contextlib import suppress
import json
import os
from pathlib import Path
import sys
import tempfile
import time
import uuid

import psutil
from puppet_bringup.graph_run import use_own_domain
from puppet_bringup.process_table import child_environment, SOURCES
from puppet_bringup.supervisor import Supervisor
from puppet_core import named_files
from puppet_core.body import load_character
from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    note,
    run_command,
    stop_on_signals,
    write_text,
)
from robustness.chaos.report import Run, table
from robustness.chaos.run import ChaosRun, Settings
from robustness.chaos.schedule import KINDS, read_kinds

MARK = 'PUPPET_CHAOS_RUN'  # in the environment of everything that a run starts
GRACE_S, POLL_S = 2.0, 0.1
EXAMPLE = 'example: ./puppet stress chaos --seed 1 --minutes 5 --json chaos.json'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    kinds = '\n'.join(f'  {name:12} {kind.summary}' for name, kind in KINDS.items())
    p = CommandParser(
        prog='puppet stress chaos',
        epilog=f'faults:\n{kinds}\n\n{EXAMPLE}',
        description='Inject faults into the running graph and measure its recovery.',
    )
    p.add_argument(
        '--seed', type=int, default=1, help='random seed of the faults; default %(default)s'
    )
    p.add_argument(
        '--minutes',
        type=float,
        default=5.0,
        metavar='M',
        help='duration in minutes; default %(default)s',
    )
    p.add_argument(
        '--faults', default='', metavar='A,B', help='faults to inject, listed below; default: all'
    )
    p.add_argument('--composed', action='store_true', help='all nodes in one process')
    p.add_argument('--sim-time', action='store_true', help='run the nodes on /clock')
    p.add_argument(
        '--character', default='blubby', metavar='NAME', help='the puppet; default %(default)s'
    )
    p.add_argument('--json', type=Path, metavar='FILE', help='write all results to this file')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return the exit code."""
    return run_command('puppet stress chaos', lambda: _run(parser().parse_args(argv)))


def _settings(options: argparse.Namespace) -> Settings:
    """Return what to run, after everything that can be checked was checked."""
    if not 0.0 < options.minutes < float('inf'):
        raise ConfigError(f'--minutes: expected value > 0, got {options.minutes}')
    if options.seed < 0:
        raise ConfigError(f'--seed: expected value >= 0, got {options.seed}')
    if options.json is not None:
        check_writable(options.json, '--json')
    load_character(named_files.character_file(options.character))
    kinds = read_kinds(options.faults, options.sim_time, options.composed)
    return Settings(
        options.seed,
        60.0 * options.minutes,
        kinds,
        options.character,
        options.composed,
        options.sim_time,
    )


def _run(options: argparse.Namespace) -> int:
    stopping = stop_on_signals()
    settings = _settings(options)
    use_own_domain()
    mark = uuid.uuid4().hex
    start_s = time.monotonic()

    def say(text: str) -> None:
        note(f'[{time.monotonic() - start_s:6.1f} s] {text}')

    def show(name: str, line: str) -> None:
        if options.verbose:
            say(f'{name}: {line}')

    with tempfile.TemporaryDirectory(prefix='puppet_chaos_') as folder:
        environ = child_environment(os.environ, **{MARK: mark})
        with Supervisor(show, environ, SOURCES) as supervisor:
            chaos = ChaosRun(settings, supervisor, Path(folder), stopping, say)
            chaos.run()
    chaos.result.left = left_running(mark)
    return _report(options, chaos.result)


def _report(options: argparse.Namespace, result: Run) -> int:
    print('\n'.join(table(result)))
    if options.json is not None:
        write_text(options.json, json.dumps(result.as_json(), indent=2) + '\n')
        print(f'written to {options.json}')
    return EXIT_FAILED if result.misses() else EXIT_OK


def left_running(mark: str) -> list[str]:
    """Return what a run has left, after the kernel had its time to remove what was killed."""
    deadline = time.monotonic() + GRACE_S
    while (left := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return left


def processes_with(mark: str) -> list[str]:
    """Return the names of all processes that this run has started, and that live."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it may end meanwhile
            if _has_mark(process, mark):
                found.append(' '.join(process.cmdline()[:4]))
    return found


def _has_mark(process: psutil.Process, mark: str) -> bool:
    ours = process.environ().get(MARK) == mark
    return ours and process.status() != psutil.STATUS_ZOMBIE


if __name__ == '__main__':
    sys.exit(main())
