# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The artificial first frame: dropped with its ringing, and only then."""

import numpy as np
from puppet_core.clips.skeleton_map import count_artificial_frames
import pytest

RATE_HZ = 120.0


@pytest.fixture
def moving(rng):
    """Return ten joints that move at about one metre a second."""
    directions = rng.normal(size=(10, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    t = np.arange(200)[:, None, None] / RATE_HZ
    return rng.normal(size=(10, 3)) + directions * np.sin(t)


def test_motion_from_the_first_frame_on_is_kept(moving):
    assert count_artificial_frames(moving, RATE_HZ, 0.9) == 0


def test_a_pose_elsewhere_is_dropped(moving):
    moving[0] += [0.3, 0.1, -0.2]
    assert count_artificial_frames(moving, RATE_HZ, 0.9) == 1


def test_its_ringing_is_dropped_too(moving):
    moving[0] += 0.5
    moving[1:6] += 0.5 * np.array([-0.3, 0.2, -0.1, 0.05, -0.02])[:, None, None]
    assert count_artificial_frames(moving, RATE_HZ, 0.9) == 6


def test_a_jump_later_in_the_clip_is_not_the_start(moving):
    moving[100:] += 0.5
    assert count_artificial_frames(moving, RATE_HZ, 0.9) == 0


def test_fast_motion_is_not_a_jump(moving):
    assert count_artificial_frames(5.0 * moving, RATE_HZ, 0.9) == 0


@pytest.mark.parametrize('n_frames', [1, 2, 3, 5])
def test_short_clips_keep_all_but_a_clear_jump(moving, n_frames):
    assert count_artificial_frames(moving[:n_frames], RATE_HZ, 0.9) == 0


def test_a_clip_that_stands_still_is_kept():
    assert count_artificial_frames(np.zeros((50, 4, 3)), RATE_HZ, 0.9) == 0
