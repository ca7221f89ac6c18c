# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet plot`: importance, feet, filter and latency of a bag as pictures and numbers."""

import argparse
from collections.abc import Callable, Sequence
import math
from pathlib import Path
import sys
from typing import Any, NamedTuple

from puppet_core.drawing import save, styled, SUFFIXES
from puppet_core.io import CommandParser, ConfigError, EXIT_OK, InputFileError, run_command
from puppet_replay.plots import drawings
from puppet_replay.plots.reading import PlotBag, Series, Span, statistics
from puppet_retarget.offline import check_output, listed, require_other_files, write_report
from puppet_ros.bags import BagReader

NAME = 'plot'
ALL = 'all'
EXAMPLE = """\
examples:
  ./puppet plot session.mcap --what feet feet.png
  ./puppet plot session.mcap --what filter --sensors left_hand,head --from 10 --to 15 hand.svg
  ./puppet plot session.mcap --json numbers.json"""


class Kind(NamedTuple):
    """What is drawn of a bag, and what a report says of that."""

    read: Callable[[PlotBag, Sequence[str]], Any]  # given the sensors
    series: Callable[[Any], list[Series]]  # for the statistics
    draw: Callable[[Any, str], Any]  # the figure under a title
    more: Callable[[Any], dict[str, Any]] = lambda shown: {}  # further numbers


KINDS = {
    'importance': Kind(
        lambda bag, _: bag.importances(), drawings.importance_series, drawings.draw_importance
    ),
    'feet': Kind(
        lambda bag, _: bag.feet(), drawings.feet_series, drawings.draw_feet, drawings.feet_contacts
    ),
    'filter': Kind(
        PlotBag.sensors, drawings.filter_series, drawings.draw_filter, drawings.status_counts
    ),
    'latency': Kind(
        lambda bag, _: bag.latencies(), drawings.latency_series, drawings.draw_latency
    ),
}


def parser() -> argparse.ArgumentParser:
    p = CommandParser(
        prog=f'puppet {NAME}',
        description='Plot the contents of a bag over time. Each kind of plot goes to its own '
        'file,\n'
        'whose name ends in the kind. Exit code 0: written; 1: failed; 2: bad input, or the bag\n'
        'lacks a topic.',
        epilog=EXAMPLE,
    )
    add = p.add_argument
    what = f'{", ".join(KINDS)}, or {ALL} that the bag has topics for (default)'
    picture = '.png, .svg or .pdf; default BAG_KIND.png in this folder'
    most = 'sensors for the filter plot; default: the one that moves most'
    first = 'start of the plot, in seconds after the first message'
    seconds: dict[str, Any] = {'metavar': 'S', 'type': float}
    add('bag', metavar='BAG', type=Path, help='a bag: folder, .mcap or .db3')
    add('output', metavar='OUT', type=Path, nargs='?', help=picture)
    add('--what', metavar='A,B', type=listed, default=(ALL,), help=what)
    add('--sensors', metavar='A,B', type=listed, default=(), help=most)
    add('--from', default=-math.inf, dest='start_s', help=first, **seconds)
    add('--to', default=math.inf, dest='end_s', help='end of the plot, likewise', **seconds)
    add('--json', type=Path, metavar='FILE', help='write statistics of the plotted data')
    return p


def main(argv: Sequence[str] | None = None) -> int:
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
    for kind, shown in plots.items():
        with styled():
            save(KINDS[kind].draw(shown, f'{kind} - {arguments.bag.name}'), outputs[kind])
        print(f'{outputs[kind]}')
    if arguments.json is not None:
        write_report(report(arguments.bag, plots), arguments.json)
    return EXIT_OK


def chosen_kinds(words: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds that --what names, each once; raise ConfigError for other words."""
    for word in words:
        if word not in (*KINDS, ALL):
            raise ConfigError(f'--what: expected {", ".join(KINDS)} or {ALL}, got {word!r}')
    return tuple(KINDS) if ALL in words else tuple(dict.fromkeys(words))


def output_files(bag: Path, output: Path | None, kinds: Sequence[str]) -> dict[str, Path]:
    """Return the file of each kind, with the kind after its stem if there are several."""
    if output is None:
        return {kind: Path(f'{bag.resolve().stem}_{kind}.png') for kind in kinds}
    if output.suffix.lower() not in SUFFIXES:
        raise ConfigError(f'output: expected a name in {", ".join(SUFFIXES)}, got {output.name!r}')
    if len(kinds) == 1:
        return {kinds[0]: output}
    return {kind: output.with_stem(f'{output.stem}_{kind}') for kind in kinds}


def report(bag: Path, plots: dict[str, Any]) -> dict[str, Any]:
    def figures(kind: Kind, shown: Any) -> dict[str, Any]:
        return {'series': [statistics(series) for series in kind.series(shown)]} | kind.more(shown)

    found = {kind: figures(KINDS[kind], shown) for kind, shown in plots.items()}
    return {'bag': str(bag), 'plots': found}


def _plots(
    bag: PlotBag, kinds: Sequence[str], sensors: Sequence[str], skipping: bool
) -> dict[str, Any]:
    """Return what is to be drawn; skip what the bag has nothing for if that is allowed."""
    plots, refusals = {}, []
    for kind in kinds:
        try:
            plots[kind] = KINDS[kind].read(bag, sensors)
        except InputFileError as err:
            if not skipping:
                raise
            refusals.append(err)
            print(f'no {kind}: {err}', file=sys.stderr)
    if refusals and not plots:
        raise refusals[0]
    return plots


if __name__ == '__main__':
    sys.exit(main())
