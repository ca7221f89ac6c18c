# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Rate, latency and drops of a stream over the last period (no ROS, no clock of its own)."""

from typing import NamedTuple

import numpy as np

MAX_LATENCIES = 1024  # several seconds at any tracker's rate


class FrameReport(NamedTuple):
    """One period of a stream."""

    rate_hz: float
    """Frames per second over the period."""

    latency_ms: tuple[float, float, float]
    """Median, 99th percentile, maximum [ms]; NaN without frames."""

    frames: int
    """Frames in the period."""

    drops: int
    """Drops in the period."""

    age_s: float
    """Time since the last frame [s]; infinite if there never was one."""


class FrameStatistics:
    """Counters of one stream; the caller brings the time."""

    def __init__(self) -> None:
        self._latencies = np.zeros(MAX_LATENCIES)
        self._frames = 0
        self._drops = 0
        self._last_frame_ns: int | None = None
        self._period_start_ns: int | None = None
        self.total_frames = 0
        """Frames since the start."""
        self.drops_by_reason: dict[str, int] = {}
        """Drops since the start."""

    def frame(self, now_ns: int, stamp_ns: int) -> None:
        """Count a frame that left now and was acquired at its stamp."""
        self._latencies[self._frames % MAX_LATENCIES] = (now_ns - stamp_ns) * 1e-6
        self._frames += 1
        self.total_frames += 1
        self._last_frame_ns = now_ns

    def drop(self, reason: str, count: int = 1) -> None:
        """Count frames that were dropped."""
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
