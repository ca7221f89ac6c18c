# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`puppet_fuzz`: damaged files of every kind, and whether each is read or refused as it should be.

Each kind is read by a process of its own with limited memory; one that says nothing for too long
is ended, and the rest goes on behind the case that held it up.

"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
import json
from pathlib import Path
import subprocess
import sys
import threading
import time
from typing import Any

from puppet_bringup.fuzz_kinds import KINDS
from puppet_bringup.fuzz_worker import BAD, case_data, CRASH, HANG, ODD
from puppet_core import atomic_file
from puppet_core.errors import ConfigError, PuppetError

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT = 0, 1, 2
CASE_LIMIT_S = 60.0  # of a case, on a machine that has other work
AT_ONCE = 100  # cases of one kind, before the next kind has its turn
WORKER = (sys.executable, '-m', 'puppet_bringup.fuzz_worker')
EXAMPLE = 'example: puppet_fuzz --seed 1 --minutes 5 --json fuzz.json'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(
        prog='puppet_fuzz', epilog=EXAMPLE,
        description='Read damaged files of every kind: each must be read or refused in a line, '
                    'in little time and memory.',
    )  # fmt: skip
    p.add_argument('--seed', type=int, default=1, help='of the damage, default %(default)s')
    p.add_argument('--minutes', type=float, default=1.0, metavar='M',
                   help='how long; default %(default)s')  # fmt: skip
    p.add_argument('--kinds', default=','.join(KINDS), metavar='KIND,..',
                   help='what is damaged; all by default')  # fmt: skip
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures there')
    p.add_argument('--save', type=Path, metavar='DIR', help='write the files that failed there')
    return p


class Tally:
    """What became of the cases of all kinds."""

    def __init__(self) -> None:
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
            print(f'{name} {line["case"]}: {line["outcome"]}: {line["what"]}: {line["text"]}')

    def figures(self, seconds: float) -> dict[str, Any]:
        """Return the figures of a report."""
        total = sum(sum(counts.values()) for counts in self.outcomes.values())
        return {
            'cases': total, 'cases_per_s': total / seconds, 'seconds': seconds,
            'kinds': {
                name: {**counts, 'worst_s': self.worst[name][0], 'worst_mb': self.worst[name][1]}
                for name, counts in self.outcomes.items()
            },
            'failures': self.failures,
        }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run cases until the time is up; return the exit code."""
    options = parser().parse_args(argv)
    try:
        return _run(options)
    except PuppetError as err:
        print(f'puppet_fuzz: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print('interrupted: no report is written', file=sys.stderr)
        return EXIT_FAILED


def _run(options: argparse.Namespace) -> int:
    names = options.kinds.split(',')
    for name in names:
        if name not in KINDS:
            raise ConfigError(f'--kinds: expected some of {", ".join(KINDS)}, got {name!r}')
    if options.seed < 0 or not 0.0 < options.minutes <= 1e4:
        raise ConfigError('--seed, --minutes: expected seed >= 0 and 0 < minutes <= 10000')
    if options.json is not None:
        atomic_file.check_writable(options.json, '--json')
    if options.save is not None:
        atomic_file.check_writable(options.save / 'case', '--save')
    tally, start, first = Tally(), time.monotonic(), 0
    end = start + 60.0 * options.minutes
    while time.monotonic() < end:
        for name in names:
            if time.monotonic() >= end:
                break
            for line in cases(name, options.seed, first, AT_ONCE, end):
                tally.add(line)
        first += AT_ONCE
    figures = tally.figures(time.monotonic() - start)
    for name, row in figures['kinds'].items():
        cells = (f'{k} {v:.3g}' if isinstance(v, float) else f'{k} {v}' for k, v in row.items())
        print(f'{name:13}', ', '.join(cells))
    print(f'{figures["cases"]} cases, {figures["cases_per_s"]:.1f} a second, '
          f'{len(tally.failures)} failed')  # fmt: skip
    if options.json is not None:
        atomic_file.write_text(options.json, json.dumps(figures, indent=2) + '\n')
    if options.save is not None:
        _save(options.save, options.seed, tally.failures)
    return EXIT_FAILED if tally.failures else EXIT_OK


def cases(name: str, seed: int, first: int, count: int, end: float) -> Iterator[dict[str, Any]]:
    """Yield what becomes of the cases of a kind, those that end their process too."""
    stop = first + count
    while first < stop and time.monotonic() < end:
        begun: dict[str, Any] | None = None
        with Reader([name, str(seed), str(first), str(stop - first)]) as reader:
            for line in reader.lines(end):
                if 'begin' in line:
                    begun = line
                else:
                    begun = None
                    yield line
        if begun is None:
            if reader.code not in (0, None) and time.monotonic() < end:
                yield _lost(name, first, CRASH, f'its process ended with {reader.code}')
            return
        outcome = HANG if reader.was_slow else CRASH
        if reader.was_slow or time.monotonic() < end:
            yield _lost(name, begun['begin'], outcome, f'process: {reader.code}', begun['what'])
        first = begun['begin'] + 1


class Reader:
    """The process that reads; ended when it says nothing for too long."""

    def __init__(self, words: list[str]) -> None:
        self._process = subprocess.Popen(
            [*WORKER, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._timer: threading.Timer | None = None
        self.was_slow = False
        """Whether it was ended for that."""
        self.code: int | None = None
        """Exit code, once it has ended."""

    def __enter__(self) -> 'Reader':
        """Use the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        if self._timer is not None:
            self._timer.cancel()
        if self._process.poll() is None and self.code is None:
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self.code = self._process.wait()

    def lines(self, end: float) -> Iterator[dict[str, Any]]:
        """Yield what it says, until the end of the time."""
        assert self._process.stdout is not None
        self._watch()
        for line in self._process.stdout:
            self._watch()
            yield json.loads(line)
            if time.monotonic() >= end and '"case"' in line:
                self._process.kill()
                return

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(CASE_LIMIT_S, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        self.was_slow = True
        self._process.kill()


def _lost(name: str, index: int, outcome: str, text: str, what: str = '') -> dict[str, Any]:
    return {'case': index, 'kind': name, 'what': what, 'outcome': outcome, 'text': text,
            's': CASE_LIMIT_S if outcome == HANG else 0.0, 'mb': 0.0}  # fmt: skip


def _save(folder: Path, seed: int, failures: list[dict[str, Any]]) -> None:
    for line in failures:
        if line['case'] >= len(ODD):
            kind = KINDS[line['kind']]
            path = folder / f'{line["kind"]}_{seed}_{line["case"]}{kind.suffix}'
            atomic_file.write_bytes(path, case_data(kind, line['kind'], seed, line['case'])[1])


if __name__ == '__main__':
    sys.exit(main())
