# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Compare our filter with none, Euler increments and a low-pass on the same noisy data.

Prints a Markdown table. With --json writes `{"data_sets": [{"name", "filters": {<name>: {"rms_mm",
"rms_deg", "lag_ms", "overshoot", "us_per_frame"}}}]}`, null where there is nothing to measure;
with --figures draws pieces of each motion.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
import json
from pathlib import Path
import sys

from benchmarks.command import bench_command, bench_parser
from benchmarks.filter.baselines import BENCH_FILTERS, FILTER_NAMES, make_filter
from benchmarks.filter.data_sets import DATA_SETS, make_data_set, RATE_HZ
from benchmarks.filter.figures import draw_figure, FIGURES
from benchmarks.filter.scores import Output, run_filter, Score, score
import numpy as np
from puppet_core.drawing import save_png
from puppet_core.io import check_writable, ConfigError, note, write_text
from puppet_filter.parameters import PoseFilterConfig
from puppet_retarget.offline import listed

Results = dict[str, dict[str, Score]]

SEED = 1
DEFAULTS = PoseFilterConfig()
EXAMPLE = 'example: ./puppet bench filter --json f.json --figures figures'


def bench(
    duration_s: float,
    n_sensors: int,
    filters: Sequence[str] = BENCH_FILTERS,
    on_output: Callable[[str, dict[str, Output]], None] = lambda name, outputs: None,
    config: PoseFilterConfig = DEFAULTS,
    data_sets: Sequence[str] = tuple(DATA_SETS),
) -> Results:
    """Return the scores by data set and filter; `on_output` is handed the outputs."""
    results: Results = {}
    for name in data_sets:
        data = make_data_set(name, duration_s, n_sensors, SEED)
        outputs = {}
        for filter_name in filters:
            outputs[filter_name] = run_filter(
                partial(make_filter, filter_name, config, data.noise),
                data.positions,
                data.quaternions,
                RATE_HZ,
            )
        results[name] = {key: score(data.motion, output) for key, output in outputs.items()}
        on_output(name, outputs)
    return results


def markdown(results: Results) -> str:
    """Return the scores as one table, and the times below it."""
    filters = list(next(iter(results.values())))
    lines = [
        '| data set: mm / deg / lag, ms / overshoot, % | ' + ' | '.join(filters) + ' |',
        '| --- |' + ' --- |' * len(filters),
    ]
    for name, scores in results.items():
        cells = [_cell(scores[key]) for key in filters]
        lines.append(f'| {name} | ' + ' | '.join(cells) + ' |')
    times = [
        f'{key} {np.median([scores[key].us_per_frame for scores in results.values()]):.1f}'
        for key in filters
    ]
    return '\n'.join(lines) + f'\n\nus a frame, median of the data sets: {", ".join(times)}'


def as_json(results: Results) -> str:
    """Return the scores as JSON text, NaN as null."""
    data_sets = [
        {
            'name': name,
            'filters': {
                filter_name: {k: _finite(v) for k, v in asdict(one).items()}
                for filter_name, one in filters.items()
            },
        }
        for name, filters in results.items()
    ]
    return json.dumps({'data_sets': data_sets}, indent=2) + '\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    return bench_command(parser(), run, argv)


def run(options: argparse.Namespace) -> str:
    """Measure, write and draw; return the table."""
    check(options)
    drawn: dict[str, dict[str, Output]] = {}

    def on_output(name: str, outputs: dict[str, Output]) -> None:
        note(f'{name} done')
        if options.figures is not None and name in FIGURES:
            drawn[name] = outputs

    config = PoseFilterConfig(gate_jump_count=options.jump_count)
    chosen = options.filters, on_output, config, options.data_sets or tuple(DATA_SETS)
    results = bench(options.duration, options.sensors, *chosen)
    if options.json is not None:
        write_text(options.json, as_json(results))
    for name, outputs in drawn.items():
        data = make_data_set(name, options.duration, options.sensors, SEED)
        save_png(options.figures / f'filter_{name}.png', draw_figure(name, data, outputs))
    return markdown(results)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add('--json', type=Path, metavar='FILE', help='also write the scores to this file')
    add('--figures', type=Path, metavar='FOLDER', help='also draw sample plots in this folder')
    text = 'length of each data set [s], at least 4, default 20'
    add('--duration', type=float, default=20.0, metavar='S', help=text)
    add('--sensors', type=int, default=14, help='number of sensors, default 14')
    text = f'some of {",".join(FILTER_NAMES)}'
    add('--filters', type=listed, default=BENCH_FILTERS, metavar='A,B', help=text)
    add('--data-sets', type=listed, metavar='A,B', help='rows of the table; default: all')
    text, count = 'gate.jump_count of kalman, default %(default)s', DEFAULTS.gate_jump_count
    add('--jump-count', type=int, default=count, metavar='N', help=text)


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    return bench_parser('filter', __doc__, EXAMPLE, add_arguments)


def check(options: argparse.Namespace) -> None:
    """Raise ConfigError for arguments that do not fit."""
    for name, value, low, high in (
        ('duration', options.duration, 4.0, 3600.0),
        ('sensors', options.sensors, 1, 1000),
        ('jump-count', options.jump_count, 1, 1000),
    ):
        if not low <= value <= high:
            raise ConfigError(f'--{name}: expected {low:g} <= value <= {high:g}, got {value}')
    for option, names, known in (
        ('filters', options.filters, FILTER_NAMES),
        ('data-sets', options.data_sets or (), DATA_SETS),
    ):
        for name in names:
            if name not in known:
                expected = ', '.join(known)
                raise ConfigError(f'--{option}: expected some of {expected}, got {name!r}')
    if options.json is not None:
        check_writable(options.json, '--json')
    if options.figures is not None:
        check_writable(options.figures / 'x.png', '--figures')


def _cell(one: Score) -> str:
    values = (one.rms_mm, one.rms_deg, one.lag_ms, 100.0 * one.overshoot)
    texts = [f'{v:.{n}f}' if np.isfinite(v) else '-' for v, n in zip(values, (2, 3, 2, 2))]
    return ' / '.join(texts)


def _finite(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


if __name__ == '__main__':
    sys.exit(main())
