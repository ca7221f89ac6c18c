# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the motion editor promises: of any motion, at limits, out of reach, of bad input."""

from dataclasses import replace
import math

import numpy as np
from puppet_core.body.joint_limits import JointLimit, segment_axis, swing_axes
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraints import (
    ABOVE,
    BELOW,
    BodyPoint,
    FlatSurface,
    LookAt,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
)
from puppet_edit.editor.motion_edit import Bodies, edit_motion, EditConfig
import pytest

EXACT_PERCENT = 0.1  # of the body's height, after the exact pass
LEVEL_4_PERCENT = 1.1  # LeeShin1999 table 1
ROUNDING = 1e-15  # of making quaternions of unit length again
MIDDLE = 30
LEFT_FOOT, RIGHT_FOOT = BodyPoint.named('left_foot'), BodyPoint.named('right_foot')
LEFT_HAND, RIGHT_HAND = BodyPoint.named('left_hand'), BodyPoint.named('right_hand')
LEG = [10, 11, 12]


def _raised(walk, frame=MIDDLE):
    return PointGoal([frame], LEFT_FOOT, walk.end_effectors[frame, 2] + [0.0, 0.0, 0.2])


def _apart(a, b):
    """Return by how much joints differ, shape (n, 16) [rad]."""
    between = qb.multiply(qb.conjugate(a.rotations), b.rotations)
    return np.linalg.norm(qb.log(between), axis=-1)


def test_without_a_constraint_the_motion_is_the_same(walk):
    result = edit_motion(walk, [])
    np.testing.assert_array_equal(result.motion.rotations, walk.rotations)
    np.testing.assert_array_equal(result.motion.root_positions, walk.root_positions)
    assert result.exact_max_error_percent == 0.0
    assert result.constraint_count == 0


def test_a_constraint_that_is_met_changes_nothing(walk):
    goals = [
        PointGoal(np.arange(10, 41), LEFT_HAND, walk.end_effectors[10:41, 0]),
        PointGoal(
            np.arange(10, 41), LEFT_FOOT, walk.end_effectors[10:41, 2], keep_orientation=True
        ),
    ]
    result = edit_motion(walk, goals)
    assert _apart(walk, result.motion).max() < 1e-6
    np.testing.assert_allclose(result.motion.root_positions, walk.root_positions, atol=1e-7)


@pytest.mark.parametrize('solver', ['hybrid', 'full'])
@pytest.mark.parametrize('frame', [0, 17, MIDDLE, 59])
def test_a_single_constraint_is_interpolated(walk, solver, frame):
    goal = _raised(walk, frame)
    result = edit_motion(walk, [goal], EditConfig(levels=1, exact=False, solver=solver))
    assert np.linalg.norm(result.motion.end_effectors[frame, 2] - goal.goals[0]) < 1e-4
    assert result.initial_max_error_percent > 10.0
    assert result.levels[0].max_error_percent < 0.01


def test_limbs_without_a_constraint_keep_their_joints(walk):
    result = edit_motion(walk, [_raised(walk)])
    others = [i for i in range(1, 16) if i not in LEG]
    assert _apart(walk, result.motion)[:, others].max() < ROUNDING
    assert _apart(walk, result.motion)[MIDDLE, LEG].max() > 0.2


def _planted(walk):
    feet = []
    for row, point in ((2, LEFT_FOOT), (3, RIGHT_FOOT)):
        speed = np.linalg.norm(np.gradient(walk.end_effectors[:, row], axis=0), axis=-1)
        still = speed * walk.rate_hz < 0.05
        edges = np.flatnonzero(np.diff(np.concatenate(([0], still.astype(int), [0]))))
        feet += [
            Plant(np.arange(a, b), (point,), FlatSurface(0.1 * np.sin(a)))
            for a, b in edges.reshape(-1, 2)
            if b - a > 2
        ]
    assert len(feet) >= 3
    return feet


def test_errors_fall_at_every_level_and_end_as_in_table_1(walk):
    result = edit_motion(walk, _planted(walk))
    percents = [level.max_error_percent for level in result.levels]
    assert [level.frames_per_knot for level in result.levels] == [16.0, 8.0, 4.0, 2.0]
    assert np.all(np.diff(percents) < 0.0)
    assert percents[-1] <= LEVEL_4_PERCENT
    assert result.exact_max_error_percent <= EXACT_PERCENT


