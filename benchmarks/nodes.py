# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet bench nodes`: what each node does with a message, with warm and with cold caches.

The real nodes, in one process and on topics, get the raw frames of a bag one by one. Each
callback is timed, from the bytes of its message until those of the next are sent, for which the
next node waits; if it sends none, until it returns. That is done one frame after the other, and
after as much memory was written as empties the caches, as they are when a process has slept for a
period beside others. It depends far less than the latency of the graph on what else the machine
does, so code before and after a change can be compared. How often Python collected garbage
meanwhile is reported too: in a node that is a pause.
"""

import argparse
from collections.abc import Callable, Sequence
import gc
from importlib import import_module
import json
from pathlib import Path
import sys
import threading
import time
from typing import Any

import numpy as np
from puppet_bringup.graph_run import PipelineError, use_own_domain
from puppet_bringup.monitor import TOPICS
from puppet_bringup.pipeline import CLASSES, STREAMS
from puppet_core.io import (
    check_writable,
    CommandParser,
    ConfigError,
    EXIT_OK,
    InputFileError,
    run_command,
    stop_on_signals,
    write_text,
)
from puppet_msgs.msg import TrackerFrame
from puppet_ros.bags import BagReader
from puppet_ros.messages import stamp_ns
from puppet_ros.node import observing, qos
from rclpy.executors import Executor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

NODES = ('pose_filter', 'performer', 'importance', 'retarget')
RAW, JOINTS, STATIC = TOPICS[0], TOPICS[-1], '/tf_static'
READ = {'retarget': 'retarget, posture'}  # callbacks of a second topic of a node
BLOCK, SETTLING = 25, 5  # frames of one kind in a row, and how many of them do not count
DISCOVERY_S, FRAME_S, STEP_S = 10.0, 0.2, 0.01
MOST_UNANSWERED = 25  # frames in a row; nodes drop some, of which the stamps are out of order
EXAMPLE = """examples:
  ./puppet run puppet_driver tracker_emulator --export session.mcap --export-s 20 --seed 3
  ./puppet bench nodes session.mcap --json nodes.json"""
Times = dict[str, dict[str, list[int]]]


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = CommandParser(
        prog='puppet bench nodes',
        epilog=EXAMPLE,
        description='Time the callbacks of the nodes, with warm and with cold caches.',
    )
    p.add_argument('bag', type=Path, metavar='BAG', help=f'recording of {RAW} and {STATIC}')
    p.add_argument(
        '--frames',
        type=int,
        default=400,
        metavar='N',
        help='number of timed frames, half of them with cold caches; default %(default)s',
    )
    p.add_argument(
        '--evict-mb',
        type=float,
        default=64.0,
        metavar='MB',
        help='memory written before each cold callback, at least the size of the last-level '
        'cache; default %(default)g',
    )
    p.add_argument('--json', type=Path, metavar='FILE', help='write the figures there')
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    return run_command('puppet bench nodes', lambda: _run(parser().parse_args(argv)))


def _run(options: argparse.Namespace) -> int:
    stopping = stop_on_signals()
    if options.frames < 2 * BLOCK:
        raise ConfigError(f'--frames: expected value >= {2 * BLOCK}, got {options.frames}')
    if not 0.0 <= options.evict_mb <= 4096.0:
        raise ConfigError(f'--evict-mb: expected 0 <= value <= 4096, got {options.evict_mb:g}')
    if options.json is not None:
        check_writable(options.json, '--json')
    use_own_domain()
    with BagReader(options.bag) as bag:
        _require(bag, options.bag)
        bench = NodeBench(options.frames, round(1e6 * options.evict_mb))
        times = bench.run(bag, stopping)
    figures = {
        name: {kind: _percentiles(found) for kind, found in kinds.items()}
        for name, kinds in times.items()
    }
    print(f'{"":20}{"warm, us":>10}{"cold, us":>10}')
    for name, kinds in figures.items():
        print(f'{name:20}{kinds["warm_us"]["p50"]:10.1f}{kinds["cold_us"]["p50"]:10.1f}')
    print(f'garbage collected {bench.n_collections} times in {options.frames} frames')
    if options.json is not None:
        report = {
            'evict_mb': options.evict_mb,
            'frames': options.frames,
            'nodes': figures,
            'collections': bench.n_collections,
        }
        write_text(options.json, json.dumps(report, indent=2) + '\n')
        print(f'figures written to {options.json}')
    return EXIT_OK


def _require(bag: BagReader, path: Path) -> None:
    for topic in (RAW, STATIC):
        if topic not in bag.topics:
            known = ', '.join(sorted(bag.topics)) or 'nothing'
            raise InputFileError(path, f'messages on {topic}', known)


def _percentiles(found_ns: Sequence[int]) -> dict[str, float]:
    p50, p90 = np.percentile(found_ns, (50, 90)) * 1e-3
    return {'n': len(found_ns), 'p50': round(float(p50), 2), 'p90': round(float(p90), 2)}


class NodeBench:
    """
    Real nodes whose callbacks are timed.

    Parameters
    ----------
    n_frames : int
        How many count or settle, after the performer is calibrated.
    n_bytes : int
        How much is written before a cold callback.

    """

    def __init__(self, n_frames: int, n_bytes: int) -> None:
        self.n_collections = 0
        """How often garbage was collected while frames were timed, of any age."""
        self._n_frames = n_frames
        self._memory = np.zeros(n_bytes, np.uint8)
        self._is_cold = False  # the frame on its way
        self._took_ns: dict[str, int] = {}  # callbacks of that frame
        self._times: Times = {}
        self._joints_ns = -1  # stamp of the last joint states
        self._sent_ns = 0  # when the callback that runs has sent its message; 0 if it has not

    def run(self, bag: BagReader, stopping: threading.Event) -> Times:
        """
        Return the times of the callbacks, by name and 'warm_us' or 'cold_us' (in ns here).

        Raises
        ------
        PipelineError : if the nodes do not answer, or the bag has too few frames.

        """
        with observing() as (executor, context):
            source = Node('bench_source', context=context, start_parameter_services=False)
            nodes = [source]
            try:
                executor.add_node(source)
                for name in NODES:
                    module, kind = CLASSES[name]
                    nodes.append(getattr(import_module(module), kind)(context=context))
                    executor.add_node(nodes[-1])
                    self._time(name, nodes[-1])
                source.create_subscription(JointState, JOINTS, self._on_joints, 10, raw=True)
                n_timed = self._feed(bag, source, executor, stopping)
            finally:
                for node in nodes:
                    node.destroy_node()
        if stopping.is_set():
            raise PipelineError(f'ended early, after {n_timed} of {self._n_frames} frames')
        if n_timed < self._n_frames:
            raise PipelineError(
                f'expected {self._n_frames} frames behind the calibration, got {n_timed}'
            )
        return self._times

    def _feed(
        self, bag: BagReader, source: Node, executor: Executor, stopping: threading.Event
    ) -> int:
        """Give the nodes frame after frame; return how many were timed."""
        raw = source.create_publisher(TrackerFrame, RAW, qos.STREAM)
        static = source.create_publisher(TFMessage, STATIC, qos.STATIC_TRANSFORMS)
        for message in bag.messages((STATIC,)):
            static.publish(message.data)
        _spin(
            executor,
            DISCOVERY_S,
            lambda: (
                raw.get_subscription_count() > 0
                and (static.get_subscription_count() > 0 and source.count_publishers(JOINTS) > 0)
            ),
        )
        n_timed = n_unanswered = n_collected = 0
        for message in bag.messages((RAW,)):
            if n_timed >= self._n_frames or stopping.is_set():
                break
            if self._joints_ns < 0:  # not calibrated yet
                kind, is_over = '', lambda: 'performer' in self._took_ns
            else:
                kind, is_over = _kind_of(n_timed), self._has_come(stamp_ns(message.data))
            self._is_cold = kind == 'cold_us'
            self._took_ns.clear()
            raw.publish(message.data)
            is_answered = _spin(executor, FRAME_S, is_over)
            n_unanswered = 0 if is_answered else n_unanswered + 1
            if is_answered and self._joints_ns >= 0:
                n_collected = n_collected if n_timed else _n_collections()
                n_timed += 1
                self._note(kind)
            if n_unanswered > MOST_UNANSWERED:
                raise PipelineError(f'expected answers to frames, got none to {n_unanswered}')
        self.n_collections = _n_collections() - n_collected
        return n_timed

    def _note(self, kind: str) -> None:
        """Count the times of a frame."""
        if kind:
            for label, took_ns in self._took_ns.items():
                self._times[label][kind].append(took_ns)

    def _has_come(self, ns: int) -> Callable[[], bool]:
        return lambda: self._joints_ns >= ns

    def _on_joints(self, data: bytes) -> None:
        self._joints_ns = stamp_ns(data)

    def _time(self, name: str, node: Node) -> None:
        """Put a clock around the callbacks of a node's streams."""
        for subscription in node.subscriptions:
            topic = subscription.topic_name
            if topic in STREAMS.values():
                is_other = name in READ and topic != STREAMS['importance']
                label = READ[name] if is_other else name
                subscription.callback = self._timed(label, subscription.callback)
        for publisher in node.publishers:
            if publisher.topic_name in TOPICS:
                vars(publisher)['publish'] = self._noted(publisher.publish)

    def _noted(self, publish: Callable[[Any], None]) -> Callable[[Any], None]:
        def run(message: Any) -> None:
            publish(message)
            self._sent_ns = time.perf_counter_ns()

        return run

    def _timed(self, label: str, callback: Callable[[bytes], Any]) -> Callable[[bytes], None]:
        self._times[label] = {'warm_us': [], 'cold_us': []}

        def run(data: bytes) -> None:
            if self._is_cold:
                self._memory += 1
            self._sent_ns = 0
            begun_ns = time.perf_counter_ns()
            callback(data)
            ended_ns = self._sent_ns or time.perf_counter_ns()
            self._took_ns[label] = ended_ns - begun_ns

        return run


def _kind_of(n_before: int) -> str:
    """Return whether a frame is a warm or a cold one; nothing while the caches are filled."""
    block, place = divmod(n_before, BLOCK)
    if block % 2:
        return 'cold_us'
    return 'warm_us' if place >= SETTLING else ''


def _n_collections() -> int:
    """Return how often this process has collected garbage."""
    return sum(generation['collections'] for generation in gc.get_stats())


def _spin(executor: Executor, limit_s: float, is_over: Callable[[], bool]) -> bool:
    """Let the nodes work until something is so; return whether it is so in time."""
    end_s = time.monotonic() + limit_s
    while not is_over() and time.monotonic() < end_s:
        executor.spin_once(timeout_sec=STEP_S)
    return is_over()


if __name__ == '__main__':
    sys.exit(main())
