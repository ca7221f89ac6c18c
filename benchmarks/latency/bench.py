# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet bench latency`: how long frames take through the graph, apart and in one process.

The emulated tracker drives the real graph. For the figures end to end nobody but this program
listens, and only to the joint states; then it listens to all streams for the hops. In one
process there are no hops to be seen from outside: what is on the way is sent after the result.
A chain of processes that only pass frames on tells what the middleware alone takes here.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import json
from pathlib import Path
import sys
import tempfile
import threading
import time
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.latency.arrival_jitter import LateBytes
from benchmarks.latency.figures import end_to_end, Figures, hops, in_window, lines
from benchmarks.latency.relay import measure_relays, running_first
from puppet_bringup.graph_run import (
    check_rate,
    DemoRun,
    EMULATOR,
    simulation,
    use_own_domain,
    watched_graph,
)
from puppet_bringup.monitor import JOINTS_TOPIC, MONITOR, Monitor, TOPICS
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
from puppet_ros.node import cores_of, Scheduling

SEPARATE, COMPOSED, RELAYS = FORMS = ('separate', 'composed', 'relays')
CHARACTERS = ('blubby', 'sally', 'frog', 'performer')
LOOK_S = 0.05  # between two looks whether a frame has come
EXAMPLE = 'example: ./puppet bench latency --duration 60 --puppets 1,4 --json latency.json'


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = CommandParser(
        prog='puppet bench latency',
        epilog=EXAMPLE,
        description='Measure the latency from the tracker to the joint states.',
    )
    p.add_argument(
        '--duration',
        type=float,
        default=60.0,
        metavar='S',
        help='seconds per end-to-end figure, default %(default)s',
    )
    p.add_argument(
        '--hops',
        type=float,
        default=60.0,
        metavar='S',
        help='seconds for the latency of each hop, default %(default)s',
    )
    p.add_argument(
        '--rates', default='120', metavar='HZ,..', help='frames per second, default %(default)s'
    )
    p.add_argument(
        '--puppets',
        default='1',
        metavar='N,..',
        help='number of puppets at once, 1 to 4; default %(default)s',
    )
    p.add_argument(
        '--forms',
        default=','.join(FORMS),
        metavar='FORM,..',
        help='separate nodes, all in one process, or processes that only relay frames; '
        'default %(default)s',
    )
    p.add_argument(
        '--realtime',
        action='store_true',
        help='run everything with real-time priority, CPU idle states off',
    )
    p.add_argument(
        '--pin', default='', metavar='N,..', help='CPU cores for the nodes, assigned round-robin'
    )
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures there')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    return run_command('puppet bench latency', lambda: _run(parser().parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    stopping = stop_on_signals()
    wanted = _Wanted(
        _listed('--forms', options.forms, FORMS),
        [int(n) for n in _listed('--puppets', options.puppets, ('1', '2', '3', '4'))],
        [_rate(text) for text in options.rates.split(',')],
        options.duration,
        options.hops,
        Scheduling(options.realtime, cores_of(options.pin)),
    )
    for name in ('duration', 'hops'):
        if not 1.0 <= getattr(options, name) < float('inf'):
            raise ConfigError(f'--{name}: expected seconds >= 1, got {getattr(options, name)}')
    if options.json is not None:
        check_writable(options.json, '--json')
    use_own_domain()
    report: Figures = {}
    exit_code = EXIT_OK
    for key, form, n_puppets, rate_hz, figures in _runs(wanted, stopping):
        if figures is None:  # what was measured until then is reported all the same
            exit_code = EXIT_FAILED
            break
        print('\n'.join(lines(form, n_puppets, rate_hz, figures)), flush=True)
        report.setdefault(form, figures)  # the first of each
        report.setdefault('all', {}).setdefault(key, {})[form] = figures
    if options.json is not None and report:
        write_text(options.json, json.dumps(report, indent=2) + '\n')
        print(f'figures written to {options.json}')
    return exit_code


class _Wanted(NamedTuple):
    """What is to be measured, seconds each, and how the processes run."""

    forms: Sequence[str]
    counts: Sequence[int]
    rates_hz: Sequence[float]
    duration_s: float
    hops_s: float
    scheduling: Scheduling


def _runs(
    wanted: _Wanted, stopping: threading.Event
) -> Iterator[tuple[str, str, int, float, Figures | None]]:
    """Yield key, form, number of puppets, rate and figures of each run; None when stopped."""
    scheduling = wanted.scheduling
    given = {
        'realtime': str(scheduling.realtime).lower(),
        'pin': ','.join(map(str, scheduling.cores)),
    }
    for rate_hz in wanted.rates_hz:
        for n_puppets in wanted.counts:
            for form in wanted.forms:
                if form != RELAYS:
                    run = LatencyRun(form, n_puppets, rate_hz, stopping, given)
                    figures = run.measure(wanted.duration_s, wanted.hops_s)
                    yield f'{rate_hz:g}_hz_{n_puppets}_puppets', form, n_puppets, rate_hz, figures
        if RELAYS in wanted.forms:
            passed = measure_relays(rate_hz, wanted.duration_s, stopping, _say, scheduling)
            yield f'{rate_hz:g}_hz', RELAYS, 0, rate_hz, passed


