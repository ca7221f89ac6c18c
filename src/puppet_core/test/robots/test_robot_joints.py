# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that follows postures: limits, continuity, rest, and its URDF in scipy."""

import re

import numpy as np
from puppet_core.body.kinematics import end_effector_positions, forward_kinematics
from puppet_core.body.posture import general_end_effectors, world_segments
from puppet_core.body.robot import parse_urdf
from puppet_core.body.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.math import bounded_step
from puppet_core.math import quaternions as qb
from puppet_core.robots.drawn import drawn_robot
from puppet_core.robots.joints import (
    _error,
    DIP_M,
    HOLD_M,
    LONGEST_S,
    move_bodies,
    RAMP_S,
    REST_STEP_RAD,
    RobotJoints,
    SPEED_RATIO,
)
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_core.robots.turns import refine_angles, turn_angles
import pytest
from scipy.optimize import lsq_linear, minimize
from scipy.spatial.transform import Rotation
from transforms3d import affines
import trimesh
from urdf_make import five_axis_arms, rooted_at_the_trunk, seven_axis_arms
from urdf_walk import HUMANOID, limits, link_poses

TEXT = HUMANOID.read_text()


@pytest.fixture(scope='module')
def character():
    return character_from_urdf(HUMANOID, RobotMap()).character


@pytest.fixture
def joints(character):
    return RobotJoints(character)


class Posture:
    """One posture of our skeleton, as a solver leaves it."""

    def __init__(self, character, root, rotations):
        self.root, self.rotations = np.array(root), np.array(rotations)
        self.q_world, self.p_world = np.empty((16, 4)), np.empty((16, 3))
        self.ends = np.empty((8, 3))
        skeleton = character.skeleton
        forward_kinematics(
            skeleton.offsets.copy(), self.root, self.rotations, self.q_world, self.p_world
        )
        points = skeleton.interaction_points.copy()
        end_effector_positions(points, self.q_world, self.p_world, self.ends)

    def asked_of(self, joints):
        """Let a robot follow; return a copy of its angles."""
        return joints.step(self.root, self.rotations, self.q_world, self.p_world, self.ends).copy()


def moving(character, rng, frames, size):
    t = np.linspace(0.0, 2.0 * np.pi, frames)[:, None, None]
    waves = [np.sin((k + 1) * t + rng.uniform(0, 6, (1, 16, 3))) for k in range(3)]
    vectors = sum(size * rng.normal(size=(1, 16, 3)) * wave for wave in waves)
    for rotations in qb.exp(vectors):
        yield Posture(character, [0.1, 0.2, 0.9], rotations)


def robot_points(character, posture, angles, names):
    """Return palms and soles through the URDF alone: points fixed in links, from the T-pose."""
    root = affines.compose(posture.root, qb.to_matrix(posture.q_world[0]), np.ones(3))
    named = dict(zip(names, angles))
    poses = link_poses(TEXT, named, root)
    zero = link_poses(TEXT, dict.fromkeys(named, 0.0))
    robot, skeleton = character.robot, character.skeleton
    centres = robot.centres(skeleton)
    points = []
    for end, point in zip(LIMB_SEGMENTS[:, 2], skeleton.interaction_points):
        link = SEGMENTS[end]  # the test robot's hands and feet are called so too
        at_zero = centres[end] + qb.rotate(qb.conjugate(robot.rest[end]), point)
        points.append(poses[link] @ np.linalg.inv(zero[link]) @ [*at_zero, 1.0])
    return np.array(points)[:, :3]


def allowed(robot, before, after):
    """Return how far each joint may move: what is asked of its chain, and of palm or sole."""
    turned = np.linalg.norm(qb.log(qb.multiply(qb.conjugate(before[0]), after[0])), axis=1)
    turned[0] = 0.0
    moved = np.linalg.norm(after[1] - before[1], axis=1) / [0.5, 0.5, 0.8, 0.8]
    bounds = []
    for segment in robot.segments:
        chain, above = 0.0, segment
        while above > 0:
            chain, above = chain + turned[above], PARENTS[above]
        if segment >= 4:
            # all of the limb moves when its end does
            limb, first = (segment - 4) // 3, 4 + 3 * ((segment - 4) // 3)
            chain += turned[first : first + 3].sum() + moved[limb]
        bounds.append(SPEED_RATIO * 1.1 * chain + 2.0 * REST_STEP_RAD)
    return np.array(bounds)


