# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Robots in the whole-body solver: kinematics, limits, continuity, mirror images, soles."""

from pathlib import Path

import numpy as np
from puppet_core.body import LIMB_SEGMENTS, Motion, SEGMENTS
from puppet_core.math import pack_arrays, quaternions
from puppet_core.robots import character_from_urdf, RobotMap
from puppet_retarget.importance import GOAL, IMPORTANCE, ROW
from puppet_retarget.solvers import SolverConfig, WholeBodySolver
from puppet_retarget.solvers.whole_body.collisions import depth_between
from puppet_retarget.solvers.whole_body.hinges import RAMP_S
from puppet_retarget.solvers.whole_body.problem import Problem, solve_within
from puppet_retarget.solvers.whole_body.stance import least_stance, ROOM_M
from puppet_retarget.solvers.whole_body.tree import hinge_unknowns, Pose, pose_tree, tree_of
import pytest
from scipy.optimize import lsq_linear
from transforms3d import affines
from urdf_make import rooted_at_the_trunk
from urdf_walk import link_poses

HUMANOID = Path(__file__).resolve().parents[4] / 'puppet_core' / 'test' / 'humanoid.urdf'
DT = 1.0 / 120.0
MOST_SLOPE = 100.0


def other_side(name):
    """Return the segment's name on the other side."""
    for side, other in (('left_', 'right_'), ('right_', 'left_')):
        if name.startswith(side):
            return name.replace(side, other)
    return name


OTHER = np.array([SEGMENTS.index(other_side(name)) for name in SEGMENTS])


@pytest.fixture(scope='module')
def tin():
    return character_from_urdf(HUMANOID, RobotMap()).character


@pytest.fixture
def solver(tin, floor):
    return WholeBodySolver(tin, floor, tin.skeleton.leg_length, SolverConfig())


def rows_of(ends, importances):
    """Return importance rows of palms and soles that should be at `ends`."""
    rows = np.zeros((4, ROW))
    rows[:, GOAL : GOAL + 3], rows[:, IMPORTANCE] = ends[:4], importances
    return rows


def run(solver, motion, importances):
    """Return angles, joints in world and ends of all frames, feet and hands at the performer's."""
    hips = motion.world_segments()[1][:, LIMB_SEGMENTS[2:, 0]].mean(axis=1)
    found = []
    for i in range(motion.n_frames):
        rows = rows_of(motion.end_effectors[i], importances)
        root, rotations = motion.root_positions[i].copy(), motion.rotations[i].copy()
        out = solver.solve(root, hips[i].copy(), rotations, rows, DT if i else np.inf)
        found.append((out.angles.copy(), out.p_world.copy(), out.end_effectors.copy()))
    return [np.array(values) for values in zip(*found)]


def test_palms_and_soles_are_where_yourdfpy_has_them(tin, rng):
    yourdfpy = pytest.importorskip('yourdfpy')
    urdf, robot, skeleton = yourdfpy.URDF.load(str(HUMANOID)), tin.robot, tin.skeleton
    tree, pose = tree_of(tin), pack_arrays(Pose())
    for _ in range(5):
        own, angles = rng.uniform(-1.0, 1.0, len(robot.names)), np.zeros(51)
        angles[hinge_unknowns(robot)] = own
        captured, root = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)), rng.normal(size=3)
        captured[0] = quaternions.exp(rng.normal(size=3))
        pose_tree(tree, captured, angles, tuple(root), np.zeros(54), pose[1])
        for limb, end in enumerate(LIMB_SEGMENTS[:, 2]):
            rest = quaternions.conjugate(robot.rest[end])
            point = robot.centres(skeleton)[end] + quaternions.rotate(
                rest, skeleton.interaction_points[limb]
            )
            # the test robot's hands and feet are called as our segments are
            urdf.update_cfg(np.zeros(len(urdf.actuated_joint_names)))
            still = np.linalg.inv(urdf.get_transform(SEGMENTS[end])) @ [*point, 1.0]
            urdf.update_cfg(dict(zip(robot.names, own)))
            moved = (urdf.get_transform(SEGMENTS[end]) @ still)[:3]
            there = root + quaternions.rotate(captured[0], moved)
            np.testing.assert_allclose(pose[1].ends[limb], there, atol=1e-8)


