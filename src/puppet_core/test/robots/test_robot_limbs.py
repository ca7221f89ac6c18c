# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Limbs with joints that follow others, or with more joints than their segments take."""

import re

from puppet_core.body.skeleton import SEGMENTS
from puppet_core.io import InputFileError
from puppet_core.robots.limbs import RobotMap
import pytest
from urdf_make import seven_axis_arms, X
from urdf_walk import HUMANOID

TEXT = HUMANOID.read_text()


def moved(found, segment):
    robot = found.character.robot
    return [robot.names[j] for j in robot.joints_of(SEGMENTS.index(segment))]


def mimicking(follower, leader):
    old = re.search(rf'<joint name="{follower}".*?</joint>', TEXT, re.S).group()
    return TEXT.replace(old, old.replace('</joint>', f'<mimic joint="{leader}"/></joint>'))


def with_clavicles(joints=1):
    """Return a robot of arms with seven axes and more before them."""
    urdf = seven_axis_arms(0.0)
    for side in ('l', 'r'):
        above = 'torso'
        for k in range(joints):
            urdf.joint(f'{side}c{k}', above, f'{side}c{k}', (0, 0, 0), X, (-0.3, 0.3))
            above = f'{side}c{k}'
        first = urdf.joints[side + 'a1']
        urdf.joints[side + 'a1'] = (above, *first[1:])
    return urdf.text()


def test_hips_that_share_a_motor_are_held_and_the_legs_are_found(made):
    found = made(mimicking('right_hip_yaw', 'left_hip_yaw'))
    for side in ('left', 'right'):
        assert moved(found, f'{side}_thigh') == [f'{side}_hip_roll', f'{side}_hip_pitch']
        assert moved(found, f'{side}_shank') == [f'{side}_knee']
        assert moved(found, f'{side}_upper_arm')[0] == f'{side}_shoulder_pitch'
    assert dict(found.character.robot.held) == {'left_hip_yaw': 0.0}
    assert 'left_hip_yaw: held, right_hip_yaw follows it in another limb' in found.notes


def test_a_joint_that_follows_one_of_its_own_limb_is_held_and_named(made):
    found = made(mimicking('right_wrist_pitch', 'right_elbow'))
    assert moved(found, 'right_hand') == ['right_wrist_yaw']
    assert moved(found, 'left_hand') == ['left_wrist_yaw', 'left_wrist_pitch']
    assert found.notes == ('right_wrist_pitch: held, it follows right_elbow',)


def test_joints_that_follow_others_cannot_be_named(made):
    segments = {'right_thigh': ('right_hip_yaw', 'right_hip_roll', 'right_hip_pitch')}
    with pytest.raises(InputFileError, match='an angle of their own, got right_hip_yaw'):
        made(mimicking('right_hip_yaw', 'left_hip_yaw'), RobotMap(segments=segments))


def test_a_clavicle_is_held_and_named(made):
    found, plain = made(with_clavicles()), made(seven_axis_arms(0.0).text())
    for segment in ('left_upper_arm', 'left_forearm', 'left_hand', 'right_hand'):
        assert moved(found, segment) == moved(plain, segment) != []
    assert 'left_arm: held, no part of it: lc0' in found.notes
    assert 'right_arm: held, no part of it: rc0' in found.notes
    assert not any('held' in note for note in plain.notes)
