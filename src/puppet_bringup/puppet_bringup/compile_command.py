# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet dev compile`: kernels compiled before the nodes start, once for a state of the sources.

A node that compiles keeps the compiler's memory for good, and nodes that start together
compile the same kernels side by side. So each node is first run just to compile, one after
another in two rows; afterwards all of them load what is cached. Only where `./puppet` gives
a cache folder that is new for every state of the sources; elsewhere nodes compile themselves.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import threading
import time

from puppet_bringup import process_table
from puppet_bringup.supervisor import die_with_parent
from puppet_core.io import (
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    run_command,
    stop_on_signals,
)
from puppet_ros import config_files

CACHE_VARIABLE = 'NUMBA_CACHE_DIR'
MARK = 'compiled'
COMPILE_ONLY = '--compile-only'
POLL_S = 0.1
# by shared kernels: what one node compiles, the next of its row finds
ROWS = (
    ('tracker_driver', 'pose_filter', 'performer', process_table.PIPELINE),
    ('retarget', 'importance', 'visualization'),
)


def compile_kernels(
    listed: Sequence[process_table.Process],
    config_dir: Path,
    environ: Mapping[str, str],
    stopping: threading.Event,
    say: Callable[[str], None],
) -> bool:
    """
    Fill the kernel cache unless that was done; a node that fails here will report why later.

    Return whether all is compiled. `listed` are about to be started in this environment;
    `stopping` ends the compilation early, `say` takes a line of progress.
    """
    folder = environ.get(CACHE_VARIABLE, '')
    if not folder:
        return False
    if (Path(folder) / MARK).exists():
        return True
    nodes = {process.name: process for process in listed if process.is_node or process.nodes}

    def run(node: process_table.Process) -> bool:
        start = time.monotonic()
        program, *arguments = process_table.command_line(node, config_dir)
        with subprocess.Popen(
            [program, COMPILE_ONLY, *arguments],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid()),
        ) as child:
            while child.poll() is None:
                if stopping.wait(POLL_S):
                    child.terminate()
                    child.wait()
                    return False
        if child.returncode != 0:
            say(f'{node.name} did not compile: it ended with {child.returncode}')
            return False
        say(f'compiled {node.name} in {time.monotonic() - start:.0f} s')
        return True

    def run_row(names: Sequence[str]) -> bool:
        return all(run(nodes[name]) for name in names if name in nodes)

    say('compiling kernels, once: a minute or two')
    with ThreadPoolExecutor(len(ROWS)) as pool:
        is_done = all(list(pool.map(run_row, ROWS)))
    if is_done:
        (Path(folder) / MARK).touch()
    return is_done


NAME = 'puppet dev compile'
EXAMPLE = 'example: ./puppet setup && ./puppet dev compile'


def parser() -> argparse.ArgumentParser:
    return CommandParser(
        prog=NAME,
        epilog=EXAMPLE,
        description='Compile the kernels of all nodes, unless that was done: for an image of a\n'
        'machine, or before many programs start at once. Without it the first start does so.',
    )


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(NAME, lambda: _compile(parser().parse_args(argv)))


def _compile(_: argparse.Namespace) -> int:
    environ = process_table.child_environment(os.environ)
    if not environ.get(CACHE_VARIABLE):
        raise ConfigError(f'{CACHE_VARIABLE}: expected a folder, got none')

    def say(text: str) -> None:
        print(f'{NAME}: {text}', flush=True)

    stopping = stop_on_signals()
    with tempfile.TemporaryDirectory(prefix='puppet_compile_') as folder:
        listed = process_table.prepared(process_table.SIM, {}, Path(folder))
        is_done = compile_kernels(listed, config_files.config_dir(), environ, stopping, say)
    if stopping.is_set():
        raise KeyboardInterrupt
    return EXIT_OK if is_done else EXIT_FAILED


if __name__ == '__main__':
    sys.exit(main())
