# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench edit`: the motion editor on the experiments of its paper (LeeShin1999)."""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys

from benchmarks.command import bench_command, bench_parser
from benchmarks.edit.experiments import experiments, FRAMES, MORPH
from benchmarks.edit.figures import knot_spacings, strip
from benchmarks.edit.results import as_tree, markdown
from benchmarks.edit.results import run as run_bench
from puppet_core.drawing import save_png
from puppet_core.io import check_writable, progress, write_text
from puppet_retarget.offline import find_character, PERFORMER

DESCRIPTION = 'Measure the motion editor on the experiments of its paper.'
EXAMPLE = 'example: ./puppet bench edit --json e.json --figures figures'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        'clips',
        nargs='?',
        type=Path,
        metavar='CLIPS',
        help='folder with 02.asf, 02_01.amc and 02_03.amc in or below it; default: synthetic '
        'walks',
    )
    add('--json', type=Path, metavar='FILE', help='also write the figures to this file')
    add(
        '--figures',
        type=Path,
        metavar='FOLDER',
        help='also draw each experiment, before and after, in this folder',
    )


def run(arguments: argparse.Namespace) -> str:
    """
    Measure, write and draw; return the table.

    Raises
    ------
    PuppetError : for bad input; nothing is written then.

    """
    if arguments.json is not None:
        check_writable(arguments.json, '--json')
    if arguments.figures is not None:
        check_writable(arguments.figures / 'x.png', '--figures')
    performer = find_character(PERFORMER)
    found = experiments(performer.skeleton, arguments.clips)
    with progress('bench edit', len(FRAMES), unit='experiment') as advance:
        benches = run_bench(found, advance)
    if arguments.json is not None:
        write_text(arguments.json, json.dumps(as_tree(benches), indent=2) + '\n')
    if arguments.figures is not None:
        for bench in benches:
            picture = strip(bench, performer.colour)
            save_png(arguments.figures / f'edit_{bench.experiment.name}.png', picture)
            if bench.experiment.name == MORPH:
                picture = knot_spacings(bench.experiment.before, performer.colour)
                save_png(arguments.figures / 'edit_knots.png', picture)
    return markdown(benches)


def parser() -> argparse.ArgumentParser:
    return bench_parser('edit', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
