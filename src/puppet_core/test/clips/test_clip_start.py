# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The artificial first frame: dropped with its ringing, and only then."""

import numpy as np
from puppet_core.clips.skeleton_map import count_artificial_frames
import pytest

RATE_HZ = 120.0


def elsewhere(points):
    points[0] += [0.3, 0.1, -0.2]


def ringing(points):
    points[0] += 0.5
    points[1:6] += 0.5 * np.array([-0.3, 0.2, -0.1, 0.05, -0.02])[:, None, None]


def later_jump(points):
    points[100:] += 0.5


def fast(points):
    points *= 5.0


def still(points):
    points[:] = 0.0


@pytest.mark.parametrize(
    ('change', 'dropped'), [(elsewhere, 1), (ringing, 6), (later_jump, 0), (fast, 0), (still, 0)]
)
def test_a_pose_elsewhere_is_dropped_with_its_ringing_alone(rng, change, dropped):
    """Ten joints move at about one metre a second; short clips keep all."""
    directions = rng.normal(size=(10, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    t = np.arange(200)[:, None, None] / RATE_HZ
    points = rng.normal(size=(10, 3)) + directions * np.sin(t)
    for n_frames in (1, 2, 3, 5, 200):
        assert count_artificial_frames(points[:n_frames], RATE_HZ, 0.9) == 0
    change(points)
    assert count_artificial_frames(points, RATE_HZ, 0.9) == dropped
