# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Records of several lines to frames: whole, in order, stamped, and never waiting for ever."""

from assembly_feeder import Feeder, PERIOD_NS, START_NS, TIMEOUT_S
import numpy as np
import pytest


@pytest.fixture
def feeder() -> Feeder:
    """Return a feeder of fourteen sensors on three lines."""
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


def test_a_sensor_lost_within_a_line_is_not_waited_for(feeder):
    feeder.tick(0)
    now_ns = START_NS + PERIOD_NS
    feeder.read(0, [1], now_ns, without=(2,))
    feeder.read(1, [1], now_ns)
    feeder.read(2, [1], now_ns)
    feeder.take(now_ns)
    assert np.isnan(feeder.frames[1][1][2]).all()
    assert np.isfinite(np.delete(feeder.frames[1][1], 2, axis=0)).all()


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
    now_ns = START_NS + PERIOD_NS
    for line in (0, 1):
        feeder.read(line, [1], now_ns)
    feeder.take(now_ns + round(0.99e9 * TIMEOUT_S))
    assert len(feeder.frames) == 1
    feeder.take(now_ns + round(1e9 * TIMEOUT_S))
    assert np.isnan(feeder.frames[1][1][10:]).all() and len(feeder.frames) == 2


def test_a_line_that_comes_back_is_waited_for_again(feeder):
    feeder.tick(0)
    for tick in range(1, 12):
        now_ns = START_NS + tick * PERIOD_NS
        for line in (0, 1):
            feeder.read(line, [tick], now_ns)
        feeder.take(now_ns)
    n_before = len(feeder.frames)
    for tick in range(12, 24):
        feeder.tick(tick)
    recent = feeder.frames[n_before + 2 :]
    assert all(np.isfinite(poses).all() for _, poses, _ in recent)
    assert all(np.ptp(poses[:, 0]) == 0.0 for _, poses, _ in recent)


def test_ages_tell_how_old_missing_sensors_are(feeder):
    feeder.tick(0)
    for tick in range(1, 5):
        now_ns = START_NS + tick * PERIOD_NS
        for line in (0, 1):
            feeder.read(line, [tick], now_ns)
        feeder.take(now_ns + round(1e9 * TIMEOUT_S))
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


@pytest.mark.parametrize('seed', [1, 2, 3])
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
