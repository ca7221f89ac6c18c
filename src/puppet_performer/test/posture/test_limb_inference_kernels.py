# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Elbows and knees of limbs of which only the end is measured."""

import numpy as np
from puppet_core.math import quaternions
from puppet_core.math.arrays import Quat, Vec3
from puppet_performer.posture import limbs
from puppet_performer.posture.limbs import infer_limb, point_segment
import pytest

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
DOWN, SIDE, BACK = -np.eye(3)[2], np.eye(3)[1], -np.eye(3)[0]
REACH = {0: (SIDE, 0.3, 0.25), 1: (-SIDE, 0.3, 0.25), 2: (DOWN, 0.43, 0.43), 3: (DOWN, 0.43, 0.43)}


def _infer(
    limb: int,
    goal: Vec3,
    q_end: Quat = IDENTITY,
    q_trunk: Quat = IDENTITY,
) -> tuple[Quat, Quat, Vec3, Vec3]:
    """Return both orientations, elbow and wrist."""
    rest, upper, lower = REACH[limb]
    arguments = (q_trunk, q_end, rest * upper, rest * lower, goal)
    turned = infer_limb(limb, *(tuple(v.tolist()) for v in arguments))
    q_upper, q_lower = np.array(turned)
    elbow = quaternions.rotate(q_upper, rest * upper)
    return q_upper, q_lower, elbow, elbow + quaternions.rotate(q_lower, rest * lower)


def test_wrist_is_where_it_is_measured(rng: np.random.Generator) -> None:
    for limb, (_, upper, lower) in REACH.items():
        for _ in range(10):
            q_end, q_trunk = quaternions.normalize(rng.normal(size=(2, 4)))
            goal = rng.normal(size=3)
            goal *= rng.uniform(0.1, 0.99) * (upper + lower) / np.linalg.norm(goal)
            wrist = _infer(limb, goal, q_end, q_trunk)[3]
            np.testing.assert_allclose(wrist, goal, atol=1e-9)


def test_elbows_hang_and_knees_point_forward() -> None:
    for limb, side in ((0, 1.0), (1, -1.0)):
        before = np.array([0.3, 0.0, 0.0])  # a hand in front of its shoulder
        down = quaternions.exp(np.array([0.0, 0.0, -side * 0.5 * np.pi]))
        _, _, elbow, _ = _infer(limb, before, down)
        assert elbow[2] < -0.1
        assert side * elbow[1] > 0.0
    for limb in (2, 3):
        assert _infer(limb, 0.7 * DOWN)[2][0] > 0.2


def test_knee_turns_with_the_foot() -> None:
    for yaw in (-0.5, 0.5):
        foot = quaternions.exp(np.array([0.0, 0.0, yaw]))
        turned = _infer(2, 0.7 * DOWN, foot)[2]
        assert np.sign(turned[1] - _infer(2, 0.7 * DOWN)[2][1]) == np.sign(yaw)


def test_right_mirrors_left(rng: np.random.Generator) -> None:
    mirror = np.array([1.0, -1.0, 1.0])
    for limb in (0, 2):
        for _ in range(20):
            goal, rotvec = rng.uniform(-0.3, 0.3, size=(2, 3))
            left = _infer(limb, goal, quaternions.exp(rotvec))
            # a mirrored rotation turns about the mirrored axis the other way
            right = _infer(limb + 1, goal * mirror, quaternions.exp(-rotvec * mirror))
            np.testing.assert_allclose(right[2], left[2] * mirror, atol=1e-12)


def test_trunk_and_hand_turned_together_turn_the_limb(rng: np.random.Generator) -> None:
    goal = np.array([0.2, 0.1, -0.2])
    q_end, turn = quaternions.normalize(rng.normal(size=(2, 4)))
    elbow = _infer(0, goal, q_end)[2]
    whole = _infer(0, quaternions.rotate(turn, goal), quaternions.multiply(turn, q_end), turn)[2]
    np.testing.assert_allclose(whole, quaternions.rotate(turn, elbow), atol=1e-12)


@pytest.mark.parametrize('limb', REACH)
def test_limb_is_continuous_over_its_workspace(limb: int, rng: np.random.Generator) -> None:
    """Small steps of wrist and hand, anywhere but straight against the workspace's middle."""
    _, upper, lower = REACH[limb]
    middle = np.array(limbs._SWIVEL[limb][0])
    for _ in range(300):
        goal = rng.normal(size=3)
        goal /= np.linalg.norm(goal)
        if goal @ middle < -0.85:  # within 30 degrees of there
            continue
        goal *= rng.uniform(0.3, 0.95) * (upper + lower)
        q_end = quaternions.normalize(rng.normal(size=4))
        near = quaternions.multiply(q_end, quaternions.exp(rng.normal(size=3) * 1e-5))
        first = _infer(limb, goal, q_end)[2]
        second = _infer(limb, goal + rng.normal(size=3) * 1e-5 * upper, near)[2]
        assert np.linalg.norm(second - first) < 30.0 * 1e-5 * upper


def test_pointed_segment_has_direction_and_side(rng: np.random.Generator) -> None:
    for _ in range(20):
        truth = quaternions.normalize(rng.normal(size=4))
        to, side = quaternions.rotate(truth, np.array([SIDE, BACK]))
        out = point_segment(*(tuple(v.tolist()) for v in (2.0 * SIDE, BACK, to, side)))
        assert abs(np.array(out) @ truth) == pytest.approx(1.0, abs=1e-12)
