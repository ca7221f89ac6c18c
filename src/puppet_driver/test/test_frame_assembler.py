# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Records of several lines to frames: whole, in order, stamped, aged, never waiting for ever."""

import numpy as np
from puppet_driver.frames.assembler import FrameAssembler
from puppet_driver.tracker import TrackerRecord
import pytest

LINES = (5, 5, 4)
RATE_HZ = 120.0
PERIOD_NS = round(1e9 / RATE_HZ)
TIMEOUT_S = 0.019
START_NS = 1_000_000_000_000


class Feeder:
    def __init__(self, lines=LINES, latency_s=0.0):
        self.assembler = FrameAssembler(lines, RATE_HZ, TIMEOUT_S, latency_s)
        self.lines = lines
        self.frames = []

    def read(self, line, ticks, at_ns, without=()):
        records = []
        first = sum(self.lines[:line])
        for tick in ticks:
            for ordinal in range(self.lines[line]):
                if ordinal not in without:
                    pose = (float(tick), float(first + ordinal), 0.0, 1.0, 0.0, 0.0, 0.0)
                    records.append(TrackerRecord(ordinal, at_ns, pose))
        self.assembler.add(line, records)

    def take(self, now_ns):
        while (frame := self.assembler.take(now_ns)) is not None:
            self.frames.append((frame.stamp_ns, frame.poses, frame.ages_s))

    def tick(self, tick, lines=(), after_ns=5000):
        now_ns = START_NS + tick * PERIOD_NS
        for line in lines or range(len(self.lines)):
            self.read(line, [tick], now_ns + 1000 * line)
        self.take(now_ns + after_ns)


@pytest.fixture
def feeder():
    return Feeder()


def test_a_frame_is_handed_out_as_soon_as_all_sensors_are_in(feeder):
    for line in range(2):
        feeder.read(line, [0], START_NS)
        feeder.take(START_NS)
        assert not feeder.frames
    feeder.read(2, [0], START_NS + 50_000)
    feeder.take(START_NS + 50_000)
    assert len(feeder.frames) == 1


def test_stamp_is_the_first_bytes_arrival_less_the_latency():
    feeder = Feeder(latency_s=0.004)
    feeder.tick(0)
    assert feeder.frames[0][0] == START_NS - 4_000_000


def test_a_frame_goes_out_when_its_missing_line_begins_the_next(feeder):
    feeder.tick(0)
    now_ns = START_NS + PERIOD_NS
    feeder.read(0, [1], now_ns)
    feeder.read(1, [1], now_ns, without=(4,))
    feeder.read(2, [1], now_ns)
    feeder.take(now_ns)
    assert len(feeder.frames) == 1
    feeder.tick(2)
    assert [int(f[1][0, 0]) for f in feeder.frames] == [0, 1, 2]
    assert np.isnan(feeder.frames[1][1][9]).all()


def test_a_silent_line_is_waited_for_until_the_timeout(feeder):
    feeder.tick(0)
    feeder.tick(1, (0, 1), round(0.99e9 * TIMEOUT_S))
    assert len(feeder.frames) == 1
    feeder.take(START_NS + PERIOD_NS + round(1e9 * TIMEOUT_S))
    assert np.isnan(feeder.frames[1][1][10:]).all() and len(feeder.frames) == 2


def test_a_line_that_comes_back_is_waited_for_again(feeder):
    feeder.tick(0)
    for tick in range(1, 12):
        feeder.tick(tick, (0, 1))
    # while it stays silent it is not waited for
    assert int(feeder.frames[-1][1][0, 0]) == 11
    n_before = len(feeder.frames)
    for tick in range(12, 24):
        feeder.tick(tick)
    recent = feeder.frames[n_before + 2 :]
    assert all(np.isfinite(poses).all() for _, poses, _ in recent)
    assert all(np.ptp(poses[:, 0]) == 0.0 for _, poses, _ in recent)


def test_ages_tell_how_old_missing_sensors_are(feeder):
    feeder.tick(0)
    for tick in range(1, 5):
        feeder.tick(tick, (0, 1), round(1e9 * TIMEOUT_S))
    assert feeder.frames[4][2][12] == pytest.approx(4 * PERIOD_NS * 1e-9, abs=1e-5)
    assert feeder.frames[4][2][0] == 0.0


def test_stamps_strictly_increase_whatever_arrives(rng):
    feeder = Feeder()
    now_ns = START_NS
    for tick in range(300):
        now_ns += int(rng.choice([0, 1000, PERIOD_NS, 3 * PERIOD_NS, -PERIOD_NS]))
        for line in rng.permutation(3):
            feeder.read(int(line), [tick], now_ns, without=tuple(rng.integers(0, 5, 1)))
        feeder.take(now_ns)
    stamps = [f[0] for f in feeder.frames]
    assert len(stamps) > 100 and np.diff(stamps).min() > 0


def test_a_clock_set_back_restarts_the_stamps(feeder):
    feeder.tick(1000)
    feeder.tick(0)
    feeder.tick(1)
    assert feeder.frames[-1][0] < feeder.frames[0][0]


def test_a_flood_of_one_line_never_overflows_the_ring():
    feeder = Feeder((1, 1))
    feeder.read(0, list(range(60)), START_NS)
    feeder.take(START_NS + round(1e9 * TIMEOUT_S))
    assert len(feeder.frames) >= 30


