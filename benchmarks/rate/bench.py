# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench rate`: inverse rate control on the experiments of its paper (ChoiKo2000)."""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys

from benchmarks.command import bench_command, bench_parser
from benchmarks.rate.experiments import (
    as_tree,
    bench_peer,
    bench_swings,
    bench_walk,
    markdown,
    unevenness,
)
from benchmarks.rate.figures import figures
from puppet_core.drawing import save_png
from puppet_core.io import check_writable, ConfigError, write_text
from puppet_retarget.offline import ConfigFiles

DESCRIPTION = 'Measure inverse rate control on the experiments of its paper.'
EXAMPLE = 'example: ./puppet bench rate --json r.json --figures figures'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add('--json', type=Path, metavar='FILE', help='also write the figures there')
    add(
        '--figures',
        type=Path,
        metavar='FOLDER',
        help="also draw the paper's figures 7 to 11 and the walk there",
    )
    add(
        '--seconds',
        type=float,
        default=2.0,
        metavar='S',
        help='how long each clip is repeated to time it, default %(default)s',
    )
    add('--no-peer', action='store_true', help='without mink, which is used where installed')


def run(arguments: argparse.Namespace, files: ConfigFiles) -> str:
    """
    Measure, write and draw; return the table.

    Raises
    ------
    PuppetError : for bad input; nothing is written then.

    """
    if not 0.0 <= arguments.seconds <= 600.0:
        raise ConfigError(f'--seconds: expected 0 <= value <= 600, got {arguments.seconds}')
    if arguments.json is not None:
        check_writable(arguments.json, '--json')
    if arguments.figures is not None:
        check_writable(arguments.figures / 'x.png', '--figures')
    walk, drawn = bench_walk(arguments.seconds)
    second, unled = bench_walk(arguments.seconds, has_pelvis=False)
    swings, swung = zip(*bench_swings(arguments.seconds))
    peer = None if arguments.no_peer else bench_peer()
    if arguments.json is not None:
        write_text(
            arguments.json,
            json.dumps(as_tree([walk, second], list(swings), peer), indent=2) + '\n',
        )
    if arguments.figures is not None:
        for name, picture in figures(drawn, swung):
            save_png(arguments.figures / f'{name}.png', picture)
    uneven = [unevenness(motion) for motion in (drawn.clip, drawn.ours, unled.ours)]
    return markdown([walk, second, *swings], uneven, peer)


def parser() -> argparse.ArgumentParser:
    return bench_parser('rate', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
