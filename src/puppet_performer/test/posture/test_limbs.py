# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Limbs put to where their ends are: exact when bent, least turns, steady when straight."""

import numpy as np
from puppet_core.math import quaternions
from puppet_core.math.values import between
from puppet_performer.posture import limbs
import pytest

TO_ELBOW, TO_WRIST = np.array([0.0, 0.3, 0.01]), np.array([0.0, 0.25, 0.0])
UPPER, LOWER = np.linalg.norm(TO_ELBOW), np.linalg.norm(TO_WRIST)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
WRIST_TOL_M = 1e-6  # the rest that is let be is at most half a micrometre
WELL_BENT = (1.3, 2.5)  # where the elbow stands LEVER_M and more off the line [rad]


def _wrist(q_upper, q_lower):
    return quaternions.rotate(q_upper, TO_ELBOW) + quaternions.rotate(q_lower, TO_WRIST)


def _bent_limb(rng, bends=(0.5, 2.0)):
    q_upper = quaternions.normalize(rng.normal(size=4))
    bend = np.array([0.0, 0.0, rng.uniform(*bends)])
    return q_upper, quaternions.multiply(q_upper, quaternions.exp(bend))


def _turned(q_upper, q_lower, goal, limb=0, to_elbow=TO_ELBOW):
    arguments = (tuple(v.tolist()) for v in (to_elbow, TO_WRIST, goal, q_upper, q_lower))
    upper, lower = limbs.reach_goal(limb, *arguments)
    return np.array(upper), np.array(lower)


def _bend(q_upper, q_lower):
    """Return the angle between both segments' directions, by the law of cosines [rad]."""
    distance = np.linalg.norm(_wrist(q_upper, q_lower))
    cosine = (distance**2 - UPPER**2 - LOWER**2) / (2.0 * UPPER * LOWER)
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _distance(bend):
    """Return the distance from shoulder to wrist of a limb bent so far [m]."""
    return float(np.sqrt(UPPER**2 + LOWER**2 + 2.0 * UPPER * LOWER * np.cos(bend)))


def test_wrist_of_a_bent_limb_comes_to_its_goal(rng):
    for _ in range(50):
        q_upper, q_lower = _bent_limb(rng, WELL_BENT)
        goal = rng.normal(size=3)
        goal *= _distance(rng.uniform(*WELL_BENT)) / np.linalg.norm(goal)
        turned = _turned(q_upper, q_lower, goal)
        np.testing.assert_allclose(_wrist(*turned), goal, atol=WRIST_TOL_M)


@pytest.mark.parametrize('off_m', [-0.004, 0.004])
def test_millimetres_along_the_limb_bend_it_by_a_degree_or_two(off_m):
    """However straight; exactly they would need 14 degrees from full stretch."""
    straight = np.array(between(tuple(TO_WRIST.tolist()), tuple(TO_ELBOW.tolist())))
    for bend in np.linspace(0.0, 2.5, 60):
        q_lower = quaternions.exp(np.array([0.0, 0.0, bend]))
        q_lower = quaternions.multiply(straight, q_lower)
        wrist = _wrist(IDENTITY, q_lower)
        goal = wrist * (1.0 + off_m / np.linalg.norm(wrist))
        turned = _turned(IDENTITY, q_lower, goal)
        assert abs(_bend(*turned) - _bend(IDENTITY, q_lower)) < np.radians(2.0)


def test_goal_in_any_direction_is_pointed_at(rng):
    """Also out of reach; the wrist goes towards it along that direction, not beyond."""
    for _ in range(20):
        q_upper, q_lower = _bent_limb(rng, (0.0, 2.5))
        before = np.linalg.norm(_wrist(q_upper, q_lower))
        goal = rng.normal(size=3)
        distance = np.linalg.norm(goal)
        wrist = _wrist(*_turned(q_upper, q_lower, goal))
        after = np.linalg.norm(wrist)
        np.testing.assert_allclose(wrist / after, goal / distance, atol=1e-9)
        near, far = sorted((before, distance))
        assert near - 1e-4 < after < min(far, UPPER + LOWER) + 1e-4


