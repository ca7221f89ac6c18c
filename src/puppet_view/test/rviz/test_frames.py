# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""TF frames of puppets and robots: the URDF's tree, and links where the posture has them."""

from pathlib import Path
from xml.etree import ElementTree

from body_fixtures import floor_only
import numpy as np
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.continuous_euler import JOINT_NAMES
from puppet_core.body.posture import Posture, world_segments
from puppet_core.body.skeleton import SEGMENTS
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.robots.description import urdf_text
from puppet_core.robots.limbs import load_robot_map, RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_retarget.importance.estimator import ImportanceConfig
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.importance.self_interaction import SelfInteractionConfig
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import RetargetModel
from puppet_retarget.solvers.whole_body.solver import measure_packed, solve_packed
from puppet_view.rviz.frames import LinkFrames, RobotFrames
import pytest
from scipy.spatial.transform import Rotation
from urdf_make import rooted_at_the_trunk
from urdf_walk import link_poses

CHARACTERS = named_files.DATA / 'characters'
EXACT_TOL = 1e-9


@pytest.fixture
def sally():
    return load_character(CHARACTERS / 'sally.yaml')


def _posture(seed, spread_rad=0.4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=3), quaternion_batch.exp(rng.normal(size=(16, 3)) * spread_rad)


def test_tree_is_the_urdf_under_the_prefix(sally):
    robot = ElementTree.fromstring(urdf_text(sally).split('\n', 1)[1])
    joints = {
        (f'puppet/{j.find("parent").get("link")}', f'puppet/{j.find("child").get("link")}')
        for j in robot.iter('joint')
    }
    frames = LinkFrames('puppet/').frames
    assert set(frames) == joints | {('world', 'puppet/pelvis')}
    children = [child for _, child in frames]
    assert len(set(children)) == len(children) == 46


@pytest.mark.parametrize('seed', range(5))
def test_chained_frames_meet_the_posture(sally, seed):
    root, rotations = _posture(seed)
    q, p = world_segments(sally.skeleton, root[None], rotations[None])
    frames = LinkFrames('puppet/')
    poses = world_poses(frames, root, rotations, p[0])
    turns = quaternion_batch.to_matrix(q[0])
    for i, segment in enumerate(SEGMENTS):
        pose = poses[f'puppet/{segment}']
        np.testing.assert_allclose(pose[:3, 3], p[0, i], atol=EXACT_TOL)
        np.testing.assert_allclose(pose[:3, :3], turns[i], atol=EXACT_TOL)


HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
PELVIS = 'puppet/pelvis'
FACING_Y = 'format: puppet-robot-map/1\nforward: [0, 1, 0]\n'
FACING_X = 'format: puppet-robot-map/1\n'
# a root link that faces +Y of its own: all below is turned by a quarter about Z
MOUNT = (
    '<link name="{root}"/><joint name="mount" type="fixed"><origin xyz="0 0 0" '
    'rpy="0 0 1.5707963267948966"/><parent link="{root}"/><child link="base"/></joint>'
)
FINGERS = ''.join(
    f'<link name="{side}_finger"/><joint name="{side}_grip" type="revolute">'
    f'<origin xyz="0 0 -0.1" rpy="0 0 0"/><parent link="{side}_hand"/>'
    f'<child link="{side}_finger"/><axis xyz="1 0 0"/><limit lower="-1" upper="1"/>{mimic}</joint>'
    for side, mimic in (
        ('left', ''),
        ('right', '<mimic joint="left_grip" multiplier="-2" offset="0.25"/>'),
    )
)


@pytest.fixture
def made(tmp_path):
    def make(more='', robot_map=FACING_X):
        (tmp_path / 'map.yaml').write_text(robot_map)
        urdf = tmp_path / 'robot.urdf'
        urdf.write_text(HUMANOID.read_text().replace('</robot>', f'{more}</robot>'))
        return character_from_urdf(urdf, load_robot_map(tmp_path / 'map.yaml')).character

    return make


def world_poses(frames, *posture):
    """Chain the transforms into world: an independent forward kinematics."""
    poses = {'world': np.eye(4)}
    for (above, link), p, q in zip(frames.frames, *frames.step(*posture)):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = Rotation.from_quat(q, scalar_first=True).as_matrix(), p
        poses[link] = poses[above] @ pose
    return poses