@pytest.mark.parametrize('size', [0.15, 0.7], ids=['gentle', 'wild'])
def test_limits_hold_and_angles_are_continuous_whatever_is_asked(character, joints, rng, size):
    bounds = np.array([limits(TEXT)[name] for name in joints.names])
    last = None
    for posture in moving(character, rng, 200, size):
        asked = (posture.rotations.copy(), posture.ends[:4].copy())
        angles = posture.asked_of(joints)
        assert np.all(bounds[:, 0] <= angles) and np.all(angles <= bounds[:, 1])
        if last is not None:
            assert np.all(np.abs(angles - last[1]) <= allowed(character.robot, last[0], asked))
        last = (asked, angles)


def test_a_jump_of_what_is_asked_moves_no_angle_farther_than_promised(character, joints, rng):
    rest = Posture(character, np.zeros(3), qb.exp(np.zeros((16, 3))))
    before = rest.asked_of(joints)
    again = Posture(character, np.zeros(3), qb.exp(np.zeros((16, 3)))).asked_of(joints)
    assert np.abs(again - before).max() <= REST_STEP_RAD
    turn = 0.001
    small = Posture(character, np.zeros(3), qb.exp(np.full((16, 3), turn / np.sqrt(3.0))))
    way = np.abs(small.asked_of(joints) - again).max()
    # five joints from the pelvis to a hand; a sole moves less than all of them turn
    assert 0.0 < way <= SPEED_RATIO * 8.0 * turn + 2.0 * REST_STEP_RAD


def test_speed_and_acceleration_hold_whatever_is_asked(character, joints, rng):
    """Postures that have nothing to do with each other, then one that stays."""
    speeds, dt = character.robot.speeds, 1.0 / 120.0
    postures = [qb.exp(0.7 * rng.normal(size=(16, 3))) for _ in range(12)]
    asked = [postures[k // 10] for k in range(120)] + [postures[-1]] * 240
    path = []
    for rotations in asked:
        p = Posture(character, [0.1, 0.2, 0.9], rotations)
        path.append(joints.step(p.root, p.rotations, p.q_world, p.p_world, p.ends, dt=dt).copy())
    rates = np.diff(path, axis=0) / dt
    assert (np.abs(rates) <= speeds * (1.0 + 1e-9)).all()
    assert np.abs(rates).max() > 0.9 * speeds.min()
    changes = np.diff(np.concatenate((np.zeros((1, len(speeds))), rates)), axis=0) / dt
    assert (np.abs(changes) <= speeds / RAMP_S * (1.0 + 1e-6)).all()
    assert np.abs(rates[-1]).max() <= REST_STEP_RAD / dt + 1e-6
    # a gap is no reason to be faster
    p = Posture(character, [0.1, 0.2, 0.9], postures[0])
    after = joints.step(p.root, p.rotations, p.q_world, p.p_world, p.ends)
    assert (np.abs(after - path[-1]) <= speeds * LONGEST_S * (1.0 + 1e-9)).all()


def test_the_base_gives_way_to_a_foot_that_matters(character, joints):
    """A sole far to the side is reached by the base, all of it if the foot matters wholly."""
    for importance in (0.0, 1.0):
        joints.reset()
        p = Posture(character, [0.0, 0.0, 0.9], np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)))
        p.ends[2] += [0.0, 1.2, 0.0]
        wanted = p.ends[2].copy()
        weights = np.array([0.0, 0.0, importance, 0.0])
        joints.step(p.root, p.rotations, p.q_world, p.p_world, p.ends, weights)
        missing = np.linalg.norm((p.ends[2] - wanted)[:2])
        assert missing < 1e-3 if importance == 1.0 else missing > 0.2


