# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The robot description: its tree, its published joints, and the meshes it becomes."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
from puppet_core import named_files
from puppet_core.body.character import Capsule, load_character
from puppet_core.body.continuous_euler import ContinuousEuler, JOINT_NAMES, ZONE
from puppet_core.body.kinematics import forward_kinematics
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS
from puppet_core.io import ConfigError
from puppet_core.math import quaternions as batch
from puppet_core.robots.description import merged_parts, read_shape, urdf_text
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
import pytest
from transforms3d import affines
from urdf_walk import link_poses, origin

pytestmark = pytest.mark.slow

POSITION_TOL_M = 1e-9  # twelve digits written, a body of metres
BUILT_IN = ('performer', 'sally', 'blubby', 'frog')


@pytest.fixture(params=BUILT_IN)
def character(request, characters_dir):
    return load_character(characters_dir / f'{request.param}.yaml')


def test_there_are_sixteen_segments_thirty_links_between_and_forty_five_joints(character):
    robot = Xml.fromstring(urdf_text(character))
    links = [link.get('name') for link in robot.findall('link')]
    joints = [joint.get('name') for joint in robot.findall('joint')]
    assert len(links) == len(set(links)) == 46
    assert set(SEGMENTS) <= set(links)
    assert sorted(joints) == sorted(JOINT_NAMES)
    assert {joint.get('type') for joint in robot.findall('joint')} == {'continuous'}


def test_a_character_is_a_robot_by_its_own_description(tmp_path, character):
    path = tmp_path / 'own.urdf'
    path.write_text(urdf_text(character))
    made = character_from_urdf(path, RobotMap()).character
    assert set(made.robot.names) == set(JOINT_NAMES)
    np.testing.assert_allclose(made.skeleton.offsets, character.skeleton.offsets, atol=1e-6)


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


@pytest.mark.parametrize(
    'direction', [[0, 0, 1], [0, 0, -1], [0, -1, 0], [1, 0, 0], [0.3, -0.5, -0.8]]
)
def test_a_capsule_is_a_cylinder_along_it_and_a_ball_at_each_end(adult_character, direction):
    start = np.array([0.1, 0.2, 0.3])
    end = start + 0.37 * np.array(direction)
    body = replace(adult_character, capsules=(Capsule(5, start, end, 0.05),))
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


CHARACTERS = named_files.DATA / 'characters'
HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
TESSELLATION = 0.02  # how far a 24-sided round solid is inside the true one


def test_a_robot_has_a_body_made_of_its_own_solids():
    """Its URDF's links are not ours: the description by segments shows it."""
    robot = character_from_urdf(HUMANOID, RobotMap()).character
    parts = merged_parts(read_shape(urdf_text(robot)))
    # waist joints meet in one point: spine and chest are one part
    assert {SEGMENTS[p.segment] for p in parts} == set(SEGMENTS) - {'spine'}
    foot = np.concatenate([p.vertices for p in parts if p.segment == SEGMENT_INDEX['left_foot']])
    # a box of 22 x 10 cm, 7 cm below the ankle, and a rod between them
    np.testing.assert_allclose(np.ptp(foot[:, :2], axis=0), [0.22, 0.10], atol=TESSELLATION)
    assert foot[:, 2].min() == pytest.approx(-0.07, abs=TESSELLATION)


def test_merged_parts_keep_extent_and_colour():
    character = load_character(CHARACTERS / 'blubby.yaml')
    solids = read_shape(urdf_text(character))
    parts = merged_parts(solids)
    assert len(parts) < len(solids)
    assert {(p.segment, p.colour) for p in parts} == {(s.segment, s.colour) for s in solids}
    for part in parts:
        own = [s for s in solids if (s.segment, s.colour) == (part.segment, part.colour)]
        top = max(s.start[2] + s.radius for s in own if np.array_equal(s.start, s.end))
        assert part.vertices[:, 2].max() == pytest.approx(top, abs=TESSELLATION)
        assert part.triangles.max() < len(part.vertices)


LINK = '<robot><link name="pelvis"><visual>{}</visual></link></robot>'


@pytest.mark.parametrize(
    'text',
    [
        '',
        'no xml',
        LINK.format('<origin xyz="a b c"/>'),
        LINK.format('<geometry><sphere radius="x"/></geometry>'),
        LINK.format('<geometry><sphere radius="inf"/></geometry>'),
        'x' * 3_000_000,
    ],
    ids=['empty', 'text', 'words', 'radius', 'infinite', 'huge'],
)
def test_broken_description_is_refused(text):
    with pytest.raises(ConfigError, match='robot_description: expected'):
        read_shape(text)
