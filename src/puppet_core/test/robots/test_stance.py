# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's feet make room for each other: the one that swings, and so much that none touch."""

import numpy as np
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.robots.joints import sole_corners
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_core.robots.stance import least_stance, part_soles, ROOM_M, Stance
import pytest
from urdf_walk import HUMANOID

DT, WIDTH_M = 1.0 / 120.0, 0.14
LEFT, RIGHT = 2, 3


@pytest.fixture(scope='module')
def character():
    return character_from_urdf(HUMANOID, RobotMap()).character


@pytest.mark.parametrize('more, is_apart', [(-0.01, False), (0.01, True)])
def test_straight_legs_touch_at_the_least_stance(character, more, is_apart):
    """Balls along the capsules of both legs, turned inwards about the hips."""
    places, points = character.skeleton.rest_positions(), character.skeleton.interaction_points
    hip, sole = places[LIMB_SEGMENTS[2, 0]], places[LIMB_SEGMENTS[2, 2]] + points[2]
    angle = np.arcsin((sole[1] - 0.5 * (least_stance(character) + more)) / (hip[2] - sole[2]))
    turn = qb.exp(np.array([-angle, 0.0, 0.0]))
    balls = [
        (
            qb.rotate(turn, places[c.segment] + c.start + t * (c.end - c.start) - hip) + hip,
            c.radius,
        )
        for c in character.capsules
        if c.segment in LIMB_SEGMENTS[2]
        for t in np.linspace(0.0, 1.0, 20)
    ]
    centres, radii = np.array([p for p, _ in balls]), np.array([r for _, r in balls])
    apart = np.linalg.norm(centres[:, None] - centres * [1.0, -1.0, 1.0], axis=2)
    assert np.all(apart > radii[:, None] + radii) == is_apart


def steps(character, sides, frames=60):
    """Let both feet step to places beside the pelvis in turn; return asked and made, (n, 2, 3)."""
    stance = Stance(WIDTH_M, character.skeleton.leg_length, sole_corners(character))
    q_world, aside = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)), np.zeros((4, 3))
    ends, dt, asked, made = np.zeros((8, 3)), np.inf, [], []
    ends[LEFT, 1], ends[RIGHT, 1] = 0.2, -0.2
    for foot, side in sides:
        start, goal = ends[foot].copy(), np.array([ends[foot, 0] + 0.4, side, 0.0])
        for share in np.linspace(0.0, 1.0, frames):
            ends[foot] = start + (share**2 * (3.0 - 2.0 * share)) * (goal - start)
            moved = ends.copy()
            part_soles(stance, q_world, moved, dt, aside)
            dt = DT
            asked.append(ends[2:4].copy())
            made.append(moved[2:4])
    return np.array(asked), np.array(made)


def test_the_foot_that_swings_gives_way_and_stays_there(character):
    sides = [(LEFT, 0.02), (RIGHT, -0.02), (LEFT, 0.02), (RIGHT, -0.02)]
    asked, made = steps(character, sides)
    stands = np.all(np.diff(asked, axis=0) == 0.0, axis=2)
    assert stands.sum() > 200 and np.all(np.diff(made, axis=0)[stands] == 0.0)
    landed = made[59::60, 0, 1] - made[59::60, 1, 1]
    assert landed[-1] == pytest.approx(WIDTH_M + ROOM_M, abs=0.01)
    assert np.abs(made - asked)[..., [0, 2]].max() < 1e-12
    # slower aside than ahead
    assert np.abs(np.diff(made - asked, axis=0)).max() < np.diff(asked, axis=0).max()


@pytest.mark.parametrize('sides', [[(LEFT, 0.15), (RIGHT, -0.15)], [(LEFT, -0.45)]])
def test_feet_that_are_apart_or_crossed_stay_where_they_are(character, sides):
    asked, made = steps(character, sides)
    np.testing.assert_allclose(made[-1], asked[-1], atol=0.01)
