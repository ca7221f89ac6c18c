# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Chapters 4 and 5 of the thesis to the letter, against independent computations."""

from dataclasses import replace

from benchmarks.quality.thesis_as_printed import (
    AsPrinted,
    AXES,
    Ball,
    blended,
    CASES,
    CLAMP,
    closest_point,
    contains,
    elbow_ranges,
    importance,
    minimise_by_conjugate_gradients,
    rotation_onto,
    self_radius,
    SIGN,
    TIME,
)
from body_fixtures import floor_only
import numpy as np
from puppet_core.body import load_character
from puppet_core.clips import load_clip
from puppet_core.math import quaternions
from puppet_retarget.importance import IMPORTANCE
from puppet_retarget.offline import report, retarget_motion, RetargetJob
from puppet_retarget.solvers.body import BodyTask
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation, Slerp

UP = np.array([0.0, 0.0, 1.0])


def on_sphere(centre, radius, n=400_000):
    """Return points all over a sphere, about 2 mm apart on an upper arm's (Fibonacci)."""
    k = np.arange(n) + 0.5
    z, angle = 1.0 - 2.0 * k / n, np.pi * (1.0 + 5.0**0.5) * k
    flat = np.sqrt(1.0 - z * z)
    return centre + radius * np.stack((flat * np.cos(angle), flat * np.sin(angle), z), axis=1)


def random_rotation(rng):
    """Return a unit quaternion, scalar first."""
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def test_eq_4_4_has_its_four_conditions():
    p, h = importance, 1e-6
    np.testing.assert_allclose(p(np.array([0.0, 0.5, 1.0, 1.5])), [1.0, 0.5, 0.0, 0.0])
    slopes = (p(np.array([h, 1.0])) - p(np.array([0.0, 1.0 - h]))) / h
    np.testing.assert_allclose(slopes, 0.0, atol=1e-5)


def test_eq_4_4_as_printed_falls_again_below_zero():
    assert importance(np.array(-0.5)) == 0.0 and importance(np.array(-1.0)) == -4.0
    assert importance(np.array(-1.0), frozenset({CLAMP})) == 1.0


def test_closest_point_in_balls_is_that_of_a_general_solver(rng):
    """Errata 4: as printed it need not be the closest, though it mostly is."""
    farther = []
    for _ in range(200):
        # all hold a ball of 5 cm
        centres = rng.normal(size=(4, 3))
        radii = np.linalg.norm(centres, axis=1) + 0.05
        start = 2.0 * rng.normal(size=3)
        balls = [Ball(c, r, 1.0) for c, r in zip(centres, radii)]
        inside = {'type': 'ineq', 'fun': lambda x: radii**2 - np.sum((x - centres) ** 2, axis=1)}
        expected = minimize(
            lambda x: np.sum((x - start) ** 2), np.zeros(3), constraints=inside, tol=1e-12
        ).x
        found = closest_point(start, balls, None, frozenset({CASES}))
        np.testing.assert_allclose(found, expected, atol=1e-4)
        printed = closest_point(start, balls)
        assert all(contains(ball, printed) for ball in balls)
        farther.append(np.linalg.norm(printed - start) - np.linalg.norm(found - start))
    assert min(farther) > -1e-9
    assert 0 < np.sum(np.array(farther) > 0.01) < 20


@pytest.mark.parametrize('hand_radius', [0.0, 0.05, 0.6])
def test_closest_elbow_for_a_hand_is_the_best_of_all_on_its_sphere(rng, hand_radius):
    shoulder, upper, forearm = rng.normal(size=3), 0.3, 0.25
    everywhere = on_sphere(shoulder, upper)
    for _ in range(10):
        way = rng.normal(size=3)
        wrist = shoulder + rng.uniform(0.1, 0.5) * way / np.linalg.norm(way)
        ranges = elbow_ranges(Ball(wrist, hand_radius, 1.0), forearm)
        start = everywhere[rng.integers(len(everywhere))]
        found = closest_point(start, ranges, Ball(shoulder, upper, 0.0))
        assert np.linalg.norm(found - shoulder) == pytest.approx(upper, abs=1e-6)
        assert all(contains(ball, found) for ball in ranges)
        # the hand reaches its ball from what is nearer than its forearm's length by the radius
        away = np.abs(np.linalg.norm(everywhere - wrist, axis=1) - forearm)
        allowed = everywhere[away <= hand_radius + 2e-3]
        nearest = np.linalg.norm(allowed - start, axis=1).min()
        assert np.linalg.norm(found - start) == pytest.approx(nearest, abs=8e-3)


def test_balls_that_do_not_meet_the_most_important_one_are_discarded():
    important, far = Ball(np.zeros(3), 0.1, 0.9), Ball(2.0 * UP, 0.1, 0.5)
    np.testing.assert_allclose(closest_point(3.0 * UP, [far, important]), 0.1 * UP)


