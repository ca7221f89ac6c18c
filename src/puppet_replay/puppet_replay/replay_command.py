# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Replay a bag deterministically: what the graph makes of recorded sensors, into another bag.

In one process, without topics or clocks; the same bag and parameters give the same bytes.

"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
import time

from puppet_core.atomic_file import check_writable
from puppet_core.errors import ConfigError
from puppet_core.io.progress import progress
from puppet_core.io.text import printable
from puppet_replay.replay import replay, ReplayReport
from puppet_replay.settings import read_settings, SHORT
from puppet_replay.topics import ENTRIES
from puppet_ros.bags import COMPRESSIONS
from puppet_ros.command import EXIT_FAILED, run_command
from puppet_ros.spin import EXIT_OK

PROGRESS_STEP = 240  # messages

EXAMPLE = """\
examples:
  ./puppet replay session.mcap out.mcap
  ./puppet replay session.mcap out.mcap --character sally --solver elbow_circle
  ./puppet replay session.mcap out.mcap --set importance.prediction_s=0.1"""


def make_parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='replay', description=(__doc__ or '').strip(), epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = p.add_argument
    add('bag', type=Path, help='folder of a bag, or its .mcap or .db3 file')
    add('output', type=Path, help='.mcap file to write, or a new folder')
    add('--entry', default='', choices=ENTRIES, metavar='TOPIC',
        help=f'where the recorded messages enter: {", ".join(ENTRIES)}; the first there is '
             'by default')
    for name in SHORT:
        add(f'--{name}', default='', metavar='NAME', help=f'{name}, by name or path of its file')
    add('--params', type=Path, metavar='FILE', help='a ROS parameter file over the installed ones')
    add('--set', action='append', default=[], metavar='NODE.NAME=VALUE',
        help='one parameter of a node; may be repeated')
    add('--compression', default='', choices=COMPRESSIONS, help='none by default')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command('replay', lambda: run(make_parser().parse_args(arguments)),
                       'nothing was written')


def run(options: argparse.Namespace) -> int:
    """Replay as the options ask for; return the exit code."""
    check_writable(options.output, 'output')
    bag, output = options.bag.resolve(), options.output.resolve()
    if options.bag.exists() and (output == bag or bag in output.parents):
        raise ConfigError(f'output: expected another place than the bag, got {options.output}')
    started = time.perf_counter()
    short = {name: getattr(options, name) for name in SHORT}
    settings = read_settings(options.params, options.set, short)
    first_s: list[float] = []
    with progress('replay', None, unit='message') as advance:
        def count(done: int, total: int) -> None:
            if not first_s:
                first_s.append(time.perf_counter())
            if done % PROGRESS_STEP == 0:
                advance(PROGRESS_STEP, total=total)

        report = replay(
            options.bag, options.output, settings, options.entry, options.compression, count
        )
    ended = time.perf_counter()
    _tell(report, options.output, first_s[0] - started, ended - first_s[0])
    return EXIT_FAILED if report.failure else EXIT_OK


def _tell(report: ReplayReport, output: Path, start_s: float, run_s: float) -> None:
    for line in report.warnings:
        print(f'replay: warning: {printable(line)}', file=sys.stderr)
    for reason, count in report.drops.items():
        print(f'replay: {count} dropped ({reason})', file=sys.stderr)
    for topic, count in report.counts.items():
        print(f'{count:8}  {topic}')
    speed = report.duration_s / run_s if run_s > 0.0 else 0.0
    print(f'{output}: {report.duration_s:.1f} s from {report.entry} in {run_s:.2f} s, {speed:.0f} '
          f'times real time; {start_s:.1f} s before that to start')
    if report.failure:
        print(f'replay: {report.failure}', file=sys.stderr)


if __name__ == '__main__':
    sys.exit(main())
