# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a robot's links: turned roots, a link named pelvis, joints that follow others."""

from pathlib import Path

import numpy as np
from puppet_core.body.character import Character
from puppet_core.robots.limbs import load_robot_map
from puppet_core.robots.robot_character import character_from_urdf
from puppet_view.rviz.frames import RobotFrames
import pytest
from scipy.spatial.transform import Rotation

HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
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
    def make(more: str = '', robot_map: str = FACING_X) -> Character:
        (tmp_path / 'map.yaml').write_text(robot_map)
        urdf = tmp_path / 'robot.urdf'
        urdf.write_text(HUMANOID.read_text().replace('</robot>', f'{more}</robot>'))
        return character_from_urdf(urdf, load_robot_map(tmp_path / 'map.yaml')).character

    return make


def world_poses(frames: RobotFrames, *posture: np.ndarray) -> dict[str, np.ndarray]:
    poses = {'world': np.eye(4)}
    for (above, link), p, q in zip(frames.frames, *frames.step(*posture)):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = Rotation.from_quat(q, scalar_first=True).as_matrix(), p
        poses[link] = poses[above] @ pose
    return poses


@pytest.mark.parametrize(
    ('more', 'robot_map', 'first'),
    [
        ('', FACING_X, [('world', 'puppet/pelvis'), ('puppet/pelvis', 'puppet/base')]),
        (
            MOUNT.format(root='dock'),
            FACING_Y,
            [('world', 'puppet/pelvis'), ('puppet/pelvis', 'puppet/dock')],
        ),
        (
            MOUNT.format(root='pelvis'),
            FACING_Y,
            [('world', 'puppet/pelvis'), ('puppet/pelvis', 'puppet/base')],
        ),
    ],
    ids=['plain', 'turned', 'own pelvis'],
)
def test_links_are_where_the_pelvis_is_however_the_root_is_called(made, more, robot_map, first):
    robot = made(more, robot_map).robot
    frames = RobotFrames(robot, 'puppet/')
    assert list(frames.frames[:2]) == first
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
