# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Lines whose bytes come in batches, and ticks read together: whole frames, true stamps."""

from assembly_feeder import Feeder, PERIOD_NS, RATE_HZ, START_NS
import numpy as np
from puppet_driver.frames import clock as clock_kernels
from puppet_driver.frames.assembler import FrameAssembler
from puppet_driver.tracker import TrackerRecord
import pytest

BYTE_NS = 10e9 / 115200
RECORD_BYTES = 15
PACKET_BYTES = 62  # of a USB adapter, which hands over sooner when one is full
LEARNT = 600
Read = tuple[int, int, list[tuple[int, int, int]]]  # when, line, (tick, ordinal, when it began)


def batched(
    line: int,
    n_sensors: int,
    n_ticks: int,
    timer_ns: float,
    first_ns: float,
    packet_bytes: int = PACKET_BYTES,
) -> list[Read]:
    """Return the reads of a line behind an adapter that collects bytes."""
    reads: list[Read] = []
    records: list[list[int]] = []
    begun: list[list[int]] = []  # records that have begun in the present packet
    n_bytes, timer_at_ns = 0, START_NS + first_ns

    def hand_over(now_ns: float) -> None:
        nonlocal n_bytes
        for record in begun:
            record[2] = round(now_ns)
        done = [tuple(r) for r in records if r[3] == RECORD_BYTES]
        if done:
            reads.append((round(now_ns), line, [r[:3] for r in done]))
        records[:] = [r for r in records if r[3] < RECORD_BYTES]
        begun.clear()
        n_bytes = 0

    for tick in range(n_ticks):
        for i in range(n_sensors * RECORD_BYTES):
            sent_ns = START_NS + tick * PERIOD_NS + i * BYTE_NS
            while sent_ns > timer_at_ns:
                hand_over(timer_at_ns)
                timer_at_ns += timer_ns
            if i % RECORD_BYTES == 0:
                records.append([tick, i // RECORD_BYTES, 0, 0])
                begun.append(records[-1])
            records[-1][3] += 1
            n_bytes += 1
            if n_bytes == packet_bytes:
                hand_over(sent_ns)
    return reads


def play(feeder: Feeder, reads: list[Read]) -> None:
    """Feed reads in the order of their times, and take what is due as the reader does."""
    firsts = np.concatenate(([0], np.cumsum(feeder.lines)))
    for now_ns, line, records in sorted(reads):
        feeder.take(now_ns - 1)  # what has become due meanwhile
        poses = [(tick, firsts[line] + ordinal, 0, 1, 0, 0, 0) for tick, ordinal, _ in records]
        feeder.assembler.add(
            line, [TrackerRecord(r[1], r[2], pose) for r, pose in zip(records, poses)]
        )
        feeder.take(now_ns)
    feeder.take(now_ns + PERIOD_NS)


def stamp_errors_ns(feeder: Feeder) -> np.ndarray:
    """Return how much later than its ticks each frame is stamped."""
    return np.array([s - START_NS - p[0, 0] * PERIOD_NS for s, p, _ in feeder.frames])


@pytest.mark.parametrize('timer_ms', [16.0, 5.0, 50.0])
@pytest.mark.parametrize('n_sensors', [1, 2, 3, 5])
def test_lumps_of_one_line_become_frames_at_the_devices_times(n_sensors, timer_ms):
    feeder = Feeder((n_sensors,))
    feeder.assembler = FrameAssembler((n_sensors,), RATE_HZ, 0.1)
    packet = PACKET_BYTES if timer_ms < 20.0 else 4096
    play(feeder, batched(0, n_sensors, 2500, 1e6 * timer_ms, 3e6, packet))
    assert feeder.assembler.counters.incomplete_frames == 0
    assert feeder.assembler.counters.late_records == 0
    assert len(feeder.frames) >= 2500 - 10
    assert all(np.ptp(poses[:, 0]) == 0.0 for _, poses, _ in feeder.frames)
    assert feeder.assembler.clock.status.rate_hz == pytest.approx(120.0, rel=2e-3)
    errors = stamp_errors_ns(feeder)[LEARNT:]
    assert np.std(errors) < 0.05 * PERIOD_NS
    assert np.diff([s for s, _, _ in feeder.frames][LEARNT:]).min() > 0.9 * PERIOD_NS


@pytest.mark.parametrize(
    'lines, timers_ms',
    [
        ((1, 1, 1), (16.0, 16.0, 16.0)),
        ((2, 2), (16.0, 16.0)),
        ((5, 2), (16.0, 1.0)),
    ],
)
def test_lumps_of_several_lines_become_whole_frames_of_one_tick(lines, timers_ms):
    reads: list[Read] = []
    for line, (n_sensors, timer_ms) in enumerate(zip(lines, timers_ms)):
        reads += batched(line, n_sensors, 2500, 1e6 * timer_ms, 5e6 * line)
    feeder = Feeder(lines)
    feeder.assembler = FrameAssembler(lines, RATE_HZ, 0.05)
    play(feeder, reads)
    assert feeder.assembler.counters.incomplete_frames <= 3
    frames = feeder.frames[LEARNT:]
    assert len(frames) > 1800
    assert all(np.isfinite(poses).all() for _, poses, _ in frames)
    torn = [np.ptp(poses[:, 0]) > 0.0 for _, poses, _ in frames]
    assert np.mean(torn) < 0.01
    assert max(ages_s.max() for _, _, ages_s in frames) < 0.1e-9 * PERIOD_NS


def late_ticks(feeder: Feeder, n_late: int, apart_ns: int, n_before: int = 40) -> np.ndarray:
    """Feed ticks of which some are read at once, tick by tick; return all stamps in periods."""
    for tick in range(n_before - n_late, n_before + 20):
        now_ns = START_NS + tick * PERIOD_NS
        if tick < n_before:
            now_ns = START_NS + n_before * PERIOD_NS - (n_before - tick) * apart_ns
        for line in range(len(feeder.lines)):
            feeder.read(line, [tick], now_ns)
        feeder.take(now_ns)
    feeder.take(now_ns + PERIOD_NS)
    return np.array([(frame[0] - START_NS) / PERIOD_NS for frame in feeder.frames])


@pytest.mark.parametrize('n_before', [40, 400])  # before the clock is fitted, and after
@pytest.mark.parametrize('n_late', [1, 3, 10])
def test_ticks_that_are_read_one_by_one_after_a_stall_have_their_own_times(n_late, n_before):
    feeder = Feeder()
    for tick in range(n_before - n_late):
        feeder.tick(tick)
    stamps = late_ticks(feeder, n_late, 100_000, n_before)
    assert len(stamps) == n_before + 20
    np.testing.assert_allclose(stamps, np.arange(n_before + 20), atol=0.25)


@pytest.mark.parametrize('apart', [0.01, 0.1, 0.3])
@pytest.mark.parametrize('n_late', [2, 5, 20])
def test_stamps_are_apart_and_little_ahead_of_arrival_whatever_was_late(n_late, apart):
    """Also when what was late comes so slowly that it cannot be told from losses."""
    feeder = Feeder()
    for tick in range(40 - n_late):
        feeder.tick(tick)
    n_ticks, arrivals = len(feeder.frames), []
    # they come after others were lost, so that the first has its arrival as its stamp
    late_ticks(feeder, n_late, round(apart * PERIOD_NS))
    stamps = np.array([s for s, _, _ in feeder.frames])
    assert np.diff(stamps).min() >= 0.99 * clock_kernels.MIN_STEP * PERIOD_NS
    arrivals = [
        min(START_NS + 40 * PERIOD_NS - (40 - t) * apart * PERIOD_NS, START_NS + 40 * PERIOD_NS)
        for t in range(40 - n_late, 40)
    ]
    ahead = stamps[n_ticks : n_ticks + n_late] - arrivals
    assert ahead.max() <= 1.01 * PERIOD_NS
