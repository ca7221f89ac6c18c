# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of a node, once a second: rate, latency, drops, last error, connections, level."""

from collections.abc import Callable
from functools import wraps
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from puppet_core.io import PuppetError
from puppet_ros.node.stamps import PublisherCheck
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

MAX_LATENCIES = 1024  # several seconds at any tracker's rate

DIAGNOSTICS_TOPIC = 'diagnostics'
PERIOD_S = 1.0
ERROR_HOLD_S = 5.0  # how long an error keeps the level up after it happened
STALE_AFTER_S = 1.0
READERS, WRITERS = 'readers ', 'writers '  # keys of the connections begin so; a topic follows
OF_ROS = (DIAGNOSTICS_TOPIC, 'rosout', 'parameter_events')  # nobody asks about these
RATE_TOLERANCE = 0.9  # of the expected rate; below it the level is WARN
LOG_THROTTLE_S = 5.0

# What outweighs what: a reason is more useful than the silence it causes.
SEVERITY = {
    DiagnosticStatus.OK: 0,
    DiagnosticStatus.STALE: 1,
    DiagnosticStatus.WARN: 2,
    DiagnosticStatus.ERROR: 3,
}


class FrameReport(NamedTuple):
    rate_hz: float  # Frames per second over the period
    # Median, 99th percentile, maximum [ms]; NaN without frames
    latency_ms: tuple[float, float, float]
    frames: int  # Frames in the period
    drops: int  # Drops in the period
    age_s: float  # Time since the last frame [s]; infinite if there never was one


class FrameStatistics:
    """Counters of one stream; the caller brings the time."""

    def __init__(self) -> None:
        self._latencies = np.zeros(MAX_LATENCIES)
        self._frames = 0
        self._drops = 0
        self._last_frame_ns: int | None = None
        self._period_start_ns: int | None = None
        self.total_frames = 0  # frames since the start
        self.drops_by_reason: dict[str, int] = {}  # drops since the start

    def frame(self, now_ns: int, stamp_ns: int) -> None:
        self._latencies[self._frames % MAX_LATENCIES] = (now_ns - stamp_ns) * 1e-6
        self._frames += 1
        self.total_frames += 1
        self._last_frame_ns = now_ns

    def drop(self, reason: str, count: int = 1) -> None:
        if count > 0:
            self.drops_by_reason[reason] = self.drops_by_reason.get(reason, 0) + count
            self._drops += count

    def close_period(self, now_ns: int) -> FrameReport:
        """Return the report since the last call and begin the next period."""
        start_ns = self._period_start_ns if self._period_start_ns is not None else now_ns
        elapsed_s = (now_ns - start_ns) * 1e-9
        # a clock set back gives no rate rather than a negative one
        rate_hz = self._frames / elapsed_s if elapsed_s > 0.0 else 0.0
        age_s = float('inf')
        if self._last_frame_ns is not None:
            age_s = max(now_ns - self._last_frame_ns, 0) * 1e-9
        latencies = self._latencies[: min(self._frames, MAX_LATENCIES)]
        latency_ms = (float('nan'),) * 3
        if len(latencies):
            p50, p99 = np.percentile(latencies, (50, 99))
            latency_ms = (float(p50), float(p99), float(latencies.max()))
        report = FrameReport(rate_hz, latency_ms, self._frames, self._drops, age_s)
        self._frames = self._drops = 0
        self._period_start_ns = now_ns
        return report


