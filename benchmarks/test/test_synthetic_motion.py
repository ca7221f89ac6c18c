# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""synthetic_motion: seeded, as fast as said, and disturbed as asked."""

from benchmarks.filter.synthetic_motion import (
    disturb,
    Disturbance,
    KINDS,
    make_motion,
    minimum_jerk,
)
import numpy as np
from puppet_core.math import quaternions as quaternion_batch
import pytest

RATE_HZ = 120.0


@pytest.mark.parametrize('kind', KINDS)
def test_same_seed_is_the_same_motion(kind):
    a, b = (make_motion(kind, 2, 3.0, RATE_HZ, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(a.positions, b.positions)
    np.testing.assert_allclose(np.linalg.norm(a.quaternions, axis=-1), 1.0, atol=1e-12)


@pytest.mark.parametrize(('kind', 'fastest'), [('slow', 1.5), ('fast', 8.0), ('walk', 7.0)])
def test_speeds_are_those_of_people(kind, fastest, rng):
    motion = make_motion(kind, 6, 10.0, RATE_HZ, rng)
    speed = np.linalg.norm(np.gradient(motion.positions, axis=0), axis=-1) * RATE_HZ
    assert 0.3 * fastest < speed.max() < fastest


def test_planted_feet_stand_still(rng):
    motion = make_motion('walk', 2, 5.0, RATE_HZ, rng)
    speed = np.linalg.norm(np.diff(motion.positions, axis=0), axis=-1) * RATE_HZ
    assert (speed < 1e-9).mean() > 0.4


def test_minimum_jerk_starts_and_ends_at_rest():
    share = minimum_jerk(np.array([-1.0, 0.0, 1e-3, 0.5, 1.0 - 1e-3, 1.0, 2.0]))
    np.testing.assert_allclose(share, [0, 0, 1e-8, 0.5, 1, 1, 1], atol=2e-8)


def test_white_noise_has_the_deviation_asked_for(rng):
    motion = make_motion('static', 4, 20.0, RATE_HZ, rng)
    positions, quaternions = disturb(motion, Disturbance(), rng)
    assert np.std(positions - motion.positions) == pytest.approx(5e-4, rel=0.05)
    turn = quaternion_batch.multiply(quaternion_batch.conjugate(motion.quaternions), quaternions)
    assert np.std(np.degrees(quaternion_batch.log(turn))) == pytest.approx(0.05, rel=0.05)
    assert 0.4 < np.mean(np.sum(quaternions * motion.quaternions, axis=-1) < 0.0) < 0.6


def test_share_of_missing_samples_and_outliers_is_about_what_was_asked(rng):
    motion = make_motion('static', 10, 30.0, RATE_HZ, rng)
    positions, _ = disturb(motion, Disturbance(missing=0.1, outliers=0.05), rng)
    missing = np.isnan(positions[..., 0])
    far = np.linalg.norm(positions - motion.positions, axis=-1) > 0.05
    assert missing.mean() == pytest.approx(0.1, rel=0.25)
    assert far.mean() == pytest.approx(0.045, rel=0.25)
