# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet dev goldens`: what the graph made of one performance, by every character and solver.

One recording of the emulated tracker, cut to calibration, walk, hands on a table, clap and jump,
is replayed and held against small bags. They keep the joints of every second frame, and of every
eighth one the whole posture.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import sys
import tempfile
from types import MappingProxyType

from puppet_core import named_files
from puppet_core.io import (
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    InputFileError,
    run_command,
    write_bytes,
)
from puppet_replay.compare import (
    compare_bags,
    Comparison,
    load_tolerances,
    report_lines,
    summary_lines,
    write_reports,
)
from puppet_replay.golden_bags import changes, COMPRESSION, keep_topics
from puppet_replay.pipeline import read_settings
from puppet_replay.replay import replay
from puppet_retarget.solvers import SOLVER_NAMES
from puppet_ros.bags import BagReader, BagWriter
from puppet_ros.interface_table import IMPORTANCE, JOINTS, POSTURE, PUPPET, RAW, TF_STATIC

FOLDER = Path('test') / 'goldens'
PERFORMANCE, TOLERANCES = 'performance.mcap', 'tolerances.yaml'
GRAPH = 'graph'  # what is the same for all characters and solvers
ENVIRONMENT = 'demo'
# Of so many messages one is kept.
EVERY = MappingProxyType({JOINTS: 2, PUPPET: 8, POSTURE: 8, IMPORTANCE: 8})
# Of the performance with a T-pose of two seconds [s]: calibration, walk and reach, clap, jump.
# After each gap the puppet blends for up to two seconds: few pieces, of more than that.
EXCERPTS_S = ((0.0, 1.3), (6.2, 10.6), (23.4, 26.2), (30.2, 33.0))
NAME = 'puppet dev goldens'
EXAMPLE = """\
examples:
  ./puppet dev goldens
  ./puppet dev goldens sally --html difference.html
  ./puppet dev goldens --update"""


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """One bag to hold a replay against."""

    name: str  # of the file
    character: str  # name of the puppet
    solver: str  # name of the solver
    topics: tuple[str, ...]  # what is kept

    def file(self, folder: Path) -> Path:
        """Return the golden's path."""
        return folder / f'{self.name}.mcap'


def golden_cases() -> tuple[GoldenCase, ...]:
    """Return all cases: the graph up to the importance, then each character with each solver."""
    characters = named_files.available('characters')
    first = GoldenCase(GRAPH, characters[0], SOLVER_NAMES[0], (POSTURE, IMPORTANCE))
    each = (
        GoldenCase(f'{character}_{solver}', character, solver, (JOINTS, PUPPET))
        for character in characters
        for solver in SOLVER_NAMES
    )
    return (first, *each)


def cut_performance(source: Path, target: Path) -> int:
    """Write a performance's excerpts, return their frames; raise InputFileError if it is short."""
    spans = [(round(1e9 * start), round(1e9 * end)) for start, end in EXCERPTS_S]
    count = 0
    with BagReader(source) as reader:
        duration_s = (reader.end_ns - reader.start_ns) * 1e-9
        if duration_s < EXCERPTS_S[-1][1]:
            expected = f'a performance of {EXCERPTS_S[-1][1]:g} s'
            raise InputFileError(source, expected, f'{duration_s:.1f} s')
        with BagWriter(target, COMPRESSION) as writer:
            for message in reader.messages((RAW, TF_STATIC)):
                at_ns = message.log_ns - reader.start_ns
                if any(start <= at_ns < end for start, end in spans):
                    writer.write(message.topic, message.type, message.log_ns, message.data)
                    count += message.topic == RAW
    return count


def replay_case(case: GoldenCase, folder: Path, target: Path) -> None:
    """Write what the graph makes of the performance now, as far as a golden keeps it."""
    short = {'character': case.character, 'solver': case.solver, 'environment': ENVIRONMENT}
    with tempfile.TemporaryDirectory(prefix='puppet_golden_') as place:
        whole = Path(place) / 'replay.mcap'
        replay(folder / PERFORMANCE, whole, read_settings(short=short))
        keep_topics(whole, target, case.topics, EVERY)


