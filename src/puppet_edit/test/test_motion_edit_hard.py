# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The motion editor on joints with limits, goals out of reach, and input that makes no sense."""

import math

import numpy as np
from puppet_core.body.joint_limits import JointLimit, segment_axis, swing_axes
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraints import (
    BodyPoint,
    check_frames,
    frame_range,
    LookAt,
    OnSurface,
    OrientationGoal,
    Plant,
    PointGoal,
    Relative,
)
from puppet_edit.editor.motion_edit import edit_motion, EditConfig
import pytest

MIDDLE = 30
LEFT_HAND, LEFT_FOOT = BodyPoint.named('left_hand'), BodyPoint.named('left_foot')
ELBOW, KNEE = SEGMENT_INDEX['left_forearm'], SEGMENT_INDEX['left_shank']


def _shares_of_limit(motion: Motion, limit: JointLimit) -> np.ndarray:
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
def test_joint_limits_are_kept(walk: Motion, solver: str) -> None:
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


def test_wide_joint_limits_change_nothing(walk: Motion) -> None:
    wide = [
        JointLimit(segment, np.radians([150.0, 150.0]), np.radians([-150.0, 150.0]), np.zeros(3))
        for segment in LIMB_SEGMENTS[:, 0]
    ]
    goal = [PointGoal([MIDDLE], LEFT_FOOT, walk.end_effectors[MIDDLE, 2] + [0.0, 0.0, 0.2])]
    free, limited = edit_motion(walk, goal), edit_motion(walk, goal, EditConfig(joint_limits=wide))
    np.testing.assert_allclose(limited.motion.rotations, free.motion.rotations, atol=1e-12)


@pytest.mark.parametrize('solver', ['hybrid', 'full'])
@pytest.mark.parametrize('far', [2.0, 50.0, 9000.0])
def test_goals_out_of_reach_are_approached_and_no_more(
    walk: Motion, solver: str, far: float
) -> None:
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


def test_contradicting_constraints_meet_half_way(walk: Motion) -> None:
    place = walk.end_effectors[MIDDLE, 0]
    goals = [PointGoal([MIDDLE], LEFT_HAND, place + [0.0, y, 0.0]) for y in (-0.2, 0.2)]
    result = edit_motion(walk, goals)
    np.testing.assert_allclose(result.motion.end_effectors[MIDDLE, 0], place, atol=0.02)
    np.testing.assert_allclose(result.constraint_errors_m, [0.2, 0.2], atol=0.01)


def test_goals_of_neighbouring_frames_that_jump_stay_bounded(walk: Motion) -> None:
    frames = frame_range(20, 29)
    jumps = 0.3 * (-1.0) ** frames[:, None] * [0.0, 0.0, 1.0]
    goals = [PointGoal(frames, LEFT_HAND, walk.end_effectors[frames, 0] + jumps)]
    result = edit_motion(walk, goals)
    assert result.exact_max_error_percent is not None
    assert result.exact_max_error_percent < 0.1


@pytest.mark.parametrize('n_frames', [1, 2, 3])
def test_motions_of_hardly_any_frames(walk: Motion, n_frames: int) -> None:
    short = Motion.from_rotations(
        walk.skeleton, 30.0, walk.root_positions[:n_frames], np.array(walk.rotations[:n_frames])
    )
    goal = short.end_effectors[-1, 2] + [0.05, 0.0, 0.1]
    result = edit_motion(short, [PointGoal([n_frames - 1], LEFT_FOOT, goal)])
    np.testing.assert_allclose(result.motion.end_effectors[-1, 2], goal, atol=1e-4)
    assert edit_motion(short, []).motion.n_frames == n_frames


def test_all_levels_may_be_left_out(walk: Motion) -> None:
    goal = walk.end_effectors[MIDDLE, 2] + [0.0, 0.0, 0.1]
    result = edit_motion(walk, [PointGoal([MIDDLE], LEFT_FOOT, goal)], EditConfig(levels=0))
    assert result.levels == ()
    np.testing.assert_allclose(result.motion.end_effectors[MIDDLE, 2], goal, atol=1e-4)