@pytest.mark.parametrize('tilt', [(1.2, 0.0, 0.0), (0.0, -1.6, 0.0), (-0.8, 1.0, 0.3)])
def test_a_foot_that_cannot_be_level_gets_no_lower_than_asked(character, joints, tilt):
    """The pelvis leans farther than hips and ankles make up for; corners are the URDF's box."""
    p = Posture(character, [0.0, 0.0, 0.75], np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)))
    p.q_world[0] = qb.exp(np.array(tilt))
    asked = p.ends[2, 2]
    joints.step(p.root, p.rotations, p.q_world, p.p_world, p.ends, np.array([0, 0, 1.0, 0]))
    size = re.search(r'<link name="left_foot">.*?<box size="([^"]*)"', TEXT, re.S).group(1)
    length, width, _ = map(float, size.split())
    corners = [[0.5 * x * length, 0.5 * y * width, 0.0] for x in (-1, 1) for y in (-1, 1)]
    turned = Rotation.from_quat(np.roll(p.q_world[SEGMENT_INDEX['left_foot']], -1))
    assert turned.magnitude() > 0.03
    low = (turned.apply(corners) + p.ends[2])[:, 2].min()
    assert low > asked - 0.5 * DIP_M - 0.003


def test_the_posture_given_back_is_that_of_the_urdf(character, joints, rng):
    for k, posture in enumerate(moving(character, rng, 120, 0.5)):
        angles = posture.asked_of(joints)
        if k % 10 == 0:
            points = robot_points(character, posture, angles, joints.names)
            np.testing.assert_allclose(posture.ends[:4], points, atol=1e-9)


def test_links_are_drawn_where_the_urdf_has_them(tmp_path, rng, capsys, caplog):
    caplog.set_level('INFO', 'puppet')
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / 'box.stl')
    drawn = (
        '<visual><origin xyz="0 0 1"/><geometry><mesh filename="box.stl" scale="0.1 0.1 0.1"/>'
        '</geometry><material name="red"><color rgba="1 0 0 1"/></material></visual></link>'
    )
    text = re.sub('</link>', drawn, TEXT)
    (tmp_path / 'robot.urdf').write_text(text)
    character = character_from_urdf(tmp_path / 'robot.urdf', RobotMap()).character
    joints, robot = RobotJoints(character), drawn_robot(character)
    urdf = parse_urdf(HUMANOID, TEXT)
    links = [urdf.root, *(joint.child for joint in urdf.joints)]
    for posture in moving(character, rng, 20, 0.3):
        angles = dict(zip(joints.names, posture.asked_of(joints)))
        root = affines.compose(posture.root, qb.to_matrix(posture.q_world[0]), np.ones(3))
        expected = link_poses(text, angles, root)
        q, p = robot.poses(posture.q_world, posture.p_world)
        for part in robot.parts:
            pose = expected[links[part.link]]
            corners = p[part.link] + qb.rotate(q[part.link], part.vertices)
            assert part.colour == (1.0, 0.0, 0.0)
            np.testing.assert_allclose(np.ptp(part.vertices, axis=0), [0.1, 0.2, 0.3])
            np.testing.assert_allclose(part.vertices.mean(axis=0), [0.0, 0.0, 1.0], atol=1e-9)
            np.testing.assert_allclose(
                corners, part.vertices @ pose[:3, :3].T + pose[:3, 3], atol=1e-6
            )
    assert len({part.link for part in robot.parts}) == TEXT.count('</link>')
    (tmp_path / 'box.stl').unlink()
    assert drawn_robot(character) is None
    assert 'box.stl' in capsys.readouterr().err


def test_a_robot_rooted_at_its_trunk_has_its_palms_where_its_urdf_has_them(made, rng):
    text = rooted_at_the_trunk().text()
    character = made(text).character
    robot, skeleton = character.robot, character.skeleton
    joints = RobotJoints(character)
    zero = link_poses(text, dict.fromkeys(joints.names, 0.0))
    for posture in moving(character, rng, 20, 0.3):
        angles = dict(zip(joints.names, posture.asked_of(joints)))
        poses = link_poses(text, angles)
        pelvis = affines.compose(posture.root, qb.to_matrix(posture.q_world[0]), np.ones(3))
        for limb, link in enumerate(('la7', 'ra7', 'll6', 'rl6')):
            end = LIMB_SEGMENTS[limb, 2]
            back = qb.rotate(qb.conjugate(robot.rest[end]), skeleton.interaction_points[limb])
            point = [*robot.centres(skeleton)[end] + back, 1.0]  # in the pelvis at zero pose
            still = np.linalg.inv(zero[link]) @ zero['base'] @ point
            moved = pelvis @ np.linalg.inv(poses['base']) @ poses[link] @ still
            np.testing.assert_allclose(posture.ends[limb], moved[:3], atol=1e-9)


