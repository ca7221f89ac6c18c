# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet compare`: how two bags differ, on the terminal and as JSON, JUnit XML and HTML."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
import sys

from puppet_core import io
from puppet_replay.compare.comparison import compare_bags
from puppet_replay.compare.report import report_lines, write_reports
from puppet_replay.compare.tolerances import EXACT, load_tolerances, Tolerances
from puppet_retarget.offline import require_other_files

NAME = 'compare'
EXAMPLE = 'example: ./puppet compare before.mcap after.mcap --html difference.html'


def parser() -> argparse.ArgumentParser:
    p = io.CommandParser(
        prog=f'puppet {NAME}',
        description='Compare two bags, topic by topic and field by field.\n'
        'Exit code 0: within the tolerances; 1: not; 2: bad input.',
        epilog=EXAMPLE,
    )
    p.add_argument('a', metavar='A', type=Path, help='a bag: folder, .mcap or .db3')
    p.add_argument('b', metavar='B', type=Path, help='bag to compare it with')
    allowed = p.add_mutually_exclusive_group()
    allowed.add_argument('--tolerances', type=Path, metavar='YAML', help='doc/bags.md')
    allowed.add_argument('--exact', action='store_true', help='allow no differences')
    p.add_argument(
        '--topics', metavar='A,B', default='*', help='patterns of topic names; default: all topics'
    )
    p.add_argument(
        '--all', action='store_true', help='print every field, not only those that differ'
    )
    p.add_argument('--json', type=Path, metavar='FILE', help='all statistics')
    p.add_argument('--junit', type=Path, metavar='FILE', help='write one test case per field')
    p.add_argument(
        '--html',
        type=Path,
        metavar='FILE',
        help='write a page with plots of the largest differences',
    )
    p.add_argument('--plots', type=Path, metavar='DIR', help='write these plots as SVG files')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    return io.run_command(
        f'puppet {NAME}', lambda: _run(parser().parse_args(argv)), 'nothing was written'
    )


def _run(arguments: argparse.Namespace) -> int:
    for option in ('json', 'junit', 'html'):
        path = getattr(arguments, option)
        if path is not None:
            io.check_writable(path, f'--{option}')
    if arguments.plots is not None and arguments.plots.exists() and not arguments.plots.is_dir():
        raise io.ConfigError(f'--plots: expected a folder, got the file {str(arguments.plots)!r}')
    require_other_files(
        {'A': arguments.a, 'B': arguments.b, '--tolerances': arguments.tolerances},
        {f'--{name}': getattr(arguments, name) for name in ('json', 'junit', 'html', 'plots')},
    )
    tolerances = Tolerances(EXACT) if arguments.exact else load_tolerances(arguments.tolerances)
    topics = tuple(name.strip() for name in arguments.topics.split(',') if name.strip())
    show = partial(io.progress, NAME, unit='message')
    comparison = compare_bags(arguments.a, arguments.b, tolerances, topics, show)
    if not comparison.topics:
        known = ', '.join(comparison.ignored) or 'none'
        raise io.ConfigError(
            f'--topics: expected names in the bags, got {arguments.topics!r}; '
            f'topics that are left out: {known}'
        )
    if comparison.within and not any(any(topic.counts) for topic in comparison.topics):
        names = ', '.join(topic.topic for topic in comparison.topics)
        raise io.InputFileError(
            arguments.a,
            f'messages on {names}',
            'none, and none in the other bag: nothing was compared',
        )
    write_reports(comparison, arguments.json, arguments.junit, arguments.html, arguments.plots)
    for warning in comparison.warnings:
        print(f'warning: {io.printable(warning)}', file=sys.stderr)
    print('\n'.join(report_lines(comparison, arguments.all)))
    return io.EXIT_OK if comparison.within else io.EXIT_FAILED


if __name__ == '__main__':
    sys.exit(main())
