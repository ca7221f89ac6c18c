# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet up NAME [argument:=value ...]`: a launch description without `ros2 launch`."""

import argparse
from collections.abc import Sequence
import os
import sys
import threading

from puppet_bringup.compile_command import compile_kernels
from puppet_bringup.process_table import (
    arguments_of,
    child_environment,
    command_line,
    PLAYER,
    prepared,
    Process,
    REPLAY,
    SOURCES,
    VARIANTS,
)
from puppet_bringup.respawner import process_report, ProcessReport, Respawner, WATCH_PERIOD_S
from puppet_bringup.supervisor import Supervisor
from puppet_core import io
from puppet_ros import config_files
from puppet_ros.node import ALLOW_SECOND
from puppet_ros.process import check_free, middleware_settings

NO_BAG = 'no --bag is given; the nodes wait for: ./puppet run puppet_replay play BAG --clock'
EXAMPLE = 'example: ./puppet up sim character:=sally view:=true'


def parser() -> argparse.ArgumentParser:
    lines = []
    for variant, summary in VARIANTS.items():
        own = (f'  {a.name}:={a.default or "..":6} {a.description}' for a in arguments_of(variant))
        lines += [f'{variant}: {summary}', *own]
    p = io.CommandParser(
        prog='puppet up',
        description='Start the nodes of a launch description.',
        epilog='\n'.join(lines) + f'\n\n{EXAMPLE}',
    )
    p.add_argument('name', choices=tuple(VARIANTS), help='launch description')
    p.add_argument('arguments', nargs='*', metavar='ARGUMENT:=VALUE', help='see below')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    return io.run_command('puppet up', lambda: _start(as_assignments(words)))


def _start(words: Sequence[str]) -> int:
    options = parser().parse_intermixed_args(words)
    stopping = io.stop_on_signals()
    os.environ.update(middleware_settings(os.environ))
    given = read_arguments(options.arguments)
    with io.run_folder('puppet_up') as folder:
        waits = options.name == REPLAY and not given.get('bag')
        return _run(prepared(options.name, given, folder), stopping, NO_BAG if waits else '')


def as_assignments(words: Sequence[str]) -> list[str]:
    """Return words in which --name value and --name=value are name:=value."""
    found, rest = [], iter(words)
    for word in rest:
        name, mark, value = word[2:].partition('=')
        if not word.startswith('--') or word in ('--', '--help', '--quiet', '--verbose'):
            found.append(word)
        else:
            found.append(f'{name.replace("-", "_")}:={value if mark else next(rest, "")}')
    return found


def read_arguments(words: Sequence[str]) -> dict[str, str]:
    values = {}
    for word in words:
        name, mark, value = word.partition(':=')
        if not mark or not name:
            raise io.ConfigError(f'argument: expected name:=value, got {word!r}')
        values[name] = value
    return values


def _run(listed: Sequence[Process], stopping: threading.Event, note: str) -> int:
    config_dir = config_files.config_dir()
    commands = [(process.name, command_line(process, config_dir)) for process in listed]
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    if not domain.isdecimal():
        raise io.ConfigError(f'ROS_DOMAIN_ID: expected a number, got {domain!r}')
    for process in listed:
        if ALLOW_SECOND not in process.arguments:
            for node in process.nodes or (process,):
                check_free(int(domain), f'{node.namespace}/{node.name}')
    width = max(len(name) for name, _ in commands)

    def show(name: str, line: str) -> None:
        print(f'[{name:{width}}] {line}', flush=True)

    with Supervisor(show, child_environment(os.environ), SOURCES) as supervisor:
        compile_kernels(
            listed, config_dir, supervisor.environ, stopping, lambda text: show('puppet_up', text)
        )
        respawner = Respawner(supervisor, commands, is_final)
        for name, _ in commands:
            if not stopping.is_set():
                respawner.start(name)
        if note:
            show('puppet_up', note)
        with process_report([name for name, _ in commands], listed[0].namespace) as report:
            return _keep(respawner, report, stopping)


def _keep(respawner: Respawner, report: ProcessReport, stopping: threading.Event) -> int:
    """Keep the programs running until asked to stop or one ends with an error."""
    worst = io.EXIT_OK
    while not stopping.wait(WATCH_PERIOD_S):
        news = respawner.tick()
        report.tick(news)
        for name, text, code, is_last in news:
            print(f'puppet up: {name} {text}', file=sys.stderr, flush=True)
            if code is not None and is_last:
                worst = max(worst, code if code == io.EXIT_BAD_INPUT else int(code != io.EXIT_OK))
        is_played = any(name == PLAYER and is_last for name, _, _, is_last in news)
        if worst != io.EXIT_OK or is_played or respawner.is_idle:
            break
    return worst


def is_final(name: str, exit_code: int) -> bool:
    """Return whether a program is not to be started again, whatever its end was."""
    return name == PLAYER


if __name__ == '__main__':
    sys.exit(main())