@pytest.mark.parametrize(
    ('more', 'robot_map', 'first'),
    [
        ('', FACING_X, 'base'),
        (MOUNT.format(root='dock'), FACING_Y, 'dock'),
        (MOUNT.format(root='pelvis'), FACING_Y, 'base'),
    ],
    ids=['plain', 'turned', 'own pelvis'],
)
def test_links_are_where_the_pelvis_is_however_the_root_is_called(made, more, robot_map, first):
    robot = made(more, robot_map).robot
    frames = RobotFrames(robot, 'puppet/')
    assert frames.frames[:2] == (('world', PELVIS), (PELVIS, f'puppet/{first}'))
    children = [child for _, child in frames.frames]
    assert len(set(children)) == len(children)
    angles = np.zeros(len(robot.published_names))
    angles[robot.names.index('left_knee')] = 0.7
    q_root = Rotation.from_rotvec([0.1, 0.2, 0.9]).as_quat(scalar_first=True)
    root = np.array([1.0, 2.0, 0.9])
    poses = world_poses(frames, root, q_root, angles)
    body = np.linalg.inv(poses['puppet/base']) @ [*root, 1.0]
    np.testing.assert_allclose(body[:3], 0.0, atol=1e-12)
    turned = Rotation.from_matrix(poses['puppet/base'][:3, :3])
    np.testing.assert_allclose(turned.as_rotvec(), [0.1, 0.2, 0.9], atol=1e-9)
    shank = np.linalg.inv(poses['puppet/left_thigh']) @ poses['puppet/left_shank']
    assert Rotation.from_matrix(shank[:3, :3]).inv().magnitude() > 0.6


def test_the_pelvis_of_a_robot_rooted_at_its_trunk_is_where_the_posture_has_it(tmp_path):
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(rooted_at_the_trunk().text())
    robot = character_from_urdf(urdf, RobotMap()).character.robot
    frames = RobotFrames(robot, '')
    assert frames.frames[:2] == (('world', 'pelvis'), ('pelvis', 'torso'))
    assert ('pelvis', 'torso') in frames.named(True)
    rng = np.random.default_rng(0)
    angles = dict(zip(robot.published_names, rng.uniform(-0.5, 0.5, len(robot.names))))
    root, q_root = np.array([1.0, 2.0, 0.9]), Rotation.from_rotvec([0.1, 0.2, 0.9])
    posture = root, q_root.as_quat(scalar_first=True), np.array(list(angles.values()))
    poses, alone = world_poses(frames, *posture), link_poses(urdf.read_text(), angles)
    np.testing.assert_allclose(poses['base'][:3, 3], root, atol=1e-12)
    np.testing.assert_allclose(poses['base'][:3, :3], q_root.as_matrix(), atol=1e-9)
    for link, pose in alone.items():
        in_base = np.linalg.inv(poses['base']) @ poses[link]
        np.testing.assert_allclose(in_base, np.linalg.inv(alone['base']) @ pose, atol=1e-9)


def test_a_joint_that_follows_another_does_so(made):
    robot = made(FINGERS).robot
    assert 'left_grip' in robot.published_names and 'right_grip' not in robot.published_names
    frames = RobotFrames(robot, '')
    angles = np.zeros(len(robot.published_names))
    angles[robot.published_names.index('left_grip')] = 0.3
    poses = world_poses(frames, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), angles)
    for side, angle in (('left', 0.3), ('right', -2.0 * 0.3 + 0.25)):
        step = np.linalg.inv(poses[f'{side}_hand']) @ poses[f'{side}_finger']
        turned = Rotation.from_matrix(step[:3, :3]).as_rotvec()
        np.testing.assert_allclose(turned, [angle, 0.0, 0.0], atol=1e-9)


TICK_NS = 8_333_333


def test_frames_of_a_robot_have_its_joints_and_its_posture(adult_character, stepping_motion):
    tin = character_from_urdf(HUMANOID, RobotMap()).character
    motion, config = stepping_motion, RetargetConfig()
    model = RetargetModel(tin, floor_only(), config)
    assert model.joint_names == tin.robot.names
    near = ImportanceModel(floor_only(), ImportanceConfig(), SelfInteractionConfig())
    segments, velocities = motion.world_segments()[1], motion.end_effector_velocities()
    last, kernels = None, (solve_packed, measure_packed)
    for i in range(30):
        if i == 2:
            compiled = [len(kernel.signatures) for kernel in kernels]
        root, rotations = motion.root_positions[i].copy(), motion.rotations[i].copy()
        ends = motion.end_effectors[i].copy()
        posture = Posture(root, rotations, ends, velocities[i].copy())
        rows, self_rows, *_ = near.step(i * TICK_NS, posture, segments[i])
        body = root, segments[i].copy(), rotations, rows.copy(), self_rows.copy()
        frame = model.step(i * TICK_NS, *body, motion.skeleton.leg_length)
        assert np.all(tin.robot.lower <= frame.angles) and np.all(frame.angles <= tin.robot.upper)
        # a waist with three joints and all its room: the spine turns with the chest
        np.testing.assert_allclose(frame.solution.rotations[1], [1.0, 0.0, 0.0, 0.0], atol=1e-9)
        if i == 20:
            model.configure(tin, config)  # a slider: the angles go on
        if last is not None:
            # arms in a T-pose are near the lock of pitch, roll and yaw
            assert np.abs(frame.angles - last).max() < 0.5
        last = frame.angles.copy()
    # nothing compiles again in a live run
    assert [len(kernel.signatures) for kernel in kernels] == compiled
    model.configure(adult_character, config)
    assert model.joint_names == JOINT_NAMES