class LatencyRun:
    """
    The graph in one form, measured.

    Parameters
    ----------
    form : str
        One of FORMS.
    n_puppets : int
        How many puppets follow the one performer.
    rate_hz : float
        Frames per second.
    stopping : Event
        Ends the run early.
    given : mapping of str to str
        Further arguments of the launch description.

    """

    def __init__(
        self,
        form: str,
        n_puppets: int,
        rate_hz: float,
        stopping: threading.Event,
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._further = given
        self._form, self._rate_hz, self._stopping = form, rate_hz, stopping
        self._characters = CHARACTERS[:n_puppets]

    def measure(self, duration_s: float, hops_s: float) -> Figures | None:
        """
        Return the figures of one run of the graph; None if it was stopped.

        Parameters
        ----------
        duration_s : float
            Seconds in which only joint states are listened to.
        hops_s : float
            Seconds in which all streams are.

        Returns
        -------
        figures : dict
            'end_to_end_ms' and 'hops' (empty in one process), each p50, p99, p99_9, max [ms];
            'late_bytes_ms', p50 and p99 of how late the frames' first bytes came, which is part
            of both; 'frames', 'lost'; 'cpu_percent' of a core, of all nodes together.

        Raises
        ------
        PipelineError : if the graph does not come up or does not stay up.

        """
        further = range(2, len(self._characters) + 1)
        topics = [JOINTS_TOPIC, *(f'/puppet_{n}/joint_states' for n in further)]
        with tempfile.TemporaryDirectory(prefix='puppet_latency_') as folder:
            listed = simulation(
                Path(folder),
                ','.join(self._characters),
                self._rate_hz,
                self._form == COMPOSED,
                **self._further,
            )
            with watched_graph(listed, self._stopping, _say, topics) as graph:
                late_bytes = LateBytes(graph.monitor)
                if not graph.start():
                    return None
                with self._listening_first():
                    return self._watch(graph, graph.monitor, late_bytes, duration_s, hops_s)

    @contextmanager
    def _listening_first(self) -> Iterator[None]:
        """Let who listens here not wait either; the nodes have seen to themselves."""
        if self._further.get('realtime') != 'true':
            yield
            return
        with running_first() as refused:
            for refusal in refused:
                _say(refusal)
            yield

    def _see_index(self, run: DemoRun) -> None:
        """Listen to the driver until the index of a frame has come."""
        monitor, seen = run.monitor, run.monitor.indices_seen
        monitor.watch(TOPICS[0])
        while monitor.indices_seen == seen and not self._stopping.is_set():
            run.go_on(LOOK_S, LOOK_S, lambda _: None)
        monitor.unwatch(TOPICS[0])

    def _watch(
        self,
        run: DemoRun,
        monitor: Monitor,
        late_bytes: LateBytes,
        duration_s: float,
        hops_s: float,
    ) -> Figures | None:
        self._see_index(run)
        late_bytes.clear()
        begin_s, end_s, usage = run.measure(duration_s)
        late = late_bytes.figures()
        self._see_index(run)
        run.drain()
        if self._stopping.is_set():
            return None
        found = end_to_end(monitor.log.table(), begin_s, end_s, len(self._characters))
        found['late_bytes_ms'] = late
        found['cpu_percent'] = sum(
            used.cpu_percent for name, used in usage.items() if name not in (MONITOR, EMULATOR)
        )
        found['hops'] = {}
        if self._form == SEPARATE:
            for topic in TOPICS[:-1]:
                monitor.watch(topic)
            begin_s, end_s, _ = run.measure(hops_s)
            found['hops'] = hops(in_window(monitor.log.table(), begin_s, end_s))
        return None if self._stopping.is_set() else found


def _listed(option: str, text: str, known: Sequence[str]) -> list[str]:
    words = [word.strip() for word in text.split(',')]
    for word in words:
        if word not in known:
            raise ConfigError(f'{option}: expected some of {",".join(known)}, got {word!r}')
    return words


def _rate(text: str) -> float:
    try:
        rate_hz = float(text)
    except ValueError:
        raise ConfigError(f'--rates: expected numbers, got {text!r}') from None
    check_rate('--rates', rate_hz)
    return rate_hz


def _say(text: str) -> None:
    note(f'{time.strftime("%H:%M:%S")} {text}')


if __name__ == '__main__':
    sys.exit(main())
