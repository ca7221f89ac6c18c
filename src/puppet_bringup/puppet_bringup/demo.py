# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet demo`: a live performance drives a puppet through real ROS 2 processes."""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys
import threading
import time
from typing import Any

import numpy as np
from puppet_bringup import graph_run, monitor
from puppet_bringup.process_table import Process
from puppet_core import io
from puppet_core.body import END_EFFECTORS, motion_measures
from puppet_core.clips import UP_AXES
from puppet_core.math import Floats
from puppet_core.procedural import SCRIPTS, SHOW

LAST = monitor.ARRIVALS.stop - 1  # /joint_states

Figures = dict[str, Any]

VIEWER = 'puppet_view'
EXAMPLE = 'example: ./puppet demo --headless --duration 20 --character sally --json demo.json'


def figures(table: Floats, begin_s: float, end_s: float, is_composed: bool = False) -> Figures:
    """
    Return the figures of the frames acquired in a time window, its end excluded [s].

    Keys and units are those of the demo's JSON, None where nothing was measured. Nodes that share
    a process send what is on the way after the result, so there are no stages then.
    """
    rows = table[(table[:, monitor.STAMP] >= begin_s) & (table[:, monitor.STAMP] < end_s)]
    indexed = rows[np.isfinite(rows[:, monitor.INDEX])]
    solved = rows[np.isfinite(rows[:, LAST])]
    published = int(np.ptp(indexed[:, monitor.INDEX])) + 1 if len(indexed) else 0
    return {
        'frames_published': published,
        'frames_solved': len(solved),
        'rate_hz': _rate_hz(solved[:, LAST]),
        'latency_ms': _percentiles_ms(solved[:, LAST] - solved[:, monitor.STAMP]),
        'stage_ms': {} if is_composed else _stages(solved),
        'dropped': max(published - len(solved), 0),
        'planted_foot_slide_mm_s': _slides(indexed),
        'penetration_mm_max': _greatest(1000.0 * rows[:, monitor.PENETRATION]),
        'importance_max': {
            name: _greatest(rows[:, monitor.IMPORTANCES.start + i])
            for i, name in enumerate(END_EFFECTORS)
        },
    }


def summary(measured: Figures) -> list[str]:
    latency, slide = measured['latency_ms'], measured['planted_foot_slide_mm_s']
    lines = [
        f'frames       {measured["frames_solved"]} solved of {measured["frames_published"]}, '
        f'{measured["dropped"]} dropped, {_text(measured["rate_hz"], 2)} Hz',
        'latency      first tracker byte to /joint_states: '
        + ', '.join(f'{name} {_text(latency[name], 2)} ms' for name in latency),
    ]
    for stage, values in measured['stage_ms'].items():
        spread = ', '.join(f'{name} {_text(value, 2)} ms' for name, value in values.items())
        lines.append(f'  {stage:10} {spread}')
    lines += [
        f'planted feet slide {_text(slide["performer"], 0)} mm/s (performer), '
        f'{_text(slide["puppet"], 0)} mm/s (puppet)',
        f'penetration  {_text(measured["penetration_mm_max"], 2)} mm at most',
        'importance   at most: '
        + ', '.join(f'{k} {_text(v, 2)}' for k, v in measured['importance_max'].items()),
    ]
    return lines


def _stages(rows: Floats) -> dict[str, dict[str, float | None]]:
    """Return for each node the time from its input to its output, both as seen from outside."""
    hops = np.diff(np.column_stack((rows[:, monitor.STAMP], rows[:, monitor.ARRIVALS])))
    return {name: _percentiles_ms(hop) for name, hop in zip(monitor.STAGES.values(), hops.T)}


def _slides(rows: Floats) -> dict[str, float | None]:
    both = np.isfinite(rows[:, monitor.PERFORMER_SOLES]).all(axis=1)
    both &= np.isfinite(rows[:, monitor.PUPPET_SOLES]).all(axis=1)
    rows = rows[both]
    if len(rows) < 2:
        return {'performer': None, 'puppet': None}
    rate_hz = 1.0 / float(np.median(np.diff(rows[:, monitor.STAMP])))
    performer = rows[:, monitor.PERFORMER_SOLES].reshape(-1, 2, 3)
    puppet = rows[:, monitor.PUPPET_SOLES].reshape(-1, 2, 3)
    planted = motion_measures.planted_soles(performer, rate_hz)
    planted[1:][np.diff(rows[:, monitor.INDEX]) != 1] = False  # a frame between was lost
    slides = {'performer': performer, 'puppet': puppet}
    return {
        name: _greatest(np.array([motion_measures.slide_mm_s(soles, planted, rate_hz)]))
        for name, soles in slides.items()
    }


def _rate_hz(times_s: Floats) -> float | None:
    span_s = float(np.ptp(times_s)) if len(times_s) > 1 else 0.0
    return (len(times_s) - 1) / span_s if span_s > 0.0 else None


def _percentiles_ms(seconds: Floats) -> dict[str, float | None]:
    seconds = seconds[np.isfinite(seconds)]
    if not len(seconds):
        return dict.fromkeys(('p50', 'p99', 'max'))
    p50, p99, top = 1000.0 * np.percentile(seconds, (50, 99, 100))
    return {'p50': float(p50), 'p99': float(p99), 'max': float(top)}


