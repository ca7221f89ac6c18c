# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_demo`: a performance drives a puppet, live, through real ROS 2 processes.

Emulated tracker, driver, filter, performer, importance, retarget and visualization are
processes of their own on a private ROS domain; this one watches, and sums up at the end.

"""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys
import tempfile
import threading
import time

from puppet_bringup.figures import Figures, figures, summary
from puppet_bringup.graph_run import (
    check_rate,
    EXIT_FAILED,
    EXIT_OK,
    run_graph_command,
    simulation,
    use_own_domain,
    watched_graph,
    WatchedGraph,
)
from puppet_bringup.process import Process
from puppet_bringup.usage_meter import Usage
from puppet_core import atomic_file
from puppet_core.character import load_character
from puppet_core.clip_options import UP_AXES
from puppet_core.errors import ConfigError
from puppet_ros import share

MAX_DOMAIN_ID = 232  # what the ports of DDS leave room for
VIEWER = 'puppet_view'
EXAMPLE = 'example: puppet_demo --headless --duration 20 --character sally --json demo.json'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='puppet_demo',
        description='An emulated performance drives a puppet, live, on ROS 2 topics.',
        epilog=EXAMPLE,
    )
    p.add_argument('--clip', default='', metavar='FILE', help='BVH, AMC, C3D; built in if absent')
    p.add_argument('--asf', default='', metavar='FILE', help='skeleton of an AMC clip')
    p.add_argument('--name-map', default='', metavar='MAP', help="names of the clip's joints")
    p.add_argument('--unit', default='', metavar='U', help="the clip's: mm, cm, in, m or metres")
    p.add_argument('--up-axis', default='', choices=('', *UP_AXES[1:]),
                   help="the clip's axis that points up; --up-axis=-y if it points down")
    p.add_argument('--character', default='blubby', metavar='NAME',
                   help='the puppet; default %(default)s')  # fmt: skip
    p.add_argument('--solver', default='', metavar='NAME', help='importance_based if absent')
    p.add_argument('--environment', default='', metavar='NAME',
                   help='demo if absent, floor with --clip')  # fmt: skip
    p.add_argument('--rate-hz', type=float, default=120.0,
                   help='frames per second; default %(default)s')  # fmt: skip
    p.add_argument('--duration', type=float, default=0.0, metavar='S',
                   help='seconds of streaming to measure; until Ctrl-C if absent')  # fmt: skip
    p.add_argument('--composed', action='store_true', help='all nodes in one process')
    p.add_argument('--realtime', action='store_true',
                   help='the nodes before ordinary programs, processors awake')  # fmt: skip
    p.add_argument('--pin', default='', metavar='N,..',
                   help='processors for the nodes, one each in turns')  # fmt: skip
    p.add_argument('--headless', action='store_true', help='without the browser view')
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures there')
    p.add_argument('--domain-id', type=int, metavar='N', help='ROS domain; a free one if absent')
    p.add_argument('--verbose', action='store_true', help='show what the nodes say')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    options = parser().parse_args(argv)

    def run(stopping: threading.Event) -> int:
        with tempfile.TemporaryDirectory(prefix='puppet_demo_') as folder:
            return _run(options, _checked_processes(options, Path(folder)), stopping)

    return run_graph_command('puppet_demo', run)


def _checked_processes(options: argparse.Namespace, folder: Path) -> tuple[Process, ...]:
    """Return the processes of the simulation, after everything that can be read was read."""
    if not 0.0 <= options.duration < float('inf'):
        raise ConfigError(f'--duration: expected seconds >= 0, got {options.duration}')
    check_rate('--rate-hz', options.rate_hz)
    if options.domain_id is not None and not 0 <= options.domain_id <= MAX_DOMAIN_ID:
        raise ConfigError(
            f'--domain-id: expected 0 <= value <= {MAX_DOMAIN_ID}, got {options.domain_id}'
        )
    if options.json is not None:
        atomic_file.check_writable(options.json, '--json')
    load_character(share.character_file(options.character))
    if options.environment:
        share.environment_file(options.environment)
    return simulation(
        folder, options.character, options.rate_hz, options.composed,
        solver=options.solver,
        environment=options.environment or ('floor' if options.clip else 'demo'),
        clip=options.clip, asf=options.asf, name_map=options.name_map, unit=options.unit,
        up_axis=options.up_axis, view='false' if options.headless else 'true',
        realtime=str(options.realtime).lower(), pin=options.pin,
    )  # fmt: skip


def _run(
    options: argparse.Namespace, listed: Sequence[Process], stopping: threading.Event
) -> int:
    domain = use_own_domain(options.domain_id)
    start = time.monotonic()

    def say(text: str) -> None:
        print(f'[{time.monotonic() - start:5.1f} s] {text}', flush=True)

    def show(name: str, line: str) -> None:
        if options.verbose or _is_news(name, line):
            say(f'{name}: {line}')

    say(f'{len(listed)} processes on ROS_DOMAIN_ID={domain}')
    with watched_graph(listed, stopping, say, on_line=show) as graph:
        outcome = _watch(options, graph)
    if outcome is None:
        say('stopped before the first frame')
        return EXIT_OK
    measured, usage = outcome
    _report(options, measured, usage)
    failed = [c for c in graph.supervisor.children if c.exit_code != EXIT_OK]
    for child in failed:
        print(f'puppet_demo: {child.name} ended with exit code {child.exit_code}', file=sys.stderr)
    return EXIT_FAILED if failed else EXIT_OK


def _watch(
    options: argparse.Namespace, graph: WatchedGraph
) -> tuple[Figures, dict[str, Usage]] | None:
    """Run the graph; None if it was stopped before it began."""
    if not graph.run.start():
        return None
    begin_s, end_s, usage = graph.run.measure(options.duration)
    return figures(graph.monitor.log.table(), begin_s, end_s, options.composed), usage


def _report(
    options: argparse.Namespace, measured: Figures, usage: dict[str, Usage]
) -> None:
    print()
    for line in summary(measured):
        print(line)
    print('process            CPU %   memory MB')
    for name, used in usage.items():
        print(f'  {name:16} {used.cpu_percent:5.1f} {used.rss_mb:9.0f}')
    print(f'  {"all":16} {sum(used.cpu_percent for used in usage.values()):5.1f}')
    if options.json is not None:
        atomic_file.write_text(options.json, json.dumps(measured, indent=2) + '\n')
        print(f'figures written to {options.json}')


def _is_news(name: str, line: str) -> bool:
    if name == VIEWER:
        return line.startswith('open ')
    return 'calibrated:' in line or any(mark in line for mark in ('[WARN', '[ERROR', 'Traceback'))


if __name__ == '__main__':
    sys.exit(main())
