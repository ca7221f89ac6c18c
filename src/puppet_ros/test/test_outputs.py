# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""joint_state, tf_message, robot_description: refilled outputs and the latched text."""

import numpy as np
from puppet_ros.messages.retarget_msg import JointStateWriter
from puppet_ros.messages.tf_message import TransformsWriter
from puppet_ros.node import qos
from puppet_ros.node.transforms import RobotDescriptionPublisher
import pytest
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

STAMP_NS = 1_790_000_000_123_456_789


def test_joint_state_carries_names_angles_and_stamp():
    writer = JointStateWriter(['a_z', 'a_y'], 'world')
    writer.fill(1, np.zeros(2))
    msg = writer.fill(STAMP_NS, np.array([0.5, -0.5]))
    msg = deserialize_message(serialize_message(msg), JointState)
    assert list(msg.name) == ['a_z', 'a_y'] and list(msg.position) == [0.5, -0.5]
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == divmod(STAMP_NS, 10**9)
    assert len(msg.velocity) == 0 and msg.header.frame_id == 'world'


def test_every_transform_has_stamp_frames_and_xyzw(rng):
    frames = [('world', 'puppet/pelvis'), ('puppet/pelvis', 'puppet/spine')]
    positions, quaternions = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    msg = TransformsWriter(frames).fill(STAMP_NS, positions, quaternions)
    msg = deserialize_message(serialize_message(msg), TFMessage)
    for item, names, p, q in zip(msg.transforms, frames, positions, quaternions):
        t, r = item.transform.translation, item.transform.rotation
        assert (item.header.frame_id, item.child_frame_id) == names
        assert (item.header.stamp.sec, item.header.stamp.nanosec) == divmod(STAMP_NS, 10**9)
        assert [t.x, t.y, t.z] == p.tolist()
        assert [r.w, r.x, r.y, r.z] == q.tolist()


def test_wrong_number_of_transforms_is_refused():
    with pytest.raises(ValueError, match='zip'):
        TransformsWriter([('a', 'b')]).fill(0, np.zeros((2, 3)), np.zeros((2, 4)))


def test_late_subscriber_gets_the_last_description(ros_context, spin_until):
    node, late = Node('robot', context=ros_context), Node('late', context=ros_context)
    publisher = RobotDescriptionPublisher(node, 'robot_description', '<robot name="a"/>')
    publisher.publish('<robot name="b"/>')
    publisher.publish('<robot name="b"/>')
    texts: list[str] = []
    late.create_subscription(
        String, 'robot_description', lambda msg: texts.append(msg.data), qos.LATCHED
    )
    assert spin_until([node, late], lambda: bool(texts))
    assert texts == ['<robot name="b"/>']