class Diagnostics:
    """
    The diagnostics of one node.

    It warns below nine tenths of the expected rate [Hz], 0 for any; `hardware_id` names the device
    that the node talks to.
    """

    def __init__(self, node: Node, expected_rate_hz: float = 0.0, hardware_id: str = '') -> None:
        self._node = node
        self._clock = node.get_clock()
        self._statistics = FrameStatistics()
        self._values: dict[str, str | Callable[[], str]] = {}
        self._error = ''
        self._error_ns = 0
        self._condition: tuple[bytes, str] | None = None
        self._watches: list[PublisherCheck] = []
        self._causes: dict[str, None] = {}  # of the period, each once
        self.expected_rate_hz = expected_rate_hz  # may be set anew
        self._status = DiagnosticStatus(
            name=f'{node.get_fully_qualified_name().lstrip("/")}: stream', hardware_id=hardware_id
        )
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS_TOPIC, 10)
        # a steady timer: a simulated clock that stands still must not silence the diagnostics
        self._steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PERIOD_S, self._on_timer, clock=self._steady_clock)

    @property
    def total_drops(self) -> int:
        """Return the drops since the start, of all reasons."""
        return sum(self._statistics.drops_by_reason.values())

    def frame(self, stamp_ns: int) -> None:
        """Count a published frame; the latency is the node's clock less its stamp."""
        self._statistics.frame(self._clock.now().nanoseconds, stamp_ns)

    def drop(self, reason: str, count: int = 1) -> None:
        self._statistics.drop(reason, count)

    def error(self, text: str) -> None:
        """Remember an error, raise the level for a while, log it throttled."""
        self._error = text
        self._error_ns = self._clock.now().nanoseconds
        self._node.get_logger().warning(text, throttle_duration_sec=LOG_THROTTLE_S)

    def value(self, key: str, value: Any) -> None:
        """Set a further key of the report until set again; a function is called by each report."""
        if not callable(value):
            value = f'{value:.6g}' if isinstance(value, float) else str(value)
        self._values[key] = value

    def condition(self, level: bytes, text: str) -> None:
        """Set a lasting condition of the node; it outweighs what is not more severe; OK clears."""
        self._condition = (level, text) if level != DiagnosticStatus.OK else None

    def cause(self, text: str) -> None:
        """Report next time why the stream is not as it should be."""
        self._causes[text] = None

    def watch(self, topic: str) -> PublisherCheck:
        """Return a watch on a topic of the input whose findings are reported as causes."""
        self._watches.append(PublisherCheck(topic))
        return self._watches[-1]

    def guarded(self, callback: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return the callback such that no exception leaves it: it is counted and reported."""

        @wraps(callback)
        def run(message: Any) -> None:
            try:
                callback(message)
            except PuppetError as err:
                self.drop('bad_input')
                self.error(str(err))
            except Exception as err:  # a node must outlive whatever one message does to it
                if not self._node.context.ok():
                    return  # shutting down: its publishers have gone
                self.drop('failed')
                self.error(f'{callback.__name__}: {type(err).__name__}: {err}')

        return run

    def _on_timer(self) -> None:
        now = self._clock.now()
        report = self._statistics.close_period(now.nanoseconds)
        error_age_s = abs(now.nanoseconds - self._error_ns) * 1e-9
        error = self._error if error_age_s < ERROR_HOLD_S else ''
        level, message = judge(report, self.expected_rate_hz, error)
        if self._condition is not None and SEVERITY[self._condition[0]] >= SEVERITY[level]:
            level, message = self._condition
        now_ns = time.monotonic_ns()
        causes, self._causes = list(self._causes), {}
        causes += [text for watch in self._watches for text in watch.causes(now_ns)]
        if causes and level == DiagnosticStatus.OK:  # instead of that all is well
            level, message = DiagnosticStatus.WARN, '; '.join(causes)
        elif causes:
            message = '; '.join((message, *causes))
        self._status.level, self._status.message = level, message
        self._status.values = self._key_values(report)
        array = DiagnosticArray(status=[self._status])
        array.header.stamp = now.to_msg()
        self._publisher.publish(array)

    def _key_values(self, report: FrameReport) -> list[KeyValue]:
        latency = zip(('p50', 'p99', 'max'), report.latency_ms)
        drops = self._statistics.drops_by_reason.items()
        values: dict[str, Any] = {
            'rate_hz': f'{report.rate_hz:.2f}',
            **{f'latency_ms_{name}': f'{ms:.3f}' for name, ms in latency},
            'frames': self._statistics.total_frames,
            'drops': self.total_drops,
            'last_error': self._error,
            **{f'drops_{reason}': count for reason, count in drops},
            **{k: v() if callable(v) else v for k, v in self._values.items()},
            **connections(self._node),
        }
        return [KeyValue(key=key, value=str(value)) for key, value in values.items()]


def connections(node: Node) -> dict[str, int]:
    """Return how many are connected to each publisher and subscription of a node, by key."""
    counts = {}
    for publisher in node.publishers:
        if not publisher.topic_name.endswith(OF_ROS):
            counts[READERS + publisher.topic_name] = publisher.get_subscription_count()
    for subscription in node.subscriptions:
        if not subscription.topic_name.endswith(OF_ROS):
            counts[WRITERS + subscription.topic_name] = subscription.get_publisher_count()
    return counts


def judge(report: FrameReport, expected_rate_hz: float, error: str) -> tuple[bytes, str]:
    """Return the level and the sentence for one period; `error` is the recent one or ''."""
    if error:
        return DiagnosticStatus.ERROR, error
    if report.age_s == float('inf'):
        return DiagnosticStatus.STALE, 'waiting for input'
    if report.frames == 0 and report.age_s > STALE_AFTER_S:
        return DiagnosticStatus.STALE, f'no frame for {report.age_s:.1f} s'
    if report.drops:
        return DiagnosticStatus.WARN, f'{report.drops} dropped in the last second'
    if 0.0 < report.rate_hz < RATE_TOLERANCE * expected_rate_hz:
        rates = f'{report.rate_hz:.1f} Hz of {expected_rate_hz:.1f} Hz'
        return DiagnosticStatus.WARN, f'slow: {rates}'
    return DiagnosticStatus.OK, f'{report.rate_hz:.1f} Hz'