@pytest.mark.parametrize('moved', ['hand', 'pelvis'])
def test_planted_feet_do_not_hold_the_rest_of_the_body(walk, moved):
    feet = [
        PointGoal(np.arange(0, 60), point, walk.end_effectors[:, row], keep_orientation=True)
        for point, row in ((LEFT_FOOT, 2), (RIGHT_FOOT, 3))
    ]
    goals = {
        'hand': PointGoal([MIDDLE], LEFT_HAND, walk.end_effectors[MIDDLE, 0] + [0.1, 0.0, 0.4]),
        'pelvis': PointGoal([MIDDLE], BodyPoint(0), walk.root_positions[MIDDLE] - [0, 0, 0.15]),
    }
    result = edit_motion(walk, [*feet, goals[moved]])
    assert result.levels[-1].max_error_percent < LEVEL_4_PERCENT


def test_plants_keep_still_and_lie_on_their_surface(walk):
    plants = _planted(walk)
    moved = edit_motion(walk, plants).motion
    for plant in plants:
        row = 2 if plant.points[0] == LEFT_FOOT else 3
        places = moved.end_effectors[plant.frames, row]
        assert np.ptp(places, axis=0).max() < 5e-4
        height = plant.surface.height(places[:, 0], places[:, 1])
        np.testing.assert_allclose(places[:, 2], height, atol=5e-4)


def test_a_plant_without_a_surface_stays_about_where_it_was(walk):
    frames = np.arange(20, 31)
    drift = np.linspace(-0.02, 0.02, 11)[:, None] * [1.0, 0.0, 0.0]
    mean = walk.end_effectors[frames, 0].mean(axis=0)
    roots = np.array(walk.root_positions)
    roots[frames] += mean + drift - walk.end_effectors[frames, 0]
    slipping = Motion.from_rotations(walk.skeleton, 30.0, roots, np.array(walk.rotations))
    moved = edit_motion(slipping, [Plant(frames, (LEFT_HAND,))], EditConfig(root_shift=False))
    places = moved.motion.end_effectors[frames, 0]
    assert np.ptp(places, axis=0).max() < 1e-4
    np.testing.assert_allclose(places.mean(axis=0), mean, atol=2e-3)


def test_a_goal_within_a_plant_settles_its_place(walk):
    goal = walk.end_effectors[25, 2] + [0.05, 0.02, 0.03]
    constraints = [Plant(np.arange(20, 31), (LEFT_FOOT,)), PointGoal([25], LEFT_FOOT, goal)]
    result = edit_motion(walk, constraints)
    places = result.motion.end_effectors[20:31, 2]
    np.testing.assert_allclose(places, np.broadcast_to(goal, (11, 3)), atol=1e-3)


def _kinds(walk):
    points = walk.end_effectors[MIDDLE]
    head = BodyPoint(SEGMENT_INDEX['head'], [0.1, 0.0, 0.1])
    root = walk.root_positions[MIDDLE]
    return {
        'masked': PointGoal([MIDDLE], LEFT_HAND, points[0] + 0.1, axes=(False, False, True)),
        'knee': PointGoal([MIDDLE], BodyPoint.named('left_knee'), points[6] + [0.05, 0.1, 0.05]),
        'pelvis': PointGoal([MIDDLE], BodyPoint(0), root - [0.0, 0.0, 0.2]),
        'turned': OrientationGoal([MIDDLE], 6, qb.exp(np.array([0.5, 0.2, 1.0]))),
        'look': LookAt([MIDDLE], head, [1.0, 0.0, 0.0], root + [1.0, 1.5, 0.2]),
        'on': OnSurface([MIDDLE], LEFT_HAND, FlatSurface(points[0, 2] + 0.2)),
        'below': OnSurface([MIDDLE], head, FlatSurface(root[2] + 0.4), side=BELOW),
        'above': OnSurface([MIDDLE], RIGHT_HAND, FlatSurface(points[1, 2] + 0.2), side=ABOVE),
        'together': Relative([MIDDLE], LEFT_HAND, RIGHT_HAND, vectors=[0.0, 0.0, 0.0]),
        'distance': Relative([MIDDLE], LEFT_HAND, head, distances=0.3),
    }


KINDS = 'masked knee pelvis turned look on below above together distance'.split()


@pytest.mark.parametrize('solver', ['hybrid', 'full'])
@pytest.mark.parametrize('kind', KINDS)
def test_every_kind_of_constraint_is_met(walk, kind, solver):
    result = edit_motion(walk, [_kinds(walk)[kind]], EditConfig(solver=solver))
    assert result.initial_max_error_percent > 1.0
    assert result.exact_max_error_percent <= EXACT_PERCENT
    assert result.constraint_errors_m.shape == (1,)
    assert _apart(walk, result.motion).max() < 2.0


def test_one_sided_surfaces_leave_what_is_on_the_right_side(walk):
    low = OnSurface(np.arange(0, 60), RIGHT_HAND, FlatSurface(-5.0), side=ABOVE)
    result = edit_motion(walk, [low])
    assert _apart(walk, result.motion).max() < ROUNDING
    assert result.initial_max_error_percent == 0.0