def test_frames_begin_with_a_whole_one(feeder):
    # lines that were just opened do not start with the same tick
    feeder.read(2, [0], START_NS)
    for tick in range(1, 4):
        feeder.tick(tick)
    assert np.isfinite(feeder.frames[0][1]).all() and feeder.assembler.frame_index == 2


def test_a_sensor_that_never_reports_does_not_keep_frames_from_beginning(feeder):
    for tick in range(40):
        now_ns = START_NS + tick * PERIOD_NS
        for line in range(3):
            feeder.read(line, [tick], now_ns, without=(3,) if line == 2 else ())
        feeder.take(now_ns)
    assert len(feeder.frames) >= 20
    assert feeder.assembler.missing_by_row[13] == len(feeder.frames)


def test_nothing_of_before_a_restart_is_in_a_frame(feeder):
    for tick in range(3):
        feeder.tick(tick)
    before, totals = len(feeder.frames), feeder.assembler.counters
    feeder.read(0, [3], START_NS + 3 * PERIOD_NS)  # a tick that has only begun
    feeder.assembler.restart()
    assert not feeder.assembler.is_collecting and feeder.assembler.counters == totals
    for tick in range(10_000, 10_003):
        feeder.tick(tick)
    after = feeder.frames[before:]
    assert len(after) == 3 and all(np.isfinite(poses).all() for _, poses, _ in after)
    assert after[0][0] >= START_NS + 10_000 * PERIOD_NS - PERIOD_NS


@pytest.mark.parametrize('seed', [1, 2])
def test_a_host_that_is_held_up_does_not_take_the_device_for_a_faster_one(seed):
    # what has piled up is dated back by whole periods, which keeps time with halves of it too
    feeder, rng = Feeder((3,)), np.random.default_rng(seed)
    tick, now_ns = 0, START_NS
    while tick < 2500:
        waiting = (now_ns - START_NS) // PERIOD_NS - tick + 1
        for first in range(tick, tick + waiting, 16):
            feeder.read(0, list(range(first, min(first + 16, tick + waiting))), now_ns)
        feeder.take(now_ns)
        tick += waiting
        now_ns += PERIOD_NS if rng.random() < 0.5 else round(rng.exponential(60e6))
    assert feeder.assembler.period_ns == pytest.approx(PERIOD_NS, rel=0.05)
    assert feeder.assembler.clock.status.rate_hz == pytest.approx(120.0, rel=0.05)


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


BYTE_NS = 10e9 / 115200
RECORD_BYTES = 15
PACKET_BYTES = 62  # of a USB adapter, which hands over sooner when one is full
LEARNT = 600


def batched(line, n_sensors, n_ticks, timer_ns, first_ns, packet_bytes=PACKET_BYTES):
    reads = []
    records = []
    begun = []  # records that have begun in the present packet
    n_bytes, timer_at_ns = 0, START_NS + first_ns

    def hand_over(now_ns):
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


def play(feeder, reads):
    firsts = np.concatenate(([0], np.cumsum(feeder.lines)))
    for now_ns, line, records in sorted(reads):
        feeder.take(now_ns - 1)  # what has become due meanwhile
        poses = [(tick, firsts[line] + ordinal, 0, 1, 0, 0, 0) for tick, ordinal, _ in records]
        feeder.assembler.add(
            line, [TrackerRecord(r[1], r[2], pose) for r, pose in zip(records, poses)]
        )
        feeder.take(now_ns)
    feeder.take(now_ns + PERIOD_NS)


@pytest.mark.parametrize('timer_ms', [16.0, 5.0, 50.0])
@pytest.mark.parametrize('n_sensors', [1, 3])
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
    stamps = np.array([stamp_ns for stamp_ns, _, _ in feeder.frames[LEARNT:]])
    ticks = np.array([poses[0, 0] for _, poses, _ in feeder.frames[LEARNT:]])
    assert np.std(stamps - START_NS - ticks * PERIOD_NS) < 0.05 * PERIOD_NS
    assert np.diff(stamps).min() > 0.9 * PERIOD_NS


@pytest.mark.parametrize(
    'lines, timers_ms',
    [((1, 1, 1), (16.0, 16.0, 16.0)), ((2, 2), (16.0, 16.0)), ((5, 2), (16.0, 1.0))],
)
def test_lumps_of_several_lines_become_whole_frames_of_one_tick(lines, timers_ms):
    reads = []
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


@pytest.mark.parametrize('n_before', [40, 400])  # before the clock is fitted, and after
@pytest.mark.parametrize('n_late', [1, 3, 10])
def test_ticks_that_are_read_one_by_one_after_a_stall_have_their_own_times(n_late, n_before):
    feeder = Feeder()
    for tick in range(n_before - n_late):
        feeder.tick(tick)
    for tick in range(n_before - n_late, n_before + 20):
        now_ns = START_NS + tick * PERIOD_NS
        if tick < n_before:
            now_ns = START_NS + n_before * PERIOD_NS - (n_before - tick) * 100_000
        for line in range(len(feeder.lines)):
            feeder.read(line, [tick], now_ns)
        feeder.take(now_ns)
    feeder.take(now_ns + PERIOD_NS)
    stamps = np.array([(frame[0] - START_NS) / PERIOD_NS for frame in feeder.frames])
    assert len(stamps) == n_before + 20
    np.testing.assert_allclose(stamps, np.arange(n_before + 20), atol=0.25)
