# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Run the pipeline offline and deterministically on a bag, and write the result to another bag.

In one process, without topics or clocks; the same bag and parameters give the same bytes.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
import sys
import time

import numpy as np
from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_FAILED,
    EXIT_OK,
    InputFileError,
    note,
    printable,
    progress,
    run_command,
)
from puppet_replay.pipeline import (
    Pipeline,
    read_settings,
    recorded_parameters,
    ROWS,
    Settings,
    SHORT,
    UNCALIBRATED,
    UNPLACED,
)
from puppet_replay.topics import ENTRIES, entry_of, inputs_of
from puppet_ros.bags import BagMessage, BagReader, BagWriter, COMPRESSIONS, require_same_types
from puppet_ros.interface_table import (
    FILTERED,
    IMPORTANCE,
    JOINTS,
    PARAMETERS,
    POSTURE,
    RAW,
    TF_STATIC,
    TYPES,
)
from puppet_ros.messages import decoded, stamp_ns
from puppet_ros.node import qos
from rclpy.qos import QoSProfile
from tf2_msgs.msg import TFMessage

GAP_S = 0.5  # without input: worth a line
PROFILES = {JOINTS: qos.JOINT_STATES, TF_STATIC: qos.STATIC_TRANSFORMS}
LATCHED = 'robot_description'
EXAMPLE = """\
examples:
  ./puppet replay session.mcap out.mcap
  ./puppet replay session.mcap out.mcap --character sally --solver elbow_circle
  ./puppet replay session.mcap out.mcap --set importance.prediction_s=0.1"""
PROGRESS_STEP = 240  # messages


@dataclass
class ReplayReport:
    entry: str = ''  # where the recorded messages entered
    counts: dict[str, int] = field(default_factory=dict)  # messages written, by topic
    duration_s: float = 0.0  # from the first to the last log time of the input [s]
    warnings: list[str] = field(default_factory=list)  # what is odd about the bag, a line each
    drops: dict[str, int] = field(default_factory=dict)  # useless input, by node and reason
    is_calibrated: bool = True  # whether the performer was at the end, where that matters

    @property
    def failure(self) -> str:
        """Why nothing came of the bag, in words; '' if something could."""
        unplaced = self.drops.get(UNPLACED, 0)
        if unplaced and not self.counts.get(POSTURE):
            return (
                f'expected where the tracker stands, in {TF_STATIC}, got nothing of it for '
                f'{unplaced} frames; record {TF_STATIC} as well'
            )
        if self.is_calibrated:
            return ''
        if not self.drops.get(UNCALIBRATED):
            return 'expected frames that can be used, got none: the performer was never calibrated'
        return (
            "expected a still T-pose of the layout's sensors, got none: the performer was "
            'never calibrated; give a calibration'
        )


def stamp_warnings(stamps_ns: Sequence[int]) -> list[str]:
    """Return a line for each oddity of the stamps of the input, in their order."""
    steps_ns = np.diff(stamps_ns)
    gaps_ns = steps_ns[steps_ns > GAP_S * 1e9]
    oddities = (
        (np.sum(steps_ns < 0), 'stamps go back in time'),
        (np.sum(steps_ns == 0), 'stamps repeat the one before'),
        (len(gaps_ns), f'gaps, the longest of {max(gaps_ns, default=0) * 1e-9:.1f} s'),
    )
    return [f'{count} {text}' for count, text in oddities if count]


