# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body minimiser: falls always, arrives where scipy does, keeps to its cap, is continuous."""

import numpy as np
from puppet_core.body.posture import world_segments
from puppet_core.body.skeleton import Skeleton
from puppet_core.math import quaternions
from puppet_core.math.arrays import Floats
from puppet_retarget.solvers.body import body_energy, body_state, BodyTask, minimise_body
from puppet_retarget.solvers.state import SolverConfig
import pytest
from scipy.optimize import minimize

WEIGHTS = np.array([0.01, 1.0, 1.0])  # the defaults, of which alpha makes it stiff
MINIMISER_TOL = 1e-5  # of scipy's answer, metres and radians


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
    return BodyTask(skeleton.offsets.copy(), root, rotations, goals, radii, WEIGHTS)


def objective(body: BodyTask, unknowns: Floats) -> float:
    """Return the energy."""
    state = body_state(unknowns.copy(), np.empty((3, 4)), np.empty((3, 3)))
    return body_energy(body, state)


def minimised(
    body: BodyTask, cap: int, torso_segments: int = 2, guess: Floats | None = None
) -> tuple[Floats, int]:
    """Return the unknowns and the number of steps tried."""
    unknowns = np.zeros(12) if guess is None else guess.copy()
    tried = minimise_body(unknowns, *body, torso_segments, cap, np.empty((3, 4)), np.empty((3, 3)))
    return unknowns, tried


@pytest.fixture
def bodies(short_character, rng) -> list[BodyTask]:
    """Return strained bodies, some mildly and some wildly."""
    skeleton = short_character.skeleton
    return [strained(rng, skeleton, 0.1 if i % 2 else 0.25) for i in range(40)]


@pytest.mark.parametrize('torso_segments', [1, 2], ids=['rigid', 'spine and chest'])
def test_minimum_is_scipys(bodies: list[BodyTask], torso_segments: int) -> None:
    n = 6 + 3 * torso_segments
    for body in bodies[::4]:

        def energy(few: Floats) -> float:
            return objective(body, np.append(few, np.zeros(12 - n)))

        unknowns, _ = minimised(body, 200, torso_segments)
        wanted = minimize(energy, np.zeros(n), method='BFGS', options={'gtol': 1e-9})
        assert energy(unknowns[:n]) <= wanted.fun + 1e-12
        np.testing.assert_allclose(unknowns[:n], wanted.x, atol=MINIMISER_TOL)
        np.testing.assert_array_equal(unknowns[n:], 0.0)


def test_default_cap_reaches_the_minimum(short_character, rng) -> None:
    """Also where goals stray by half a metre and more."""
    cap = SolverConfig().max_iterations
    for stray_m in (0.1, 0.25, 0.5):
        bodies = [strained(rng, short_character.skeleton, stray_m) for _ in range(100)]
        far = [np.abs(minimised(b, cap)[0] - minimised(b, 500)[0]).max() for b in bodies]
        assert np.percentile(far, 97) < 1e-6


def test_rigid_torso_bends_as_one(bodies: list[BodyTask]) -> None:
    for body in bodies[:10]:
        unknowns, q, p = np.full(12, 0.1), np.empty((3, 4)), np.empty((3, 3))
        minimise_body(unknowns, *body, 1, 20, q, p)
        np.testing.assert_array_equal(unknowns[9:], 0.0)
        chest = quaternions.multiply(q[1], body.rotations[2])
        np.testing.assert_allclose(q[2], chest, atol=1e-12)


@pytest.mark.parametrize('torso_segments', [1, 2], ids=['rigid', 'spine and chest'])
def test_minimum_does_not_depend_on_the_start(short_character, rng, torso_segments: int) -> None:
    for _ in range(60):
        body = strained(rng, short_character.skeleton, 0.2)
        drift = 0.02 * rng.normal(size=(4, 3))
        before = body._replace(wrist_goals=body.wrist_goals + drift)
        guess, _ = minimised(before, 200, torso_segments)
        cold, _ = minimised(body, 200, torso_segments)
        warm, _ = minimised(body, 200, torso_segments, guess)
        np.testing.assert_allclose(warm, cold, atol=1e-6)


def test_minimum_moves_continuously_with_the_goals(short_character, rng) -> None:
    """An iteration that stops short of the minimum jumps with every change of its number."""
    skeleton = short_character.skeleton
    for _ in range(5):
        body = strained(rng, skeleton, 0.08)
        drift = rng.normal(size=(4, 3))
        drift *= 0.2 / np.linalg.norm(drift)
        answers = [
            minimised(body._replace(wrist_goals=body.wrist_goals + s * drift), 20)[0]
            for s in np.linspace(0.0, 1.0, 1000)
        ]
        assert np.abs(np.diff(answers, axis=0)).max() < 20.0 * 0.2 / 1000