def test_angles_that_agree_with_the_goal_stay(rng):
    for _ in range(20):
        q_upper, q_lower = _bent_limb(rng)
        upper, lower = _turned(q_upper, q_lower, _wrist(q_upper, q_lower))
        np.testing.assert_array_equal(upper, q_upper)
        np.testing.assert_array_equal(lower, q_lower)


def test_no_other_elbow_turns_the_segments_less(rng):
    """Brute force: all elbows on the circle, cost length (1 - cos turn) of both segments."""
    for _ in range(20):
        q_upper, q_lower = _bent_limb(rng)
        u, v = map(quaternions.rotate, (q_upper, q_lower), (TO_ELBOW, TO_WRIST))
        turned = _turned(q_upper, q_lower, 0.95 * (u + v) + rng.normal(size=3) * 0.03)
        goal, elbow = _wrist(*turned), quaternions.rotate(turned[0], TO_ELBOW)
        distance = np.linalg.norm(goal)
        axis = goal / distance
        along = (UPPER**2 - LOWER**2 + distance**2) / (2.0 * distance)
        square = np.linalg.svd(axis[None])[2][1:]
        angles = np.linspace(0.0, 2.0 * np.pi, 3600)
        circle = np.stack((np.cos(angles), np.sin(angles)), axis=1) @ square
        elbows = along * axis + np.sqrt(UPPER**2 - along**2) * circle
        assert _cost(elbow[None], goal, u, v)[0] < np.min(_cost(elbows, goal, u, v)) + 1e-9


def _cost(elbows, goal, u, v):
    forearms = goal - elbows
    return UPPER * (1.0 - elbows @ u / UPPER**2) + LOWER * (1.0 - forearms @ v / LOWER**2)


def test_elbow_is_continuous_through_full_stretch():
    """A limb that is measured bent or straight while its goal goes out of reach and back."""
    for bend in (0.0, 0.02, 0.3):
        q_lower = quaternions.exp(np.array([0.0, 0.0, bend]))
        elbows = []
        for distance in np.arange(0.5492, 0.5507, 1e-6):
            upper, _ = _turned(IDENTITY, q_lower, np.array([0.0, distance, 0.0]))
            elbows.append(quaternions.rotate(upper, TO_ELBOW))
        steps = np.linalg.norm(np.diff(elbows, axis=0), axis=1)
        assert np.max(steps) < 1e-4  # a hundred times the goal's step, at the very stretch


def test_straight_knee_bends_forward_and_elbow_back():
    for limb, sign in ((0, -1.0), (2, 1.0)):
        to_elbow, goal = np.array([0.0, 0.3, 0.0]), np.array([0.0, 0.5, 0.0])
        upper, _ = _turned(IDENTITY, IDENTITY, goal, limb, to_elbow)
        assert sign * quaternions.rotate(upper, to_elbow)[0] > 0.03


def test_turns_follow_at_a_limited_speed(rng):
    start, wanted = quaternions.normalize(rng.normal(size=(2, 4)))
    given = tuple(start.tolist()), tuple(wanted.tolist()), 0.1
    reached, turn = limbs.follow_turn(*given, tuple(IDENTITY.tolist()))
    moved = quaternions.multiply(np.array(reached), quaternions.conjugate(start))
    assert np.linalg.norm(quaternions.log(moved)) == pytest.approx(0.1)
    for _ in range(40):
        reached, turn = limbs.follow_turn(*given, turn)
    assert reached == given[1]


def test_rotation_in_reach_is_not_held_back(rng):
    last = quaternions.normalize(rng.normal(size=4))
    wanted = quaternions.multiply(last, quaternions.exp(np.array([0.05, 0.0, 0.0])))
    for sign in (1.0, -1.0):
        given = tuple(last.tolist()), tuple((sign * wanted).tolist())
        assert limbs.approach(*given, 0.06) == given[1]
        reached = np.array(limbs.approach(*given, 0.04))
        left = quaternions.multiply(quaternions.conjugate(reached), wanted)
        assert np.linalg.norm(quaternions.log(left)) == pytest.approx(0.01)


