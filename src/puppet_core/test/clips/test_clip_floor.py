# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Floors: found from standing feet, levelled when all agree, steps and jumps left alone."""

import numpy as np
from puppet_core.clips.floor import fit_floor, standing_frames
import pytest

RATE_HZ = 100.0
LEG_M = 0.85
DROP_M = 0.06


def walk(tilt_rad=0.0, height=0.0, n_steps=6, steps_m=(0.0,)):
    """Return the middles of two feet that step along x, on a floor that rises with x."""
    frames = []
    feet = np.array([[0.0, 0.1, 0.0], [0.3, -0.1, 0.0]])
    for step in range(n_steps):
        swing = step % 2
        target = feet.copy()
        target[swing, 0] += 0.6
        target[swing, 2] = steps_m[step % len(steps_m)]
        for s in np.linspace(0.0, 1.0, 50, endpoint=False):
            now = feet + s * (target - feet)
            now[swing, 2] += 0.2 * np.sin(np.pi * s)
            frames.append(now)
        feet = target
    feet = np.array(frames)
    feet[..., 2] += DROP_M + height + np.tan(tilt_rad) * feet[..., 0]
    return feet


def test_standing_is_hardly_moving(rng):
    points = np.zeros((60, 3))
    points[30:, 0] = np.arange(30) * 0.01
    points += 0.0005 * rng.normal(size=points.shape)
    stands = standing_frames(points, RATE_HZ)
    assert stands[:28].all()
    assert not stands[33:].any()


@pytest.mark.parametrize('height', [-0.9, 0.0, 0.3, 2.0])
def test_the_floor_is_found(height):
    fit = fit_floor(walk(height=height), RATE_HZ, LEG_M)
    assert fit.floor_height + fit.drops[0] == pytest.approx(height + DROP_M, abs=0.003)
    assert 0.04 < fit.drops[0] < 0.08
    assert height != 0.0 or fit.floor_height == 0.0


@pytest.mark.parametrize(('tilt_deg', 'level_deg'), [(-1.5, -1.5), (2.0, 2.0), (5.0, 0.0)])
def test_a_tilted_floor_is_found_and_a_ramp_is_not_levelled(tilt_deg, level_deg):
    fit = fit_floor(walk(tilt_rad=np.radians(tilt_deg)), RATE_HZ, LEG_M)
    tilt = np.radians(level_deg)
    expected = [-np.sin(tilt), 0.0, np.cos(tilt)]
    np.testing.assert_allclose(fit.normal, expected, atol=np.radians(0.1))


def test_uneven_ground_is_not_levelled_and_its_lowest_stand_is_the_floor():
    fit = fit_floor(walk(height=0.5, steps_m=(0.0, 0.25, 0.12)), RATE_HZ, LEG_M)
    np.testing.assert_array_equal(fit.normal, [0.0, 0.0, 1.0])
    assert fit.floor_height + fit.drops.min() == pytest.approx(0.5 + DROP_M, abs=0.01)


def test_a_foot_held_in_the_air_is_no_floor():
    feet = np.tile([[0.0, 0.1, DROP_M], [0.0, -0.1, 0.6]], (200, 1, 1))
    fit = fit_floor(feet, RATE_HZ, LEG_M)
    np.testing.assert_allclose(fit.drops, DROP_M)
    assert fit.floor_height == 0.0


def test_feet_of_different_height_get_their_own_soles():
    feet = walk()
    feet[:, 1, 2] += 0.015
    fit = fit_floor(feet, RATE_HZ, LEG_M)
    np.testing.assert_allclose(fit.drops, [DROP_M, DROP_M + 0.015], atol=0.003)


def test_feet_that_never_stand_have_the_lowest_point_as_floor():
    t = np.linspace(0.0, 6.0, 300)
    feet = np.stack(
        [
            np.stack([3.0 * t, side + 0.0 * t, 5.0 + 0.3 * np.sin(9.0 * t)], axis=1)
            for side in (0.1, -0.1)
        ],
        axis=1,
    )
    fit = fit_floor(feet, RATE_HZ, LEG_M)
    assert fit.floor_height + fit.drops[0] == pytest.approx(4.7, abs=0.02)
