# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Lines that do not measure at one time: each sensor's age says when it was measured."""

from collections.abc import Callable, Iterator
from functools import partial
import os
import select
import threading
import time
import tty

from assembly_feeder import Feeder, PERIOD_NS, RATE_HZ, START_NS
import numpy as np
from puppet_driver.devices import mock
from puppet_driver.devices.line import Line, RetryPolicy
from puppet_driver.frames.assembler import FrameAssembler
from puppet_driver.frames.line_reader import LineReader, QueuedFrame
from puppet_driver.transport.serial_port import SerialPort
import pytest

SLOW_HZ = 25.0


class TwoPtys:
    """Two devices on pseudo-terminals whose ticks are half a period apart."""

    def __init__(self) -> None:
        self._pairs = [os.openpty() for _ in range(2)]
        for _, slave in self._pairs:
            tty.setraw(slave)
        self.names = [os.ttyname(slave) for _, slave in self._pairs]
        self.start_s = time.monotonic()
        self._has_ended = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(i,)) for i in range(2)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Switch them off."""
        self._has_ended.set()
        for thread in self._threads:
            thread.join()
        for descriptor in sum(self._pairs, ()):
            os.close(descriptor)

    def _send(self, index: int) -> None:
        master, is_streaming, tick = self._pairs[index][0], False, 0
        while not self._has_ended.is_set():
            due_s = self.start_s + (tick + 0.5 * index) / SLOW_HZ
            if select.select([master], (), (), max(due_s - time.monotonic(), 0.0))[0]:
                commands = os.read(master, 64)
                is_streaming = mock.GO in commands
                os.write(master, mock.IDENTITY if mock.IDENTIFY in commands else b'')
            elif is_streaming:
                seconds = time.monotonic() - self.start_s
                pose = np.array([seconds, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
                os.write(master, mock.encode(0, pose))
                tick += 1
            else:
                tick += 1


@pytest.fixture
def ptys() -> Iterator[TwoPtys]:
    """Yield two devices that are switched on."""
    two = TwoPtys()
    yield two
    two.close()


@pytest.fixture
def feeder() -> Feeder:
    """Return a feeder of fourteen sensors on three lines."""
    return Feeder()


def test_lines_out_of_phase_have_the_age_that_they_have(feeder):
    rng = np.random.default_rng(5)
    for tick in range(300):
        now_ns = START_NS + tick * PERIOD_NS
        for line, phase in enumerate((0.0, 0.25, 0.5)):
            at_ns = now_ns + round(phase * PERIOD_NS) + int(rng.exponential(200_000.0))
            feeder.read(line, [tick], at_ns)
            feeder.take(at_ns)
    ages = np.array([ages_s for _, _, ages_s in feeder.frames[160:]]) * 1e9 / PERIOD_NS
    np.testing.assert_allclose(ages[:, :5], 0.5, atol=0.06)
    np.testing.assert_allclose(ages[:, 5:10], 0.25, atol=0.06)
    np.testing.assert_allclose(ages[:, 10:], 0.0, atol=0.06)
    # the stamp less the age is when each line has measured
    frames = feeder.frames[200:]
    for row, phase in ((0, 0.0), (5, 0.25), (10, 0.5)):
        measured = [stamp_ns - 1e9 * ages_s[row] for stamp_ns, _, ages_s in frames]
        sent = [START_NS + (poses[row, 0] + phase) * PERIOD_NS for _, poses, _ in frames]
        np.testing.assert_allclose(np.subtract(measured, sent), 0.0, atol=0.06 * PERIOD_NS)
    assert np.diff([f[0] for f in feeder.frames]).min() > 0


def test_lines_that_are_late_by_jitter_alone_have_no_age(feeder):
    rng = np.random.default_rng(6)
    for tick in range(300):
        for line in range(3):
            at_ns = START_NS + tick * PERIOD_NS + int(rng.exponential(400_000.0))
            feeder.read(line, [tick], at_ns)
            feeder.take(at_ns + 1)
    assert max(ages_s.max() for _, _, ages_s in feeder.frames if ages_s.size) < 0.02 / RATE_HZ


def test_a_latest_line_that_falls_silent_leaves_no_age_behind(feeder):
    for tick in range(200):
        now_ns = START_NS + tick * PERIOD_NS
        for line in (0, 1):
            feeder.read(line, [tick], now_ns)
        feeder.take(now_ns)
        late_ns = now_ns + PERIOD_NS // 2
        if tick < 100:
            feeder.read(2, [tick], late_ns)
        feeder.take(late_ns)
    assert feeder.frames[90][2][0] == pytest.approx(0.5 / RATE_HZ, rel=0.02)
    assert feeder.frames[-1][2][0] == 0.0
    assert feeder.frames[-1][0] == pytest.approx(START_NS + 199 * PERIOD_NS, abs=100)
    assert np.diff([f[0] for f in feeder.frames]).min() > 0


def test_sensors_of_two_ptys_half_a_period_apart_have_the_age_of_their_lines(
    ptys: TwoPtys, wait_until: Callable[..., bool]
) -> None:
    frames: list[QueuedFrame] = []
    lines = []
    for name in ptys.names:
        tracker = mock.MockTracker(mock.MockConfig(('a',)))
        tracker.open_port = partial(SerialPort, name, 115200)
        lines.append(Line(name, tracker, RetryPolicy(5.0), lambda *_: None))
    reader = LineReader(lines, FrameAssembler((1, 1), SLOW_HZ, 3.0 / SLOW_HZ), frames.append)
    reader.start()
    try:
        # whichever line a frame begins with
        assert wait_until(
            lambda: any(
                f.ages_s.max() * SLOW_HZ == pytest.approx(0.5, abs=0.1)
                and f.ages_s.min() == 0.0
                and not f.missing.any()
                for f in frames[30:]
            )
        )
        assert wait_until(lambda: len(frames) > 60)
    finally:
        reader.stop()
    # stamp less age is when each was sent, by the times in the poses
    offset_ns = round(1e9 * ptys.start_s) + time.time_ns() - time.monotonic_ns()
    sent_ns = offset_ns + np.array([1e9 * f.poses[:, 0] for f in frames[40:]])
    measured_ns = np.array([f.stamp_ns - 1e9 * f.ages_s for f in frames[40:]])
    error_periods = np.nanmedian(measured_ns - sent_ns, axis=0) * 1e-9 * SLOW_HZ
    np.testing.assert_allclose(error_periods, 0.0, atol=0.1)
