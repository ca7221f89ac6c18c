# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A humanoid robot follows walks: within its limits, and its planted feet do not slide."""

from dataclasses import replace
from pathlib import Path

from body_fixtures import floor_only
import numpy as np
from puppet_core.body.posture import Posture, world_segments
from puppet_core.body.skeleton import LIMB_SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_retarget.importance import ImportanceConfig, ImportanceModel, SelfInteractionConfig
from puppet_retarget.offline import quality
from puppet_retarget.offline.whole_motion import performer_arrays
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import RetargetModel
from puppet_retarget.solvers import LONGEST_S, SOLVER_NAMES
from puppet_retarget.solvers.whole_body.hinges import RAMP_S
import pytest

HUMANOID = Path(__file__).resolve().parents[2] / 'puppet_core' / 'test' / 'humanoid.urdf'
MOST_SLIDE_MM_S = 3.0  # beyond the performer's
ROOM_TOL_M, SLIDE_TOL_M_S, LIFT_TOL_M, PALM_TOL_M = 0.07, 0.05, 4e-3, 0.06
KNEE_TOL_M, TILT_TOL_DEG = 0.12, 8.0  # a foot may want its knee elsewhere


@pytest.fixture(scope='module')
def tin():
    return character_from_urdf(HUMANOID, RobotMap()).character


@pytest.fixture(scope='module', params=['procedural', 'captured'])
def walk(request):
    """Return the built-in performance, and a captured walk where there are clips."""
    if request.param == 'procedural':
        return request.getfixturevalue('procedural')
    return request.getfixturevalue('captured')('02_01')


@pytest.fixture(scope='module')
def walked(walk, tin, retarget):
    return retarget(walk, tin)


def test_no_limit_is_violated(walked, tin):
    angles, robot = walked.robot_angles, tin.robot
    assert angles.shape[1] == len(robot.names) == 29
    assert np.isfinite(angles).all()
    assert np.count_nonzero((angles < robot.lower) | (angles > robot.upper)) == 0
    # it walks: hips and knees go through a good part of their range
    moved = dict(zip(robot.names, np.ptp(angles, axis=0)))
    assert moved['left_hip_pitch'] > 0.5 and moved['right_knee'] > 0.5


@pytest.mark.parametrize('name', SOLVER_NAMES)
def test_limits_hold_whichever_solver_the_robot_follows(stepping_motion, tin, retarget, name):
    robot, result = tin.robot, retarget(stepping_motion, tin, solver=name)
    angles, rate_hz = result.robot_angles, stepping_motion.rate_hz
    assert np.all(robot.lower <= angles) and np.all(angles <= robot.upper)
    rates = np.diff(angles, axis=0) * rate_hz
    assert np.all(np.abs(rates) <= robot.speeds * (1.0 + 1e-9))
    assert np.ptp(angles, axis=0)[robot.names.index('right_knee')] > 0.2
    if name != 'joint_angles':  # whose feet slide
        performer = performer_arrays(stepping_motion)
        planted = quality.planted_feet(performer, rate_hz)
        robots, performers = (
            quality.slide_mm_s(body, planted, rate_hz) for body in (result.puppet, performer)
        )
        assert robots <= performers + MOST_SLIDE_MM_S
    if name == 'position':
        assert np.median(result.goal_errors[:, :2]) < 5e-3


