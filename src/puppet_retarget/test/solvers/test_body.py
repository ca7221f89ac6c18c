# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body objective against plain numpy and differences, its minimum against scipy."""

import numpy as np
from puppet_core.body.posture import world_segments
from puppet_core.body.skeleton import Skeleton
from puppet_core.math import pack_arrays, quaternions
from puppet_core.math.arrays import Floats
from puppet_retarget.solvers import body as bo
from puppet_retarget.solvers.body import BodyState, BodyTask
from puppet_retarget.solvers.config import SolverConfig
import pytest
from scipy.optimize import minimize

STEP = 1e-5
MINIMISER_TOL = 1e-5  # of scipy's answer, metres and radians
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
    _, state = pack_arrays(BodyState())
    state.unknowns[:] = unknowns
    return bo.body_energy(body, state), state


def gradient_of(body: BodyTask, unknowns: Floats, torso_segments: int) -> Floats:
    """Return the gradient by increments."""
    _, state = evaluate(body, unknowns)
    gradient, curvature = np.empty(12), np.empty((12, 12))
    bo.body_gradient(body, state, torso_segments, gradient, curvature)
    return gradient[: 6 + 3 * torso_segments]


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


def test_energy_is_that_of_eqs_5_3_to_5_5(adult_character, rng):
    skeleton = adult_character.skeleton
    for _ in range(50):
        body, unknowns = random_body(rng, skeleton), near_and_far(rng, 2)
        wanted = energy_in_numpy(skeleton, body, unknowns)
        assert evaluate(body, unknowns)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@both_torsos
def test_gradient_matches_finite_differences(adult_character, rng, torso_segments):
    n = 6 + 3 * torso_segments
    for _ in range(40):
        body = random_body(rng, adult_character.skeleton)
        unknowns = near_and_far(rng, torso_segments)
        gradient = gradient_of(body, unknowns, torso_segments)
        slopes = [
            (moved_energy(body, unknowns, e) - moved_energy(body, unknowns, -e)) / (2.0 * STEP)
            for e in STEP * np.eye(n)
        ]
        np.testing.assert_allclose(gradient, slopes, atol=1e-7)


STIFF_WEIGHTS = np.array([0.01, 1.0, 1.0])  # the defaults, of which alpha makes it stiff


def strained(
    rng: np.random.Generator, skeleton: Skeleton, stray_m: float, bend: float = 0.2
) -> BodyTask:
    """Return a short puppet whose goals are out of reach of the root alone."""
    rotations = quaternions.exp(bend * rng.normal(size=(16, 3)))
    root = np.array([0.0, 0.0, 0.45])
    _, p = world_segments(skeleton, root[None], rotations[None])
    goals = p[0, [6, 9, 12, 15]] + stray_m * rng.normal(size=(4, 3))
    radii = skeleton.limb_lengths.sum(axis=1) / rng.uniform(0.5, 1.0, 4)
    radii[rng.random(4) < 0.2] = np.inf
    return BodyTask(skeleton.offsets.copy(), root, rotations, goals, radii, STIFF_WEIGHTS)


def minimised(
    body: BodyTask, cap: int, torso_segments: int = 2, guess: Floats | float = 0.0
) -> BodyState:
    """Return the minimum."""
    (_, state), (_, spare) = pack_arrays(BodyState()), pack_arrays(BodyState())
    state.unknowns[:] = guess
    bo.minimise_body(body, torso_segments, cap, state, spare)
    return state


@pytest.fixture
def bodies(short_character, rng):
    """Return strained bodies, some mildly and some wildly."""
    skeleton = short_character.skeleton
    return [strained(rng, skeleton, 0.1 if i % 2 else 0.25) for i in range(40)]


@both_torsos
def test_minimum_is_scipys(bodies, torso_segments):
    n = 6 + 3 * torso_segments
    for body in bodies[::4]:

        def energy(few: Floats) -> float:
            return evaluate(body, np.append(few, np.zeros(12 - n)))[0]

        unknowns = minimised(body, 200, torso_segments).unknowns
        wanted = minimize(energy, np.zeros(n), method='BFGS', options={'gtol': 1e-9})
        assert energy(unknowns[:n]) <= wanted.fun + 1e-12
        np.testing.assert_allclose(unknowns[:n], wanted.x, atol=MINIMISER_TOL)
        np.testing.assert_array_equal(unknowns[n:], 0.0)


def test_default_cap_reaches_the_minimum(short_character, rng):
    cap = SolverConfig().max_iterations
    for stray_m in (0.1, 0.25):
        bodies = [strained(rng, short_character.skeleton, stray_m) for _ in range(100)]
        far = [
            np.abs(minimised(b, cap).unknowns - minimised(b, 2000).unknowns).max() for b in bodies
        ]
        assert np.percentile(far, 95) < 1e-5


def test_rigid_torso_bends_as_one(bodies):
    for body in bodies[:10]:
        found = minimised(body, 20, 1, 0.1)
        np.testing.assert_array_equal(found.unknowns[9:], 0.0)
        chest = quaternions.multiply(found.q_body[1], body.rotations[2])
        np.testing.assert_allclose(found.q_body[2], chest, atol=1e-12)


@both_torsos
def test_minimum_does_not_depend_on_the_start(short_character, rng, torso_segments):
    for _ in range(60):
        body = strained(rng, short_character.skeleton, 0.2)
        drift = 0.02 * rng.normal(size=(4, 3))
        before = body._replace(wrist_goals=body.wrist_goals + drift)
        guess = minimised(before, 2000, torso_segments).unknowns
        cold = minimised(body, 2000, torso_segments).unknowns
        warm = minimised(body, 2000, torso_segments, guess).unknowns
        np.testing.assert_allclose(warm, cold, atol=1e-6)


def test_minimum_moves_continuously_with_the_goals(short_character, rng):
    """An iteration that stops short of the minimum jumps with every change of its number."""
    skeleton = short_character.skeleton
    for _ in range(5):
        body = strained(rng, skeleton, 0.08)
        drift = rng.normal(size=(4, 3))
        drift *= 0.2 / np.linalg.norm(drift)
        answers = [
            minimised(body._replace(wrist_goals=body.wrist_goals + s * drift), 20).unknowns
            for s in np.linspace(0.0, 1.0, 1000)
        ]
        assert np.abs(np.diff(answers, axis=0)).max() < 20.0 * 0.2 / 1000
