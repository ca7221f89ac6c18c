# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The balls that are drawn are those that the solver had, from what the topics carry alone."""

from continuity_runs import Script, Stage
import numpy as np
from puppet_core.body.posture import Posture
from puppet_core.body.skeleton import SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE
from puppet_retarget.importance.self_interaction import (
    DISPLACEMENT,
    FIRST_CONTACT,
    N_SAMPLES,
    SAMPLE,
    SELF_IMPORTANCE,
    SELF_PLACE,
    SHARE,
    WEIGHT,
)
from puppet_retarget.solvers.registry import ImportanceBasedSolver
from puppet_retarget.solvers.state import SolverConfig
from puppet_view.rviz.markers import SelfBallView
import pytest

PUPPETS = pytest.mark.parametrize('puppet', ['short_character', 'tall_character'])
# end-effector, what it is near, share of the way
NEAR = (
    (0, 'spine', 1.0),
    (1, 'left_forearm', 0.5),
    (2, 'right_shank', 0.5),
    (4, 'chest', 1.0),
    (5, 'left_thigh', 1.0),
    (7, 'left_thigh', 0.5),
)


def touching(stage: Stage, rng: np.random.Generator) -> Script:
    script = stage.script(1)
    script.rotations[0] = qb.multiply(script.rotations[0], qb.exp(0.2 * rng.normal(size=(16, 3))))
    script.rows[0, :, IMPORTANCE] = [0.3, 1.0, 0.5, 0.9]
    script.rows[0, 1, GOAL] += 5.0 * stage.reaches.max() / stage.scale
    for j, segment, share in NEAR:
        row = script.self_rows[0, j]
        row[SELF_IMPORTANCE], row[SELF_PLACE] = rng.uniform(0.2, 0.9, 2)
        contact = row[FIRST_CONTACT:]
        contact[SAMPLE] = SEGMENT_INDEX[segment] * N_SAMPLES + rng.integers(N_SAMPLES)
        contact[WEIGHT], contact[SHARE] = 1.0, share
        contact[DISPLACEMENT : DISPLACEMENT + 3] = rng.normal(size=3) * 0.05
    return script


@PUPPETS
def test_balls_are_those_of_the_solver(adult_character, scene, puppet, request, rng):
    """Without what is done to a posed body afterwards, to the last digits."""
    character = request.getfixturevalue(puppet)
    stage, view = Stage(character, adult_character), SelfBallView(character)
    config = SolverConfig(self_push_out=False)
    solver = ImportanceBasedSolver(character, scene(), adult_character.skeleton.leg_length, config)
    for _ in range(5):
        frame = [field[0] for field in touching(stage, rng)]
        root, hips, rotations, rows, self_rows = frame
        out = solver.solve(root, hips, rotations, rows, np.inf, self_rows)
        assert out.body_iterations > 0
        seen = Posture(out.root_position, out.rotations, out.end_effectors, np.zeros((8, 3)))
        balls = view.balls(seen, rotations, rows, self_rows, stage.scale)
        own = solver.packed[0]['frame']['self_balls']
        there = own['importances'] > 0.0
        assert there.sum() == len(NEAR)
        np.testing.assert_allclose(balls.importances, own['importances'], atol=1e-12)
        np.testing.assert_allclose(balls.radii[there], own['radii'][there], atol=1e-12)
        np.testing.assert_allclose(balls.centres[there], own['centres'][there], atol=1e-9)


@PUPPETS
def test_what_cannot_be_used_has_no_balls(adult_character, puppet, request, rng):
    """A sample that does not exist would be read from beyond the arrays."""
    character = request.getfixturevalue(puppet)
    stage, view = Stage(character, adult_character), SelfBallView(character)
    _, _, rotations, rows, self_rows = (field[0] for field in touching(stage, rng))
    puppet_posture = Posture(stage.reference, rotations, np.zeros((8, 3)), np.zeros((8, 3)))
    arguments = (puppet_posture, rotations, rows, self_rows, stage.scale)
    assert view.balls(*arguments).importances.any()
    self_rows[0, FIRST_CONTACT + SAMPLE] = 16 * N_SAMPLES
    assert not view.balls(*arguments).importances.any()
