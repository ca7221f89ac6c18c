# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Section 5.3.3: turns of a limb, where its elbow and hand go, the blend; the limb of slides."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, LIMBS
from puppet_core.body.posture import general_end_effectors, world_segments
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Quat, Vec3
from puppet_retarget.solvers.thesis.ball_intersection import ball, NO_SHELL
from puppet_retarget.solvers.thesis.elbow_circle import solve_on_circle, swivel_angle
from puppet_retarget.solvers.thesis.errata import AS_PRINTED, Errata
from puppet_retarget.solvers.thesis.limbs import (
    blend_limb,
    importances_of,
    Limb,
    limb_of,
    Ranges,
    set_limb,
    solve_limb,
    Solved,
    turn_onto,
)
from puppet_retarget.solvers.thesis.puppet import puppet_of
import pytest
from scipy.spatial.transform import Rotation, Slerp
from thesis_frames import random_pose

ALL_LIMBS = pytest.mark.parametrize('number', range(4), ids=LIMBS)
DIRECTIONS = AS_PRINTED._replace(unit_directions=True)
TURNED = DIRECTIONS._replace(turn_axis=True)


def vector(v) -> tuple[float, float, float]:
    return tuple(map(float, v))


def unit(v: Vec3) -> Vec3:
    return v / np.linalg.norm(v)


class Places(NamedTuple):
    """Where a limb's joints are."""

    shoulder: Vec3
    elbow: Vec3
    wrist: Vec3


def places(limb: Limb, q_upper: Quat, q_lower: Quat) -> Places:
    elbow = limb.shoulder + qb.rotate(np.array(q_upper), np.array(limb.to_elbow))
    return Places(
        np.array(limb.shoulder),
        elbow,
        elbow + qb.rotate(np.array(q_lower), np.array(limb.to_wrist)),
    )


def captured(limb: Limb) -> tuple[Quat, Quat]:
    q_upper = qb.multiply(np.array(limb.q_parent), np.array(limb.joints[0]))
    return q_upper, qb.multiply(q_upper, np.array(limb.joints[1]))


@pytest.fixture
def posed(adult_character, rng):
    """Return a maker of random limbs."""
    return lambda number: limb_of(
        puppet_of(adult_character), number, random_pose(adult_character, rng, 1.0)
    )


def reachable(rng: np.random.Generator, limb: Limb) -> Vec3:
    """Return a place that the wrist can get to."""
    low, full = abs(limb.upper - limb.lower), limb.upper + limb.lower
    return limb.shoulder + rng.uniform(low + 0.01, 0.99 * full) * unit(rng.normal(size=3))


def test_eqs_5_11_and_5_13_turn_onto_the_target_and_as_printed_away_from_it(rng):
    """Errata 8."""
    for _ in range(20):
        u, v = rng.normal(size=(2, 3))
        angle = np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
        for errata, sign in ((Errata(), 1.0), (DIRECTIONS, -1.0)):
            turn = np.array(turn_onto(vector(u), vector(v), errata))
            about = Rotation.from_rotvec(sign * angle * unit(np.cross(u, v)))
            np.testing.assert_allclose(qb.rotate(turn, u), about.apply(u), atol=1e-12)
        onto = qb.rotate(np.array(turn_onto(vector(u), vector(v), Errata())), unit(u))
        np.testing.assert_allclose(onto, unit(v), atol=1e-12)


def test_printed_cosine_is_one_of_vectors_in_metres():
    """Errata 14: a limb's segments are shorter than one, and all turns nearly a quarter."""
    u, v = (0.0, 0.0, 0.3), (0.0, 0.02, 0.3)
    angle = np.arccos(0.3 * 0.3)
    for errata, sign in ((AS_PRINTED._replace(turn_axis=True), 1.0), (AS_PRINTED, -1.0)):
        found = qb.log(np.array(turn_onto(u, v, errata)))
        np.testing.assert_allclose(found, [-sign * angle, 0.0, 0.0], atol=1e-12)


def test_opposite_directions_turn_about_any_axis_and_as_printed_not_at_all():
    """Errata 8: the printed axis is 0/0."""
    u, v = (0.0, 0.3, 0.0), (0.0, -0.2, 0.0)
    assert turn_onto(u, v, AS_PRINTED) == turn_onto(u, u, AS_PRINTED) == (1.0, 0.0, 0.0, 0.0)
    turned = qb.rotate(np.array(turn_onto(u, v, Errata())), np.array(u))
    np.testing.assert_allclose(turned, [0.0, -0.3, 0.0], atol=1e-12)


