# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of the report, on motions whose figures are known."""

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_retarget.offline import quality
from puppet_retarget.offline.quality import MotionArrays
import pytest

RATE_HZ = 100.0
N = 50


@pytest.fixture
def still():
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N, 16, 1))
    return MotionArrays(np.zeros((N, 3)), rotations, np.zeros((N, 8, 3)))


def test_planted_feet_are_low_and_slow(still):
    still.end_effectors[20:30, 2, 2] = 0.2  # lifted
    still.end_effectors[:, 3, 0] = 0.01 * np.arange(N)  # 1 m/s
    planted = quality.planted_feet(still, RATE_HZ)
    assert not planted[0].any()  # no speed yet
    assert planted[1:20, 0].all() and not planted[20:30, 0].any()
    assert not planted[:, 1].any()


def test_slide_is_the_mean_speed_of_planted_soles(still):
    planted = np.zeros((N, 2), dtype=bool)
    planted[10:20, 0] = planted[10:20, 1] = True
    still.end_effectors[:, 2, 1] = 0.001 * np.arange(N)  # 100 mm/s, the other foot none
    assert quality.slide_mm_s(still, planted, RATE_HZ) == pytest.approx(50.0)
    assert np.isnan(quality.slide_mm_s(still, planted & False, RATE_HZ))


def test_jerk_ratio_compares_third_differences():
    t = np.arange(N) / RATE_HZ
    one = np.stack((t**3, 0.0 * t, 0.0 * t), axis=1)
    assert quality.jerk_ratio(3.0 * one, one, 1.0) == pytest.approx(3.0)
    assert quality.jerk_ratio(3.0 * one, one, 3.0) == pytest.approx(1.0)
    assert quality.jerk_ratio(one + t[:, None] ** 2, one, 1.0) == pytest.approx(1.0)
    # of too short or still motions it is no number
    assert np.isnan(quality.jerk_ratio(np.zeros((3, 3)), np.zeros((3, 3)), 1.0))
    assert np.isnan(quality.jerk_ratio(np.ones((9, 3)), np.ones((9, 3)), 1.0))


def test_jerk_ratios_are_of_root_feet_and_hands(still, rng):
    roots, ends = rng.normal(size=(N, 3)), rng.normal(size=(N, 8, 3))
    performer = MotionArrays(roots, still.rotations, ends)
    puppet = MotionArrays(2.0 * roots, still.rotations, ends.copy())
    puppet.end_effectors[:, 2:4] *= 0.5
    ratios = quality.jerk_ratios(puppet, performer, 1.0)
    assert ratios == pytest.approx({'root': 2.0, 'feet': 0.5, 'hands': 1.0})


def test_free_limb_deviation_counts_unimportant_limbs_only(still):
    turned = MotionArrays(still.root_positions, still.rotations.copy(), still.end_effectors)
    turned.rotations[10, SEGMENT_INDEX['left_forearm']] = qb.exp(np.radians([3.0, 0.0, 0.0]))
    turned.rotations[20, SEGMENT_INDEX['left_shank']] = qb.exp(np.radians([9.0, 0.0, 0.0]))
    importances = np.zeros((N, 4))
    importances[:, 2] = 0.5
    deviation = quality.free_limb_deviation_deg(turned, still, importances)
    assert deviation == pytest.approx(3.0)
    assert quality.free_limb_deviation_deg(turned, still, np.ones((N, 4))) == 0.0
    assert SEGMENT_INDEX['left_shank'] in LIMB_SEGMENTS[2]


def test_percentiles_of_nothing_are_no_numbers():
    found = quality.percentiles(np.arange(101.0), 10.0)
    assert found == {'p50': 500.0, 'p99': 990.0, 'max': 1000.0}
    assert all(np.isnan(v) for v in quality.percentiles(np.array([])).values())
