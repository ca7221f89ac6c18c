# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_demo`: a performance drives a puppet, live, through real ROS 2 processes.

Emulated tracker, driver, filter, performer, importance, retarget and visualization are
processes of their own on a private ROS domain; this one watches, and sums up at the end.

"""

import argparse
from collections.abc import Sequence
from contextlib import suppress
import json
import os
from pathlib import Path
import signal
import sys
import tempfile
import threading
import time

from puppet_bringup.demo_run import DemoRun, PipelineError, Say
from puppet_bringup.figures import Figures, figures, summary
from puppet_bringup.monitor import Monitor
from puppet_bringup.process import Process
from puppet_bringup.process_table import SIM, SOURCES
from puppet_bringup.program import child_environment
from puppet_bringup.supervisor import Supervisor
from puppet_bringup.up import prepared
from puppet_core import atomic_file
from puppet_core.character import load_character
from puppet_core.clip_options import UP_AXES
from puppet_core.errors import ConfigError, PuppetError
from puppet_ros import share
from puppet_ros.private_domain import free_domain
from puppet_ros.spin import make_executor
import rclpy
from rclpy.signals import SignalHandlerOptions

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT = 0, 1, 2
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
    p.add_argument('--character', default='blubby', metavar='NAME', help='default %(default)s')
    p.add_argument('--solver', default='', metavar='NAME', help='importance_based if absent')
    p.add_argument('--environment', default='', metavar='NAME',
                   help='demo if absent, floor with --clip')  # fmt: skip
    p.add_argument('--rate-hz', type=float, default=120.0, help='default %(default)s')
    p.add_argument('--duration', type=float, default=0.0, metavar='S',
                   help='seconds of streaming to measure; until Ctrl-C if absent')  # fmt: skip
    p.add_argument('--composed', action='store_true', help='all nodes in one process')
    p.add_argument('--headless', action='store_true', help='without the browser view')
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures there')
    p.add_argument('--domain-id', type=int, metavar='N', help='ROS domain; a free one if absent')
    p.add_argument('--verbose', action='store_true', help='show what the nodes say')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    options = parser().parse_args(argv)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    try:
        with tempfile.TemporaryDirectory(prefix='puppet_demo_') as folder:
            listed = _checked_processes(options, Path(folder))
            return _run(options, listed, stopping)
    except PipelineError as err:
        print(f'puppet_demo: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT if err.is_bad_input else EXIT_FAILED
    except PuppetError as err:
        print(f'puppet_demo: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    except OSError as err:
        print(f'puppet_demo: {err.filename}: {err.strerror}', file=sys.stderr)
        return EXIT_FAILED


def _checked_processes(options: argparse.Namespace, folder: Path) -> tuple[Process, ...]:
    """Return the processes of the simulation, after everything that can be read was read."""
    if not 0.0 <= options.duration < float('inf'):
        raise ConfigError(f'--duration: expected seconds >= 0, got {options.duration}')
    if not 1.0 <= options.rate_hz <= 144.0:
        raise ConfigError(f'--rate-hz: expected 1.0 <= value <= 144.0, got {options.rate_hz}')
    if options.domain_id is not None and not 0 <= options.domain_id <= MAX_DOMAIN_ID:
        raise ConfigError(
            f'--domain-id: expected 0 <= value <= {MAX_DOMAIN_ID}, got {options.domain_id}'
        )
    if options.json is not None:
        atomic_file.check_writable(options.json, '--json')
    load_character(share.character_file(options.character))
    if options.environment:
        share.environment_file(options.environment)
    given = {
        'character': options.character,
        'solver': options.solver,
        'environment': options.environment or ('floor' if options.clip else 'demo'),
        'clip': options.clip,
        'asf': options.asf,
        'name_map': options.name_map,
        'unit': options.unit,
        'up_axis': options.up_axis,
        'rate_hz': repr(options.rate_hz),
        'autostart': 'false',
        't_pose_s': '2',  # the driver starts when everybody listens
        'calibration_file': str(folder / 'calibration.yaml'),  # a restarted node goes on with it
        'composed': str(options.composed).lower(),
        'view': 'false' if options.headless else 'true',
    }
    return prepared(SIM, given, folder)


def _run(
    options: argparse.Namespace, listed: Sequence[Process], stopping: threading.Event
) -> int:
    domain = options.domain_id if options.domain_id is not None else free_domain()
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    start = time.monotonic()

    def say(text: str) -> None:
        print(f'[{time.monotonic() - start:5.1f} s] {text}', flush=True)

    def show(name: str, line: str) -> None:
        if options.verbose or _is_news(name, line):
            say(f'{name}: {line}')

    say(f'{len(listed)} processes on ROS_DOMAIN_ID={domain}')
    with Supervisor(show, child_environment(os.environ), SOURCES) as supervisor:
        outcome = _watch(options, listed, supervisor, stopping, say)
    if outcome is None:
        say('stopped before the first frame')
        return EXIT_OK
    measured, usage = outcome
    _report(options, measured, usage)
    failed = [c for c in supervisor.children if c.exit_code != EXIT_OK]
    for child in failed:
        print(f'puppet_demo: {child.name} ended with exit code {child.exit_code}', file=sys.stderr)
    return EXIT_FAILED if failed else EXIT_OK


def _watch(
    options: argparse.Namespace, listed: Sequence[Process], supervisor: Supervisor,
    stopping: threading.Event, say: Say,
) -> tuple[Figures, dict[str, tuple[float, float]]] | None:  # fmt: skip
    """Run the graph with a monitor on it; None if it was stopped before it began."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    monitor = Monitor(context=context)
    executor = make_executor(context)
    executor.add_node(monitor)
    try:
        run = DemoRun(listed, supervisor, monitor, executor, stopping, say)
        if not run.start():
            return None
        begin_s, end_s, usage = run.measure(options.duration)
        return figures(monitor.log.table(), begin_s, end_s, options.composed), usage
    finally:
        with suppress(KeyboardInterrupt):
            executor.shutdown()
            monitor.destroy_node()
            rclpy.try_shutdown(context=context)


def _report(
    options: argparse.Namespace, measured: Figures, usage: dict[str, tuple[float, float]]
) -> None:
    print()
    for line in summary(measured):
        print(line)
    print('process            CPU %   memory MB')
    for name, (percent, megabytes) in usage.items():
        print(f'  {name:16} {percent:5.1f} {megabytes:9.0f}')
    print(f'  {"all":16} {sum(p for p, _ in usage.values()):5.1f}')
    if options.json is not None:
        atomic_file.write_text(options.json, json.dumps(measured, indent=2) + '\n')
        print(f'figures written to {options.json}')


def _is_news(name: str, line: str) -> bool:
    if name == VIEWER:
        return line.startswith('open ')
    return 'calibrated:' in line or any(mark in line for mark in ('[WARN', '[ERROR', 'Traceback'))


if __name__ == '__main__':
    sys.exit(main())
