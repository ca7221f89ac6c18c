# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A chain of processes that pass frames on unread: what the middleware alone takes on a machine.

As many processes as the graph has from the tracker to the joint states, each with the executor
and the environment of the real nodes, and on every way best effort and messages of the size that
the graph has there. Of what comes only stamp and frame index are looked at, and sent on.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
import os
import sys
import threading
import time
from typing import Any

from benchmarks.latency.figures import Figures, percentiles_ms
import numpy as np
from puppet_bringup.graph_run import PipelineError, Say
from puppet_bringup.monitor import MONITOR, UsageMeter
from puppet_bringup.process_table import child_environment
from puppet_bringup.supervisor import describe_end, Supervisor
from puppet_msgs.msg import TrackerFrame
from puppet_ros.messages import frame_index, renamed, stamp_ns
from puppet_ros.node import observing, qos, run_first, Scheduling, spin_nodes, split_words, threads
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.serialization import serialize_message

# bytes of a frame on each way of the graph, for fourteen sensors and the demo's environment
SIZES = {
    '/tracker/raw': 1198,
    '/tracker/filtered': 9852,
    '/performer/posture': 1380,
    '/importance': 870,
    '/joint_states': 1228,
}
N_RELAYS = len(SIZES) - 1  # after the source, which stands for the driver
TOPIC = '/relay_{}'
SETTLE_S, START_TIMEOUT_S, STEP_S = 2.0, 60.0, 0.1


@contextmanager
def running_first() -> Iterator[list[str]]:
    """
    Run this process before ordinary programs, then as before; yield what was refused.

    Processors may sleep meanwhile, unless another program keeps them awake.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    refused = run_first()
    try:
        yield refused
    finally:
        if not refused:
            for thread in threads():  # also those that began meanwhile
                with suppress(OSError):  # it may have ended
                    os.sched_setscheduler(thread, *before)


def frame_of(way: int) -> bytes:
    """Return a message as large as those of the graph on one of its ways, to a few bytes."""
    room = (tuple(SIZES.values())[way] - len(serialize_message(TrackerFrame()))) // 8
    return bytes(serialize_message(TrackerFrame(positions=[0.0] * room)))


class Source(Node):
    """Publishes frames at a rate, stamped when they are published."""

    def __init__(self, rate_hz: float) -> None:
        super().__init__('relay_source', start_parameter_services=False)
        self._publisher = self.create_publisher(TrackerFrame, TOPIC.format(0), qos.STREAM)
        self._frame = frame_of(0)
        self._index = 0
        self.create_timer(1.0 / rate_hz, self._publish)

    def _publish(self) -> None:
        self._publisher.publish(renamed(self._frame, time.time_ns(), self._index))
        self._index += 1


class Relay(Node):
    """Publishes a frame of its own size for each that it gets."""

    def __init__(self, number: int) -> None:
        super().__init__(f'relay_{number}', start_parameter_services=False)
        self._publisher = self.create_publisher(TrackerFrame, TOPIC.format(number), qos.STREAM)
        self._frame = frame_of(number)
        self.create_subscription(
            TrackerFrame, TOPIC.format(number - 1), self._pass_on, qos.STREAM, raw=True
        )

    def _pass_on(self, data: bytes) -> None:
        self._publisher.publish(renamed(self._frame, stamp_ns(data), frame_index(data)))


class Sink(Node):
    """Notes when each frame comes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('relay_sink', start_parameter_services=False, **kwargs)
        self.indices: list[int] = []
        self.times_s: list[float] = []
        self.create_subscription(
            TrackerFrame, TOPIC.format(N_RELAYS), self._note, qos.STREAM, raw=True
        )

    def _note(self, data: bytes) -> None:
        self.times_s.append((time.time_ns() - stamp_ns(data)) * 1e-9)
        self.indices.append(frame_index(data))


def measure_relays(
    rate_hz: float, duration_s: float, stopping: threading.Event, say: Say, scheduling: Scheduling
) -> Figures | None:
    """
    Return the figures of the chain; None if it was stopped.

    Parameters
    ----------
    rate_hz : float
        Frames per second.
    duration_s : float
        How long to measure [s].
    stopping : Event
        Ends the run early.
    say : callable
        Takes a line of progress.
    scheduling : Scheduling
        How the processes are to run.

    Returns
    -------
    figures : dict
        'frames', 'lost', 'end_to_end_ms', 'hops' (empty) and 'cpu_percent', as of the graph.

    Raises
    ------
    PipelineError : if no frame comes.

    """
    with observing() as (executor, context):
        sink = Sink(context=context)
        executor.add_node(sink)
        try:
            return _measure(sink, executor, rate_hz, duration_s, stopping, say, scheduling)
        finally:
            sink.destroy_node()


def _measure(
    sink: Sink,
    executor: Executor,
    rate_hz: float,
    duration_s: float,
    stopping: threading.Event,
    say: Say,
    scheduling: Scheduling,
) -> Figures | None:
    def go_on(duration_s: float, until_a_frame: bool = False) -> None:
        end_s = time.monotonic() + duration_s
        while time.monotonic() < end_s and not stopping.is_set():
            executor.spin_once(timeout_sec=STEP_S)
            if until_a_frame and sink.indices:
                return

    lines: list[str] = []
    with Supervisor(lambda _, line: lines.append(line), child_environment(os.environ)) as chain:
        _start(chain, rate_hz, scheduling)
        say('starting processes that only pass frames on')
        go_on(START_TIMEOUT_S, until_a_frame=True)
        if not sink.indices and not stopping.is_set():
            ends = ', '.join(f'{c.name} {describe_end(c)}' for c in chain.children)
            raise PipelineError('\n'.join((f'no frame was passed on: {ends}', *lines)))
        go_on(SETTLE_S)
        with running_first() if scheduling.realtime else nullcontext(()) as refused:
            for refusal in refused:
                say(refusal)
            first, meter = len(sink.indices), UsageMeter(chain.children)
            go_on(duration_s)
            usage = meter.read()
        for child in chain.ended():
            raise PipelineError(f'{child.name} {describe_end(child)}')
    if stopping.is_set():
        return None
    indices = sink.indices[first:]
    n_frames = 1 + indices[-1] - indices[0] if indices else 0
    return {
        'frames': n_frames,
        'lost': n_frames - len(indices),
        'hops': {},
        'end_to_end_ms': percentiles_ms(np.array(sink.times_s[first:])),
        'cpu_percent': sum(u.cpu_percent for name, u in usage.items() if name != MONITOR),
    }


def _start(chain: Supervisor, rate_hz: float, scheduling: Scheduling) -> None:
    def program(number: int) -> list[str]:
        return [sys.executable, '-m', __name__, *scheduling.of_node(number).words()]

    for number in range(N_RELAYS, 0, -1):
        chain.start(f'relay_{number}', [*program(number), str(number)])
    chain.start('source', [*program(0), 'source', repr(rate_hz)])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one process of the chain: `source RATE`, or the number of a relay."""
    scheduling, words = split_words(sys.argv[1:] if argv is None else argv)

    def make() -> list[Node]:
        return [Source(float(words[1])) if words[0] == 'source' else Relay(int(words[0]))]

    return spin_nodes(make, (), scheduling)


if __name__ == '__main__':
    sys.exit(main())