def replay(
    source: Path,
    target: Path,
    settings: Settings,
    entry: str = '',
    compression: str = 'none',
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ReplayReport:
    """
    Replay a bag into another, which is replaced when all went well, and return the report.

    Messages enter at `entry`, by default the first topic of the graph in the bag; `compression` is
    one of COMPRESSIONS; `progress` is called with the number of messages done, and of all. Raises
    InputFileError or ConfigError if the bag or the place of the target cannot be used.
    """
    report = ReplayReport()
    with BagReader(source) as reader:
        report.entry = entry_of(reader, entry)
        inputs = inputs_of(report.entry)
        static = [TF_STATIC] if reader.counts.get(TF_STATIC) else []
        report.warnings += reader.warnings
        report.warnings += require_same_types(reader, (*inputs, *static))
        pipeline = Pipeline(settings, report.entry)
        with BagWriter(target, compression) as writer:
            run_through(reader, writer, pipeline, report, progress)
    report.drops = pipeline.drops
    report.warnings += pipeline.errors
    if pipeline.unseen and report.entry != IMPORTANCE:
        names = ', '.join(pipeline.unseen)
        report.warnings.append(f'importance: {names}: what it follows is not in {report.entry}')
    report.is_calibrated = pipeline.is_calibrated or report.entry not in (RAW, FILTERED)
    return report


def frames_first(messages: Iterator[BagMessage]) -> tuple[list[BagMessage], list[BagMessage]]:
    """Split /tf_static into each frame's first place, which the graph knew, and changes."""
    known: set[str] = set()
    first: list[BagMessage] = []
    later: list[BagMessage] = []
    for message in messages:
        children = {t.child_frame_id for t in decoded(message.data, TFMessage).transforms}
        (later if children <= known else first).append(message)
        known |= children
    return first, later


def run_through(
    reader: BagReader,
    writer: BagWriter,
    pipeline: Pipeline,
    report: ReplayReport,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Take a bag's messages through the pipeline into another, and fill in the report."""
    first, later = frames_first(reader.messages([TF_STATIC]))
    inputs = inputs_of(report.entry)
    total = sum(reader.counts[topic] for topic in inputs)
    stamps_ns, counts = list[int](), report.counts
    start_ns = end_ns = None

    def put(topic: str, log_ns: int, data: bytes) -> None:
        if topic not in counts:
            writer.add_topic(topic, TYPES[topic], profile_of(topic))
            counts[topic] = 0
        writer.write(topic, '', log_ns, data)
        counts[topic] += 1

    for done, message in enumerate(reader.messages(inputs), 1):
        if start_ns is None:
            start_ns = message.log_ns
            for static in first:
                put(TF_STATIC, start_ns, static.data)
                pipeline.transform(static.data)
            for output in pipeline.descriptions():
                put(output.topic, start_ns, output.data)
        while later and later[0].log_ns <= message.log_ns:
            static = later.pop(0)
            put(TF_STATIC, message.log_ns, static.data)
            pipeline.transform(static.data)
        end_ns = message.log_ns
        put(message.topic, message.log_ns, message.data)
        stamps_ns.append(stamp_ns(message.data))
        for output in pipeline.step(message.topic, message.data):
            put(output.topic, message.log_ns, output.data)
        progress(done, total)
    if start_ns is None or end_ns is None:
        raise InputFileError(reader.path, f'messages on {report.entry}', 'none')
    report.duration_s = (end_ns - start_ns) * 1e-9
    report.warnings += stamp_warnings(stamps_ns)


def profile_of(topic: str) -> QoSProfile:
    if topic.endswith(LATCHED) or topic == PARAMETERS:
        return qos.LATCHED
    return PROFILES.get(topic, qos.STREAM)


def parser() -> argparse.ArgumentParser:
    p = CommandParser(prog='puppet replay', description=__doc__, epilog=EXAMPLE)
    add = p.add_argument
    entries = ', '.join(ENTRIES)
    where = (
        f'topic at which the recorded messages enter: {entries}; default: the first one in the bag'
    )
    one, how = (
        'set one parameter of a node; may be repeated',
        'compression of chunks; default %(default)s',
    )
    add('bag', type=Path, help='folder of a bag, or its .mcap or .db3 file')
    add('output', type=Path, help='.mcap file or new folder to write')
    add('--entry', default='', choices=ENTRIES, metavar='TOPIC', help=where)
    for name in SHORT:
        add(f'--{name}', default='', metavar='NAME', help=f'{name}, by name or path of its file')
    add(
        '--params',
        type=Path,
        metavar='FILE',
        help='ROS parameter file that overrides the installed ones',
    )
    add('--set', action='append', default=[], metavar='NODE.NAME=VALUE', help=one)
    add('--compression', default='none', choices=COMPRESSIONS, help=how)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(
        'puppet replay', lambda: run(parser().parse_args(argv)), 'nothing was written'
    )


def run(options: argparse.Namespace) -> int:
    check_writable(options.output, 'output')
    bag, output = options.bag.resolve(), options.output.resolve()
    if options.bag.exists() and (output == bag or bag in output.parents):
        raise ConfigError(f'output: expected a path other than the bag, got {options.output}')
    started = time.perf_counter()
    short = {name: getattr(options, name) for name in SHORT}
    with BagReader(options.bag) as reader:
        recorded = recorded_parameters(reader)
    settings = read_settings(options.params, options.set, short, recorded)
    for node, before in recorded.items():
        for name, value in settings.values[node].items():
            value = list(value) if isinstance(value, tuple) else value
            if before.get(name, value) != value:
                line = f'{node}.{name} is {value!r} and was {before[name]!r} in the bag'
                note(f'puppet replay: {printable(line)}')
    first_s: list[float] = []
    with progress('replay', None, unit='message') as advance:

        def count(done: int, total: int) -> None:
            if not first_s:
                first_s.append(time.perf_counter())
            if done % PROGRESS_STEP == 0:
                advance(PROGRESS_STEP, total=total)

        report = replay(
            options.bag, options.output, settings, options.entry, options.compression, count
        )
    ended = time.perf_counter()
    idle = list(ROWS)[: ENTRIES.index(report.entry)]
    report.warnings += [
        f'set: {word} changes nothing: the bag enters behind that node, at {report.entry}'
        for word in options.set
        if word.partition('.')[0] in idle
    ]
    _report(report, options.output, first_s[0] - started, ended - first_s[0])
    return EXIT_FAILED if report.failure else EXIT_OK


def _report(report: ReplayReport, output: Path, start_s: float, run_s: float) -> None:
    for line in report.warnings:
        print(f'puppet replay: warning: {printable(line)}', file=sys.stderr)
    for reason, count in report.drops.items():
        print(f'puppet replay: {count} dropped ({reason})', file=sys.stderr)
    for topic, count in report.counts.items():
        print(f'{count:8}  {topic}')
    speed = report.duration_s / run_s if run_s > 0.0 else 0.0
    print(
        f'{output}: {report.duration_s:.1f} s from {report.entry} in {run_s:.2f} s, {speed:.0f} '
        f'times real time; {start_s:.1f} s before that to start'
    )
    if report.failure:
        print(f'puppet replay: {report.failure}', file=sys.stderr)


if __name__ == '__main__':
    sys.exit(main())
