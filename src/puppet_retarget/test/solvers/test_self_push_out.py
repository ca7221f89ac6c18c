# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing of a puppet stays inside itself that need not; what is outside is not touched."""

from collections.abc import Callable

import numpy as np
from puppet_core.body.character import Character
from puppet_core.math.arrays import Floats, Quats
from puppet_retarget.importance.self_interaction import body_arrays, RELEVANT, SELF_DEPTH, SELF_ROW
from puppet_retarget.solvers.penetration import (
    ALLOWED_M,
    bounding_centres,
    leave_body,
    self_depths,
)
from puppet_retarget.solvers.registry import ImportanceBasedSolver
from puppet_retarget.solvers.state import SolverConfig
import pytest
from self_bodies import body_of_rotations, curled_up, plain_distances, random_arms

LEFT_M = 2e-3
N_POSES = 400
REACHED_SHARE = 0.99  # of poses: few need a bend that arm and belly do not allow
PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])


@pytest.fixture
def solve(scene: Callable) -> Callable:
    """Return a function that poses a puppet with captured rotations and no importance."""
    solvers: dict[tuple[str, bool], ImportanceBasedSolver] = {}

    def run(
        character: Character, rotations: Quats, push: bool = True, depths: Floats | None = None
    ) -> tuple[Quats, Floats, Floats]:
        if (character.name, push) not in solvers:
            config = SolverConfig(self_push_out=push)
            solvers[character.name, push] = ImportanceBasedSolver(character, scene(), 0.93, config)
        solver = solvers[character.name, push]
        self_rows = np.zeros((8, SELF_ROW))
        if depths is not None:
            self_rows[:, SELF_DEPTH] = depths
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
def test_depths_are_those_of_the_definition(solve, puppet: str, request, rng) -> None:
    character = request.getfixturevalue(puppet)
    for _ in range(10):
        rotations = random_arms(character.skeleton, rng).rotations
        got = solve(character, rotations, push=False)[1]
        np.testing.assert_allclose(got, depths_of(character, rotations), atol=1e-12)


@PUPPETS
def test_random_arms_end_outside_of_the_body(solve, puppet: str, request, rng) -> None:
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


def test_depth_of_the_performer_is_left(solve, short_character, rng) -> None:
    """What the performer's own body does, an elbow pressed into the side, may stay."""
    seen = 0
    for _ in range(40):
        rotations = random_arms(short_character.skeleton, rng).rotations
        depths = solve(short_character, rotations, push=False)[1]
        out, _, _ = solve(short_character, rotations, depths=depths)
        np.testing.assert_array_equal(out, rotations)
        seen += depths.max() > ALLOWED_M
    assert seen > 3


@PUPPETS
def test_a_point_leaves_the_body_or_stays_where_it_is(puppet: str, request, rng) -> None:
    character = request.getfixturevalue(puppet)
    shape = body_arrays(character.skeleton, character.capsules).shape
    centres, ball, left, stayed = np.empty((16, 3)), np.empty(3), 0, 0
    for _ in range(40):
        body = curled_up(character.skeleton, rng, 0.4)
        bounding_centres(shape, body.q_world, body.p_world, centres)
        starts = body.p_world[rng.integers(3, size=8)] + 0.3 * rng.normal(size=(8, 3))
        body.points[:] = starts
        distances = plain_distances(body, character.capsules)
        for j, start in enumerate(starts):
            point = start.copy()
            radius = leave_body(
                shape, body.q_world, body.p_world, centres, j, 0.0, False, point, ball
            )
            depth = -np.where(RELEVANT[j], distances[j], 9.0).min()
            if depth <= 0.0:
                np.testing.assert_array_equal(point, start)
                assert radius == 0.0
                stayed += 1
            else:
                points, depths = np.tile(point, (8, 1)), np.empty(8)
                self_depths(shape, body.q_world, body.p_world, points, centres, depths)
                assert depths[j] < 0.25 * depth + 1e-3
                assert radius > 0.0
                left += 1
    assert left > 10 and stayed > 50