def legs_posture(character, rng, share):
    """Return a pose of the legs within a share of their limits: posture and angles by name."""
    robot, bounds = character.robot, limits(TEXT)
    angles = dict.fromkeys(robot.names, 0.0)
    for name, segment in zip(robot.names, robot.segments):
        if segment >= 10:
            low, high = bounds[name]
            angles[name] = rng.uniform(share * low + 0.05, share * high)
    poses, zero = link_poses(TEXT, angles), link_poses(TEXT, dict.fromkeys(angles, 0.0))
    posture = Posture(character, np.zeros(3), qb.exp(np.zeros((16, 3))))
    for segment in range(10, 16):
        name = SEGMENTS[segment]
        turned = qb.from_matrix(poses[name][:3, :3] @ zero[name][:3, :3].T)
        posture.q_world[segment] = qb.multiply(turned, qb.conjugate(robot.rest[segment]))
    points = robot_points(character, posture, list(angles.values()), robot.names)
    posture.ends[2:4] = points[2:]
    for k, side in enumerate(('left', 'right')):
        knee = robot.centres(character.skeleton)[11 + 3 * k]
        still = np.linalg.inv(zero[f'{side}_thigh']) @ [*knee, 1.0]
        posture.ends[6 + k] = (poses[f'{side}_thigh'] @ still)[:3]
    return posture, np.array(list(angles.values()))


def test_angles_of_the_robot_come_back_from_its_posture(character, rng):
    """Any pose of legs that are apart, asked for as soles and segments, is found again."""
    legs = np.flatnonzero(character.robot.segments >= 10)
    for posture, angles in (legs_posture(character, rng, 0.6) for _ in range(60)):
        if posture.ends[2, 1] - posture.ends[3, 1] < 0.4:
            continue
        found = posture.asked_of(RobotJoints(character))
        np.testing.assert_allclose(found[legs], angles[legs], atol=1e-5)


def test_the_t_pose_is_reached_and_is_ours(character, joints):
    posture = Posture(character, np.array([0.0, 0.0, 1.0]), qb.exp(np.zeros((16, 3))))
    asked = posture.ends.copy()
    angles = posture.asked_of(joints)
    np.testing.assert_allclose(posture.ends[:4], asked[:4], atol=0.02)
    np.testing.assert_allclose(posture.ends[2:4], asked[2:4], atol=1e-6)
    assert np.abs(qb.log(posture.q_world)).max() < 0.02
    assert angles[joints.names.index('left_shoulder_roll')] == pytest.approx(np.pi / 2, abs=0.05)


def excess_error(joints, q_world):
    """Return what a left arm's error is more than scipy's, from there and the last frame [m]."""
    robot, state = joints._robot, joints._state
    state = state._replace(angles=state.angles.copy(), q_body=state.q_body.copy())
    end, error = LIMB_SEGMENTS[0, 2], np.empty(15)
    first, last = robot.first[end - 2], robot.first[end] + robot.n_joints[end]
    starts = [state.angles[first:last].copy(), state.before[first:last].copy()]

    def square(angles):
        state.angles[first:last] = angles
        move_bodies(robot, state, end - 2, end)
        way = HOLD_M[0] ** 2 * np.sum((angles - starts[1]) ** 2)
        return 1e4 * (_error(robot, state, 0, state.goals, q_world, error) + way)

    bounds = np.transpose((robot.lower, robot.upper))[first:last]
    best = [minimize(square, start, bounds=bounds).fun for start in starts]
    return 0.01 * (np.sqrt(square(starts[0])) - np.sqrt(best))


def test_an_arm_out_of_reach_is_as_near_as_joints_allow(character, joints, rng):
    """Place, elbow and turns together, which cannot all be had."""
    excess = []
    for k, posture in enumerate(moving(character, rng, 120, 0.5)):
        shoulder, palm = posture.p_world[LIMB_SEGMENTS[0, 0]], posture.ends[0]
        palm += (0.3 + 0.3 * np.sin(0.1 * k)) * (palm - shoulder)
        q_world = posture.q_world.copy()
        posture.asked_of(joints)
        excess.append(excess_error(joints, q_world))
    from_found, from_before = np.transpose(excess[1:])
    assert from_found.max() < 1e-6
    assert np.mean(from_before < 1e-6) > 0.95  # now and then scipy leaps to another solution


