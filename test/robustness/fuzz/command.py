# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet stress fuzz`: damaged files of every kind, each of which must be read or refused.

A process with limited memory reads; one that says nothing for too long is ended, and the rest
goes on behind the case that held it up. The kinds take turns of a few cases, so that a short run
reaches all of them.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
import itertools
import json
from pathlib import Path
import sys
import tempfile
import threading
import time
from typing import Any

import numpy as np
from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    run_command,
    stop_on_signals,
    write_bytes,
    write_text,
)
from robustness.fuzz.kinds import KINDS
from robustness.fuzz.reader import Reader
from robustness.fuzz.worker import BAD, case_data, ODD

TURN = 10  # cases of one kind, before the next kind has its turn
ALL = 'all'
EXAMPLE = 'example: ./puppet stress fuzz --seed 1 --minutes 5 --json fuzz.json'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = CommandParser(
        prog='puppet stress fuzz',
        epilog=f'kinds: {", ".join(KINDS)}\n{EXAMPLE}',
        description='Read damaged files of every kind: each must be read or refused in a line,\n'
        'in little time and memory.',
    )
    p.add_argument(
        '--seed', type=int, default=1, help='random seed of the damage, default %(default)s'
    )
    p.add_argument(
        '--minutes',
        type=float,
        default=1.0,
        metavar='M',
        help='duration in minutes; default %(default)s',
    )
    p.add_argument(
        '--kinds', default=ALL, metavar='KIND,..', help='what is damaged; default %(default)s'
    )
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures there')
    p.add_argument(
        '--save', type=Path, metavar='DIR', help='save files that failed in this folder'
    )
    return p


class Tally:
    """What became of the cases of some kinds."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.outcomes: dict[str, Counter[str]] = {}
        self.worst: dict[str, tuple[float, float]] = {}
        """Longest [s] and largest [MB] by kind."""
        self.failures: list[dict[str, Any]] = []

    def add(self, line: dict[str, Any]) -> None:
        """Count a case that has ended."""
        name = line['kind']
        self.outcomes.setdefault(name, Counter())[line['outcome']] += 1
        seconds, mb = self.worst.get(name, (0.0, 0.0))
        self.worst[name] = max(seconds, line['s']), max(mb, line['mb'])
        if line['outcome'] in BAD:
            self.failures.append(line)
            print(
                f'{name} {line["case"]}: {line["outcome"]}: {line["what"]}: {line["text"]}',
                flush=True,
            )

    def without_case(self) -> list[str]:
        """Return the kinds that had no case."""
        return [name for name in self.names if name not in self.outcomes]

    def figures(self, seconds: float) -> dict[str, Any]:
        """Return the figures of a report."""
        total = sum(sum(counts.values()) for counts in self.outcomes.values())
        return {
            'cases': total,
            'cases_per_s': total / seconds,
            'seconds': seconds,
            'kinds': {
                name: {**counts, 'worst_s': self.worst[name][0], 'worst_mb': self.worst[name][1]}
                for name, counts in sorted(self.outcomes.items())
            },
            'kinds_without_case': self.without_case(),
            'failures': self.failures,
        }


def main(argv: Sequence[str] | None = None) -> int:
    """Run cases until the time is up or somebody stops it; return the exit code."""
    return run_command('puppet stress fuzz', lambda: _run(parser().parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    stopping = stop_on_signals()
    tally = Tally(_checked(options))
    start = time.monotonic()
    run_cases(tally, options.seed, start + 60.0 * options.minutes, stopping)
    if stopping.is_set():
        print('interrupted: what there is', file=sys.stderr)
    return _report(options, tally, time.monotonic() - start)


def _checked(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the kinds, after everything that can be checked was checked."""
    words = options.kinds.split(',')
    names = tuple(KINDS if words == [ALL] else dict.fromkeys(words))
    for name in names:
        if name not in KINDS:
            raise ConfigError(
                f'--kinds: expected {ALL} or some of {", ".join(KINDS)}, got {name!r}'
            )
    if options.seed < 0 or not 0.0 < options.minutes <= 1e4:
        raise ConfigError('--seed, --minutes: expected seed >= 0 and 0 < minutes <= 10000')
    if options.json is not None:
        check_writable(options.json, '--json')
    if options.save is not None:
        check_writable(options.save / 'case', '--save')
    return names


def turns(names: Sequence[str], seed: int) -> Iterator[tuple[str, int]]:
    """Yield kinds with the first case of a turn, in rounds, for ever; a seed fixes the order."""
    for number in itertools.count():
        rng = np.random.default_rng([seed, number])
        for index in rng.permutation(len(names)).tolist():
            yield names[index], number * TURN


def run_cases(tally: Tally, seed: int, end: float, stopping: threading.Event) -> None:
    """Run cases until a time [s]; nothing is left of them."""
    with tempfile.TemporaryDirectory(prefix='puppet_fuzz_') as folder:
        with Reader(seed, Path(folder), stopping) as reader:
            for name, first in turns(tally.names, seed):
                for line in reader.cases(name, first, TURN):
                    tally.add(line)
                    if time.monotonic() >= end:
                        return
                if stopping.is_set() or time.monotonic() >= end:
                    return


def _report(options: argparse.Namespace, tally: Tally, seconds: float) -> int:
    figures = tally.figures(seconds)
    for name, row in figures['kinds'].items():
        cells = (f'{k} {v:.3g}' if isinstance(v, float) else f'{k} {v}' for k, v in row.items())
        print(f'{name:13}', ', '.join(cells))
    if tally.without_case():
        print('no case of', ', '.join(tally.without_case()))
    print(
        f'{figures["cases"]} cases, {figures["cases_per_s"]:.1f} a second, '
        f'{len(tally.failures)} failed'
    )
    if options.json is not None:
        write_text(options.json, json.dumps(figures, indent=2) + '\n')
    if options.save is not None:
        _save(options.save, options.seed, tally.failures)
    return EXIT_FAILED if tally.failures else EXIT_OK


def _save(folder: Path, seed: int, failures: list[dict[str, Any]]) -> None:
    for line in failures:
        if line['case'] >= len(ODD):
            kind = KINDS[line['kind']]
            path = folder / f'{line["kind"]}_{seed}_{line["case"]}{kind.suffix}'
            write_bytes(path, case_data(kind, line['kind'], seed, line['case'])[1])


if __name__ == '__main__':
    sys.exit(main())
