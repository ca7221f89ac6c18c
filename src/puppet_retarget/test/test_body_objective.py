# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body objective: its value in numpy, its gradient and curvature by finite differences."""

from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.character import Character
from puppet_core.posture import world_segments
from puppet_core.skeleton import Skeleton
from puppet_retarget.solvers import body_objective as bo
import pytest

STEP = 1e-6
WEIGHTS = np.array([0.3, 0.7, 1.3])


class Body(NamedTuple):
    """Arguments of the objective."""

    offsets: Vec3s
    root: Vec3
    rotations: Quats
    wrist_goals: Vec3s
    radii: Floats


def random_body(rng: np.random.Generator, skeleton: Skeleton, stray_m: float = 0.4) -> Body:
    """Return a posture with goals around the wrists and ankles, some out of reach."""
    rotations = quaternion_batch.exp(0.4 * rng.normal(size=(16, 3)))
    root = rng.normal(size=3)
    _, p = world_segments(skeleton, root[None], rotations[None])
    goals = p[0, [6, 9, 12, 15]] + stray_m * rng.normal(size=(4, 3))
    radii = skeleton.limb_lengths.sum(axis=1) / rng.uniform(0.6, 1.0, 4)
    radii[rng.integers(4)] = np.inf
    return Body(skeleton.offsets.copy(), root, rotations, goals, radii)


def evaluate(body: Body, unknowns: Floats) -> tuple[float, Floats, Floats]:
    """Return energy, gradient and the full curvature."""
    gradient, curvature = np.empty(12), np.empty((12, 12))
    energy = bo.body_objective(
        unknowns, *body, WEIGHTS, np.empty((3, 4)), np.empty((3, 3)), gradient, curvature
    )
    return energy, gradient, curvature + np.tril(curvature, -1).T


def energy_in_numpy(skeleton: Skeleton, body: Body, unknowns: Floats) -> float:
    """Return eqs. 5.3 to 5.5 from the whole skeleton's forward kinematics."""
    rotations = body.rotations.copy()
    turns = quaternion_batch.exp(unknowns[3:].reshape(3, 3))
    rotations[:3] = quaternion_batch.multiply(rotations[:3], turns)
    _, p = world_segments(skeleton, (body.root + unknowns[:3])[None], rotations[None])
    away = np.linalg.norm(p[0, [4, 7, 10, 13]] - body.wrist_goals, axis=1)
    goal_energy = np.sum(np.maximum(away - body.radii, 0.0) ** 2)
    geodesics = quaternion_batch.log(
        quaternion_batch.multiply(quaternion_batch.conjugate(body.rotations[:3]), rotations[:3])
    )
    alpha, beta, gamma = WEIGHTS
    posture = gamma * np.sum(unknowns[:3] ** 2) + beta * np.sum(geodesics**2)
    return goal_energy + alpha * posture


def near_and_far(rng: np.random.Generator) -> Floats:
    """Return unknowns of any size, rotations near zero included."""
    unknowns = rng.normal(size=12) * rng.choice([1e-7, 1e-3, 0.5])
    if rng.random() < 0.3:
        unknowns[3 * rng.integers(1, 4):][:3] = 0.0
    return unknowns


def test_energy_is_that_of_eqs_5_3_to_5_5(adult_character: Character, rng) -> None:
    skeleton = adult_character.skeleton
    for _ in range(50):
        body, unknowns = random_body(rng, skeleton), near_and_far(rng)
        wanted = energy_in_numpy(skeleton, body, unknowns)
        assert evaluate(body, unknowns)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_gradient_matches_finite_differences(adult_character: Character, rng) -> None:
    for _ in range(60):
        body, unknowns = random_body(rng, adult_character.skeleton), near_and_far(rng)
        _, gradient, _ = evaluate(body, unknowns)
        slopes = [
            (evaluate(body, unknowns + e)[0] - evaluate(body, unknowns - e)[0]) / (2.0 * STEP)
            for e in STEP * np.eye(12)
        ]
        np.testing.assert_allclose(gradient, slopes, atol=2e-7)


def test_curvature_matches_that_of_the_root_position(adult_character: Character, rng) -> None:
    """Of the rotations it leaves out their own second derivatives."""
    for _ in range(20):
        body, unknowns = random_body(rng, adult_character.skeleton), near_and_far(rng)
        curvature = evaluate(body, unknowns)[2]
        for e in range(3):
            step = 1e-5 * np.eye(12)[e]
            change = evaluate(body, unknowns + step)[1] - evaluate(body, unknowns - step)[1]
            np.testing.assert_allclose(curvature[e], change / 2e-5, atol=1e-4)


def test_curvature_is_positive_definite(adult_character: Character, rng) -> None:
    for _ in range(50):
        body = random_body(rng, adult_character.skeleton)
        curvature = evaluate(body, near_and_far(rng))[2]
        least = 2.0 * WEIGHTS[0] * min(WEIGHTS[1:])
        assert np.linalg.eigvalsh(curvature).min() >= least - 1e-12


def test_goals_in_reach_pull_nothing(adult_character: Character, rng) -> None:
    body = random_body(rng, adult_character.skeleton)._replace(radii=np.full(4, 50.0))
    energy, gradient, _ = evaluate(body, np.zeros(12))
    assert energy == 0.0
    np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize('length', [0.0, 1e-9, 1e-5, 0.99e-4, 1.01e-4, 0.1, 3.0])
def test_right_jacobian_matches_finite_differences(length: float, rng) -> None:
    """Also on both sides of the switch to the Taylor series."""
    r = rng.normal(size=3)
    r *= length / np.linalg.norm(r)
    v, out = rng.normal(size=3), np.empty(3)
    bo.right_jacobian_transposed(r, v, out)
    back = quaternion_batch.conjugate(quaternion_batch.exp(r))
    columns = [
        quaternion_batch.log(quaternion_batch.multiply(back, quaternion_batch.exp(r + e)))
        - quaternion_batch.log(quaternion_batch.multiply(back, quaternion_batch.exp(r - e)))
        for e in STEP * np.eye(3)
    ]
    np.testing.assert_allclose(out, np.array(columns) @ v / (2.0 * STEP), atol=1e-8)


def test_compiled_and_plain_kernels_agree(adult_character: Character, rng) -> None:
    body, unknowns = random_body(rng, adult_character.skeleton), near_and_far(rng)
    gradient = np.empty(12)
    plain = bo.body_objective.py_func(
        unknowns, *body, WEIGHTS, np.empty((3, 4)), np.empty((3, 3)), gradient, np.empty((12, 12))
    )
    energy, wanted, _ = evaluate(body, unknowns)
    assert plain == pytest.approx(energy, abs=1e-14)
    np.testing.assert_allclose(gradient, wanted, atol=1e-14)
