# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet stress soak`: the graph for an hour, to see whether it stays as it is.

The emulated tracker drives the real graph. Memory, threads, files and processor of each process
are looked at all the while, latency and lost frames counted minute by minute. With --accelerated
a day of simulated stamps goes through the stages of the nodes in one process instead.
"""

import argparse
from collections.abc import Mapping, Sequence
import json
import math
from pathlib import Path
import sys
import tempfile
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import psutil
from puppet_bringup.graph_run import (
    check_rate,
    DemoRun,
    PipelineError,
    simulation,
    use_own_domain,
    watched_graph,
)
from puppet_bringup.monitor import TOPICS, UsageMeter
from puppet_core import named_files
from puppet_core.body import load_character
from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    note,
    run_command,
    stop_on_signals,
    write_text,
)
from puppet_ros.node import DIAGNOSTICS_TOPIC
from robustness.process_usage import read_in_full
from robustness.soak.accelerated import run_accelerated
from robustness.soak.record import FrameTally, MINUTE_S, TakenLog, UsageSeries
from robustness.soak.report import is_missed, judged, lines, report, Soak

DEFAULT_MINUTES, MAX_MINUTES = 60.0, 7 * 24 * 60.0
DEFAULT_HOURS, MAX_HOURS = 24.0, 7 * 24.0
MAX_LOOKS = 720  # a poll of all processes takes milliseconds; an hour has one in five seconds
LOOK_S = 1.0
TAKE_S = 1.0  # between two countings of frames
LATE_S = 1.0  # a frame without joint states by then is lost
COUNTERS = ('drops', 'incomplete_frames', 'missing_samples', 'late_records', 'stalls')
EXAMPLE = 'example: ./puppet stress soak --minutes 60 --json soak.json'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = CommandParser(
        prog='puppet stress soak',
        epilog=EXAMPLE,
        description='Run the graph for a long time; check memory growth, latency drift and lost '
        'frames.',
    )
    p.add_argument('--minutes', type=float, help=f'how long; default {DEFAULT_MINUTES:g}')
    p.add_argument('--composed', action='store_true', help='all nodes in one process')
    p.add_argument(
        '--rate',
        type=float,
        default=120.0,
        metavar='HZ',
        help='frames per second; default %(default)g',
    )
    p.add_argument(
        '--character', default='blubby', metavar='C', help='the puppet; default %(default)s'
    )
    p.add_argument(
        '--accelerated',
        action='store_true',
        help='run the stages in simulated time, as fast as possible',
    )
    p.add_argument('--hours', type=float, help=f'of simulated time, default {DEFAULT_HOURS:g}')
    p.add_argument(
        '--json', type=Path, metavar='FILE', help='write figures and time series to this file'
    )
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    return run_command('puppet stress soak', lambda: _run(parser().parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    stopping = stop_on_signals()
    for option, unused in (('minutes', options.accelerated), ('hours', not options.accelerated)):
        if unused and getattr(options, option) is not None:
            way = 'without' if options.accelerated else 'with'
            raise ConfigError(f'--{option}: expected only {way} --accelerated')
    minutes = DEFAULT_MINUTES if options.minutes is None else options.minutes
    hours = DEFAULT_HOURS if options.hours is None else options.hours
    for option, value, most in (('minutes', minutes, MAX_MINUTES), ('hours', hours, MAX_HOURS)):
        if not 0.0 < value <= most:
            raise ConfigError(f'--{option}: expected 0 < value <= {most:g}, got {value}')
    if options.accelerated and options.composed:
        raise ConfigError('--composed: expected only without --accelerated')
    check_rate('--rate', options.rate)
    load_character(named_files.character_file(options.character))
    if options.json is not None:
        check_writable(options.json, '--json')
    if options.accelerated:
        return run_accelerated(hours, options.rate, options.character, options.json, stopping)
    return _run_live(options, minutes, stopping)


def _run_live(options: argparse.Namespace, minutes: float, stopping: threading.Event) -> int:
    use_own_domain()
    settings = {
        'minutes': minutes,
        'composed': options.composed,
        'rate_hz': options.rate,
        'character': options.character,
    }
    with tempfile.TemporaryDirectory(prefix='puppet_soak_') as folder:
        listed = simulation(Path(folder), options.character, options.rate, options.composed)
        with watched_graph(listed, stopping, _say, TOPICS) as graph:
            if not graph.start():
                return EXIT_FAILED
            watch = SoakWatch(graph, 60.0 * minutes)
            _say(f'watching {", ".join(watch.names)} for {minutes:g} min')
            try:
                watch.run()
            except PipelineError:
                _tell(options, watch.found(settings))  # what there is of it
                raise
    return _tell(options, watch.found(settings))


def _tell(options: argparse.Namespace, soak: Soak) -> int:
    evaluations = judged(soak)
    print('\n'.join(lines(soak, evaluations)), flush=True)
    if options.json is not None:
        write_text(options.json, json.dumps(report(soak, evaluations), indent=1) + '\n')
        print(f'figures written to {options.json}')
    return EXIT_FAILED if is_missed(evaluations) else EXIT_OK


class SoakWatch:
    """
    Watches a running graph.

    Parameters
    ----------
    graph : DemoRun
        Started, its monitor on frame_log.TOPICS.
    duration_s : float
        How long at most [s].

    """

    def __init__(self, graph: DemoRun, duration_s: float) -> None:
        self._run, self._log = graph, TakenLog()
        graph.monitor.log = self._log
        self._duration_s = duration_s
        self._elapsed_s = 0.0
        self._begin_s = 0.0
        self._meter = UsageMeter(graph.supervisor.children)
        self._period_s = max(LOOK_S, duration_s / MAX_LOOKS)
        n_looks = math.ceil(duration_s / self._period_s) + 2
        self._series = UsageSeries(self.names, n_looks)
        self._tally = FrameTally(math.ceil(duration_s / MINUTE_S))
        self._minutes_told = 0
        self._drops = DropCounters()
        graph.monitor.create_subscription(
            DiagnosticArray, DIAGNOSTICS_TOPIC, self._drops.on_diagnostics, 100
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the processes."""
        return tuple(self._meter.processes)

    def run(self) -> None:
        """
        Watch until the time is over or somebody stops it.

        Raises
        ------
        PipelineError : if a process of the graph ends.

        """
        self._run.settle()
        self._begin_s = self._log.seconds(time.time_ns())
        self._log.take(self._begin_s)
        ended = threading.Event()
        # in a thread of its own: a message that waits for a poll would seem late
        polling = threading.Thread(target=self._poll, args=(ended,), daemon=True)
        polling.start()
        try:
            self._run.go_on(self._duration_s, TAKE_S, self._count)
            self._run.drain()
        finally:
            ended.set()
            polling.join()
            end_s = self._begin_s + min(self._elapsed_s, self._duration_s)
            self._tally.add(self._log.take(end_s), self._begin_s)
            self._tally.close_minute()

    def found(self, settings: dict[str, Any]) -> Soak:
        """Return what there is of the run."""
        elapsed_s = min(self._elapsed_s, self._duration_s)
        return Soak(settings, elapsed_s, self._tally, self._series, self._drops.risen())

    def _count(self, elapsed_s: float) -> None:
        self._elapsed_s = elapsed_s
        before_s = min(self._log.seconds(time.time_ns()), self._begin_s + self._duration_s)
        self._tally.add(self._log.take(before_s - LATE_S), self._begin_s)
        minutes = self._tally.minutes()
        if len(minutes['time_s']) > self._minutes_told:
            self._minutes_told = len(minutes['time_s'])
            own = sum(
                values[-1]
                for name in self._series.names
                if len(values := self._series.of(name, 'heap_mb'))
            )
            _say(
                f'minute {self._minutes_told}: p50 {minutes["p50_ms"][-1]:.2f} ms, '
                f'p99 {minutes["p99_ms"][-1]:.2f} ms, {minutes["lost"][-1]:.0f} lost, '
                f'{own:.1f} MB'
            )

    def _poll(self, ended: threading.Event) -> None:
        start = time.monotonic()
        psutil.cpu_percent()
        for i in range(1, math.ceil(self._duration_s / self._period_s) + 1):
            if ended.wait(max(start + i * self._period_s - time.monotonic(), 0.0)):
                return
            usage = read_in_full(self._meter)
            self._series.add(time.monotonic() - start, usage, psutil.cpu_percent())


class DropCounters:
    """By how much the nodes' own counters of what they drop have risen."""

    def __init__(self) -> None:
        self._first: dict[str, dict[str, int]] = {}
        self._last: dict[str, dict[str, int]] = {}

    def on_diagnostics(self, array: DiagnosticArray) -> None:
        """Take the diagnostics of some nodes."""
        for status in array.status:
            name = status.name.split(':')[0]
            counters = {
                pair.key: int(pair.value)
                for pair in status.values
                if pair.key.startswith(COUNTERS) and pair.value.isdigit()
            }
            self._first.setdefault(name, counters)
            self._last[name] = counters

    def risen(self) -> Mapping[str, Mapping[str, int]]:
        """Return node -> counter -> by how much it has risen since it was first heard of."""
        return {
            name: {key: count - self._first[name].get(key, 0) for key, count in counters.items()}
            for name, counters in self._last.items()
        }


def _say(text: str) -> None:
    note(f'{time.strftime("%H:%M:%S")} {text}')


if __name__ == '__main__':
    sys.exit(main())
