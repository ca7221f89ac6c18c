# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Turned bits: no record leaves its sensor's path by more than a body can move.

Nothing tells a turned low bit of a position: there is no checksum. What can be promised is how
far such a record is from the one that was sent, and that is promised here.
"""

from dataclasses import replace

from benchmarks.driver import bit_errors as bench
from benchmarks.driver.decoders import started_pair
import numpy as np
from puppet_driver.devices.decoding import ANYWHERE, CONFIRMATIONS, Reach
import pytest

N_TICKS = 1500
every = pytest.mark.parametrize('case', bench.CASES, ids=lambda case: '-'.join(map(str, case)))


@every
def test_no_single_turned_bit_throws_a_sensor_off_its_path(case):
    tracker, reach, ticks = bench.ticks_of(*case, 10)
    truth = bench.truth_of(tracker, ticks)
    stepped = np.linalg.norm(np.diff(truth[..., :3], axis=0), axis=-1).max()
    n_accepted = n_wrong = 0
    at = 5
    for bit in range(8 * len(ticks[at])):
        data = bytearray(ticks[at])
        data[bit // 8] ^= 1 << bit % 8
        noisy = [*ticks[:at], bytes(data), *ticks[at + 1 :]]
        stamps, ordinals, poses = bench.feed(tracker.open_stream(), noisy)
        distance, angle = bench.errors(poses, truth[stamps, ordinals])
        # from the last record, which is true, and the path goes on meanwhile
        assert distance.max() <= reach.distance_m + stepped
        assert angle.max() <= 1.1 * reach.angle_rad
        n_accepted += int((stamps == at).sum())
        n_wrong += int((distance > bench.SAME_M).sum())
        # one that has just been believed may cost the next two, no more
        assert set(ordinals[stamps == len(ticks) - 1].tolist()) == {0, 1}
    assert 0 < n_wrong < n_accepted


@every
@pytest.mark.parametrize('rate', [1e-3, 1e-2])
def test_many_turned_bits_leave_the_path_within_twice_its_reach(case, rate):
    tracker, reach, ticks = bench.ticks_of(*case, N_TICKS)
    result = bench.measure(tracker, ticks, rate)
    # the record before may have been a wrong one, too
    assert result.worst_m <= 2.0 * reach.distance_m
    lost = result.sent - result.accepted
    # of those that are damaged most are found; of those that are not nearly all come out
    assert result.wrong < 0.62 * (result.sent - result.untouched)
    assert lost < 1.25 * (result.sent - result.untouched) + 2 * CONFIRMATIONS
    assert result.accepted - result.wrong > 0.3 * result.untouched


def test_without_a_limit_a_turned_bit_is_metres():
    tracker, _, ticks = bench.ticks_of(*bench.CASES[0], 8)
    truth = bench.truth_of(tracker, ticks)
    tracker._config = replace(tracker._config, max_speed_mps=ANYWHERE.max_speed_mps)
    data = bytearray(ticks[5])
    data[3] ^= 0x20
    _, _, poses = bench.feed(tracker.open_stream(), [*ticks[:5], bytes(data)])
    assert np.linalg.norm(poses[-2, :3] - truth[5, 0, :3]) > 1.0


@every
def test_the_speed_is_a_parameter_of_every_device(case):
    device, rate_hz, record_format = case
    given = {'record_format': record_format} if record_format else {}
    tracker, _, _ = started_pair(device, rate_hz=rate_hz, max_speed_mps=3.0, **given)
    assert tracker._config.max_speed_mps == 3.0 and tracker._config.rate_hz == rate_hz


def test_the_reach_is_speed_over_rate_and_some_noise():
    assert Reach(100.0, 20.0).distance_m == pytest.approx(0.21)
    assert Reach(10.0).angle_rad == pytest.approx(np.pi)


def test_the_table_is_printed(capsys):
    assert bench.main(['--ticks', '50']) == bench.EXIT_OK
    assert len(capsys.readouterr().out.splitlines()) == 2 + 3 * len(bench.CASES)
