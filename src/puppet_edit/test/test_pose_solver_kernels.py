# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The objective of the editor's inverse kinematics, its derivative and its minimum."""

from dataclasses import replace

import numpy as np
from puppet_core.body.joint_limits import JointLimit
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import N_SEGMENTS, SEGMENT_INDEX
from puppet_core.math import quaternions as qb
from puppet_edit.editor.constraint_kernels import N_UNKNOWNS, POSE, PoseTask
from puppet_edit.editor.constraint_table import ConstraintTable
from puppet_edit.editor.constraints import (
    ABOVE,
    Bodies,
    BodyPoint,
    EditConfig,
    FlatSurface,
    LookAt,
    OnSurface,
    OrientationGoal,
    PointGoal,
    Relative,
)
from puppet_edit.editor.limb_kernels import (
    choose_unknowns,
    CLOSED,
    FREE,
    move_pose,
    NUMERIC,
    prepare_limbs,
)
from puppet_edit.editor.motion_edit import placed_poses
from puppet_edit.editor.pose_solver_kernels import deviation, penalties, pose_gradient, workspace
import pytest

STEP = 1e-5  # of the differences [rad] and [m]
HAND, FOOT, CHEST = BodyPoint.named('left_hand'), BodyPoint.named('right_foot'), BodyPoint(2)
HEAD = BodyPoint(3, np.array([0.1, 0.0, 0.1]))


def random_motion(skeleton, rng, n_frames, turn=0.4):
    rotations = qb.exp(rng.normal(0.0, turn, (n_frames, N_SEGMENTS, 3)))
    return Motion.from_rotations(skeleton, 30.0, rng.normal(0.0, 0.3, (n_frames, 3)), rotations)


class PoseProblem:
    """The first frame's inverse kinematics, to be looked at in pieces."""

    def __init__(self, motion, constraints, is_full=False, limits=()):
        bodies = Bodies.constant(motion.skeleton, motion.n_frames)
        poses = placed_poses(motion, bodies)
        config = EditConfig(joint_limits=limits)
        table = ConstraintTable(constraints, poses, bodies, config, motion.skeleton)
        table.update(poses)
        tasks, self.work = table.tasks, workspace()
        self.task = PoseTask(
            tasks.offsets[0],
            poses[0],
            tasks.items[: tasks.starts[1]],
            self.work.limbs,
            tasks.rigidity,
            tasks.limits,
        )
        prepare_limbs(self.task, is_full)
        self.n = choose_unknowns(self.task, self.work.columns, self.work.row_of)
        self.pose = self.moved(poses[0], np.zeros(self.n))

    def moved(self, pose, by):
        """Return the posture a step of the unknowns away."""
        full, out = np.zeros(N_UNKNOWNS), np.zeros(1, POSE)[0]
        full[self.work.columns[: self.n]] = by
        move_pose(self.task, pose, 1.0, full, out)
        return out

    def value(self, pose):
        return float(deviation(self.task, pose, self.work.full) + penalties(self.task, pose))

    def gradient(self, pose):
        pose_gradient(self.task, pose, self.work, self.n)
        return self.work.gradient[: self.n].copy()

    def differences(self, pose, size):
        steps = size * np.eye(self.n)
        apart = [self.value(self.moved(pose, s)) - self.value(self.moved(pose, -s)) for s in steps]
        return np.array(apart) / (2.0 * size)


def _goals(points):
    return [
        PointGoal([0], HAND, points[0] + [0.05, -0.1, 0.05]),
        OrientationGoal([0], HAND.segment, qb.exp(np.array([0.3, 0.2, -0.4]))),
        PointGoal([0], FOOT, points[3] + [0.02, 0.03, 0.1]),
        PointGoal([0], BodyPoint.named('right_knee'), points[7] + 0.05, axes=(True, False, True)),
        PointGoal([0], HEAD, points[0] + [0.0, 0.0, 0.9], weight=0.1),
        LookAt([0], HEAD, [1.0, 0.0, 0.0], [3.0, 2.0, 1.0]),
        OnSurface([0], BodyPoint.named('left_foot'), FlatSurface(-1.0)),
        OnSurface([0], CHEST, FlatSurface(5.0), side=ABOVE, weight=0.01),
        Relative([0], BodyPoint.named('right_hand'), CHEST, distances=0.2),
        Relative([0], BodyPoint.named('right_hand'), HEAD, vectors=[0.1, 0.2, 0.3]),
    ]