def test_hybrid_and_full_solver_agree(walk):
    goals = [
        _raised(walk),
        PointGoal([MIDDLE], LEFT_HAND, walk.end_effectors[MIDDLE, 0] + [0.2, 0.1, 0.3]),
        PointGoal([MIDDLE], RIGHT_FOOT, walk.end_effectors[MIDDLE, 3], keep_orientation=True),
    ]
    hybrid = edit_motion(walk, goals).motion
    full = edit_motion(walk, goals, EditConfig(solver='full')).motion
    rows = [0, 2, 3]
    both = hybrid.end_effectors[MIDDLE, rows], full.end_effectors[MIDDLE, rows]
    np.testing.assert_allclose(*both, atol=1e-4)
    # the full solver may turn an elbow about any axis: postures are near, not the same
    assert _apart(hybrid, full)[MIDDLE].max() < 0.35
    np.testing.assert_allclose(
        hybrid.root_positions[MIDDLE], full.root_positions[MIDDLE], atol=0.01
    )


def test_bodies_that_change_over_time(walk):
    """LeeShin1999 section 6: morphing."""
    n = walk.n_frames
    scale = np.linspace(1.0, 1.3, n)[:, None, None]
    bodies = Bodies(scale * walk.skeleton.offsets, scale * walk.skeleton.interaction_points)
    feet = [
        PointGoal(
            np.arange(n), point, walk.end_effectors[:, row], contact=True, keep_orientation=True
        )
        for point, row in ((LEFT_FOOT, 2), (RIGHT_FOOT, 3))
    ]
    result = edit_motion(walk, feet, bodies=bodies)
    np.testing.assert_allclose(
        result.motion.end_effectors[:, 2:4], walk.end_effectors[:, 2:4], atol=1e-3
    )
    assert result.motion.root_positions[-1, 2] > walk.root_positions[-1, 2] + 0.1


def test_the_root_goes_along_with_contacts(walk):
    lifted = PointGoal(
        np.arange(0, 60), LEFT_FOOT, walk.end_effectors[:, 2] + [0, 0, 0.3], contact=True
    )
    moved = edit_motion(walk, [lifted]).motion
    np.testing.assert_allclose(moved.root_positions, walk.root_positions + [0, 0, 0.3], atol=0.03)
    left_behind = edit_motion(walk, [lifted], EditConfig(root_shift=False)).motion
    assert _apart(walk, moved).max() < 0.2 * _apart(walk, left_behind).max()


def test_tolerance_ends_the_hierarchy(walk):
    result = edit_motion(walk, [_raised(walk)], EditConfig(tolerance_percent=1.0))
    assert len(result.levels) == 1
    said = []
    config = replace(EditConfig(), levels=2)
    edit_motion(walk, [_raised(walk)], config, lambda text, _: said.append(text))
    assert said == ['level 1', 'level 2', 'exact']
    exact = edit_motion(walk, [_raised(walk)], EditConfig(levels=0))
    assert exact.levels == () and exact.exact_max_error_percent < EXACT_PERCENT


ELBOW, KNEE = SEGMENT_INDEX['left_forearm'], SEGMENT_INDEX['left_shank']


def _shares_of_limit(motion, limit):
    """Return how far a joint is in its limits, 1 where it is at one, shape (n,)."""
    axis = segment_axis(motion.skeleton, limit.segment)
    q = qb.multiply(qb.conjugate(limit.centre), motion.rotations[:, limit.segment])
    twist = 2.0 * np.arctan2(q[:, 1:] @ axis, q[:, 0])
    about = qb.exp(-twist[:, None] * axis)
    swing = qb.log(qb.multiply(q, about))
    parts = np.stack([swing @ way for way in swing_axes(axis)], axis=1) / limit.swing
    low, high = limit.twist
    offset = (twist - 0.5 * (low + high) + math.pi) % (2.0 * math.pi) - math.pi
    return np.maximum(np.linalg.norm(parts, axis=1), np.abs(offset) / (0.5 * (high - low)))


@pytest.mark.parametrize('solver', ['hybrid', 'full'])
def test_joint_limits_are_kept(walk, solver):
    limits = [
        JointLimit(ELBOW, np.radians([50.0, 50.0]), np.radians([-40.0, 40.0]), np.zeros(3)),
        JointLimit(KNEE, np.radians([70.0, 70.0]), np.radians([-20.0, 20.0]), np.zeros(3)),
    ]
    goals = [
        PointGoal([MIDDLE], LEFT_HAND, walk.end_effectors[MIDDLE, 0] + [0.1, 0.0, 0.45]),
        PointGoal([MIDDLE], LEFT_FOOT, walk.end_effectors[MIDDLE, 2] + [0.0, 0.0, 0.4]),
    ]
    free = edit_motion(walk, goals, EditConfig(solver=solver)).motion
    kept = edit_motion(walk, goals, EditConfig(solver=solver, joint_limits=limits)).motion
    for limit in limits:
        before = np.maximum(_shares_of_limit(walk, limit), 1.0)
        assert np.all(_shares_of_limit(kept, limit) <= before + 1e-6)
    assert max(_shares_of_limit(free, limit).max() for limit in limits) > 1.2


