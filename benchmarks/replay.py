# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure the replay speed relative to real time, and profile it.

The bag is replayed several times, then the result of that in the same way: a recording of all
topics of the graph. The best run counts, by the wall and by the time of the process alone, which
other programs on the machine change less. The table is of one more run with a clock around each
part, which takes a little itself. The bags are written to the current folder and removed.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
import json
from pathlib import Path
import sys
import tempfile
import time
from typing import Any, NamedTuple

from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_OK,
    run_command,
    write_text,
)
from puppet_replay.pipeline import Pipeline, read_settings, Settings
from puppet_replay.replay import ReplayReport, run_through
from puppet_replay.topics import entry_of
from puppet_ros.bags import BagMessage, BagReader, BagWriter

RUNS = 5
REST = 'rest'
TO_BYTES = ('data', 'joints_data', 'posture_data', 'status_data')  # methods of stages


class Run(NamedTuple):
    """What one replay took."""

    wall_s: float
    process_s: float
    parts: dict[str, float]  # Time of the process by part of the work [s]; empty without clocks
    frames: int
    duration_s: float  # Of the bag [s]


class Clocks:
    """Time by part of the work; one part within another counts for the inner one alone."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = defaultdict(float)
        self._inner = 0.0

    def around(self, part: str, owner: Any, name: str) -> None:
        """Put a clock around a method of an object."""
        inner: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any) -> Any:
            begun, self._inner = (time.process_time(), self._inner), 0.0
            try:
                return inner(*args)
            finally:
                took = time.process_time() - begun[0]
                self.parts[part] += took - self._inner
                self._inner = begun[1] + took

        setattr(owner, name, timed)

    def over(self, part: str, owner: Any, name: str) -> None:
        """Put a clock on what a method yields."""
        inner: Callable[..., Iterator[BagMessage]] = getattr(owner, name)

        def timed(*args: Any) -> Iterator[BagMessage]:
            box = _Next(inner(*args))
            self.around(part, box, 'next')
            while (message := box.next()) is not None:
                yield message

        setattr(owner, name, timed)


class _Next:
    def __init__(self, messages: Iterator[BagMessage]) -> None:
        self._messages = messages

    def next(self) -> BagMessage | None:  # noqa: A003
        return next(self._messages, None)


def replayed(source: Path, target: Path, settings: Settings, clocks: Clocks | None) -> Run:
    """Replay once."""
    report = ReplayReport()
    with BagReader(source) as reader:
        report.entry = entry_of(reader)
        pipeline = Pipeline(settings, report.entry)
        with BagWriter(target) as writer:
            if clocks is not None:
                _wind(clocks, reader, pipeline, writer)
            begun = time.perf_counter(), time.process_time()
            run_through(reader, writer, pipeline, report)
        ended = time.perf_counter(), time.process_time()
    parts = {}
    if clocks is not None:
        parts = dict(clocks.parts)
        parts[REST] = ended[1] - begun[1] - sum(parts.values())
    return Run(
        ended[0] - begun[0],
        ended[1] - begun[1],
        parts,
        report.counts[report.entry],
        report.duration_s,
    )


def figures_of(name: str, runs: Sequence[Run], timed: Run) -> dict[str, Any]:
    """Return the figures of the best run, and of the parts of a run with clocks."""
    wall_s, process_s = min(run.wall_s for run in runs), min(run.process_s for run in runs)
    bag_s = timed.duration_s
    return {
        'bag': name,
        'duration_s': bag_s,
        'frames': timed.frames,
        'runs': len(runs),
        'wall_s': wall_s,
        'times_real_time': bag_s / wall_s,
        'process_s': process_s,
        'times_real_time_of_process': bag_s / process_s,
        'us_per_frame': {part: s / timed.frames * 1e6 for part, s in timed.parts.items()},
    }


def lines_of(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the report lines of the runs."""
    yield (
        '{bag}: {duration_s:.1f} s, {frames} frames; best of {runs}: {wall_s:.2f} s, '
        '{times_real_time:.0f} times real time; {process_s:.2f} s of the process, '
        '{times_real_time_of_process:.0f} times'
    ).format(**figures)
    total = sum(figures['us_per_frame'].values())
    for part, took in figures['us_per_frame'].items():
        yield f'  {part:12}{took:8.1f} us a frame {took / total:6.0%}'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = CommandParser(
        prog='puppet bench replay',
        description=__doc__.strip().split('\n')[0],
        epilog='example: ./puppet bench replay session.mcap --runs 8',
    )
    p.add_argument('bag', type=Path, help='folder of a bag, or its .mcap or .db3 file')
    p.add_argument('--runs', type=int, default=RUNS, help='runs of each bag, default %(default)s')
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures to this file')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return run_command('puppet bench replay', lambda: _bench(arguments), 'nothing was measured')


def _bench(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    if options.runs < 1:
        raise ConfigError(f'runs: expected at least 1, got {options.runs}')
    if options.json is not None:
        check_writable(options.json, 'json')
    settings = read_settings()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        whole, other = Path(folder) / 'all_topics.mcap', Path(folder) / 'again.mcap'
        for source, target in ((options.bag, whole), (whole, other)):
            runs = [replayed(source, target, settings, None) for _ in range(options.runs)]
            timed = replayed(source, target, settings, Clocks())
            found.append(figures_of(source.stem, runs, timed))
            for line in lines_of(found[-1]):
                print(line, flush=True)  # noqa: T201
    if options.json is not None:
        write_text(options.json, json.dumps(found, indent=2) + '\n')
    return EXIT_OK


def _wind(clocks: Clocks, reader: BagReader, pipeline: Pipeline, writer: BagWriter) -> None:
    clocks.over('read', reader, 'messages')
    clocks.around('write', writer, 'write')
    for stream in pipeline.readers.values():
        clocks.around('bytes', stream, 'read')
    for part, stage in pipeline.stages():
        clocks.around(part, stage, 'step')
        for name in TO_BYTES:
            if hasattr(stage, name):
                clocks.around('bytes', stage, name)


if __name__ == '__main__':
    sys.exit(main())
