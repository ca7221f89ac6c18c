# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The robot description: its tree, its geometry, and that its joints are the published ones."""

from xml.etree import ElementTree as Xml

import numpy as np
from puppet_core.body.character import Capsule, load_character
from puppet_core.body.continuous_euler import ContinuousEuler, JOINT_NAMES, ZONE
from puppet_core.body.kinematics import forward_kinematics
from puppet_core.body.skeleton import PARENTS, SEGMENTS
from puppet_core.math import quaternions as batch
from puppet_core.robots.description import link_chain, urdf_text
import pytest
from transforms3d import affines
from urdf_walk import floats, link_poses, origin

POSITION_TOL_M = 1e-9  # twelve digits written, a body of metres
BUILT_IN = ('performer', 'sally', 'blubby', 'frog')


@pytest.fixture(params=BUILT_IN)
def character(request, characters_dir):
    """Return each built-in character."""
    return load_character(characters_dir / f'{request.param}.yaml')


def test_there_are_sixteen_segments_thirty_links_between_and_forty_five_joints(character):
    robot = Xml.fromstring(urdf_text(character))
    links = [link.get('name') for link in robot.findall('link')]
    joints = [joint.get('name') for joint in robot.findall('joint')]
    assert len(links) == len(set(links)) == 46
    assert set(SEGMENTS) <= set(links)
    assert sorted(joints) == sorted(JOINT_NAMES)


def test_links_form_one_tree_with_the_segments_parents(character):
    robot = Xml.fromstring(urdf_text(character))
    parent_of = {
        j.find('child').get('link'): j.find('parent').get('link') for j in robot.findall('joint')
    }
    roots = {link.get('name') for link in robot.findall('link')} - set(parent_of)
    assert roots == {'pelvis'}
    for index in range(1, 16):
        after_z, after_y, segment = link_chain(SEGMENTS[index])
        assert parent_of[segment] == after_y and parent_of[after_y] == after_z
        assert parent_of[after_z] == SEGMENTS[PARENTS[index]]


def test_every_joint_is_unlimited_and_turns_about_its_own_axis(character):
    axes = {'z': [0, 0, 1], 'y': [0, 1, 0], 'x': [1, 0, 0]}
    for joint in Xml.fromstring(urdf_text(character)).findall('joint'):
        assert joint.get('type') == 'continuous'
        axis = floats(joint.find('axis').get('xyz'))
        np.testing.assert_array_equal(axis, axes[joint.get('name')[-1]])


def test_zero_angles_are_the_rest_pose(character):
    poses = link_poses(urdf_text(character), dict.fromkeys(JOINT_NAMES, 0.0))
    rest = character.skeleton.rest_positions()
    for index, segment in enumerate(SEGMENTS):
        np.testing.assert_allclose(poses[segment][:3, 3], rest[index], atol=POSITION_TOL_M)


def test_published_angles_give_the_posture_through_the_urdf(rng, character):
    text, split = urdf_text(character), ContinuousEuler()
    skeleton, checked = character.skeleton, 0
    rotvecs = np.cumsum(0.1 * rng.normal(size=(40, 16, 3)), axis=0)
    for rotations in batch.exp(rotvecs):
        q_world, p_world = np.empty((16, 4)), np.empty((16, 3))
        forward_kinematics(skeleton.offsets, np.zeros(3), rotations, q_world, p_world)
        angles = split.step(rotations)
        if np.min(np.abs(np.cos(angles[1::3]))) < ZONE:
            continue  # near gimbal lock angles are allowed to err
        root = affines.compose(np.zeros(3), batch.to_matrix(rotations[0]), np.ones(3))
        poses = link_poses(text, dict(zip(JOINT_NAMES, angles)), root)
        for i, segment in enumerate(SEGMENTS):
            np.testing.assert_allclose(poses[segment][:3, 3], p_world[i], atol=POSITION_TOL_M)
            turned = batch.to_matrix(q_world[i])
            np.testing.assert_allclose(poses[segment][:3, :3], turned, atol=POSITION_TOL_M)
        checked += 1
    assert checked > 10


def _with(character, **changes):
    fields = {name: getattr(character, name) for name in character.__dataclass_fields__}
    return type(character)(**{**fields, **changes})


DIRECTIONS = np.array(
    [
        [0, 0, 1],
        [0, 0, -1],
        [0, 1, 0],
        [0, -1, 0],
        [1, 0, 0],
        [-1, 0, 0],
        [0.3, -0.5, -0.8],
        [-0.4, 0.7, 0.2],
    ]
)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_capsule_is_a_cylinder_along_it_and_a_ball_at_each_end(adult_character, direction):
    start, end = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]) + 0.37 * direction
    body = _with(adult_character, capsules=(Capsule(5, start, end, 0.05),))
    link = Xml.fromstring(urdf_text(body)).find("link[@name='left_forearm']")
    visuals = {visual.find('geometry')[0].tag: visual for visual in link.findall('visual')}
    cylinder = visuals['cylinder'].find('geometry/cylinder')
    half = np.array([0.0, 0.0, 0.5 * float(cylinder.get('length')), 1.0])
    pose = origin(visuals['cylinder'])
    np.testing.assert_allclose((pose @ half)[:3], end, atol=POSITION_TOL_M)
    np.testing.assert_allclose((pose @ (half * [1, 1, -1, 1]))[:3], start, atol=POSITION_TOL_M)
    visuals = link.findall('visual')
    balls = [origin(v)[:3, 3] for v in visuals if v.find('geometry/sphere') is not None]
    np.testing.assert_allclose(sorted(map(tuple, balls)), sorted(map(tuple, (start, end))))
    assert {e.get('radius') for e in link.iter() if e.get('radius')} == {'0.05'}


def test_a_capsule_without_length_is_one_ball(adult_character):
    body = _with(adult_character, capsules=(Capsule(0, np.zeros(3), np.zeros(3), 0.1),))
    shapes = [e.tag for e in Xml.fromstring(urdf_text(body)).iter() if e.get('radius')]
    assert shapes == ['sphere']


def test_every_material_used_is_defined_once_with_its_colour(character):
    robot = Xml.fromstring(urdf_text(character))
    defined = [m.get('name') for m in robot.findall('material')]
    used = {m.get('name') for m in robot.iter('material')}
    assert len(defined) == len(set(defined)) and used == set(defined)
    rgba = {tuple(floats(m.find('color').get('rgba'))) for m in robot.findall('material')}
    expected = {(*character.colour_of(c), 1.0) for c in character.capsules}
    np.testing.assert_allclose(sorted(rgba), sorted(expected), atol=1e-11)


def test_names_with_markup_are_escaped(adult_character):
    text = urdf_text(_with(adult_character, name='a<b>&"c'))
    assert Xml.fromstring(text).get('name') == 'a<b>&"c'