def test_posture_that_is_not_finite_moves_no_joint(character, joints):
    posture = Posture(character, np.zeros(3), qb.exp(np.full((16, 3), 0.1)))
    before = posture.asked_of(joints)
    broken = Posture(character, np.zeros(3), qb.exp(np.full((16, 3), 0.3)))
    broken.q_world[4] = np.nan
    np.testing.assert_array_equal(broken.asked_of(joints), before)


STILL_M, STILL_RAD = 1e-4, 2e-3
FRAMES = 300


def bent_knees():
    text = HUMANOID.read_text()
    for side in ('left', 'right'):
        old = re.search(rf'<joint name="{side}_knee".*?</joint>', text, re.S).group()
        text = text.replace(old, old.replace('lower="0.0"', 'lower="0.12"'))
    return text


def stand(character, frames, arms=0.0, importances=np.zeros(4), rise=0.0):
    """
    Return what comes of standing upright, arms lowered: angles, ends, orientations, ask.

    The pelvis is asked for higher by the rise [m] than legs are long.
    """
    joints = RobotJoints(character)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1))
    for name, sign in (('left_upper_arm', -1.0), ('right_upper_arm', 1.0)):
        rotations[SEGMENT_INDEX[name]] = qb.exp(np.array([sign * arms, 0.0, 0.0]))
    root = np.array([0.0, 0.0, character.skeleton.rest_root_height])
    q, p = world_segments(character.skeleton, root[None], rotations[None])
    asked = general_end_effectors(character.skeleton, q, p)[0]
    rows = []
    for _ in range(frames):
        q_world, ends = q[0].copy(), asked.copy()
        above = root + [0.0, 0.0, rise]
        angles = joints.step(above, rotations.copy(), q_world, p[0].copy(), ends, importances)
        rows.append((angles.copy(), ends, q_world))
    return *(np.array(values) for values in zip(*rows)), asked


@pytest.mark.parametrize(
    'text, limbs',
    [
        (bent_knees(), [2, 3]),
        (seven_axis_arms().text(), [0, 1, 2, 3]),
        (seven_axis_arms(-0.18).text(), [2, 3]),
        (five_axis_arms().text(), [2, 3]),
    ],
    ids=['knees', 'elbows', 'elbows bent far', 'five axes'],
)
@pytest.mark.parametrize('arms', [0.0, 1.3])
def test_robot_stands_still_in_a_posture_that_stands_still(made, text, limbs, arms):
    """Of joints that do not get straight too: a limit that is in the way is no reason to drift."""
    angles, ends, _, asked = stand(made(text).character, FRAMES, arms)
    assert np.abs(ends - ends[0]).max() < STILL_M
    assert np.abs(angles - angles[0]).max() < STILL_RAD
    off = np.linalg.norm(ends[-1] - asked, axis=1)
    assert off[limbs].max() < 0.005


def test_feet_out_of_reach_stay_level_and_the_base_comes_down(made):
    """They would otherwise get there on the tips of their toes, frame by frame."""
    character = made(bent_knees()).character
    importances = np.array([0.0, 0.0, 1.0, 1.0])
    _, ends, q_world, asked = stand(character, FRAMES, 0.0, importances, rise=0.02)
    up = qb.rotate(q_world[:, LIMB_SEGMENTS[2:, 2]], np.array([0.0, 0.0, 1.0]))
    assert np.degrees(np.arccos(up[..., 2].min())) < 3.0
    assert np.abs(ends - asked)[:, 2:4].max() < 5e-3
    assert np.abs(ends[-1] - asked)[2:4].max() < 3e-4


def test_no_arm_is_rolled_over_for_millimetres(made):
    """A shoulder that stops 14 degrees before the T-pose costs the arm little more than those."""
    character = made(five_axis_arms().text()).character
    _, ends, q_world, asked = stand(character, 2)
    off = np.degrees(np.linalg.norm(qb.log(q_world[-1]), axis=1))
    assert off[LIMB_SEGMENTS[:2, :2]].max() < 30.0
    assert np.linalg.norm(ends[-1] - asked, axis=1)[:2].max() < 0.08


