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
    bench_hits,
    bench_peer,
    bench_swings,
    bench_walk,
    HITS_M,
    markdown,
    unevenness,
)
from benchmarks.rate.figures import figures
from puppet_core.drawing import save_png
from puppet_core.io import check_writable, ConfigError, write_text

DESCRIPTION = 'Measure inverse rate control on the experiments of its paper.'
EXAMPLE = 'example: ./puppet bench rate --json r.json --figures figures --hit 0.1,0,-0.2'
MAX_SHIFT_M = 0.5  # of a hit point; farther the batter does not reach


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add('--json', type=Path, metavar='FILE', help='also write the figures to this file')
    add(
        '--figures',
        type=Path,
        metavar='FOLDER',
        help="also draw the paper's figures 7 to 11, the walk and the hits in this folder",
    )
    add(
        '--seconds',
        type=float,
        default=2.0,
        metavar='S',
        help='how long each clip is repeated for the timing, default %(default)s',
    )
    add(
        '--hit',
        action='append',
        type=_shift,
        default=[],
        metavar='X,Y,Z',
        help='shift the hit of the bat swing forward, left and up by this [m]; may be repeated; '
        'default: a lower, a higher and a farther hit',
    )
    add('--no-peer', action='store_true', help='do not measure mink, which is used if installed')


def run(arguments: argparse.Namespace) -> str:
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
    hits, hit = zip(*bench_hits(arguments.seconds, arguments.hit or HITS_M))
    peer = None if arguments.no_peer else bench_peer()
    if arguments.json is not None:
        write_text(
            arguments.json,
            json.dumps(as_tree([walk, second], list(swings), list(hits), peer), indent=2) + '\n',
        )
    if arguments.figures is not None:
        for name, picture in figures(drawn, swung, hit):
            save_png(arguments.figures / f'{name}.png', picture)
    uneven = [unevenness(motion) for motion in (drawn.clip, drawn.ours, unled.ours)]
    return markdown([walk, second, *swings, *hits], uneven, peer)


def _shift(text: str) -> tuple[float, ...]:
    """Read a shift of the hit point [m]."""
    wanted = f'expected three numbers from -{MAX_SHIFT_M:g} to {MAX_SHIFT_M:g}, got {text!r}'
    try:
        shift = tuple(float(word) for word in text.split(','))
    except ValueError:
        raise argparse.ArgumentTypeError(wanted) from None
    if len(shift) != 3 or not all(abs(along) <= MAX_SHIFT_M for along in shift):
        raise argparse.ArgumentTypeError(wanted)
    return shift


def parser() -> argparse.ArgumentParser:
    return bench_parser('rate', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
