# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the soak of simulated time: a performance is recorded, then looped without topics."""

import os
from pathlib import Path
import sys
import tempfile
import threading

from puppet_bringup.graph_run import EMULATOR, PipelineError
from puppet_bringup.process_table import child_environment, command_line, Process
from puppet_bringup.supervisor import Child, describe_end, Supervisor
from puppet_core.io import EXIT_FAILED
from puppet_ros import config_files
from robustness.soak import simulated

POLL_S = 0.2


def run_accelerated(
    hours: float, rate_hz: float, character: str, json: Path | None, stopping: threading.Event
) -> int:
    """
    Run simulated hours through the stages of the nodes; return the exit code.

    Parameters
    ----------
    hours : float
        Simulated time [h].
    rate_hz : float
        Frames per simulated second.
    character : str
        Name of the puppet.
    json : Path or None
        Where the figures go.
    stopping : Event
        Ends the run early; what there is of it is printed.

    Raises
    ------
    PipelineError : if the performance cannot be recorded.

    """

    def show(name: str, line: str) -> None:
        if name != EMULATOR:
            print(line, flush=True)

    with tempfile.TemporaryDirectory(prefix='puppet_soak_') as folder:
        bag = str(Path(folder) / 'performance.mcap')
        emulator = Process(
            EMULATOR,
            'puppet_driver',
            EMULATOR,
            is_node=False,
            arguments=('--export', bag, '--rate-hz', repr(rate_hz)),
        )
        words = [
            sys.executable,
            '-m',
            simulated.__name__,
            bag,
            '--hours',
            repr(hours),
            '--character',
            character,
        ]
        if json is not None:
            words += ['--json', str(json)]
        with Supervisor(show, child_environment(os.environ)) as supervisor:
            export = command_line(emulator, config_files.config_dir())
            made = _ended(supervisor, EMULATOR, export, stopping)
            if made.exit_code and not stopping.is_set():
                raise PipelineError(f'{made.name} {describe_end(made)}\n' + '\n'.join(made.lines))
            if stopping.is_set():
                return EXIT_FAILED  # nothing was evaluated
            child = _ended(supervisor, 'soak', words, stopping)
    return child.exit_code if child.exit_code in (0, 1, 2) else EXIT_FAILED


def _ended(
    supervisor: Supervisor, name: str, command: list[str], stopping: threading.Event
) -> Child:
    """Start a program and wait until it has ended or shall."""
    child = supervisor.start(name, command)
    while child.exit_code is None and not stopping.wait(POLL_S):
        pass
    if child.exit_code is not None:
        child.reader.join()
    return child
