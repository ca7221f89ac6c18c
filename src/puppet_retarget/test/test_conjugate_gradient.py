# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body minimiser: falls always, arrives where scipy does, keeps to its cap, is continuous."""

from typing import NamedTuple

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats, Quats, Vec3, Vec3s
from puppet_core.posture import world_segments
from puppet_core.skeleton import Skeleton
from puppet_retarget.solvers.body_objective import body_objective
from puppet_retarget.solvers.conjugate_gradient import minimise_body
from puppet_retarget.solvers.puppet_model import SolverConfig
import pytest
from scipy.optimize import minimize

WEIGHTS = np.array([0.01, 1.0, 1.0])  # the defaults, of which alpha makes it stiff
MINIMISER_TOL = 1e-5  # of scipy's answer, metres and radians


class Body(NamedTuple):
    """Arguments of the minimiser."""

    offsets: Vec3s
    root: Vec3
    rotations: Quats
    wrist_goals: Vec3s
    radii: Floats


def strained(rng: np.random.Generator, skeleton: Skeleton, stray_m: float) -> Body:
    """Return a short puppet whose goals are out of reach of the root alone."""
    rotations = quaternion_batch.exp(0.2 * rng.normal(size=(16, 3)))
    root = np.array([0.0, 0.0, 0.45])
    _, p = world_segments(skeleton, root[None], rotations[None])
    goals = p[0, [6, 9, 12, 15]] + stray_m * rng.normal(size=(4, 3))
    radii = skeleton.limb_lengths.sum(axis=1) / rng.uniform(0.5, 1.0, 4)
    radii[rng.random(4) < 0.2] = np.inf
    return Body(skeleton.offsets.copy(), root, rotations, goals, radii)


def objective(body: Body, unknowns: Floats) -> tuple[float, Floats]:
    """Return energy and gradient."""
    gradient = np.empty(12)
    energy = body_objective(
        unknowns, *body, WEIGHTS, np.empty((3, 4)), np.empty((3, 3)), gradient,
        np.empty((12, 12)),
    )  # fmt: skip
    return energy, gradient


def minimised(body: Body, cap: int) -> tuple[Floats, int]:
    """Return the unknowns and the number of iterations."""
    unknowns = np.zeros(12)
    iterations = minimise_body(
        unknowns, *body, WEIGHTS, cap, np.empty((3, 4)), np.empty((3, 3))
    )
    return unknowns, iterations


@pytest.fixture
def bodies(short_character, rng) -> list[Body]:
    """Return strained bodies, some mildly and some wildly."""
    skeleton = short_character.skeleton
    return [strained(rng, skeleton, 0.1 if i % 2 else 0.25) for i in range(40)]


def test_energy_never_rises(bodies: list[Body]) -> None:
    for body in bodies:
        energies = [objective(body, minimised(body, cap)[0])[0] for cap in range(12)]
        assert np.all(np.diff(energies) <= 0.0)


def test_cap_is_respected(bodies: list[Body]) -> None:
    for body in bodies:
        for cap in (0, 1, 5):
            assert minimised(body, cap)[1] <= cap
        assert np.all(minimised(body, 0)[0] == 0.0)


def test_minimum_is_scipys(bodies: list[Body]) -> None:
    for body in bodies:
        unknowns, _ = minimised(body, 200)
        wanted = minimize(
            lambda u: objective(body, u), np.zeros(12), jac=True, method='BFGS',
            options={'gtol': 1e-11, 'maxiter': 1000},
        )  # fmt: skip
        assert objective(body, unknowns)[0] <= wanted.fun + 1e-12
        np.testing.assert_allclose(unknowns, wanted.x, atol=MINIMISER_TOL)


def test_default_cap_reaches_the_minimum_of_ordinary_frames(short_character, rng) -> None:
    """Goals a hand's breadth away; the rarest answer is good to millimetres, most to microns."""
    far = []
    for _ in range(100):
        body = strained(rng, short_character.skeleton, 0.1)
        unknowns = minimised(body, SolverConfig().max_iterations)[0]
        far.append(np.abs(unknowns - minimised(body, 500)[0]).max())
    assert np.percentile(far, 95) < 1e-6
    assert max(far) < 5e-3


def test_nothing_to_do_takes_no_iteration(short_character, rng) -> None:
    body = strained(rng, short_character.skeleton, 0.1)._replace(radii=np.full(4, np.inf))
    unknowns, iterations = minimised(body, 20)
    assert iterations == 0
    np.testing.assert_array_equal(unknowns, 0.0)


def test_frames_are_those_of_the_result(bodies: list[Body], short_character) -> None:
    body, unknowns, q, p = bodies[0], np.zeros(12), np.empty((3, 4)), np.empty((3, 3))
    minimise_body(unknowns, *body, WEIGHTS, 20, q, p)
    rotations = body.rotations.copy()
    turns = quaternion_batch.exp(unknowns[3:].reshape(3, 3))
    rotations[:3] = quaternion_batch.multiply(rotations[:3], turns)
    root = body.root + unknowns[:3]
    q_all, p_all = world_segments(short_character.skeleton, root[None], rotations[None])
    np.testing.assert_allclose(q, q_all[0, :3], atol=1e-12)
    np.testing.assert_allclose(p, p_all[0, :3], atol=1e-12)


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
