# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The browser's node: bodies come from the descriptions by segments, a robot's too."""

import os
from pathlib import Path
import queue
import time
from unittest.mock import MagicMock

import numpy as np
from puppet_core.character import load_character
from puppet_core.posture import Posture
from puppet_core.robot_character import character_from_urdf
from puppet_core.robot_map import RobotMap
from puppet_core.urdf import description_text, urdf_text
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
pytest.importorskip('viser', reason='needs viser')

from puppet_bringup import live_view, view  # noqa: E402,I100
from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_ros import qos  # noqa: E402
from puppet_ros.posture_msg import PostureRecord, PostureWriter  # noqa: E402
from puppet_ros.robot_description import RobotDescriptionPublisher  # noqa: E402
from puppet_ros.spin import make_executor  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from rclpy.node import Node  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 30.0
CHARACTERS = Path(__file__).resolve().parents[3] / 'config' / 'characters'
HUMANOID = Path(__file__).resolve().parents[2] / 'puppet_core' / 'test' / 'humanoid.urdf'


def test_a_robot_is_shown() -> None:
    """Not from its own URDF, whose links are not our segments."""
    robot = character_from_urdf(HUMANOID, RobotMap()).character
    rclpy.init(args=[], domain_id=1 + os.getpid() % 100)
    try:
        shown, other = MagicMock(), Node('other')
        node = view.ViewNode(shown, queue.SimpleQueue())
        RobotDescriptionPublisher(other, '/robot_description', description_text(robot))
        RobotDescriptionPublisher(other, '/puppet/robot_description', urdf_text(robot))
        executor = make_executor(rclpy.get_default_context())
        for one in (node, other):
            executor.add_node(one)
        deadline = time.monotonic() + DEADLINE_S
        while not shown.set_body.called and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
        who, parts, caption = shown.set_body.call_args.args
        executor.shutdown()
    finally:
        rclpy.try_shutdown()
    assert who == live_view.PUPPET
    assert len({part.segment for part in parts}) == 15 and caption == robot.name


def test_puppets_of_other_nodes_are_found() -> None:
    """Whatever moves on a topic /NAME/posture."""
    sally = load_character(CHARACTERS / 'sally.yaml')
    with isolated_context() as context:
        shown, other = MagicMock(is_watched=True), Node('other', context=context)
        node = view.ViewNode(shown, queue.SimpleQueue(), context=context)
        RobotDescriptionPublisher(other, '/puppet2/robot_description', urdf_text(sally))
        stream = other.create_publisher(PostureMsg, '/puppet2/posture', qos.STREAM)
        writer = PostureWriter('sally', 1.2)
        rest = sally.skeleton.rest_positions()
        upright = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
        posture = Posture(np.zeros(3), upright, np.zeros((8, 3)), np.zeros((8, 3)))
        still = PostureRecord(1, 0, 'sally', posture, rest, np.zeros(16, np.uint8), 1.2)
        executor = make_executor(context)
        for one in (node, other):
            executor.add_node(one)
        assert spin_until(
            executor, lambda: shown.move_bodies.called and shown.set_body.called,
            before=lambda: stream.publish(writer.fill(still)),
        )
        assert shown.set_body.call_args.args[0] == 'puppet2'
        (postures,) = shown.move_bodies.call_args.args
        executor.shutdown()
    np.testing.assert_allclose(postures['puppet2'][1], rest)
