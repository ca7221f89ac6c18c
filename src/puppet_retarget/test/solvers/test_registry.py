# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The solvers as a whole: goals met, the rest left alone, symmetries; the baselines; tuning."""

from dataclasses import replace

from body_fixtures import floor_only
import numpy as np
from puppet_core.body.character import Character
from puppet_core.body.posture import general_end_effectors, Motion, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.io import ConfigError, SolverError
from puppet_core.math import quaternions as qb
from puppet_core.math.arrays import Floats, Quats, Vec3, Vec3s
from puppet_retarget.importance.environment import Environment
from puppet_retarget.importance.estimator import GOAL, IMPORTANCE, RADIUS
from puppet_retarget.offline import quality
from puppet_retarget.offline.whole_motion import performer_arrays, RetargetResult
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.registry import make_solver, SOLVER_NAMES
import pytest

EXACT_TOL_RAD = 1e-6
EXACT_TOL_M = 1e-9
GOAL_TOL_M = 1e-3  # of a solver whose goals are weights
TURN_TOL_RAD = 0.35  # orientation is a soft wish
PUPPETS = ('tall_character', 'short_character')
MIRROR_POINTS = [1, 0, 3, 2, 5, 4, 7, 6]


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
        solver: str = SOLVER_NAMES[0],
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
        given = character, environment, skeleton.leg_length, SolverConfig()
        self.solver = make_solver(solver, *given)

    def solve(self, importances: Floats, goals: Vec3s | None = None, dt: float = np.inf):
        """Return the solver's output."""
        self.rows[:, IMPORTANCE] = importances
        if goals is not None:
            self.rows[:, GOAL : GOAL + 3] = goals
        return self.solver.solve(self.root, self.hips, self.rotations, self.rows, dt)


@pytest.fixture
def standing(tall_character, adult_character, floor):
    """Return a tall puppet of a standing performer."""
    return Standing(tall_character, adult_character, floor)


@pytest.mark.parametrize(
    ('solver', 'tolerance'), [('whole_body', TURN_TOL_RAD), ('importance_based', EXACT_TOL_RAD)]
)
def test_free_limbs_are_as_captured(retarget, stepping_motion, tall_character, solver, tolerance):
    """The hands of the stepping motion touch nothing."""
    out = retarget(stepping_motion, tall_character, solver=solver)
    assert out.rows[:, :2, IMPORTANCE].max() == 0.0
    arms = LIMB_SEGMENTS[:2, :2].ravel()
    found = largest_turn(out.puppet.rotations[:, arms], stepping_motion.rotations[:, arms])
    assert found < tolerance


def test_important_end_effector_is_at_its_goal_and_keeps_its_orientation(standing):
    goals = standing.points[:4] + [[-0.3, 0.1, 0.2], [0, 0, 0], [0.1, 0, 0], [0, 0, 0]]
    out = standing.solve(np.ones(4), goals)
    np.testing.assert_allclose(out.end_effectors[:4], goals, atol=GOAL_TOL_M)
    errors = np.linalg.norm(out.end_effectors[:4] - goals, axis=1)
    np.testing.assert_allclose(out.goal_errors, errors, atol=EXACT_TOL_M)
    ends = qb.multiply(qb.conjugate(standing.rotations[0]), out.q_world[LIMB_SEGMENTS[:, 2]])
    assert largest_turn(ends, np.tile([1.0, 0, 0, 0], (4, 1))) < TURN_TOL_RAD


def test_body_bends_only_if_the_root_cannot_reach_all(short_character, adult_character, scene):
    standing = Standing(short_character, adult_character, scene(), 'importance_based')
    near = standing.solve(np.array([0, 0, 1.0, 1.0]), 0.5 * standing.points[:4])
    assert near.body_iterations == 0
    assert largest_turn(near.rotations[:3], standing.rotations[:3]) == 0.0
    out = standing.solve(np.ones(4), FAR_AHEAD)
    assert out.body_iterations > 0
    assert largest_turn(out.rotations[:3], standing.rotations[:3]) > 0.1


def test_nothing_ends_inside_the_environment(retarget, procedural, short_character, scene):
    """Issue: nothing sinks more than 1 mm below the floor; a table within the arms' swing."""
    table = scene.thing('box', np.array([1.0, 2.06, 0.375]), np.array([1.2, 0.6, 0.75]))
    out = retarget(procedural, short_character, scene(scene.floor, table))
    assert out.penetrations.max() < 1e-3