def test_three_balls_that_meet_in_pairs_only_lose_the_least_important_one():
    """Errata 4: the printed rule would discard nothing for ever."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.75**0.5, 0.0]])
    balls = [Ball(c, 0.51, w) for c, w in zip(corners, (0.9, 0.8, 0.1))]
    found = closest_point(corners[2], balls)
    assert contains(balls[0], found) and contains(balls[1], found)


def test_an_elbow_whose_hand_is_out_of_reach_points_to_it():
    ranges = elbow_ranges(Ball(2.0 * UP, 0.0, 1.0), 0.25)
    start = np.array([0.3, 0.0, 0.0])
    found = closest_point(start, ranges, Ball(np.zeros(3), 0.3, 0.0))
    np.testing.assert_allclose(found, 0.3 * UP, atol=1e-12)


def test_eq_5_6_as_printed_grows_with_importance():
    assert [self_radius(w, 0.2) for w in (0.0, 0.5, 1.0)] == [0.0, 0.1, 0.2]
    assert self_radius(1.0, 0.2, frozenset({SIGN})) == 0.0


def test_eq_5_11_as_printed_turns_the_other_way(rng):
    u, v = rng.normal(size=(2, 3))
    angle = np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
    axis = np.cross(u, v) / np.linalg.norm(np.cross(u, v))
    for mended, sign in ((frozenset(), -1.0), (frozenset({AXES}), 1.0)):
        expected = Rotation.from_rotvec(sign * angle * axis).apply(UP)
        turned = quaternions.rotate(rotation_onto(u, v, mended), UP)
        np.testing.assert_allclose(turned, expected, atol=1e-12)


def test_eq_5_14_is_slerp(rng):
    for w in (0.0, 0.3, 1.0):
        a, b = random_rotation(rng), random_rotation(rng)
        both = Rotation.from_quat([a[[1, 2, 3, 0]], b[[1, 2, 3, 0]]])
        expected = Slerp([0.0, 1.0], both)(w).as_quat()
        assert abs(blended(a, b, w)[[1, 2, 3, 0]] @ expected) == pytest.approx(1.0)


def test_conjugate_gradients_come_to_the_minimum_of_eq_5_3(rng, performer):
    offsets, alpha = performer.skeleton.offsets, 0.01
    captured = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    radii = np.array([np.inf, np.inf, 0.5, 0.5])
    goals = np.array([[0.0, 0.5, 1.0], [0.0, -0.5, 1.0], [0.3, 0.1, -0.8], [-0.2, -0.1, -0.9]])

    def energy(x):
        hips = x[:3] + Rotation.from_rotvec(x[3:6]).apply(offsets[[10, 13]])
        beyond = np.linalg.norm(hips - goals[2:], axis=1) - radii[2:]
        return np.sum(np.maximum(beyond, 0.0) ** 2) + alpha * (x @ x)

    task = BodyTask(offsets.copy(), np.zeros(3), captured, goals, radii, (alpha, 1.0, 1.0))
    iterations, state = minimise_by_conjugate_gradients(task)
    assert iterations > 1
    best = minimize(energy, np.zeros(12)).fun
    assert best - 1e-12 <= energy(state.unknowns) < 1.05 * best < 0.5 * energy(np.zeros(12))


def test_who_is_built_like_the_performer_moves_like_it(steps, performer):
    job = RetargetJob(performer, floor_only())
    result = retarget_motion(steps, job, solver=AsPrinted(job, steps.skeleton))
    np.testing.assert_allclose(result.puppet.end_effectors, steps.end_effectors, atol=1e-3)


def test_important_feet_are_on_their_goals_once_limbs_turn_the_right_way(steps, config_dir):
    blubby = load_character(config_dir / 'characters/blubby.yaml')
    job = RetargetJob(replace(blubby, world_scale=1.0), floor_only())
    errors = {}
    for mended in (frozenset(), frozenset({CLAMP, AXES, TIME})):
        result = retarget_motion(steps, job, solver=AsPrinted(job, steps.skeleton, mended=mended))
        planted = result.rows[:, 2:, IMPORTANCE] >= 1.0
        errors[len(mended)] = np.median(result.goal_errors[:, 2:][planted])
    assert errors[3] < 0.01 < 0.05 < errors[0]


@pytest.mark.mocap
def test_printed_importance_makes_the_root_lurch(mocap_dir, config_dir):
    """Errata 12: root jerk of an order of magnitude, and feet several times."""
    folder = mocap_dir / 'cmu_asfamc'
    motion = load_clip(folder / '02_01.amc', folder / '02.asf')
    blubby = load_character(config_dir / 'characters/blubby.yaml')
    job = RetargetJob(replace(blubby, world_scale=1.0), floor_only())
    jerk = {}
    for mended in (frozenset({AXES}), frozenset({AXES, TIME})):
        solver = AsPrinted(job, motion.skeleton, mended=mended)
        jerk[len(mended)] = report(motion, job, retarget_motion(motion, job, solver=solver))[
            'jerk_ratio'
        ]
    assert jerk[1]['root'] > 8.0 > 5.0 > jerk[2]['root']
    assert jerk[1]['feet'] > 2.0 * jerk[2]['feet'] > 4.0