def test_joints_go_on_where_the_solver_changes_and_after_a_gap(stepping_motion, tin):
    motion, rate_hz = stepping_motion, stepping_motion.rate_hz
    model = RetargetModel(tin, floor_only(), RetargetConfig())
    near = ImportanceModel(floor_only(), ImportanceConfig(), SelfInteractionConfig())
    segments, velocities = motion.world_segments()[1], motion.end_effector_velocities()
    path, now_s = [], 0.0
    for i in range(120):
        if i % 20 == 19:
            model.configure(tin, RetargetConfig(solver=SOLVER_NAMES[i // 20]))
        now_s += 2.0 if i == 70 else 1.0 / rate_hz
        root, rotations = motion.root_positions[i].copy(), motion.rotations[i].copy()
        posture = Posture(root, rotations, motion.end_effectors[i].copy(), velocities[i].copy())
        rows, self_rows, *_ = near.step(round(1e9 * now_s), posture, segments[i])
        body = root, segments[i].copy(), rotations, rows.copy(), self_rows.copy()
        frame = model.step(round(1e9 * now_s), *body, motion.skeleton.leg_length)
        path.append(frame.angles.copy())
    robot, turned = tin.robot, np.abs(np.diff(path, axis=0))
    assert np.all(robot.lower <= path) and np.all(path <= robot.upper)
    assert np.all(np.delete(turned, 69, axis=0) <= robot.speeds / rate_hz * (1.0 + 1e-6))
    assert np.all(turned[69] <= robot.speeds * LONGEST_S)


def test_no_joint_is_faster_than_its_motor(walk, walked, tin):
    rates = np.diff(walked.robot_angles, axis=0) * walk.rate_hz
    assert (np.abs(rates) <= tin.robot.speeds * (1.0 + 1e-9)).all()
    changes = np.diff(rates, axis=0) * walk.rate_hz
    assert (np.abs(changes) <= tin.robot.speeds / RAMP_S * (1.0 + 1e-6)).all()


def test_planted_feet_slide_as_little_as_the_performers(walk, walked):
    performer = performer_arrays(walk)
    planted = quality.planted_feet(performer, walk.rate_hz)
    assert planted.sum() > 100
    robots, performers = (
        quality.slide_mm_s(body, planted, walk.rate_hz) for body in (walked.puppet, performer)
    )
    assert robots <= performers + MOST_SLIDE_MM_S


def test_soles_and_palms_are_where_the_solver_puts_them(walk, walked, tin, retarget):
    asked = retarget(walk, replace(tin, robot=None))
    away = walked.puppet.end_effectors - asked.puppet.end_effectors
    off, planted = np.linalg.norm(away, axis=2), walked.rows[:, 2:4, 0] > 0.99
    # feet that come close to each other are put aside, and stay there
    assert np.linalg.norm(away[:, 2:4, :2], axis=2)[planted].max() < ROOM_TOL_M
    stands = quality.planted_feet(performer_arrays(walk), walk.rate_hz)[1:]
    moved = walk.rate_hz * np.linalg.norm(np.diff(away[:, 2:4, :2], axis=0), axis=2)
    assert np.percentile(moved[stands], 95) < SLIDE_TOL_M_S
    # a sole that is not as level as asked is higher, so that its edge is not in the floor
    assert np.percentile(np.abs(away[:, 2:4, 2][planted]), 99) < LIFT_TOL_M
    # what is free lags where its joints are as fast as they can be
    assert np.percentile(off[:, :2], 95) < PALM_TOL_M
    assert np.percentile(off[:, 6:], 99) < KNEE_TOL_M
    for foot in LIMB_SEGMENTS[2:, 2]:
        up = [
            qb.rotate(q[:, foot], np.array([0.0, 0.0, 1.0]))
            for q in (walked.q_world, asked.q_world)
        ]
        tilt = np.degrees(np.arccos(np.clip(np.sum(up[0] * up[1], axis=1), -1.0, 1.0)))
        assert np.percentile(tilt, 99) < TILT_TOL_DEG


def test_the_posture_is_one_of_the_robots_own(walk, walked, tin):
    """Segments are those of its skeleton, and a knee turns about its hinge alone."""
    puppet = walked.puppet
    _, p = world_segments(tin.skeleton, puppet.root_positions, puppet.rotations)
    # hip and shoulder axes that do not meet in a point leave centimetres to the skeleton
    assert np.abs(p - walked.p_world).max() < 0.04
    knee = qb.log(puppet.rotations[:, LIMB_SEGMENTS[2, 1]])
    knee /= np.maximum(np.linalg.norm(knee, axis=1, keepdims=True), 1e-9)
    bent = np.linalg.norm(qb.log(puppet.rotations[:, LIMB_SEGMENTS[2, 1]]), axis=1) > 0.1
    assert bent.any()
    np.testing.assert_allclose(np.abs(knee[bent][:, 1]), 1.0, atol=1e-6)