def test_palms_touch_the_table_where_the_performers_do(
    retarget, procedural, tall_character, scene
):
    table = scene.thing('box', np.array([1.0, 2.06, 0.375]), np.array([1.2, 0.6, 0.75]))
    out = retarget(procedural, tall_character, scene(scene.floor, table))
    touching = out.rows[:, :2, IMPORTANCE] > 0.9999
    assert touching.sum() > 50
    away = np.linalg.norm(out.puppet.end_effectors - procedural.end_effectors, axis=2)
    assert np.percentile(away[:, :2][touching], 95) < 0.005


@pytest.fixture(params=PUPPETS)
def both(request, retarget, stepping_motion):
    """Return the stepping motion on a puppet by this solver and by the thesis' own."""
    character = request.getfixturevalue(request.param)
    return [
        retarget(stepping_motion, character, solver=name)
        for name in ('elbow_circle', 'importance_based')
    ]


def test_root_and_ends_are_those_of_the_importance_based_solver(both):
    """The same root and body; planted feet at the same goals, legs posed in their own way."""
    circle, side = both
    np.testing.assert_array_equal(circle.puppet.root_positions, side.puppet.root_positions)
    important = circle.rows[:, 2:, IMPORTANCE] == 1.0
    assert important.sum() > 20
    away = circle.puppet.end_effectors[:, 2:4] - side.puppet.end_effectors[:, 2:4]
    np.testing.assert_allclose(away[important], 0.0, atol=EXACT_TOL_M)
    assert largest_turn(circle.puppet.rotations, side.puppet.rotations) > 1e-3


def knee_axes_turn(result: RetargetResult, motion: Motion) -> float:
    """Return the largest angle between the axes of captured and of solved knees [rad]."""
    knees = LIMB_SEGMENTS[2:, 1]
    before, after = (
        qb.log(rotations[:, knees]) for rotations in (motion.rotations, result.puppet.rotations)
    )
    sine = np.linalg.norm(np.cross(before, after), axis=-1)
    return float(np.arctan2(sine, (before * after).sum(axis=-1)).max())


@pytest.mark.parametrize('puppet', PUPPETS)
def test_knees_stay_hinges(retarget, stepping_motion, puppet, request):
    """The performer's knees bend about one axis; so do the puppet's, nearly."""
    result = retarget(stepping_motion, request.getfixturevalue(puppet))
    assert knee_axes_turn(result, stepping_motion) < np.radians(3.0)


def test_joint_angles_copies_the_angles_and_nothing_else(
    retarget, stepping_motion, short_character
):
    out = retarget(stepping_motion, short_character, solver='joint_angles')
    np.testing.assert_array_equal(out.puppet.rotations, stepping_motion.rotations)
    ratio = short_character.skeleton.leg_length / stepping_motion.skeleton.leg_length
    np.testing.assert_allclose(
        out.puppet.root_positions[:, :2], stepping_motion.root_positions[:, :2], atol=1e-12
    )
    assert np.ptp(out.puppet.root_positions[:, 2]) < ratio * 1.1 * np.ptp(
        stepping_motion.root_positions[:, 2]
    )
    assert out.body_iterations.max() == 0


def test_joint_angles_slides_several_times_more(retarget, procedural, short_character):
    """Issue: the joint-angle baseline slides several times more."""
    performer = performer_arrays(procedural)
    planted = quality.planted_feet(performer, procedural.rate_hz)
    slides = [
        quality.slide_mm_s(
            retarget(procedural, short_character, solver=name).puppet, planted, procedural.rate_hz
        )
        for name in ('whole_body', 'joint_angles')
    ]
    assert slides[1] > 4.0 * slides[0]


def test_position_puts_every_end_effector_where_the_performers_is(
    retarget, stepping_motion, tall_character
):
    """Important or not; a puppet with longer limbs reaches all of it."""
    out = retarget(stepping_motion, tall_character, solver='position')
    assert out.rows[:, :2, IMPORTANCE].max() == 0.0
    np.testing.assert_allclose(
        out.puppet.end_effectors[:, :4], stepping_motion.end_effectors[:, :4], atol=1e-6
    )


def test_unknown_solver_is_refused_with_the_known_ones(short_character):
    with pytest.raises(SolverError, match=r"solver: expected one of whole_body, .*'ik'"):
        make_solver('ik', short_character, floor_only(), 0.93, SolverConfig())