def test_a_robot_rooted_at_its_trunk_has_its_palms_where_its_urdf_has_them(tmp_path, floor, rng):
    text = rooted_at_the_trunk().text()
    (tmp_path / 'robot.urdf').write_text(text)
    character = character_from_urdf(tmp_path / 'robot.urdf', RobotMap()).character
    robot, skeleton = character.robot, character.skeleton
    solver = WholeBodySolver(character, floor, skeleton.leg_length, SolverConfig())
    zero = link_poses(text, dict.fromkeys(robot.published_names, 0.0))
    for k in range(20):
        rotations, root = quaternions.exp(0.3 * rng.normal(size=(16, 3))), np.array([0, 0, 0.9])
        out = solver.solve(root, root, rotations, np.zeros((4, ROW)), DT if k else np.inf)
        poses = link_poses(text, dict(zip(robot.published_names, out.angles)))
        pelvis = affines.compose(out.root_position, quaternions.to_matrix(out.q_world[0]), [1] * 3)
        for limb, link in enumerate(('la7', 'ra7', 'll6', 'rl6')):
            end = LIMB_SEGMENTS[limb, 2]
            rest = quaternions.conjugate(robot.rest[end])
            back = quaternions.rotate(rest, skeleton.interaction_points[limb])
            point = [*robot.centres(skeleton)[end] + back, 1.0]  # in the pelvis at zero pose
            still = np.linalg.inv(zero[link]) @ zero['base'] @ point
            moved = pelvis @ np.linalg.inv(poses['base']) @ poses[link] @ still
            np.testing.assert_allclose(out.end_effectors[limb], moved[:3], atol=1e-9)


def test_no_limit_is_passed_whatever_is_asked(tin, solver, rng):
    """Postures that have nothing to do with each other, goals anywhere; then one that stays."""
    robot, path = tin.robot, []
    for k in range(160):
        if k % 8 == 0 and k < 120:
            rotations = quaternions.exp(0.7 * rng.normal(size=(16, 3)))
            rows = rows_of(rng.normal(size=(4, 3)), rng.uniform(size=4))
        root = np.array([0.0, 0.0, 0.9])
        out = solver.solve(root, root, rotations, rows, DT if k else np.inf)
        path.append(out.angles[: len(robot.names)].copy())
    assert np.all(robot.lower <= path) and np.all(path <= robot.upper)
    rates = np.diff(path, axis=0) / DT
    assert np.all(np.abs(rates) <= robot.speeds * (1.0 + 1e-9))
    assert np.abs(rates).max() > 0.9 * robot.speeds.min()
    changes = np.diff(np.concatenate((np.zeros_like(rates[:1]), rates)), axis=0) / DT
    assert np.all(np.abs(changes) <= robot.speeds / RAMP_S * (1.0 + 1e-6))


def lean(angle, axis):
    """Return the rotations of who stands in the T-pose and leans."""
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    rotations[0] = quaternions.exp(angle * np.eye(3)[axis])
    return rotations


@pytest.mark.parametrize('angle, axis', [(0.8, 0), (-1.0, 1), (1.2, 2)])
def test_a_robot_stands_still_and_not_in_the_floor(tin, solver, angle, axis):
    """Hips and ankles cannot make up for how far the pelvis is turned."""
    root = np.array([0.0, 0.0, 0.9 * tin.skeleton.rest_root_height])
    places = tin.skeleton.rest_positions()[LIMB_SEGMENTS[:, 2]] + tin.skeleton.interaction_points
    places[:, 2] -= places[2, 2]
    rows, found = rows_of(places, [0.0, 0.0, 1.0, 1.0]), []
    for k in range(240):
        out = solver.solve(root, root, lean(angle, axis), rows, DT if k else np.inf)
        found.append(out.end_effectors.copy())
    assert np.abs(np.array(found[200:]) - found[-1]).max() < 1e-4
    assert np.abs(found[-1][2:4] - places[2:]).max() < 0.03
    for c in tin.capsules:
        ends = out.p_world[c.segment] + quaternions.rotate(
            out.q_world[c.segment], np.array([c.start, c.end])
        )
        assert ends[:, 2].min() - c.radius > -0.004


def test_the_foot_that_swings_gives_way_and_stays_there(tin, solver):
    """Both feet step ahead, one after the other, to 2 cm beside the middle; then legs cross."""
    width = least_stance(tin)
    assert width == pytest.approx(0.10, abs=0.005)  # of its feet; nothing above is wider
    ends = np.zeros((4, 3))
    ends[2:, 1] = 0.2, -0.2  # left and right
    asked, made, landed = [], [], []
    for foot, side in [(2, 0.02), (3, -0.02), (2, 0.02), (3, -0.02), (2, -0.35)]:
        start, goal = ends[foot].copy(), np.array([ends[foot, 0] + 0.4, side, 0.0])
        for share in np.linspace(0.0, 1.0, 60):
            ends[foot] = start + (share**2 * (3.0 - 2.0 * share)) * (goal - start)
            root = np.array([ends[2:, 0].mean(), 0.0, 0.9 * tin.skeleton.rest_root_height])
            rows = rows_of(ends, [0.0, 0.0, 1.0, 1.0])
            dt = DT if asked else np.inf
            out = solver.solve(root, root, lean(0.0, 0), rows, dt)
            asked.append(ends[2:].copy())
            made.append(out.end_effectors[2:4].copy())
        landed.append(made[-1][0, 1] - made[-1][1, 1])
    stands = np.all(np.diff(asked, axis=0) == 0.0, axis=2)
    slides = np.linalg.norm(np.diff(made, axis=0), axis=2)[stands]
    assert stands.sum() > 200 and slides.mean() / DT < 0.005 and slides.max() / DT < 0.1
    assert landed[3] == pytest.approx(width + ROOM_M, abs=0.01) and landed[4] < -0.2


