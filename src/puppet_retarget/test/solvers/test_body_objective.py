# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body objective: its value in numpy, its derivatives by finite differences."""

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import world_segments
from puppet_core.body.skeleton import Skeleton
from puppet_core.math import quaternions
from puppet_core.math.arrays import Floats
from puppet_retarget.solvers import body as bo
from puppet_retarget.solvers.body import BodyState, BodyTask
import pytest

STEP = 1e-5
WEIGHTS = np.array([0.3, 0.7, 1.3])


def random_body(rng: np.random.Generator, skeleton: Skeleton, stray_m: float = 0.4) -> BodyTask:
    """Return a posture with goals around the wrists and ankles, some out of reach."""
    rotations = quaternions.exp(0.4 * rng.normal(size=(16, 3)))
    root = rng.normal(size=3)
    _, p = world_segments(skeleton, root[None], rotations[None])
    goals = p[0, [6, 9, 12, 15]] + stray_m * rng.normal(size=(4, 3))
    radii = skeleton.limb_lengths.sum(axis=1) / rng.uniform(0.6, 1.0, 4)
    radii[rng.integers(4)] = np.inf
    return BodyTask(skeleton.offsets.copy(), root, rotations, goals, radii, WEIGHTS)


def evaluate(body: BodyTask, unknowns: Floats) -> tuple[float, BodyState]:
    """Return energy and state."""
    state = bo.body_state(unknowns.copy(), np.empty((3, 4)), np.empty((3, 3)))
    return bo.body_energy(body, state), state


def derivatives(
    body: BodyTask, unknowns: Floats, torso_segments: int, bends: bool | None
) -> tuple[Floats, Floats]:
    """Return gradient and full curvature, with all bends, those of definite sign, or none."""
    n = 6 + 3 * torso_segments
    _, state = evaluate(body, unknowns)
    gradient, curvature = np.empty(12), np.empty((12, 12))
    bo.body_gradient(body, state, torso_segments, gradient, curvature)
    if bends is not None:
        bo.add_bends(state, torso_segments, bends, curvature)
    lower = np.tril(curvature)[:n, :n]
    return gradient[:n], lower + np.tril(lower, -1).T


def moved_energy(body: BodyTask, unknowns: Floats, increments: Floats) -> float:
    """Return the energy after increments, shape (9,) or (12,)."""
    _, state = evaluate(body, unknowns)
    out, torso_segments = np.zeros(12), len(increments) // 3 - 2
    bo.move_unknowns(unknowns, state.q_body, 1.0, increments, torso_segments, out)
    return evaluate(body, out)[0]


def energy_in_numpy(skeleton: Skeleton, body: BodyTask, unknowns: Floats) -> float:
    """Return eqs. 5.3 to 5.5 from the whole skeleton's forward kinematics."""
    rotations = body.rotations.copy()
    turns = quaternions.exp(unknowns[3:].reshape(3, 3))
    rotations[:3] = quaternions.multiply(rotations[:3], turns)
    _, p = world_segments(skeleton, (body.root + unknowns[:3])[None], rotations[None])
    away = np.linalg.norm(p[0, [4, 7, 10, 13]] - body.wrist_goals, axis=1)
    goal_energy = np.sum(np.maximum(away - body.radii, 0.0) ** 2)
    geodesics = quaternions.log(
        quaternions.multiply(quaternions.conjugate(body.rotations[:3]), rotations[:3])
    )
    alpha, beta, gamma = WEIGHTS
    posture = gamma * np.sum(unknowns[:3] ** 2) + beta * np.sum(geodesics**2)
    return goal_energy + alpha * posture


def near_and_far(rng: np.random.Generator, torso_segments: int) -> Floats:
    """Return unknowns of any size, rotations near zero included."""
    unknowns = rng.normal(size=12) * rng.choice([1e-7, 1e-3, 0.5])
    if rng.random() < 0.3:
        unknowns[3 * rng.integers(1, 4) :][:3] = 0.0
    unknowns[6 + 3 * torso_segments :] = 0.0
    return unknowns


both_torsos = pytest.mark.parametrize('torso_segments', [1, 2], ids=['rigid', 'spine and chest'])


def test_energy_is_that_of_eqs_5_3_to_5_5(adult_character: Character, rng) -> None:
    skeleton = adult_character.skeleton
    for _ in range(50):
        body, unknowns = random_body(rng, skeleton), near_and_far(rng, 2)
        wanted = energy_in_numpy(skeleton, body, unknowns)
        assert evaluate(body, unknowns)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@both_torsos
def test_gradient_matches_finite_differences(
    adult_character: Character, rng, torso_segments: int
) -> None:
    n = 6 + 3 * torso_segments
    for _ in range(40):
        body = random_body(rng, adult_character.skeleton)
        unknowns = near_and_far(rng, torso_segments)
        gradient, _ = derivatives(body, unknowns, torso_segments, True)
        slopes = [
            (moved_energy(body, unknowns, e) - moved_energy(body, unknowns, -e)) / (2.0 * STEP)
            for e in STEP * np.eye(n)
        ]
        np.testing.assert_allclose(gradient, slopes, atol=1e-7)


@both_torsos
def test_curvature_with_all_bends_matches_finite_differences(
    adult_character: Character, rng, torso_segments: int
) -> None:
    steps = 1e-4 * np.eye(6 + 3 * torso_segments)
    for _ in range(8):
        body = random_body(rng, adult_character.skeleton)
        unknowns = near_and_far(rng, torso_segments)
        _, curvature = derivatives(body, unknowns, torso_segments, True)

        def energy(step: Floats) -> float:
            return moved_energy(body, unknowns, step) + moved_energy(body, unknowns, -step)

        wanted = [[(energy(a + b) - energy(a - b)) / 4e-8 for a in steps] for b in steps]
        np.testing.assert_allclose(curvature, wanted, atol=2e-5)