def check_case(case: GoldenCase, folder: Path, result: Path) -> Comparison:
    """Replay one case into `result` and compare it with its golden, which must be in `folder`."""
    golden = case.file(folder)
    if not golden.exists():
        raise InputFileError(golden, 'a golden', 'nothing', hint='./puppet dev goldens --update')
    replay_case(case, folder, result)
    return compare_bags(golden, result, load_tolerances(folder / TOLERANCES))


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = CommandParser(
        prog=NAME,
        description='Replay a short performance for every character and solver and compare it\n'
        'with the bags under test/goldens. Exit code 0: unchanged; 1: changed; 2: bad input.',
        epilog=EXAMPLE,
    )
    add = p.add_argument
    other = 'with --update: use this performance, made by tracker_emulator --export --rate-hz 60'
    place = 'folder of the goldens; default %(default)s'
    add('names', nargs='*', metavar='NAME', help='only cases with this in their name')
    add('--update', action='store_true', help='regenerate them and report what changed')
    add('--performance', type=Path, metavar='BAG', help=other)
    add('--folder', type=Path, metavar='DIR', default=FOLDER, help=place)
    add('--html', type=Path, metavar='DIR', help='write a page for each case that differs')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(
        NAME,
        lambda: _run(parser().parse_args(argv)),
        'goldens are as they were, or wholly new, one by one',
    )


def _run(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.folder
    if not folder.is_dir():
        raise ConfigError(f'--folder: expected a folder of goldens, got {str(folder)!r}')
    if arguments.performance is not None and not arguments.update:
        raise ConfigError('--performance: expected --update beside it, got none')
    if arguments.performance is not None and arguments.names:
        why = 'for all goldens are of one performance'
        got = ', '.join(arguments.names)
        raise ConfigError(f'--performance: expected no NAME beside it, {why}; got {got}')
    cases = _chosen(arguments.names)
    load_tolerances(folder / TOLERANCES)
    if arguments.performance is not None:
        count = cut_performance(arguments.performance, folder / PERFORMANCE)
        print(f'{folder / PERFORMANCE}: {count} frames')
    with tempfile.TemporaryDirectory(prefix='puppet_goldens_') as place:
        if arguments.update:
            return _update(cases, folder, Path(place))
        return _check(cases, folder, Path(place), arguments.html)


def _chosen(names: Sequence[str]) -> list[GoldenCase]:
    cases = golden_cases()
    for name in names:
        if not any(name in case.name for case in cases):
            known = ', '.join(case.name for case in cases)
            raise ConfigError(f'NAME: expected a part of one of {known}, got {name!r}')
    return [case for case in cases if not names or any(name in case.name for name in names)]


def _check(cases: Sequence[GoldenCase], folder: Path, place: Path, html: Path | None) -> int:
    wrong = 0
    missing = [case.name for case in cases if not case.file(folder).exists()]
    if len(missing) > 1:  # one is named by its check
        wanted = f'a golden for each of {len(cases)} cases'
        got = f'none for {len(missing)}: {", ".join(missing)}'
        raise InputFileError(folder, wanted, got, hint='./puppet dev goldens --update')
    for case in cases:
        found = check_case(case, folder, place / f'{case.name}.mcap')
        if found.within:
            print(f'{case.name}: {summary_lines(found)[0]}', flush=True)
            continue
        wrong += 1
        print(f'{case.name}:')
        print(*(f'  {line}' for line in report_lines(found)), sep='\n', flush=True)
        if html is not None:
            page = html / f'{case.name}.html'
            write_reports(found, html=page)
            print(f'  {page}')
    print(f'{len(cases) - wrong} of {len(cases)} as before')
    return EXIT_FAILED if wrong else EXIT_OK


def _update(cases: Sequence[GoldenCase], folder: Path, place: Path) -> int:
    changed = 0
    for case in cases:
        result = place / f'{case.name}.mcap'
        replay_case(case, folder, result)
        found = changes(case.file(folder), result)
        if found is not None and found.within:
            print(f'{case.name}: not changed', flush=True)
            continue
        changed += 1
        write_bytes(case.file(folder), result.read_bytes())
        if found is None:
            print(f'{case.name}: new', flush=True)
        else:
            print(f'{case.name}: changed; A is as it was, B as it is now')
            print(*(f'  {line}' for line in report_lines(found)), sep='\n', flush=True)
    print(f'{changed} of {len(cases)} changed')
    return EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