@pytest.mark.parametrize('count', [1, 3, 6, 9])
def test_a_step_in_a_box_is_the_least_of_all(rng, count):
    """Compare with scipy's bounded least squares; of matrices that are nearly singular too."""
    for k in range(40):
        rows = rng.normal(size=(count + 2, count)) * 10.0 ** rng.uniform(-2, 0, count)
        target = rng.normal(size=count + 2)
        low, high = -rng.uniform(0, 1, count), rng.uniform(0, 1, count)
        low[rng.random(count) < 0.3] = 0.0
        high[rng.random(count) < 0.1 * (k % 3)] = 0.0
        x = np.empty(count)
        bounded_step(rows.T @ rows, rows.T @ target, low, high, x)
        assert np.all(low <= x) and np.all(x <= high)
        room = (low - 1e-12, high + 1e-12)
        least = lsq_linear(rows, target, room, method='bvls', tol=1e-12)
        assert np.sum((rows @ x - target) ** 2) <= 2.0 * least.cost + 1e-9


# A rotation as turns about any one to three axes: exact where it can be, else the nearest.

COUNTS = pytest.mark.parametrize('count', [1, 2, 3])


def unit(rng, shape):
    values = rng.normal(size=shape)
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def product(axes, angles):
    turned = Rotation.identity()
    for axis, angle in zip(axes, angles):
        turned = turned * Rotation.from_rotvec(angle * axis)
    return turned


def quat(rotation):
    return rotation.as_quat(scalar_first=True)


def left(q, axes, angles):
    """Return the angle between a rotation and the turns, by scipy."""
    back = product(axes, angles).inv() * Rotation.from_quat(q, scalar_first=True)
    return back.magnitude()


def best_angles(axes, q):
    count, found = len(axes), []
    for family in range(2):
        angles = turn_angles(axes, 0, count, q, np.zeros(count), family)
        found.append(np.array(angles[:count]))
    return min(found, key=lambda angles: left(q, axes, angles))


@COUNTS
def test_turns_of_any_axes_are_found_again(rng, count):
    orders = [[0, 1, 2], [2, 0, 1], [0, 1, 0], [2, 0, 2], [1, 2, 1]]
    square = [np.eye(3)[order[:count]] * rng.choice([-1.0, 1.0], (count, 1)) for order in orders]
    for axes in (*square, *unit(rng, (200, count, 3))):
        q = quat(product(axes, rng.uniform(-np.pi, np.pi, count)))
        assert left(q, axes, best_angles(axes, q)) < 1e-7


@pytest.mark.parametrize('count', [1, 2])
def test_one_and_two_axes_come_nearest(rng, count):
    for _ in range(6):
        axes, q = unit(rng, (count, 3)), unit(rng, 4)
        grid = np.stack(np.meshgrid(*[np.linspace(-np.pi, np.pi, 13)] * count), -1)
        start = min(grid.reshape(-1, count), key=lambda angles: left(q, axes, angles))
        least = minimize(lambda angles: left(q, axes, angles) ** 2, start, tol=1e-12)
        ours = left(q, axes, best_angles(axes, q))
        assert ours <= np.sqrt(least.fun) + 1e-6


@COUNTS
def test_refined_angles_stay_in_limits_and_cannot_be_bettered_one_by_one(rng, count):
    for _ in range(30):
        axes, q = unit(rng, (count, 3)), unit(rng, 4)
        lower = rng.uniform(-1.5, 0.0, count)
        upper = lower + rng.uniform(0.0, 2.0, count)
        angles = rng.uniform(lower, upper)
        before = left(q, axes, angles)
        for _ in range(20):
            refine_angles(axes, q, lower, upper, angles)
        assert np.all(lower <= angles) and np.all(angles <= upper)
        after = left(q, axes, angles)
        assert after <= before + 1e-12
        for i in range(count):
            for other in np.linspace(lower[i], upper[i], 9):
                trial = angles.copy()
                trial[i] = other
                assert after <= left(q, axes, trial) + 1e-5