@pytest.mark.parametrize('solver', ['hybrid', 'full'])
@pytest.mark.parametrize('far', [2.0, 50.0, 9000.0])
def test_goals_out_of_reach_are_approached_and_no_more(walk, solver, far):
    goal = PointGoal([MIDDLE], LEFT_HAND, walk.end_effectors[MIDDLE, 0] + [far, 0.0, 0.0])
    result = edit_motion(walk, [goal], EditConfig(solver=solver))
    moved = result.motion
    assert np.all(np.isfinite(moved.rotations))
    gap = float(np.linalg.norm(moved.end_effectors[MIDDLE, 0] - goal.goals[0]))
    assert gap < far
    assert result.constraint_errors_m[0] == pytest.approx(gap, abs=1e-6)
    # the body stays in one piece: segments keep their lengths
    _, p_world = moved.world_segments()
    arm = np.linalg.norm(np.diff(p_world[:, LIMB_SEGMENTS[0]], axis=1), axis=-1)
    np.testing.assert_allclose(arm, np.broadcast_to(walk.skeleton.limb_lengths[0], arm.shape))


def test_contradicting_constraints_meet_half_way(walk):
    place = walk.end_effectors[MIDDLE, 0]
    goals = [PointGoal([MIDDLE], LEFT_HAND, place + [0.0, y, 0.0]) for y in (-0.2, 0.2)]
    result = edit_motion(walk, goals)
    np.testing.assert_allclose(result.motion.end_effectors[MIDDLE, 0], place, atol=0.02)
    np.testing.assert_allclose(result.constraint_errors_m, [0.2, 0.2], atol=0.01)


def test_detail_above_the_knots_is_kept(walk):
    """The spectrum above the finest knots' frequency within 1 %."""
    rng = np.random.default_rng(5)
    n = walk.n_frames
    shaking = qb.exp(0.02 * rng.normal(size=(n, 16, 3)))
    shaken = Motion.from_rotations(
        walk.skeleton, 30.0, walk.root_positions, qb.multiply(walk.rotations, shaking)
    )
    goals = [PointGoal([MIDDLE], LEFT_HAND, shaken.end_effectors[MIDDLE, 0] + [0.1, 0.1, 0.2])]
    config = EditConfig(levels=2, frames_per_knot=16.0, exact=False)
    edited = edit_motion(shaken, goals, config).motion
    window = np.hanning(n)[:, None, None]
    frequencies = np.fft.rfftfreq(n)
    high = frequencies > 1.0 / 8.0  # cycles a frame: one from knot to knot of the last level
    before, after = (
        np.sum(np.abs(np.fft.rfft(window * motion.rotations, axis=0)[high]) ** 2, axis=(0, 2))
        for motion in (shaken, edited)
    )
    free = [i for i in range(1, 16) if i not in (1, 2, 4, 5, 6)]
    np.testing.assert_allclose(after[free], before[free], rtol=1e-9)
    np.testing.assert_allclose(after[[1, 2, 4, 5]], before[[1, 2, 4, 5]], rtol=0.01)


@pytest.mark.parametrize(
    ('build', 'text'),
    [
        (lambda: PointGoal([0], LEFT_FOOT, [0.0, math.nan, 0.0]), 'goals: expected finite'),
        (lambda: PointGoal([0], LEFT_FOOT, [0.0, 2e4, 0.0]), 'goals: expected within'),
        (lambda: PointGoal([0, 1], LEFT_FOOT, [[0.0, 0.0, 0.0]]), 'goals: expected shape'),
        (lambda: Relative([0], LEFT_FOOT, LEFT_FOOT, vectors=[0, 0, 0]), 'expected two segments'),
        (lambda: Relative([0], LEFT_FOOT, LEFT_HAND, distances=0.0), 'distances: expected > 0'),
        (lambda: Plant([0], ()), 'plant: expected at least one'),
        (lambda: EditConfig(levels=99), 'levels: expected'),
        (lambda: EditConfig(frames_per_knot=math.nan), 'frames_per_knot: expected'),
    ],
)
def test_senseless_edits_are_refused(build, text):
    with pytest.raises(ConfigError, match=text):
        build()