def _greatest(values: Floats) -> float | None:
    values = values[np.isfinite(values)]
    return float(np.max(values)) if len(values) else None


def _text(value: float | None, digits: int) -> str:
    return '-' if value is None else f'{value:.{digits}f}'


def parser() -> argparse.ArgumentParser:
    p = io.CommandParser(
        prog='puppet demo',
        description='An emulated performance drives a puppet, live, on ROS 2 topics.',
        epilog=EXAMPLE,
    )
    add = p.add_argument
    add(
        '--clip',
        default='',
        metavar='FILE',
        help='BVH, AMC or C3D file; a built-in performance by default',
    )
    add('--asf', default='', metavar='FILE', help='skeleton of an AMC clip')
    add('--name-map', default='', metavar='MAP', help="names of the clip's joints")
    add('--unit', default='', metavar='U', help="the clip's: mm, cm, in, m or metres")
    text = "the clip's axis that points up; --up-axis=-y if it points down"
    add('--up-axis', default='', choices=('', *UP_AXES[1:]), help=text)
    add('--character', default='blubby', metavar='NAME', help='the puppet; default %(default)s')
    add('--solver', default='', metavar='NAME', help='default whole_body')
    text = f'the built-in performance; {SHOW} if absent'
    add('--script', default='', choices=tuple(SCRIPTS), help=text)
    text = 'default: that of the performance, or floor with --clip'
    add('--environment', default='', metavar='NAME', help=text)
    add('--rate-hz', type=float, default=120.0, help='frames per second; default %(default)s')
    text = 'seconds to stream and measure; default: until Ctrl-C'
    add('--duration', type=float, default=0.0, metavar='S', help=text)
    add('--composed', action='store_true', help='all nodes in one process')
    text = 'run the nodes with real-time priority, CPU idle states off'
    add('--realtime', action='store_true', help=text)
    add('--pin', default='', metavar='N,..', help='CPU cores for the nodes, assigned round-robin')
    add('--headless', action='store_true', help='without the browser view')
    add('--json', type=Path, metavar='FILE', help='write the figures there')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    def run() -> int:
        options = parser().parse_args(argv)
        stopping = io.stop_on_signals()
        with io.run_folder('puppet_demo') as folder:
            return _run(options, _checked_processes(options, folder), stopping)

    return io.run_command('puppet demo', run)


def _checked_processes(options: argparse.Namespace, folder: Path) -> tuple[Process, ...]:
    """Return the processes of the simulation, after everything that can be read was read."""
    if not 0.0 <= options.duration < float('inf'):
        raise io.ConfigError(f'--duration: expected seconds >= 0, got {options.duration}')
    graph_run.check_rate('--rate-hz', options.rate_hz)
    if options.json is not None:
        io.check_writable(options.json, '--json')
    words = 'solver clip script asf name_map unit up_axis pin environment'.split()
    further = {name: getattr(options, name) for name in words}
    further['view'] = str(not options.headless).lower()
    further['realtime'] = str(options.realtime).lower()
    basics = options.character, options.rate_hz, options.composed
    return graph_run.simulation(folder, *basics, **further)


def _run(options: argparse.Namespace, listed: Sequence[Process], stopping: threading.Event) -> int:
    domain = graph_run.use_own_domain()
    start = time.monotonic()

    def say(text: str) -> None:
        print(f'[{time.monotonic() - start:5.1f} s] {text}', flush=True)

    def show(name: str, line: str) -> None:
        if options.verbose or _is_news(name, line):
            say(f'{name}: {line}')

    say(f'{len(listed)} processes on ROS_DOMAIN_ID={domain}')
    with graph_run.watched_graph(listed, stopping, say, on_line=show) as graph:
        if not graph.start():
            say('stopped before the first frame')
            return io.EXIT_OK
        begin_s, end_s, usage = graph.measure(options.duration)
        measured = figures(graph.monitor.log.table(), begin_s, end_s, options.composed)
    _report(options, measured, usage)
    failed = [c for c in graph.supervisor.children if c.exit_code != io.EXIT_OK]
    for child in failed:
        print(f'puppet demo: {child.name} ended with exit code {child.exit_code}', file=sys.stderr)
    return io.EXIT_FAILED if failed else io.EXIT_OK


def _report(
    options: argparse.Namespace, measured: Figures, usage: dict[str, monitor.Usage]
) -> None:
    print()
    for line in summary(measured):
        print(line)
    print('process            CPU %   memory MB')
    for name, used in usage.items():
        print(f'  {name:16} {used.cpu_percent:5.1f} {used.rss_mb:9.0f}')
    print(f'  {"all":16} {sum(used.cpu_percent for used in usage.values()):5.1f}')
    if options.json is not None:
        io.write_text(options.json, json.dumps(measured, indent=2) + '\n')
        print(f'figures written to {options.json}')


def _is_news(name: str, line: str) -> bool:
    if name == VIEWER:
        return line.startswith('open ')
    return 'calibrated:' in line or any(mark in line for mark in ('[WARN', '[ERROR', 'Traceback'))


if __name__ == '__main__':
    sys.exit(main())
