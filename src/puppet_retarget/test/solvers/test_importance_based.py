# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The importance-based solver as a whole: goals met, the rest left alone, nothing inside."""

from collections.abc import Callable

import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import general_end_effectors, Motion, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3s
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.solvers.registry import ImportanceBasedSolver
from puppet_retarget.solvers.state import SolverConfig
import pytest

EXACT_TOL_RAD = 1e-6
# goals of hands and feet that a short puppet gets to by leaning forward, not by the root alone
FAR_AHEAD = np.array([[0.85, 0.2, 0.4], [0.85, -0.2, 0.4], [0.0, 0.1, 0.0], [0.0, -0.1, 0.0]])


def largest_turn(a: Quats, b: Quats) -> float:
    """Return the largest angle between rotations [rad]."""
    return float(np.linalg.norm(qb.log(qb.multiply(qb.conjugate(a), b)), axis=-1).max())


class Standing:
    """One frame of a standing performer, and a solver."""

    def __init__(
        self,
        character: Character,
        performer: Character,
        environment: Environment,
        config: SolverConfig = SolverConfig(),
    ) -> None:
        skeleton = performer.skeleton
        self.rotations = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
        self.root = np.array([0.0, 0.0, skeleton.rest_root_height])
        q, p = world_segments(skeleton, self.root[None], self.rotations[None])
        self.hips = p[0, LIMB_SEGMENTS[2:, 0]].mean(axis=0)
        self.points = general_end_effectors(skeleton, q, p)[0]
        self.rows = np.zeros((4, 8))
        self.rows[:, RADIUS] = 0.6
        self.rows[:, GOAL : GOAL + 3] = self.points[:4]
        self.solver = ImportanceBasedSolver(character, environment, skeleton.leg_length, config)

    def solve(self, importances: Floats, goals: Vec3s | None = None, dt: float = np.inf):
        """Return the solver's output."""
        self.rows[:, IMPORTANCE] = importances
        if goals is not None:
            self.rows[:, GOAL : GOAL + 3] = goals
        return self.solver.solve(self.root, self.hips, self.rotations, self.rows, dt)


@pytest.fixture
def standing(tall_character, adult_character, floor) -> Standing:
    """Return a tall puppet of a standing performer."""
    return Standing(tall_character, adult_character, floor)


def test_free_limbs_are_exactly_as_captured(
    retarget: Callable, stepping_motion: Motion, tall_character
) -> None:
    """The hands of the stepping motion touch nothing."""
    out = retarget(stepping_motion, tall_character)
    assert out.rows[:, :2, IMPORTANCE].max() == 0.0
    arms = LIMB_SEGMENTS[:2].ravel()
    np.testing.assert_array_equal(
        out.puppet.rotations[:, arms], stepping_motion.rotations[:, arms]
    )
    assert out.body_iterations.max() == 0


def test_important_end_effector_is_at_its_goal_and_keeps_its_orientation(standing) -> None:
    goals = standing.points[:4] + [[-0.3, 0.1, 0.2], [0, 0, 0], [0.1, 0, 0], [0, 0, 0]]
    out = standing.solve(np.ones(4), goals)
    np.testing.assert_allclose(out.end_effectors[:4], goals, atol=1e-9)
    np.testing.assert_allclose(out.goal_errors, 0.0, atol=1e-9)
    ends = qb.multiply(qb.conjugate(standing.rotations[0]), out.q_world[LIMB_SEGMENTS[:, 2]])
    assert largest_turn(ends, np.tile([1.0, 0, 0, 0], (4, 1))) < EXACT_TOL_RAD


@pytest.mark.parametrize(
    ('eased', 'share'), [(False, 0.4), (True, 0.4**2 * (3.0 - 0.8))], ids=['printed', 'eased']
)
def test_eq_5_14_turns_joints_by_their_share(
    tall_character, adult_character, scene, eased: bool, share: float
) -> None:
    """As printed by w itself, else by an ease of w; the range ball is shrunk to its goal."""
    config = SolverConfig(eased_blend=eased, root_softness=0.0)
    standing = Standing(tall_character, adult_character, scene(), config)
    standing.rows[:, RADIUS] = 0.0
    goals = standing.points[:4] + [[-0.2, -0.1, 0.2], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    arm = LIMB_SEGMENTS[0]
    turns = [
        qb.log(standing.solve(np.array([w, 0, 0, 0]), goals).rotations[arm]) for w in (1.0, 0.4)
    ]
    np.testing.assert_allclose(turns[1][:2], share * turns[0][:2], atol=1e-9)
    # the wrist keeps the hand's orientation on the forearm as blended: it turns back a share
    forearm = qb.multiply(*qb.exp(turns[1][:2]))
    np.testing.assert_allclose(turns[1][2], -share * qb.log(forearm), atol=1e-9)


def test_body_bends_only_if_the_root_cannot_reach_all(
    short_character, adult_character, scene
) -> None:
    standing = Standing(short_character, adult_character, scene())
    near = standing.solve(np.array([0, 0, 1.0, 1.0]), 0.5 * standing.points[:4])
    assert near.body_iterations == 0
    assert largest_turn(near.rotations[:3], standing.rotations[:3]) == 0.0
    out = standing.solve(np.ones(4), FAR_AHEAD)
    assert out.body_iterations > 0
    assert largest_turn(out.rotations[:3], standing.rotations[:3]) > 0.1


def test_nothing_ends_inside_the_environment(
    retarget: Callable, procedural: Motion, short_character, scene
) -> None:
    """Issue: nothing sinks more than 1 mm below the floor; a table within the arms' swing."""
    table = scene.thing('box', np.array([1.0, 2.06, 0.375]), np.array([1.2, 0.6, 0.75]))
    out = retarget(procedural, short_character, scene(scene.floor, table))
    assert out.penetrations.max() < 1e-3


def test_palms_touch_the_table_where_the_performers_do(
    retarget: Callable, procedural: Motion, tall_character, scene
) -> None:
    table = scene.thing('box', np.array([1.0, 2.06, 0.375]), np.array([1.2, 0.6, 0.75]))
    out = retarget(procedural, tall_character, scene(scene.floor, table))
    touching = out.rows[:, :2, IMPORTANCE] > 0.9999
    assert touching.sum() > 50
    away = np.linalg.norm(out.puppet.end_effectors - procedural.end_effectors, axis=2)
    assert np.percentile(away[:, :2][touching], 95) < 0.005