@ALL_LIMBS
def test_important_wrist_reaches_its_goal_with_the_elbow_as_near_as_it_can(posed, rng, number):
    """Beside all elbows on the circle that the goal leaves."""
    angles = np.linspace(-np.pi, np.pi, 20_001)
    for _ in range(30):
        limb = posed(number)
        goal = reachable(rng, limb)
        ranges = Ranges(ball(vector(goal), 0.0, 1.0), NO_SHELL, NO_SHELL)
        solved = solve_limb(limb, ranges, Errata())
        found, before = places(limb, *solved), places(limb, *captured(limb))
        np.testing.assert_allclose(found.wrist, goal, atol=1e-7)
        axis, out = unit(goal - found.shoulder), found.elbow - found.shoulder
        circle = found.shoulder + Rotation.from_rotvec(np.outer(angles, axis)).apply(out)
        nearest = np.linalg.norm(circle - before.elbow, axis=1).min()
        assert np.linalg.norm(found.elbow - before.elbow) <= nearest + 1e-7


@ALL_LIMBS
def test_solved_limb_is_in_its_ranges(posed, rng, number):
    """An elbow in its shell lets the hand into its ball."""
    moves = 0
    for k in range(50):
        limb = posed(number)
        before = places(limb, *captured(limb))
        turns = qb.exp(0.4 * rng.normal(size=(2, 3)))
        wanted = places(limb, *(qb.multiply(t, q) for t, q in zip(turns, captured(limb))))
        elbow = ball(vector(wanted.elbow), 0.03, 0.5)
        wrist = ball(vector(wanted.wrist), 0.05, 0.9)
        wrists = (wrist, NO_SHELL) if k % 2 else (NO_SHELL, wrist)
        found = places(limb, *solve_limb(limb, Ranges(*wrists, elbow), Errata()))
        assert np.linalg.norm(found.elbow - elbow.centre) < elbow.outer + 1e-7
        assert np.linalg.norm(found.wrist - wrist.centre) < wrist.outer + 1e-7
        moves += np.linalg.norm(found.wrist - before.wrist) > 0.01
    assert moves > 25


@ALL_LIMBS
def test_limb_in_its_ranges_stays_as_captured(posed, rng, number):
    for errata in (Errata(), AS_PRINTED):
        limb = posed(number)
        q_upper, q_lower = captured(limb)
        _, elbow, wrist = places(limb, q_upper, q_lower)
        near = [
            ball(vector(x + 0.05 * unit(rng.normal(size=3))), 0.1, 0.9) for x in (elbow, wrist)
        ]
        found = solve_limb(limb, Ranges(near[1], NO_SHELL, near[0]), errata)
        np.testing.assert_allclose(found.q_upper, q_upper, atol=1e-7)
        np.testing.assert_allclose(found.q_lower, q_lower, atol=1e-7)


def test_eq_5_14_is_slerp_and_weights_are_those_of_the_text(posed, rng):
    limb = posed(0)
    q_upper, q_lower = qb.normalize(rng.normal(size=(2, 4)))
    joints = [
        qb.multiply(qb.conjugate(np.array(limb.q_parent)), q_upper),
        qb.multiply(qb.conjugate(q_upper), q_lower),
    ]
    weights = (0.3, 0.8)
    found = blend_limb(limb, Solved(tuple(q_upper), tuple(q_lower)), weights)
    for k in range(2):
        both = Rotation.from_quat(np.array([limb.joints[k], joints[k]])[:, [1, 2, 3, 0]])
        expected = Slerp([0.0, 1.0], both)(weights[k]).as_quat()
        assert abs(np.array(found[k])[[1, 2, 3, 0]] @ expected) == pytest.approx(1.0)
    outer, own, elbow = (ball((0.0, 0.0, 0.0), 0.1, w) for w in (0.2, 0.3, 0.9))
    assert importances_of(Ranges(outer, own, elbow)) == (0.9, 0.3)
    assert importances_of(Ranges(elbow, own, outer)) == (0.9, 0.9)


