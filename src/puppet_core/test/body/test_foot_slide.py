# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Planted feet and their slide, on feet whose speed is known."""

import numpy as np
from puppet_core.body.motion_measures import planted_soles, slide_mm_s, speeds
import pytest

RATE_HZ = 100.0


def _soles(speed_m_s, height_m, n=50):
    soles = np.zeros((n, 2, 3))
    soles[:, :, 0] = (np.arange(n) * speed_m_s / RATE_HZ)[:, None]
    soles[:, :, 2] = height_m
    return soles


def test_speed_is_that_of_the_motion():
    measured = speeds(_soles(0.4, 0.0), RATE_HZ)
    assert np.all(measured[0] == 0.0)
    np.testing.assert_allclose(measured[1:], 0.4)


@pytest.mark.parametrize(
    ('speed_m_s', 'height_m', 'is_planted'),
    [(0.1, 0.02, True), (0.1, 0.06, False), (0.3, 0.02, False)],
)
def test_slow_and_low_feet_are_planted_but_in_the_first_frame(speed_m_s, height_m, is_planted):
    planted = planted_soles(_soles(speed_m_s, height_m), RATE_HZ)
    assert not np.any(planted[0])
    assert np.all(planted[1:] == is_planted)


def test_slide_is_the_mean_speed_over_planted_frames_only():
    performer = np.concatenate((_soles(0.1, 0.02), _soles(0.1, 0.5)))
    puppet = np.concatenate((_soles(0.03, 0.02), _soles(2.0, 0.5)))
    planted = planted_soles(performer, RATE_HZ)
    assert abs(slide_mm_s(puppet, planted, RATE_HZ) - 30.0) < 1e-9
    high = np.zeros_like(planted)
    assert np.isnan(slide_mm_s(puppet, high, RATE_HZ))
