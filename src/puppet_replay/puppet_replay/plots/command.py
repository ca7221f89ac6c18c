# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet plot`: importance, feet, filter and latency of a bag as pictures and numbers."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
import math
from pathlib import Path
import sys
from typing import Any, NamedTuple

from puppet_core.drawing import save, styled, SUFFIXES
from puppet_core.io import ConfigError, InputFileError
from puppet_replay.plots import drawings
from puppet_replay.plots.reading import PlotBag, Series, Span, statistics
from puppet_retarget.offline import check_output, listed, require_other_files, write_report
from puppet_ros.bags import BagReader
from puppet_ros.command import run_command
from puppet_ros.node import EXIT_OK

NAME = 'plot'
KINDS = ('importance', 'feet', 'filter', 'latency')
ALL = 'all'
EXAMPLE = """\
examples:
  ./puppet plot session.mcap --what feet feet.png
  ./puppet plot session.mcap --what filter --sensors left_hand,head --from 10 --to 15 hand.svg
  ./puppet plot session.mcap --json numbers.json"""


class Plot(NamedTuple):
    """What is drawn of one kind."""

    series: list[Series]  # for the statistics
    draw: Callable[[str], Any]  # returns the figure under a title
    more: dict[str, Any] = {}  # noqa: RUF012  # further numbers for the report


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog=f'puppet {NAME}',
        description='Draw what a bag holds over time. Several kinds go into several files, whose '
        'names end in the kind. Exit code 0: written, 1: failed, 2: bad input, also '
        'where the bag lacks a topic.',
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument('bag', metavar='BAG', type=Path, help='a bag: folder, .mcap or .db3')
    p.add_argument(
        'output',
        metavar='OUT',
        type=Path,
        nargs='?',
        help='.png, .svg or .pdf; BAG_KIND.png here by default',
    )
    p.add_argument(
        '--what',
        metavar='A,B',
        type=listed,
        default=(ALL,),
        help=f'{", ".join(KINDS)}, or {ALL} that the bag has topics for (default)',
    )
    p.add_argument(
        '--sensors',
        metavar='A,B',
        type=listed,
        default=(),
        help='of filter; the one that moves most by default',
    )
    p.add_argument(
        '--from',
        metavar='S',
        type=float,
        default=-math.inf,
        dest='start_s',
        help='first stamp, seconds after that of the first message',
    )
    p.add_argument(
        '--to',
        metavar='S',
        type=float,
        default=math.inf,
        dest='end_s',
        help='last stamp, likewise',
    )
    p.add_argument('--json', type=Path, metavar='FILE', help='statistics of what is drawn')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(
        f'puppet {NAME}', lambda: _run(parser().parse_intermixed_args(argv)), 'nothing was written'
    )


def _run(arguments: argparse.Namespace) -> int:
    chosen = chosen_kinds(arguments.what)
    if not arguments.start_s < arguments.end_s:
        raise ConfigError(
            f'--to: expected more than --from = {arguments.start_s:g}, got {arguments.end_s:g}'
        )
    outputs = output_files(arguments.bag, arguments.output, chosen)
    checked: dict[str, Path | None] = {f'output {kind}': path for kind, path in outputs.items()}
    for name, path in (checked | {'--json': arguments.json}).items():
        if path is not None:
            check_output(path, name, '.json' if name == '--json' else '')
    require_other_files({'BAG': arguments.bag}, checked | {'--json': arguments.json})
    with BagReader(arguments.bag) as reader:
        bag = PlotBag(reader, Span(arguments.start_s, arguments.end_s))
        plots = _plots(bag, chosen, arguments.sensors, skipping=ALL in arguments.what)
        for warning in reader.warnings:
            print(f'warning: {warning}', file=sys.stderr)
    _draw(plots, outputs, arguments.bag.name)
    if arguments.json is not None:
        write_report(report(arguments.bag, plots), arguments.json)
    return EXIT_OK


def chosen_kinds(words: Sequence[str]) -> tuple[str, ...]:
    """
    Return the kinds that --what names, each once.

    Raises ConfigError naming a word that is none.
    """
    for word in words:
        if word not in (*KINDS, ALL):
            raise ConfigError(f'--what: expected {", ".join(KINDS)} or {ALL}, got {word!r}')
    return KINDS if ALL in words else tuple(dict.fromkeys(words))


def output_files(bag: Path, output: Path | None, kinds: Sequence[str]) -> dict[str, Path]:
    """
    Return the file of each kind: the one that is named, or with the kind after its stem.

    Raises ConfigError for another suffix than SUFFIXES.
    """
    if output is None:
        return {kind: Path(f'{bag.resolve().stem}_{kind}.png') for kind in kinds}
    if output.suffix.lower() not in SUFFIXES:
        raise ConfigError(f'output: expected a name in {", ".join(SUFFIXES)}, got {output.name!r}')
    if len(kinds) == 1:
        return {kinds[0]: output}
    return {kind: output.with_stem(f'{output.stem}_{kind}') for kind in kinds}


def report(bag: Path, plots: dict[str, Plot]) -> dict[str, Any]:
    """Return the statistics of every plotted series."""
    return {
        'bag': str(bag),
        'plots': {
            kind: {'series': [statistics(series) for series in plot.series], **plot.more}
            for kind, plot in plots.items()
        },
    }


def _plots(
    bag: PlotBag, kinds: Sequence[str], sensors: Sequence[str], skipping: bool
) -> dict[str, Plot]:
    """Return what is to be drawn; skip what the bag has nothing for if that is allowed."""
    plots, refusals = {}, []
    for kind in kinds:
        try:
            plots[kind] = _plot(bag, kind, sensors)
        except InputFileError as err:
            if not skipping:
                raise
            refusals.append(err)
            print(f'no {kind}: {err}', file=sys.stderr)
    if refusals and not plots:
        raise refusals[0]
    return plots


def _plot(bag: PlotBag, kind: str, sensors: Sequence[str]) -> Plot:
    shown: Any
    if kind == 'importance':
        shown = bag.importances()
        return Plot(drawings.importance_series(shown), partial(drawings.draw_importance, shown))
    if kind == 'feet':
        shown = bag.feet()
        more = {'stands': drawings.feet_contacts(shown)}
        return Plot(drawings.feet_series(shown), partial(drawings.draw_feet, shown), more)
    if kind == 'filter':
        shown = bag.sensors(sensors)
        more = {'frames': drawings.fates(shown)}
        return Plot(drawings.filter_series(shown), partial(drawings.draw_filter, shown), more)
    shown = bag.latencies()
    return Plot(drawings.latency_series(shown), partial(drawings.draw_latency, shown))


def _draw(plots: dict[str, Plot], outputs: dict[str, Path], name: str) -> None:
    for kind, plot in plots.items():
        with styled():
            save(plot.draw(f'{kind} - {name}'), outputs[kind])
        print(f'{outputs[kind]}')


if __name__ == '__main__':
    sys.exit(main())