@ALL_LIMBS
def test_hand_keeps_its_captured_orientation(adult_character, rng, number):
    pose, puppet = random_pose(adult_character, rng), puppet_of(adult_character)
    end = LIMB_SEGMENTS[number, 2]
    before = pose.q[end].copy()
    joints = tuple(tuple(q) for q in qb.normalize(rng.normal(size=(2, 4))))
    set_limb(number, joints, tuple(before), pose)
    q, p = world_segments(adult_character.skeleton, pose.root[None], pose.rotations[None])
    np.testing.assert_allclose(q[0, end], before, atol=1e-12)
    assert general_end_effectors(adult_character.skeleton, q, p).shape == (1, 8, 3)
    assert puppet.lengths[number].sum() > 0.1


def test_as_printed_a_limb_turns_away_from_its_goal(posed, rng):
    """Errata 8, of the whole limb."""
    away = []
    for errata in (DIRECTIONS, TURNED):
        limb = posed(0)
        goal = reachable(rng, limb)
        ranges = Ranges(ball(vector(goal), 0.0, 1.0), NO_SHELL, NO_SHELL)
        found = places(limb, *solve_limb(limb, ranges, errata))
        away.append(np.linalg.norm(found.wrist - goal))
    assert away[0] > 0.05 > 1e-6 > away[1]


# The limb of the slides.


def test_no_angle_of_ten_thousand_is_better_than_the_closed_form(rng):
    angles = np.linspace(-np.pi, np.pi, 10_001)
    for _ in range(50):
        start, captured = qb.normalize(rng.normal(size=(2, 4)))
        axis = unit(rng.normal(size=3))
        best = swivel_angle(start, axis, captured)
        products = np.abs(qb.multiply(qb.exp(np.outer(angles, axis)), start) @ captured)
        assert -np.pi <= best <= np.pi
        reached = abs(qb.multiply(qb.exp(best * axis), start) @ captured)
        assert products.max() - 1e-12 <= reached


@ALL_LIMBS
def test_wrist_on_its_circle_reaches_and_the_elbow_only_bends(posed, rng, number):
    for _ in range(50):
        limb = posed(number)
        goal = reachable(rng, limb)
        solved = solve_on_circle(limb, number < 2, vector(goal))
        found = places(limb, *solved)
        np.testing.assert_allclose(found.wrist, goal, atol=1e-9)
        # the turn that the elbow adds is about the hinge that it was captured with
        q_upper, q_lower = captured(limb)
        joint = qb.multiply(qb.conjugate(np.array(solved.q_upper)), np.array(solved.q_lower))
        added = qb.log(qb.multiply(joint, qb.conjugate(np.array(limb.joints[1]))))
        hinge = np.cross(limb.to_elbow, qb.rotate(np.array(limb.joints[1]), limb.to_wrist))
        sine = np.linalg.norm(hinge) / limb.upper / limb.lower
        if sine > 0.1:
            assert np.linalg.norm(np.cross(added, unit(hinge))) < 1e-7
        # and of all limbs with that bend the upper segment is most like the captured one
        angles, axis = np.linspace(-np.pi, np.pi, 2001), unit(goal - found.shoulder)
        others = qb.multiply(qb.exp(np.outer(angles, axis)), np.array(solved.q_upper))
        assert np.abs(others @ q_upper).max() <= abs(np.array(solved.q_upper) @ q_upper) + 1e-9


@pytest.mark.parametrize(('number', 'sign'), [(0, -1.0), (2, 1.0)], ids=['elbow', 'knee'])
def test_a_straight_limb_bends_as_elbows_and_knees_do(adult_character, number, sign):
    pose = random_pose(adult_character, np.random.default_rng(1), 0.0)
    limb = limb_of(puppet_of(adult_character), number, pose)
    before = places(limb, *captured(limb))
    goal = limb.shoulder + 0.8 * (before.wrist - limb.shoulder)
    found = places(limb, *solve_on_circle(limb, number < 2, vector(goal)))
    np.testing.assert_allclose(found.wrist, goal, atol=1e-9)
    assert sign * (found.elbow - before.elbow)[0] > 0.05


def test_a_goal_out_of_reach_is_pointed_at(posed, rng):
    limb = posed(1)
    way = unit(rng.normal(size=3))
    found = places(limb, *solve_on_circle(limb, True, vector(limb.shoulder + 3.0 * way)))
    full = limb.upper + limb.lower
    np.testing.assert_allclose(found.wrist, limb.shoulder + full * way, atol=1e-9)
