# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet dev compile`: kernels compiled by processes that end, before the nodes start."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
import os
from pathlib import Path
import subprocess
import sys
import threading
import time

from puppet_bringup import process_table
from puppet_bringup.supervisor import die_with_parent
from puppet_core import io
from puppet_ros import config_files
from puppet_ros.node import COMPILE_ONLY
from puppet_ros.program_start import CACHE_VARIABLE

MARK = 'compiled'
POLL_S = 0.1
# by shared kernels: what one node compiles, the next of its row finds
ROWS = (
    ('pose_filter', 'performer', 'importance', 'tracker_driver', 'visualization'),
    ('retarget', process_table.PIPELINE),
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
    if is_compiled(environ):
        return True
    nodes = {process.name: process for process in listed if process.is_node or process.nodes}
    run = partial(_compile_node, config_dir, environ, stopping, say)

    def run_row(names: Sequence[str]) -> bool:
        return all(run(nodes[name]) for name in names if name in nodes)

    say('compiling kernels, once: a minute or two')
    with ThreadPoolExecutor(len(ROWS)) as pool:
        is_done = all(list(pool.map(run_row, ROWS)))
    if is_done and CACHE_VARIABLE in environ:
        (Path(environ[CACHE_VARIABLE]) / MARK).touch()
    return is_done


def _compile_node(
    config_dir: Path,
    environ: Mapping[str, str],
    stopping: threading.Event,
    say: Callable[[str], None],
    node: process_table.Process,
) -> bool:
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


def is_compiled(environ: Mapping[str, str]) -> bool:
    return CACHE_VARIABLE in environ and (Path(environ[CACHE_VARIABLE]) / MARK).exists()


NAME = 'puppet dev compile'
EXAMPLE = 'example: ./puppet setup && ./puppet dev compile'


def parser() -> argparse.ArgumentParser:
    p = io.CommandParser(
        prog=NAME,
        epilog=EXAMPLE,
        description='Compile the kernels of all nodes if they are not compiled yet: for an image\n'
        'of a machine, or before many programs start at once. Otherwise the first start does it.',
    )
    text = 'for launch files: compile only the default solver; exit code 0 after Ctrl-C'
    p.add_argument('--for-launch', action='store_true', help=text)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    return io.run_command(NAME, lambda: _compile(parser().parse_args(argv)))


def _compile(options: argparse.Namespace) -> int:
    environ, config_dir = process_table.child_environment(os.environ), config_files.config_dir()
    stopping = io.stop_on_signals(options.for_launch)
    with io.run_folder('puppet_compile') as folder:

        def table(solver: str) -> tuple[process_table.Process, ...]:
            return process_table.prepared(process_table.SIM, {'solver': solver}, folder)

        is_done = compile_kernels(table(''), config_dir, environ, stopping, _say)
        for solver in () if options.for_launch else process_table.SOLVERS:
            (node,) = (process for process in table(solver) if process.name == 'retarget')
            is_done &= _compile_node(config_dir, environ, stopping, _say, node)
    return io.EXIT_OK if is_done or stopping.is_set() else io.EXIT_FAILED


def _say(text: str) -> None:
    print(f'{NAME}: {text}', flush=True)


if __name__ == '__main__':
    sys.exit(main())
