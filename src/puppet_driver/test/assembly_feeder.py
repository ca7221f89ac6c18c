# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A frame assembler that is fed with reads of lines, for several tests."""

import numpy as np
from puppet_driver.frames.assembler import FrameAssembler
from puppet_driver.tracker import TrackerRecord

LINES = (5, 5, 4)
RATE_HZ = 120.0
PERIOD_NS = round(1e9 / RATE_HZ)
TIMEOUT_S = 0.019
START_NS = 1_000_000_000_000


class Feeder:
    """Feeds an assembler and keeps what it emits."""

    def __init__(self, lines: tuple[int, ...] = LINES, latency_s: float = 0.0) -> None:
        self.assembler = FrameAssembler(lines, RATE_HZ, TIMEOUT_S, latency_s)
        self.lines = lines
        self.frames: list[tuple[int, np.ndarray, np.ndarray]] = []

    def read(self, line: int, ticks: list[int], at_ns: int, without: tuple[int, ...] = ()) -> None:
        """Feed what one read of a line brings; a pose's x is its tick, its y the row."""
        records = []
        first = sum(self.lines[:line])
        for tick in ticks:
            for ordinal in range(self.lines[line]):
                if ordinal not in without:
                    pose = (float(tick), float(first + ordinal), 0.0, 1.0, 0.0, 0.0, 0.0)
                    records.append(TrackerRecord(ordinal, at_ns, pose))
        self.assembler.add(line, records)

    def take(self, now_ns: int) -> None:
        """Take all frames that are due."""
        while (frame := self.assembler.take(now_ns)) is not None:
            self.frames.append((frame.stamp_ns, frame.poses, frame.ages_s))

    def tick(self, tick: int, jitter_ns: int = 0) -> None:
        """Feed one tick of all lines in time."""
        now_ns = START_NS + tick * PERIOD_NS + jitter_ns
        for line in range(len(self.lines)):
            self.read(line, [tick], now_ns + 1000 * line)
        self.take(now_ns + 5000)
