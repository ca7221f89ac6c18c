# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing is left inside the own body but what the performer's own body has inside."""

import numpy as np
from puppet_core.body.character import Character
from puppet_core.math.arrays import Floats, Quats
from puppet_retarget.importance.self_interaction import RELEVANT, SELF_DISTANCE, SELF_ROW
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.whole_body import Weights, WholeBodySolver
import pytest
from self_bodies import body_of_rotations, plain_distances, random_arms

ALLOWED_M = 1e-3  # flesh gives way
LEFT_M = 15e-3  # the own body gives way
N_POSES = 400
REACHED_SHARE = 0.99  # of poses: few need a bend that arm and belly do not allow


PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])


@pytest.fixture
def solve(scene):
    """Return a function that poses a puppet with captured rotations and no importance."""
    solvers: dict[tuple[str, bool], WholeBodySolver] = {}

    def run(
        character: Character, rotations: Quats, push: bool = True, depths: Floats | None = None
    ) -> tuple[Quats, Floats, Floats]:
        if (character.name, push) not in solvers:
            weights = Weights() if push else Weights(inside=0.0)
            given = character, scene(), 0.93, SolverConfig(), weights
            solvers[character.name, push] = WholeBodySolver(*given)
        solver = solvers[character.name, push]
        self_rows = np.zeros((8, SELF_ROW))
        if depths is not None:
            self_rows[:, SELF_DISTANCE] = -depths
        out = solver.solve(
            np.array([0.0, 0.0, 1.0]),
            np.array([0.0, 0.0, 0.95]),
            rotations,
            np.zeros((4, 8)),
            np.inf,
            self_rows,
        )
        return out.rotations.copy(), out.self_depths.copy(), out.end_effectors.copy()

    return run


def depths_of(character: Character, rotations: Quats) -> Floats:
    """Return depths (8,) of a posture by definition [m]."""
    body = body_of_rotations(character.skeleton, rotations)
    distances = np.where(RELEVANT, plain_distances(body, character.capsules), np.inf)
    return np.maximum(-distances.min(axis=1), 0.0)


@PUPPETS
def test_depths_are_those_of_the_definition(solve, puppet, request, rng):
    character = request.getfixturevalue(puppet)
    for _ in range(10):
        rotations = random_arms(character.skeleton, rng).rotations
        got = solve(character, rotations, push=False)[1]
        np.testing.assert_allclose(got, depths_of(character, rotations), atol=1e-12)


@PUPPETS
def test_random_arms_end_outside_of_the_body(solve, puppet, request, rng):
    character = request.getfixturevalue(puppet)
    before, after = [], []
    for _ in range(N_POSES):
        rotations = random_arms(character.skeleton, rng).rotations
        before.append(solve(character, rotations, push=False)[1].max())
        after.append(solve(character, rotations)[1].max())
    inside = np.array(before) > ALLOWED_M + LEFT_M
    assert inside.sum() > 10
    left = np.array(after) > ALLOWED_M + LEFT_M
    assert np.mean(~left) >= REACHED_SHARE, np.round(1e3 * np.array(after)[left], 1)


def test_depth_of_the_performer_is_left(solve, short_character, rng):
    """What the performer's own body does, an elbow pressed into the side, may stay."""
    seen = 0
    for _ in range(40):
        rotations = random_arms(short_character.skeleton, rng).rotations
        depths = solve(short_character, rotations, push=False)[1]
        out, _, _ = solve(short_character, rotations, depths=depths)
        np.testing.assert_allclose(out, rotations, atol=0.01)
        seen += depths.max() > ALLOWED_M
    assert seen > 3
