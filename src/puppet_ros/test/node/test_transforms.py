# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Transforms: chains, loops, changes, and what is latched."""

import numpy as np
from puppet_core.math import quaternions
from puppet_ros.messages.tf_message import TransformsWriter
from puppet_ros.node import qos
from puppet_ros.node.transforms import (
    RobotDescriptionPublisher,
    StaticTransforms,
    StaticTransformTree,
    TF_STATIC_TOPIC,
    with_mesh_files,
)
import pytest
from rclpy.node import Node
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

TOL = 1e-12  # a few roundings of numbers near one
QUARTER_TURN_Z = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])


def random_pose(rng):
    q = rng.normal(size=4)
    return rng.normal(size=3), q / np.linalg.norm(q)


def matrix(position, quaternion):
    out = np.eye(4)
    out[:3, :3] = quaternions.to_matrix(quaternion)
    out[:3, 3] = position
    return out


def test_chain_across_a_fork_is_the_product_of_matrices(rng):
    tree = StaticTransformTree()
    edges = {
        ('world', 'a'): random_pose(rng),
        ('a', 'b'): random_pose(rng),
        ('world', 'c'): random_pose(rng),
    }
    for (parent, child), pose in edges.items():
        tree.set(parent, child, *pose)
    expected = (
        np.linalg.inv(matrix(*edges['world', 'c']))
        @ matrix(*edges['world', 'a'])
        @ matrix(*edges['a', 'b'])
    )
    np.testing.assert_allclose(matrix(*tree.lookup('c', 'b')), expected, atol=TOL)


def test_unconnected_frames_are_none_and_a_frame_is_itself():
    tree = StaticTransformTree()
    assert tree.lookup('world', 'transmitter') is None
    position, quaternion = tree.lookup('x', 'x')
    assert position.tolist() == [0, 0, 0] and quaternion.tolist() == [1, 0, 0, 0]


def test_loop_does_not_hang():
    tree = StaticTransformTree()
    tree.set('a', 'b', np.zeros(3), QUARTER_TURN_Z)
    tree.set('b', 'a', np.ones(3), QUARTER_TURN_Z)
    assert tree.lookup('c', 'a') is None
    assert tree.lookup('a', 'b') is not None


@pytest.mark.parametrize('bad', [np.zeros(4), np.full(4, np.nan)], ids=['zero', 'nan'])
def test_impossible_rotation_is_ignored(bad):
    tree = StaticTransformTree()
    assert not tree.set('world', 'a', np.zeros(3), bad)
    assert tree.lookup('world', 'a') is None


def test_endless_names_are_ignored():
    tree = StaticTransformTree()
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    assert not tree.set('world', 'x' * 10_000, np.zeros(3), upright)
    assert not tree.set('x' * 10_000, 'tracker', np.zeros(3), upright)
    assert tree.set('world', 'tracker', np.zeros(3), upright)


def test_repetition_is_no_change_but_a_new_place_is():
    tree = StaticTransformTree()
    assert tree.set('world', 'a', np.zeros(3), QUARTER_TURN_Z)
    assert not tree.set('world', 'a', np.zeros(3), QUARTER_TURN_Z)
    assert tree.set('world', 'a', np.ones(3), QUARTER_TURN_Z)


def test_latched_transform_reaches_a_late_node(ros_context, spin_until, rng):
    talker, listener = (Node(name, context=ros_context) for name in ('talker', 'listener'))
    publisher = talker.create_publisher(TFMessage, TF_STATIC_TOPIC, qos.STATIC_TRANSFORMS)
    position, quaternion = random_pose(rng)
    writer = TransformsWriter([('world', 'transmitter')])
    publisher.publish(writer.fill(5, position[None], quaternion[None]))
    calls = []
    transforms = StaticTransforms(listener, lambda: calls.append(1))
    assert spin_until([talker, listener], lambda: bool(calls))
    found = transforms.lookup('world', 'transmitter')
    np.testing.assert_allclose(matrix(*found), matrix(position, quaternion), atol=TOL)


def test_meshes_of_a_urdf_are_found_from_elsewhere(tmp_path):
    """Relative ones, and those of packages that are not installed; what is not there stays."""
    urdf, mesh = tmp_path / 'tin_description' / 'urdf' / 'tin.urdf', 'my meshes/a.stl'
    file = urdf.parent / mesh
    file.parent.mkdir(parents=True)
    file.touch()
    uri = f'file://{urdf.parent}/my%20meshes/a.stl'
    kept = ('package://puppet_bringup/config/rviz/puppet.rviz.yaml', 'meshes/gone.stl')
    found = {mesh: uri, f'package://tin_description/urdf/{mesh}': uri, **{n: n for n in kept}}

    def text(names):
        meshes = [f"<mesh scale='1 1 1' filename='{name}'/>" for name in names]
        return '\n'.join([f'<texture filename="{mesh}"/>', *meshes])

    assert with_mesh_files(text(found), urdf) == text(found.values())


def test_late_subscriber_gets_the_last_description(ros_context, spin_until):
    node, late = Node('robot', context=ros_context), Node('late', context=ros_context)
    publisher = RobotDescriptionPublisher(node, 'robot_description', '<robot name="a"/>')
    publisher.publish('<robot name="b"/>')
    publisher.publish('<robot name="b"/>')
    texts = []
    late.create_subscription(
        String, 'robot_description', lambda msg: texts.append(msg.data), qos.LATCHED
    )
    assert spin_until([node, late], lambda: bool(texts))
    assert texts == ['<robot name="b"/>']
