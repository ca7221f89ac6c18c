# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Section 5.2: the objective against plain numpy, its derivatives, and its minimum."""

import numpy as np
from puppet_core.body import Skeleton
from puppet_core.body.posture import world_segments
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats
from puppet_retarget.solvers import SolverConfig
from puppet_retarget.solvers.thesis.body import (
    bend_body,
    energy,
    gradient,
    Increment,
    is_reached,
    minimise,
    moved,
    Task,
    Trunk,
    trunk_of,
)
from puppet_retarget.solvers.thesis.puppet import LEAST_FALL, puppet_of
import pytest
from scipy.optimize import minimize
from thesis_frames import goals_of, random_pose, rows_of, settings

WEIGHTS = (0.3, 0.7, 1.3)
DEFAULTS = (0.01, 1.0, 1.0)
CAP = SolverConfig().max_iterations


class Body:
    """A task, and the same in numpy."""

    def __init__(self, skeleton: Skeleton, rng: np.random.Generator, stray_m: float) -> None:
        self.skeleton = skeleton
        self.rotations = qb.exp(0.3 * rng.normal(size=(16, 3)))
        self.root = np.array([0.1, -0.2, 0.45])
        _, p = world_segments(skeleton, self.root[None], self.rotations[None])
        self.goals = p[0, [6, 9, 12, 15]] + stray_m * rng.normal(size=(4, 3))
        self.radii = skeleton.limb_lengths.sum(axis=1) / rng.uniform(0.6, 1.0, 4)
        self.radii[rng.integers(4)] = np.inf

    def task(self, weights=DEFAULTS, bends_chest: bool = True) -> Task:
        return Task(
            trunk_of(self.root, self.rotations),
            self.skeleton.offsets.copy(),
            self.goals,
            self.radii,
            weights,
            bends_chest,
        )

    def trunk(self, x: Floats) -> Trunk:
        """Return the trunk after a move (3,) and turns (9,) of the joints in their own frames."""
        rotations = self.rotations.copy()
        rotations[:3] = qb.multiply(rotations[:3], qb.exp(x[3:].reshape(3, 3)))
        return trunk_of(self.root + x[:3], rotations)

    def energy(self, x: Floats, weights=DEFAULTS) -> float:
        """Return eqs. 5.3 to 5.5 from the whole skeleton's forward kinematics."""
        rotations = self.rotations.copy()
        rotations[:3] = qb.multiply(rotations[:3], qb.exp(x[3:].reshape(3, 3)))
        _, p = world_segments(self.skeleton, (self.root + x[:3])[None], rotations[None])
        away = np.linalg.norm(p[0, [4, 7, 10, 13]] - self.goals, axis=1)
        beyond = np.maximum(away - self.radii, 0.0)
        geodesics = qb.log(qb.multiply(qb.conjugate(self.rotations[:3]), rotations[:3]))
        alpha, beta, gamma = weights
        posture = gamma * np.sum(x[:3] ** 2) + beta * np.sum(geodesics**2)
        return float(np.sum(beyond**2) + alpha * posture)


def difference(a: Trunk, b: Trunk) -> float:
    """Return how far two trunks differ, in metres or radians."""
    turns = [
        np.linalg.norm(qb.log(qb.multiply(qb.conjugate(np.array(p)), np.array(q))))
        for p, q in zip(a[1:], b[1:])
    ]
    return float(max(np.linalg.norm(np.subtract(a.root, b.root)), *turns))