def test_detail_above_the_knots_is_kept(walk: Motion) -> None:
    """Issue 7: the spectrum above the finest knots' frequency within 1 %."""
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


class _Broken:
    def height(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.full(np.shape(x), np.nan)

    def gradient(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros((*np.shape(x), 2))


def test_surfaces_without_a_height_are_refused(walk: Motion) -> None:
    with pytest.raises(ConfigError, match='surface: expected finite'):
        edit_motion(walk, [OnSurface([3], LEFT_FOOT, _Broken())])
    with pytest.raises(ConfigError, match='surface: expected finite'):
        edit_motion(walk, [Plant([3, 4], (LEFT_FOOT,), _Broken())])


def test_frames_outside_the_motion_are_refused(walk: Motion) -> None:
    with pytest.raises(ConfigError, match='constraint 0: expected frames of 0 .. 59, got 60'):
        edit_motion(walk, [PointGoal([60], LEFT_FOOT, [0.0, 0.0, 0.0])])
    with pytest.raises(ConfigError, match='constraints: expected constraints'):
        edit_motion(walk, ['a foot'])  # type: ignore[list-item]


@pytest.mark.parametrize('frames', [[], [2, 1], [1, 1], [-1], [1.5], 'x', 3])
def test_frames_have_to_rise(frames: object) -> None:
    with pytest.raises(ConfigError, match='frames: expected'):
        check_frames(frames)  # type: ignore[arg-type]
    assert frame_range(2, 4).tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ('build', 'text'),
    [
        (lambda: PointGoal([0], LEFT_FOOT, [0.0, math.nan, 0.0]), 'goals: expected finite'),
        (lambda: PointGoal([0], LEFT_FOOT, [0.0, 2e4, 0.0]), 'goals: expected within'),
        (lambda: PointGoal([0, 1], LEFT_FOOT, [[0.0, 0.0, 0.0]]), 'goals: expected shape'),
        (
            lambda: PointGoal([0], LEFT_FOOT, [0, 0, 0], axes=(False, False, False)),
            'axes: expected',
        ),
        (lambda: PointGoal([0], LEFT_FOOT, [0, 0, 0], weight=0.0), 'weight: expected'),
        (lambda: PointGoal([0], LEFT_FOOT, [0, 0, 0], weight=math.nan), 'weight: expected'),
        (lambda: BodyPoint(16), 'segment: expected'),
        (lambda: BodyPoint.named('tail'), "point: expected .*, got 'tail'"),
        (lambda: OrientationGoal([0], 3, [0.0, 0.0, 0.0, 0.0]), 'orientations: expected unit'),
        (lambda: LookAt([0], LEFT_FOOT, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]), 'axis: expected'),
        (lambda: OnSurface([0], LEFT_FOOT, _Broken(), side='in'), 'side: expected one of'),
        (lambda: Relative([0], LEFT_FOOT, LEFT_FOOT, vectors=[0, 0, 0]), 'expected two segments'),
        (lambda: Relative([0], LEFT_FOOT, LEFT_HAND), 'either vectors or distances'),
        (lambda: Relative([0], LEFT_FOOT, LEFT_HAND, distances=0.0), 'distances: expected > 0'),
        (lambda: Plant([0], ()), 'plant: expected at least one'),
        (lambda: EditConfig(levels=99), 'levels: expected'),
        (lambda: EditConfig(frames_per_knot=math.nan), 'frames_per_knot: expected'),
        (lambda: EditConfig(solver='best'), 'solver: expected one of'),
        (lambda: EditConfig(joint_rigidity=np.zeros(16)), 'joint_rigidity: expected'),
    ],
)
def test_what_makes_no_sense_is_refused(build: object, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        build()  # type: ignore[operator]