def test_no_time_leaves_a_turn_that_differs_by_rounding_finite():
    wanted = (1.0 - 1e-16, 0.0, 0.0, 0.0)
    assert limbs.approach((1.0, 0.0, 0.0, 0.0), wanted, 0.0) == wanted


DOWN, SIDE, BACK = -np.eye(3)[2], np.eye(3)[1], -np.eye(3)[0]
REACH = {0: (SIDE, 0.3, 0.25), 1: (-SIDE, 0.3, 0.25), 2: (DOWN, 0.43, 0.43), 3: (DOWN, 0.43, 0.43)}


def _infer(limb, goal, q_end=IDENTITY, q_trunk=IDENTITY):
    rest, upper, lower = REACH[limb]
    arguments = (q_trunk, q_end, rest * upper, rest * lower, goal)
    turned = limbs.infer_limb(limb, *(tuple(v.tolist()) for v in arguments))
    q_upper, q_lower = np.array(turned)
    elbow = quaternions.rotate(q_upper, rest * upper)
    return q_upper, q_lower, elbow, elbow + quaternions.rotate(q_lower, rest * lower)


def test_wrist_is_where_it_is_measured(rng):
    for limb, (_, upper, lower) in REACH.items():
        for _ in range(10):
            q_end, q_trunk = quaternions.normalize(rng.normal(size=(2, 4)))
            goal = rng.normal(size=3)
            goal *= rng.uniform(0.1, 0.99) * (upper + lower) / np.linalg.norm(goal)
            wrist = _infer(limb, goal, q_end, q_trunk)[3]
            np.testing.assert_allclose(wrist, goal, atol=1e-9)


def test_elbows_hang_and_knees_point_forward():
    for limb, side in ((0, 1.0), (1, -1.0)):
        before = np.array([0.3, 0.0, 0.0])  # a hand in front of its shoulder
        down = quaternions.exp(np.array([0.0, 0.0, -side * 0.5 * np.pi]))
        _, _, elbow, _ = _infer(limb, before, down)
        assert elbow[2] < -0.1
        assert side * elbow[1] > 0.0
    for limb in (2, 3):
        assert _infer(limb, 0.7 * DOWN)[2][0] > 0.2


def test_knee_turns_with_the_foot():
    for yaw in (-0.5, 0.5):
        foot = quaternions.exp(np.array([0.0, 0.0, yaw]))
        turned = _infer(2, 0.7 * DOWN, foot)[2]
        assert np.sign(turned[1] - _infer(2, 0.7 * DOWN)[2][1]) == np.sign(yaw)


def test_right_mirrors_left(rng):
    mirror = np.array([1.0, -1.0, 1.0])
    for limb in (0, 2):
        for _ in range(20):
            goal, rotvec = rng.uniform(-0.3, 0.3, size=(2, 3))
            left = _infer(limb, goal, quaternions.exp(rotvec))
            # a mirrored rotation turns about the mirrored axis the other way
            right = _infer(limb + 1, goal * mirror, quaternions.exp(-rotvec * mirror))
            np.testing.assert_allclose(right[2], left[2] * mirror, atol=1e-12)


def test_trunk_and_hand_turned_together_turn_the_limb(rng):
    goal = np.array([0.2, 0.1, -0.2])
    q_end, turn = quaternions.normalize(rng.normal(size=(2, 4)))
    elbow = _infer(0, goal, q_end)[2]
    whole = _infer(0, quaternions.rotate(turn, goal), quaternions.multiply(turn, q_end), turn)[2]
    np.testing.assert_allclose(whole, quaternions.rotate(turn, elbow), atol=1e-12)


@pytest.mark.parametrize('limb', REACH)
def test_limb_is_continuous_over_its_workspace(limb, rng):
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


def test_pointed_segment_has_direction_and_side(rng):
    for _ in range(20):
        truth = quaternions.normalize(rng.normal(size=4))
        to, side = quaternions.rotate(truth, np.array([SIDE, BACK]))
        out = limbs.point_segment(*(tuple(v.tolist()) for v in (2.0 * SIDE, BACK, to, side)))
        assert abs(np.array(out) @ truth) == pytest.approx(1.0, abs=1e-12)
