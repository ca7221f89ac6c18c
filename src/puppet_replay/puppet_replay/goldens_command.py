# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet dev goldens`: replay the golden performance and compare, or make the goldens anew."""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
import tempfile

from puppet_core import atomic_file
from puppet_core.errors import ConfigError, InputFileError
from puppet_replay.compare import report_lines, summary_lines, write_reports
from puppet_replay.goldens import (
    changes_of,
    check_case,
    cut_performance,
    FOLDER,
    golden_cases,
    golden_tolerances,
    GoldenCase,
    PERFORMANCE,
    replay_case,
)
from puppet_ros.command import EXIT_FAILED, run_command
from puppet_ros.spin import EXIT_OK

NAME = 'goldens'
EXAMPLE = """\
examples:
  ./puppet dev goldens
  ./puppet dev goldens sally --html difference.html
  ./puppet dev goldens --update"""


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog=f'puppet {NAME}',
        description='Replay a short performance for every character and solver and compare it '
        'with the bags under test/goldens. Exit code 0: all as before, 1: not, 2: bad input.',
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.add_argument('names', nargs='*', metavar='NAME', help='only cases with this in their name')
    p.add_argument('--update', action='store_true', help='write them anew and say what changed')
    p.add_argument(
        '--performance', type=Path, metavar='BAG',
        help='with --update: another performance, of tracker_emulator --export --rate-hz 60',
    )
    p.add_argument(
        '--folder', type=Path, metavar='DIR', default=FOLDER,
        help='of the goldens; default %(default)s',
    )
    p.add_argument('--html', type=Path, metavar='DIR', help='a page for each case that differs')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(
        f'puppet {NAME}', lambda: _run(parser().parse_args(argv)), 'goldens are as they were, '
        'or wholly new, one by one',
    )  # fmt: skip


def _run(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.folder
    if not folder.is_dir():
        raise ConfigError(f'--folder: expected a folder of goldens, got {str(folder)!r}')
    if arguments.performance is not None and not arguments.update:
        raise ConfigError('--performance: expected --update beside it, got none')
    if arguments.performance is not None and arguments.names:
        raise ConfigError('--performance: expected no NAME beside it, for all goldens are of one '
                          f'performance; got {", ".join(arguments.names)}')
    cases = _chosen(arguments.names)
    golden_tolerances(folder)
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
    return [
        case for case in cases if not names or any(name in case.name for name in names)
    ]


def _check(cases: Sequence[GoldenCase], folder: Path, place: Path, html: Path | None) -> int:
    wrong = 0
    missing = [case.name for case in cases if not case.file(folder).exists()]
    if len(missing) > 1:  # one is named by its check
        raise InputFileError(
            folder, f'a golden for each of {len(cases)} cases',
            f'none for {len(missing)}: {", ".join(missing)}', hint='./puppet dev goldens --update',
        )  # fmt: skip
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
            write_reports(found, golden_tolerances(folder), html=page)
            print(f'  {page}')
    print(f'{len(cases) - wrong} of {len(cases)} as before')
    return EXIT_FAILED if wrong else EXIT_OK


def _update(cases: Sequence[GoldenCase], folder: Path, place: Path) -> int:
    changed = 0
    for case in cases:
        result = place / f'{case.name}.mcap'
        replay_case(case, folder, result)
        found = changes_of(case, folder, result)
        if found is not None and found.within:
            print(f'{case.name}: not changed', flush=True)
            continue
        changed += 1
        atomic_file.write_bytes(case.file(folder), result.read_bytes())
        if found is None:
            print(f'{case.name}: new', flush=True)
        else:
            print(f'{case.name}: changed; A is as it was, B as it is now')
            print(*(f'  {line}' for line in report_lines(found)), sep='\n', flush=True)
    print(f'{changed} of {len(cases)} changed')
    return EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
