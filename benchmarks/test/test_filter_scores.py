# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""filter_scores: error, lag and overshoot of outputs made by hand."""

from benchmarks.filter.scores import measure_lag, measure_overshoot, movements, Output, score
from benchmarks.filter.synthetic_motion import make_motion, SensorMotion
import numpy as np
import pytest

RATE_HZ = 120.0


def along_x(places: np.ndarray) -> SensorMotion:
    """Return one sensor that moves along x."""
    positions = np.zeros((len(places), 1, 3))
    positions[:, 0, 0] = places
    return SensorMotion(RATE_HZ, positions, np.tile([1.0, 0.0, 0.0, 0.0], (len(places), 1, 1)))


@pytest.mark.parametrize('delay_frames', [0, 1, 3])
def test_lag_of_a_delayed_copy_is_its_delay(delay_frames, rng):
    motion = make_motion('fast', 2, 5.0, RATE_HZ, rng)
    delayed = np.roll(motion.positions, delay_frames, axis=0)
    expected = delay_frames * 1e3 / RATE_HZ
    assert measure_lag(motion, delayed) == pytest.approx(expected, abs=0.1)


def test_lag_without_motion_is_not_a_number(rng):
    motion = make_motion('static', 2, 2.0, RATE_HZ, rng)
    assert np.isnan(measure_lag(motion, motion.positions))


def test_overshoot_is_a_share_of_the_way(rng):
    motion = make_motion('walk', 3, 8.0, RATE_HZ, rng)  # steps of 1.2 m
    assert measure_overshoot(motion, motion.positions) == pytest.approx(0.0, abs=1e-4)
    ahead = motion.positions + 0.006 * np.array([1.0, 0.0, 0.0])
    assert measure_overshoot(motion, ahead) == pytest.approx(0.005, abs=1e-4)


def test_overshoot_of_a_jump_is_found():
    motion = along_x(np.repeat([0.0, 0.5, 0.1], 40))
    output = motion.positions.copy()
    output[41:45, 0, 0] += 0.05  # a tenth of the first jump, nothing of the second
    assert measure_overshoot(motion, output) == pytest.approx(0.05)


def test_movements_end_in_rest_or_are_jumps():
    speed = np.zeros(200)
    speed[20:50] = 1.0
    speed[55:60] = 1.0  # a rest of five frames is none
    speed[120] = 60.0
    assert movements(speed, 18) == [(55, 60), (120, 121)]


def test_score_of_a_known_error(rng):
    motion = make_motion('slow', 2, 3.0, RATE_HZ, rng)
    off = motion.positions + np.array([0.003, 0.0, 0.004])
    one = score(motion, Output(off, -motion.quaternions, 7.0))
    assert one.rms_mm == pytest.approx(5.0) and one.rms_deg == pytest.approx(0.0, abs=1e-6)
    assert one.us_per_frame == 7.0