def _tight_limits():
    return [
        JointLimit(
            SEGMENT_INDEX[name],
            np.array([0.2, 0.1]),
            np.array([-0.05, 0.1]),
            np.array([0.1, -0.2, 0.1]),
        )
        for name in ('chest', 'left_upper_arm', 'left_forearm', 'right_shank', 'left_hand')
    ]


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('is_full', [False, True], ids=['hybrid', 'full'])
@pytest.mark.parametrize('limits', [(), _tight_limits()], ids=['free', 'limited'])
def test_gradient_is_that_of_finite_differences(skeleton, seed, is_full, limits):
    motion = random_motion(skeleton, np.random.default_rng(seed), 1)
    problem = PoseProblem(motion, _goals(motion.end_effectors[0]), is_full, limits)
    rng = np.random.default_rng(seed + 100)
    pose = problem.moved(problem.pose, 0.05 * rng.normal(size=problem.n))
    gradient = problem.gradient(pose)
    differences = problem.differences(pose, STEP)
    assert np.abs(gradient).max() > 1.0
    np.testing.assert_allclose(gradient, differences, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize('stretch', [0.9, 0.9985, 1.02], ids=['bent', 'slowed', 'out of reach'])
def test_gradient_of_closed_limbs_near_full_stretch(skeleton, stretch):
    motion = random_motion(skeleton, np.random.default_rng(7), 1)
    q_world, p_world = motion.world_segments()
    shoulder, wrist = p_world[0, 4], p_world[0, 6]
    reach = stretch * skeleton.limb_lengths[0].sum()
    goal = shoulder + reach * (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    hand = BodyPoint(HAND.segment, np.zeros(3))
    problem = PoseProblem(
        motion, [PointGoal([0], hand, goal), OrientationGoal([0], 6, q_world[0, 6])]
    )
    gradient = problem.gradient(problem.pose)
    differences = problem.differences(problem.pose, 1e-6)
    np.testing.assert_allclose(gradient, differences, atol=1e-4 * np.abs(gradient).max())


def test_limbs_are_closed_only_where_one_place_says_all(skeleton):
    motion = random_motion(skeleton, np.random.default_rng(1), 1)
    problem = PoseProblem(motion, _goals(motion.end_effectors[0])[:4])
    assert problem.task.limbs['mode'].tolist() == [CLOSED, FREE, FREE, NUMERIC]
    # root 6, spine 3, chest 3, one swivel angle, nine of the leg
    assert problem.n == 22
    feet = [PointGoal([0], BodyPoint.named(n), [0, 0, 0]) for n in ('left_foot', 'right_foot')]
    # LeeShin1999 table 1: 20 parameters become 8
    assert PoseProblem(motion, feet).n == 8
    assert PoseProblem(motion, feet, is_full=True).n == 24


def test_closed_limbs_leave_no_residual_in_reach(skeleton, adult_character):
    motion = random_motion(skeleton, np.random.default_rng(2), 1)
    goal = motion.end_effectors[0, 0] + [0.02, -0.03, 0.05]
    problem = PoseProblem(motion, [PointGoal([0], HAND, goal)])
    assert problem.value(problem.pose) < 1.0
    moved = problem.moved(problem.pose, 0.03 * np.ones(problem.n))
    assert np.linalg.norm(_hand(adult_character, moved) - goal) < 1e-12


def _hand(character, pose):
    point = character.skeleton.interaction_points[0]
    return qb.rotate(pose['q_world'][6], point) + pose['p_world'][6]


def test_weights_are_passed_on(skeleton):
    motion = random_motion(skeleton, np.random.default_rng(3), 1)
    goal = PointGoal([0], CHEST, [0.0, 0.0, 9.0])
    heavy = PoseProblem(motion, [replace(goal, weight=2.0)])
    light = PoseProblem(motion, [goal])
    assert heavy.value(heavy.pose) == pytest.approx(2.0 * light.value(light.pose))
