# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's angles of a posture: exact where it can take it, within limits where not; drawn so."""

import re

import numpy as np
from puppet_core.body import N_SEGMENTS, parse_urdf, SEGMENT_INDEX, SEGMENTS
from puppet_core.math import quaternions as qb
from puppet_core.robots import character_from_urdf, drawn_robot, RobotMap
from puppet_core.robots.segment_angles import Hinges, turn_bodies, turn_segments
import pytest
from scipy.spatial.transform import Rotation
from transforms3d import affines
import trimesh
from urdf_make import five_axis_arms
from urdf_walk import HUMANOID, limits, link_poses

TEXT = HUMANOID.read_text()
ROOT = np.array([0.1, 0.2, 0.9])


@pytest.fixture(scope='module')
def character():
    return character_from_urdf(HUMANOID, RobotMap()).character


def posture(character, rng, share):
    """Return angles by name within a share of their limits, the pelvis, and our segments."""
    angles = {}
    for name in character.robot.names:
        low, high = limits(TEXT)[name]
        angles[name] = rng.uniform(share * low, share * high)
    pelvis = qb.exp(rng.normal(size=3))
    root = affines.compose(ROOT, qb.to_matrix(pelvis), np.ones(3))
    poses, zero = link_poses(TEXT, angles, root), link_poses(TEXT, dict.fromkeys(angles, 0.0))
    q_world = np.tile(pelvis, (N_SEGMENTS, 1))
    for i, name in enumerate(SEGMENTS[1:], start=1):
        link = {'spine': 'base', 'chest': 'torso'}.get(name, name)
        turned = qb.from_matrix(poses[link][:3, :3] @ zero[link][:3, :3].T)
        q_world[i] = qb.multiply(turned, qb.conjugate(character.robot.rest[i]))
    return angles, root, q_world


def test_a_posture_that_the_robot_takes_is_found_exactly(character, rng):
    for _ in range(50):
        _, _, q_world = posture(character, rng, 0.9)
        found = turn_segments(character.robot, character.skeleton, ROOT, q_world)
        off = qb.log(qb.multiply(qb.conjugate(q_world), found.q_world))
        assert np.abs(off).max() < 1e-6


def test_limits_hold_whatever_is_asked(character, rng):
    for _ in range(50):
        q_world = qb.exp(2.0 * rng.normal(size=(N_SEGMENTS, 3)))
        found = turn_segments(character.robot, character.skeleton, ROOT, q_world)
        assert np.all(character.robot.lower <= found.angles)
        assert np.all(found.angles <= character.robot.upper)


def test_a_limit_takes_no_more_than_it_has_to(made):
    """A shoulder that stops 14 degrees before the T-pose costs the arm little more than those."""
    character = made(five_axis_arms().text()).character
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1))
    found = turn_segments(character.robot, character.skeleton, ROOT, rest)
    off = np.degrees(np.linalg.norm(qb.log(found.q_world), axis=1))
    assert off[SEGMENT_INDEX['left_upper_arm']] < 30.0
    assert off[SEGMENT_INDEX['left_forearm']] < 30.0


@pytest.mark.parametrize('count', [1, 2, 3])
def test_turns_of_any_axes_are_found_again(rng, count):
    orders = [[0, 1, 2], [2, 0, 1], [0, 1, 0], [2, 0, 2], [1, 2, 1]]
    square = [np.eye(3)[order[:count]] * rng.choice([-1.0, 1.0], (count, 1)) for order in orders]
    others = rng.normal(size=(200, count, 3))
    free = np.full(count, np.inf)
    first = np.array([0, 0, *[count] * 15])  # all are joints of the spine
    for axes in (*square, *others / np.linalg.norm(others, axis=-1, keepdims=True)):
        turned = Rotation.identity()
        for axis, angle in zip(axes, rng.uniform(-np.pi, np.pi, count)):
            turned = turned * Rotation.from_rotvec(angle * axis)
        q, p = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1)), np.zeros((N_SEGMENTS, 3))
        q[1] = turned.as_quat(scalar_first=True)
        turn_bodies(Hinges(axes, np.zeros((count, 3)), -free, free), first, q, p, np.zeros(count))
        back = turned.inv() * Rotation.from_quat(q[1], scalar_first=True)
        assert back.magnitude() < 1e-6


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
    robot, urdf = drawn_robot(character), parse_urdf(HUMANOID, TEXT)
    links = [urdf.root, *(joint.child for joint in urdf.joints)]
    for _ in range(20):
        angles, root, q_world = posture(character, rng, 0.3)
        expected = link_poses(text, angles, root)
        q, p = robot.poses(q_world, np.tile(ROOT, (N_SEGMENTS, 1)))
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