def test_objective_is_that_of_eqs_5_3_to_5_5(adult_character, rng):
    for _ in range(50):
        body = Body(adult_character.skeleton, rng, 0.4)
        x = rng.normal(size=12) * rng.choice([0.0, 1e-7, 1e-3, 0.5])
        expected = body.energy(x, WEIGHTS)
        assert energy(body.task(WEIGHTS), body.trunk(x)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize('bends_chest', [False, True], ids=['rigid', 'spine and chest'])
def test_gradient_matches_finite_differences(adult_character, rng, bends_chest):
    h = 1e-5
    for _ in range(30):
        body = Body(adult_character.skeleton, rng, 0.4)
        task, trunk = body.task(WEIGHTS, bends_chest), body.trunk(0.3 * rng.normal(size=12))
        slopes = gradient(task, trunk)
        for part in range(3 if not bends_chest else 4):
            for axis in range(3):
                rows = np.zeros((4, 3))
                rows[part, axis] = 1.0
                way = Increment(*(tuple(map(float, row)) for row in rows))
                both = [energy(task, moved(task, trunk, way, sign * h)) for sign in (1.0, -1.0)]
                assert slopes[part][axis] == pytest.approx((both[0] - both[1]) / 2 / h, abs=1e-7)
        assert bends_chest or slopes.chest == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(('stray_m', 'tolerance'), [(0.05, 1e-5), (0.1, 1e-5), (0.25, 2e-3)])
def test_conjugate_gradients_come_to_the_minimum(short_character, rng, stray_m, tolerance):
    iterations = []
    for _ in range(12):
        body = Body(short_character.skeleton, rng, stray_m)
        trunk, count = minimise(body.task(), CAP, LEAST_FALL)
        wanted = minimize(body.energy, np.zeros(12), method='BFGS', options={'gtol': 1e-10})
        assert energy(body.task(), trunk) <= (1.0 + 1e-6) * wanted.fun + 1e-12
        assert difference(trunk, body.trunk(wanted.x)) < tolerance
        iterations.append(count)
    assert max(iterations) > 5


def test_rigid_torso_keeps_its_chest_on_the_spine(short_character, rng):
    for _ in range(10):
        body = Body(short_character.skeleton, rng, 0.15)
        trunk, _ = minimise(body.task(bends_chest=False), CAP, LEAST_FALL)
        np.testing.assert_allclose(trunk.chest, body.rotations[2], atol=1e-12)


def test_minimum_moves_continuously_with_the_goals(short_character, rng):
    """An iteration that stops short of the minimum jumps with every change of its number."""
    for _ in range(3):
        body = Body(short_character.skeleton, rng, 0.08)
        start, drift = body.goals.copy(), rng.normal(size=(4, 3))
        drift *= 0.2 / np.linalg.norm(drift)
        path = []
        for s in np.linspace(0.0, 1.0, 1000):
            body.goals = start + s * drift
            path.append(minimise(body.task(), CAP, LEAST_FALL)[0])
        steps = [difference(a, b) for a, b in zip(path, path[1:])]
        assert max(steps) < 20.0 * 0.2 / 1000


def test_body_reaches_what_the_root_cannot_and_only_then(short_character, rng):
    """With importance one E pulls to the goal exactly, as alpha goes to nothing."""
    puppet, pose = puppet_of(short_character), random_pose(short_character, rng, 0.1)
    numbers = settings(short_character, posture_weight=1e-6)
    near = goals_of(short_character, numbers, rows_of(pose.points[:4], np.ones(4)), pose)
    assert is_reached(puppet, near, pose)
    away = np.array([[0.25, 0.0, 0.0], [0.25, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    rows = rows_of(pose.points[:4] + away, np.ones(4))
    far = goals_of(short_character, numbers, rows, pose)
    assert not is_reached(puppet, far, pose)
    trunk, iterations = bend_body(puppet, numbers, far, pose)
    assert iterations > 0
    rotations = pose.rotations.copy()
    rotations[:3] = trunk[1:]
    _, p = world_segments(short_character.skeleton, np.array(trunk.root)[None], rotations[None])
    beyond = np.linalg.norm(p[0, [4, 7, 10, 13]] - far.wrists, axis=1)
    assert np.all(beyond < short_character.skeleton.limb_lengths.sum(axis=1) + 1e-3)