def test_a_robot_goes_on_from_joints_that_it_is_told(tin, floor, solver):
    robot, root = tin.robot, np.array([0.0, 0.0, 0.9])
    known = np.clip(np.full(len(robot.names), -0.3), robot.lower, robot.upper)
    solver.resume(known, np.zeros(len(known)))
    out = solver.solve(root, root, lean(0.0, 0), np.zeros((4, ROW)), DT)
    assert np.all(np.abs(out.angles - known) <= robot.speeds / RAMP_S * DT**2 * (1.0 + 1e-6))


def turned(motion, vectors):
    rotations = quaternions.multiply(motion.rotations, quaternions.exp(vectors))
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, motion.root_positions, rotations)


def test_similar_captures_give_similar_postures(procedural, tin, retarget, rng):
    put_in = 1e-4
    vectors = rng.normal(size=(1, 16, 3))
    vectors *= put_in / np.linalg.norm(vectors, axis=-1, keepdims=True)
    found = [
        retarget(motion, tin, solver='whole_body').robot_angles
        for motion in (procedural, turned(procedural, vectors))
    ]
    assert np.abs(found[1] - found[0]).max() < MOST_SLOPE * put_in


def mirrored(motion):
    """Return a motion as a mirror shows it: left is right."""
    rotations = motion.rotations[:, OTHER] * [1.0, -1.0, 1.0, -1.0]
    roots = motion.root_positions * [1.0, -1.0, 1.0]
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, roots, rotations)


def test_the_mirror_image_of_a_motion_gives_the_mirror_image(procedural, tin, floor):
    frames = slice(300, 420)
    motion = Motion.from_rotations(
        procedural.skeleton,
        procedural.rate_hz,
        procedural.root_positions[frames],
        procedural.rotations[frames],
    )
    found = []
    for clip in (motion, mirrored(motion)):
        leg = motion.skeleton.leg_length
        solver = WholeBodySolver(tin, floor, leg, SolverConfig())
        importances = np.array([0.2, 0.2, 1.0, 1.0])
        found.append(run(solver, clip, importances)[1])
    image = found[1][:, OTHER] * [1.0, -1.0, 1.0]
    # each frame is solved until its last step is a thousandth of a radian
    np.testing.assert_allclose(image, found[0], atol=2e-4)


def test_arms_that_are_asked_into_the_trunk_stay_out(tin, floor):
    """Upper arms hang and forearms point across the belly of a body that is all of it trunk."""
    solver = WholeBodySolver(tin, floor, tin.skeleton.leg_length, SolverConfig())
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    for limb, side in ((0, 1.0), (1, -1.0)):
        upper, lower = LIMB_SEGMENTS[limb, :2]
        rotations[upper] = quaternions.exp(np.array([-1.5 * side, 0.0, 0.0]))
        rotations[lower] = quaternions.exp(np.array([-1.5 * side, 0.0, 0.0]))
    root = np.array([0.0, 0.0, tin.skeleton.rest_root_height])
    for k in range(60):
        solver.solve(root, root, rotations, np.zeros((4, ROW)), DT if k else np.inf)
    frame, deep = solver._packed[0], []
    for s in LIMB_SEGMENTS[:2, 1:].ravel():
        for t in (0, 2):
            deep.append(depth_between(frame, s, t)[0] - frame['overlaps'][s, t])
    assert max(deep) < 0.03


@pytest.mark.parametrize('count', [2, 9, 40])
def test_a_bounded_step_is_the_least_of_all(rng, count):
    """Compare with scipy's bounded least squares; of matrices that are nearly singular too."""
    packed, problem = pack_arrays(Problem(count))
    for _ in range(20):
        rows = rng.normal(size=(count + 2, count)) * 10.0 ** rng.uniform(-2, 0, count)
        rows = np.concatenate((rows, 1e-3 * np.eye(count)))
        target = np.concatenate((rng.normal(size=count + 2), np.zeros(count)))
        low, high = -rng.uniform(0, 1, count), rng.uniform(0, 1, count)
        low[rng.random(count) < 0.3] = 0.0
        problem.matrix[:count, :count] = rows.T @ rows
        problem.right[:count] = rows.T @ target
        problem.begins[:] = 0
        problem.low[:count], problem.high[:count] = low, high
        solve_within(packed[0])
        step = problem.step[:count]
        assert np.all(low <= step) and np.all(step <= high)
        least = lsq_linear(rows, target, (low - 1e-12, high + 1e-12), method='bvls', tol=1e-14)
        assert np.sum((rows @ step - target) ** 2) <= 2.0 * least.cost * (1.0 + 1e-7) + 1e-9
