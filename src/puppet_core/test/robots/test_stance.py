# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's feet make room for each other: the one that swings, and so much that none touch."""

import numpy as np
from puppet_core.robots.joints import sole_corners
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_core.robots.stance import least_stance, part_soles, ROOM_M, Stance
import pytest
from urdf_walk import HUMANOID


def test_the_foot_that_swings_gives_way_and_stays_there():
    """Both feet step ahead, one after the other, to 2 cm beside the middle; then legs cross."""
    character = character_from_urdf(HUMANOID, RobotMap()).character
    width = least_stance(character)
    assert width == pytest.approx(0.10, abs=0.005)  # of its feet; nothing above is wider
    stance = Stance(width, character.skeleton.leg_length, sole_corners(character))
    q_world, aside, ends = np.tile([1.0, 0, 0, 0], (16, 1)), np.zeros((4, 3)), np.zeros((8, 3))
    dt, asked, made, landed = np.inf, [], [], []
    ends[2:4, 1] = 0.2, -0.2  # left and right
    for foot, side in [(2, 0.02), (3, -0.02), (2, 0.02), (3, -0.02), (2, -0.35)]:
        start, goal = ends[foot].copy(), np.array([ends[foot, 0] + 0.4, side, 0.0])
        for share in np.linspace(0.0, 1.0, 60):
            ends[foot] = start + (share**2 * (3.0 - 2.0 * share)) * (goal - start)
            moved = ends.copy()
            part_soles(stance, q_world, moved, dt, aside)
            dt = 1.0 / 120.0
            asked.append(ends[2:4].copy())
            made.append(moved[2:4])
        landed.append(moved[2, 1] - moved[3, 1])
    ahead, moved = np.diff(asked, axis=0), np.diff(made, axis=0)
    stands = np.all(ahead == 0.0, axis=2)
    assert stands.sum() > 200 and np.all(moved[stands] == 0.0)
    assert landed[3] == pytest.approx(width + ROOM_M, abs=0.01) and landed[4] < -0.2
    assert np.abs(moved - ahead).max() < ahead.max()  # slower aside than ahead
