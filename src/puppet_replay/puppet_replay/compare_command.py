# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet compare`: how two bags differ, on the terminal and as JSON, JUnit XML and HTML."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
import re
import sys

from puppet_core import atomic_file
from puppet_core.errors import ConfigError, InputFileError
from puppet_core.io.progress import progress
from puppet_core.io.text import printable
from puppet_replay.compare_bags import compare_bags
from puppet_replay.compare_curves import worst_curves
from puppet_replay.compare_html import html_text
from puppet_replay.compare_json import comparison_report
from puppet_replay.compare_junit import junit_text
from puppet_replay.compare_picture import picture
from puppet_replay.compare_result import Comparison
from puppet_replay.compare_table import report_lines
from puppet_replay.compare_tolerances import EXACT, load_tolerances, Tolerances
from puppet_retarget.offline.clip_arguments import require_other_files
from puppet_retarget.offline.report_file import write_report
from puppet_ros.command import EXIT_FAILED, run_command
from puppet_ros.spin import EXIT_OK

NAME = 'compare'
EXAMPLE = 'example: ./puppet compare before.mcap after.mcap --html difference.html'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog=f'puppet {NAME}',
        description='Compare two bags, topic by topic and field by field. Exit code 0: within '
        'the tolerances, 1: not, 2: bad input.',
        epilog=EXAMPLE,
    )
    p.add_argument('a', metavar='A', type=Path, help='a bag: folder, .mcap or .db3')
    p.add_argument('b', metavar='B', type=Path, help='the bag that is held against it')
    allowed = p.add_mutually_exclusive_group()
    allowed.add_argument('--tolerances', type=Path, metavar='YAML', help='doc/regression.md')
    allowed.add_argument('--exact', action='store_true', help='no difference is allowed')
    p.add_argument(
        '--topics', metavar='A,B', default='*', help='patterns of names; default all topics'
    )
    p.add_argument('--all', action='store_true', help='print every field, not only what differs')
    p.add_argument('--json', type=Path, metavar='FILE', help='all statistics')
    p.add_argument('--junit', type=Path, metavar='FILE', help='a test case for each field')
    p.add_argument('--html', type=Path, metavar='FILE', help='a page with plots of the worst')
    p.add_argument('--plots', type=Path, metavar='DIR', help='those plots as SVG files')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(
        f'puppet {NAME}', lambda: _run(parser().parse_args(argv)), 'nothing was written'
    )


def _run(arguments: argparse.Namespace) -> int:
    for option in ('json', 'junit', 'html'):
        path = getattr(arguments, option)
        if path is not None:
            atomic_file.check_writable(path, f'--{option}')
    if arguments.plots is not None and arguments.plots.exists() and not arguments.plots.is_dir():
        raise ConfigError(f'--plots: expected a folder, got the file {str(arguments.plots)!r}')
    require_other_files(
        {'A': arguments.a, 'B': arguments.b, '--tolerances': arguments.tolerances},
        {f'--{name}': getattr(arguments, name) for name in ('json', 'junit', 'html', 'plots')},
    )  # fmt: skip
    tolerances = (
        Tolerances(EXACT) if arguments.exact else load_tolerances(arguments.tolerances)
    )
    topics = tuple(name.strip() for name in arguments.topics.split(',') if name.strip())
    show = partial(progress, NAME, unit='message')
    comparison = compare_bags(arguments.a, arguments.b, tolerances, topics, show)
    if not comparison.topics:
        known = ', '.join(comparison.ignored) or 'none'
        raise ConfigError(f'--topics: expected names in the bags, got {arguments.topics!r}; '
                          f'topics that are left out: {known}')
    if comparison.within and not any(any(topic.counts) for topic in comparison.topics):
        names = ', '.join(topic.topic for topic in comparison.topics)
        raise InputFileError(arguments.a, f'messages on {names}', 'none, and none in the other '
                             'bag: nothing was compared')  # fmt: skip
    write_reports(
        comparison, tolerances, arguments.json, arguments.junit, arguments.html, arguments.plots
    )
    for warning in comparison.warnings:
        print(f'warning: {printable(warning)}', file=sys.stderr)
    print('\n'.join(report_lines(comparison, arguments.all)))
    return EXIT_OK if comparison.within else EXIT_FAILED


def write_reports(
    comparison: Comparison, tolerances: Tolerances, json: Path | None = None,
    junit: Path | None = None, html: Path | None = None, plots: Path | None = None,
) -> None:  # fmt: skip
    """Write what is asked for, each file all or nothing."""
    if json is not None:
        write_report(comparison_report(comparison), json)
    if junit is not None:
        atomic_file.write_text(junit, junit_text(comparison))
    if html is None and plots is None:
        return
    curves = worst_curves(comparison, tolerances)
    pictures = [picture(curve) for curve in curves]
    if plots is not None:
        for number, (curve, drawn) in enumerate(zip(curves, pictures), 1):
            name = re.sub(r'\W+', '_', f'{curve.field.topic}_{curve.field.name}').strip('_')
            atomic_file.write_text(plots / f'{number}_{name}.svg', drawn + '\n')
    if html is not None:
        atomic_file.write_text(html, html_text(comparison, pictures))


if __name__ == '__main__':
    sys.exit(main())
