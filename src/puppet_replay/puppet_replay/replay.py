# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A bag through the pipeline into another bag: no middleware, no wall clock, the same every time.

The output has the recorded input, the place of the tracker and what the graph makes of them,
each message at the log time of the input that it comes from.

"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import gc
from pathlib import Path

from puppet_core.errors import InputFileError
from puppet_replay.pipeline import Pipeline, UNCALIBRATED, UNPLACED
from puppet_replay.settings import Settings
from puppet_replay.topics import (
    entry_of,
    FILTERED,
    inputs_of,
    JOINTS,
    POSTURE,
    RAW,
    TF_STATIC,
    TYPES,
)
from puppet_ros import qos
from puppet_ros.bags import BagMessage, BagReader, BagWriter, require_same_types
from puppet_ros.kept_cdr import decoded
from puppet_ros.raw_header import stamp_ns
from rclpy.qos import QoSProfile
from tf2_msgs.msg import TFMessage

GAP_S = 0.5  # without input: worth a line
PROFILES = {JOINTS: qos.JOINT_STATES, TF_STATIC: qos.STATIC_TRANSFORMS}
LATCHED = 'robot_description'
SELDOM = 100_000  # new objects between two looks of the garbage collector


@dataclass
class ReplayReport:
    """What a replay came to."""

    entry: str = ''
    """Where the recorded messages entered."""

    counts: dict[str, int] = field(default_factory=dict)
    """Messages written, by topic."""

    duration_s: float = 0.0
    """From the first to the last log time of the input [s]."""

    warnings: list[str] = field(default_factory=list)
    """What is odd about the bag, a line each."""

    drops: dict[str, int] = field(default_factory=dict)
    """Input that gave nothing, by node and reason."""

    is_calibrated: bool = True
    """Whether the performer was calibrated at the end, where that matters."""

    @property
    def failure(self) -> str:
        """Why nothing came of the bag, in words; '' if something could."""
        unplaced = self.drops.get(UNPLACED, 0)
        if unplaced and not self.counts.get(POSTURE):
            return (f'expected where the tracker stands, in {TF_STATIC}, got nothing of it for '
                    f'{unplaced} frames; record {TF_STATIC} as well')
        if self.is_calibrated:
            return ''
        if not self.drops.get(UNCALIBRATED):
            return 'expected frames that can be used, got none: the performer was never calibrated'
        return ("expected a still T-pose of the layout's sensors, got none: the performer was "
                'never calibrated; give a calibration')


class StampWatch:
    """Looks for gaps and steps back in the stamps of the input."""

    def __init__(self) -> None:
        self._last_ns: int | None = None
        self._back = self._repeated = self._gaps = 0
        self._worst_ns = 0

    def see(self, ns: int) -> None:
        """Take the next stamp [ns]."""
        if self._last_ns is not None:
            step_ns = ns - self._last_ns
            self._back += step_ns < 0
            self._repeated += step_ns == 0
            if step_ns > GAP_S * 1e9:
                self._gaps += 1
                self._worst_ns = max(self._worst_ns, step_ns)
        self._last_ns = ns

    def warnings(self) -> list[str]:
        """Return a line for each oddity."""
        lines = []
        if self._back:
            lines.append(f'{self._back} stamps go back in time')
        if self._repeated:
            lines.append(f'{self._repeated} stamps repeat the one before')
        if self._gaps:
            lines.append(f'{self._gaps} gaps, the longest of {self._worst_ns * 1e-9:.1f} s')
        return lines


def replay(
    source: Path, target: Path, settings: Settings, entry: str = '', compression: str = '',
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ReplayReport:  # fmt: skip
    """
    Replay a bag into another and return the report.

    Parameters
    ----------
    source, target : Path
        The bags; the target is replaced when all went well.
    settings : Settings
        The parameters of the nodes.
    entry : str
        Where the recorded messages enter; the first topic of the graph in the bag by default.
    compression : str
        Of the target: '', 'zstd' or 'lz4'.
    progress : callable
        Called with the number of messages done, and of all.

    Raises
    ------
    InputFileError, ConfigError : if the bag or the place of the target cannot be used.

    """
    report = ReplayReport()
    with BagReader(source) as reader:
        report.entry = entry_of(reader, entry)
        inputs = inputs_of(report.entry)
        static = [TF_STATIC] if reader.counts.get(TF_STATIC) else []
        report.warnings += reader.warnings
        report.warnings += require_same_types(reader, (*inputs, *static))
        pipeline = Pipeline(settings, report.entry)
        with BagWriter(target, compression) as writer, quiet_collector():
            run_through(reader, writer, pipeline, report, progress)
    report.drops = pipeline.drops
    report.warnings += pipeline.errors
    report.is_calibrated = pipeline.is_calibrated or report.entry not in (RAW, FILTERED)
    return report


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keep the garbage collector from looking again and again at what exists now and stays."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def frames_first(messages: Iterator[BagMessage]) -> tuple[list[BagMessage], list[BagMessage]]:
    """
    Split /tf_static into what is known from the start, and later changes of it.

    A recorder may hear of a latched frame after the first data, but the graph knew it: the first
    place of each frame counts from the start.

    """
    known: set[str] = set()
    first: list[BagMessage] = []
    later: list[BagMessage] = []
    for message in messages:
        children = {t.child_frame_id for t in decoded(message.data, TFMessage).transforms}
        (later if children <= known else first).append(message)
        known |= children
    return first, later


def run_through(
    reader: BagReader, writer: BagWriter, pipeline: Pipeline, report: ReplayReport,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:  # fmt: skip
    """
    Take the messages of a bag through the pipeline into another bag.

    Parameters
    ----------
    reader, writer : BagReader, BagWriter
        The bags.
    pipeline : Pipeline
        The stages behind the entry of the report.
    report : ReplayReport
        Its entry is known; its counts, duration and warnings are filled in.
    progress : callable
        Called with the number of messages done, and of all.

    Raises
    ------
    InputFileError : if there are no messages, or they cannot be read any further.

    """
    first, later = frames_first(reader.messages([TF_STATIC]))
    inputs = inputs_of(report.entry)
    total = sum(reader.counts[topic] for topic in inputs)
    watch, counts = StampWatch(), report.counts
    start_ns = end_ns = None
    done = 0

    def put(topic: str, log_ns: int, data: bytes) -> None:
        if topic not in counts:
            writer.add_topic(topic, TYPES[topic], profile_of(topic))
            counts[topic] = 0
        writer.write(topic, '', log_ns, data)
        counts[topic] += 1

    for message in reader.messages(inputs):
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
        watch.see(stamp_ns(message.data))
        for output in pipeline.step(message.topic, message.data):
            put(output.topic, message.log_ns, output.data)
        done += 1
        progress(done, total)
    if start_ns is None or end_ns is None:
        raise InputFileError(reader.path, f'messages on {report.entry}', 'none')
    report.duration_s = (end_ns - start_ns) * 1e-9
    report.warnings += watch.warnings()


def profile_of(topic: str) -> QoSProfile:
    """Return the QoS with which the graph publishes a topic."""
    if topic.endswith(LATCHED):
        return qos.LATCHED
    return PROFILES.get(topic, qos.STREAM)