def other_side(name: str) -> str:
    """Return the segment on the other side."""
    swap = {'left': 'right', 'right': 'left'}
    side, _, rest = name.partition('_')
    return f'{swap[side]}_{rest}' if side in swap else name


MIRROR_SEGMENTS = [SEGMENT_INDEX[other_side(name)] for name in SEGMENT_INDEX]


def mirrored_rotations(rotations: Quats) -> Quats:
    """Return joint rotations (n, 16, 4) in a mirror through the plane y = 0."""
    return rotations[:, MIRROR_SEGMENTS] * [1.0, -1.0, 1.0, -1.0]


def mirrored(motion: Motion) -> Motion:
    """Return the motion in that mirror."""
    return Motion(
        motion.skeleton,
        motion.rate_hz,
        motion.root_positions * [1.0, -1.0, 1.0],
        mirrored_rotations(motion.rotations),
        motion.end_effectors[:, MIRROR_POINTS] * [1.0, -1.0, 1.0],
    )


def turned(motion: Motion, q: Floats, offset: Vec3) -> Motion:
    """Return the motion turned about the origin, then shifted."""
    rotations = motion.rotations.copy()
    rotations[:, 0] = qb.multiply(q, rotations[:, 0])
    return Motion(
        motion.skeleton,
        motion.rate_hz,
        qb.rotate(q, motion.root_positions) + offset,
        rotations,
        qb.rotate(q, motion.end_effectors) + offset,
    )


def test_puppet_that_is_the_performer_repeats_it(retarget, stepping_motion, adult_character):
    """Knees bent, so that softening has nothing to do."""
    out = retarget(stepping_motion, adult_character)
    assert out.rows[..., IMPORTANCE].max() == 1.0
    np.testing.assert_allclose(
        out.puppet.root_positions, stepping_motion.root_positions, atol=EXACT_TOL_M
    )
    assert largest_turn(out.puppet.rotations, stepping_motion.rotations) < EXACT_TOL_RAD


def test_scaled_world_scales_the_answer_of_any_puppet(
    retarget, scaled, procedural, adult_character, tall_character
):
    """
    A puppet in a world of twice the size: the same motion at twice the size.

    Of the thesis' solver; the weights of `whole_body` are in metres of people.
    """
    walk = Motion(
        procedural.skeleton,
        120.0,
        procedural.root_positions[700:900],
        procedural.rotations[700:900],
        procedural.end_effectors[700:900],
    )
    one = retarget(walk, tall_character, solver='importance_based')
    config = SolverConfig(position_weight=0.25)  # m^2 against rad^2
    large = replace(scaled(tall_character, 2.0), world_scale=2.0)
    two = retarget(walk, large, solver='importance_based', tuning=config)
    np.testing.assert_allclose(
        two.puppet.root_positions, 2.0 * one.puppet.root_positions, atol=1e-6
    )
    assert largest_turn(two.puppet.rotations, one.puppet.rotations) < 1e-5


@pytest.mark.parametrize('puppet', ['tall_character', 'short_character'])
def test_answer_turns_and_shifts_with_the_input(retarget, stepping_motion, puppet, request):
    """About the vertical and on the floor: nothing in the world says where or which way."""
    character = request.getfixturevalue(puppet)
    q, offset = qb.exp(np.array([0.0, 0.0, 2.0])), np.array([3.0, -2.0, 0.0])
    plain = retarget(stepping_motion, character).puppet
    moved = retarget(turned(stepping_motion, q, offset), character).puppet
    np.testing.assert_allclose(
        moved.root_positions, qb.rotate(q, plain.root_positions) + offset, atol=EXACT_TOL_M
    )
    assert largest_turn(moved.rotations[:, 1:], plain.rotations[:, 1:]) < EXACT_TOL_RAD


@pytest.mark.parametrize('puppet', ['tall_character', 'short_character'])
def test_mirrored_input_gives_the_mirrored_answer(retarget, stepping_motion, puppet, request):
    character = request.getfixturevalue(puppet)
    plain = retarget(stepping_motion, character).puppet
    other = retarget(mirrored(stepping_motion), character).puppet
    np.testing.assert_allclose(
        other.root_positions, plain.root_positions * [1.0, -1.0, 1.0], atol=EXACT_TOL_M
    )
    assert largest_turn(other.rotations, mirrored_rotations(plain.rotations)) < EXACT_TOL_RAD


def test_unknown_root_form_is_refused():
    with pytest.raises(ConfigError, match="root_form: expected one of projection, .*'middle'"):
        SolverConfig(root_form='middle')
