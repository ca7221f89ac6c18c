# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The browser's node: bodies come from the descriptions by segments, a robot's too."""

import os
from pathlib import Path
import queue
import time
from typing import Any
from unittest.mock import MagicMock

import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body.posture import MAX_COORDINATE_M, Posture
from puppet_core.robots.description import description_text, urdf_text
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')
pytest.importorskip('viser', reason='needs viser')

from puppet_msgs.msg import Posture as PostureMsg  # noqa: E402
from puppet_ros.messages.posture_msg import PostureRecord, PostureWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.node.transforms import RobotDescriptionPublisher  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from puppet_view.browser import live_page  # noqa: E402,I100
from rclpy.node import Node  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from robustness.chaos.hostile_messages import changes_of, hostile_messages  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

pytestmark = pytest.mark.ros

DEADLINE_S = 30.0
CHARACTERS = Path(__file__).resolve().parents[4] / 'config' / 'characters'
HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'


def test_a_robot_is_shown():
    """Not from its own URDF, whose links are not our segments."""
    robot = character_from_urdf(HUMANOID, RobotMap()).character
    rclpy.init(args=[], domain_id=1 + os.getpid() % 100)
    try:
        shown, other = MagicMock(), Node('other')
        node = live_page.ViewNode(shown, queue.SimpleQueue())
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
    assert who == live_page.PUPPET
    assert len({part.segment for part in parts}) == 15 and caption == robot.name


def _still() -> PostureRecord:
    rest = load_character(CHARACTERS / 'sally.yaml').skeleton.rest_positions()
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
    posture = Posture(np.zeros(3), upright, np.zeros((8, 3)), np.zeros((8, 3)))
    return PostureRecord(1, 0, 'sally', posture, rest, np.zeros(16, np.uint8), 1.2)


def _give(subscription: Any, data: bytes) -> None:
    """Hand bytes to a subscription; who wants a message gets none that cannot be made."""
    content: Any = data
    if not subscription.raw:
        try:
            content = deserialize_message(data, subscription.msg_type)
        except Exception:
            return
    subscription.callback(content)


def posture_of_puppet(node: live_page.ViewNode) -> Any:
    return next(s for s in node.subscriptions if s.topic_name == '/puppet/posture')


def test_hostile_messages_neither_end_the_view_nor_are_drawn():
    marker = Marker(ns='goals', type=Marker.SPHERE)
    good = {PostureMsg: PostureWriter().fill(_still()), MarkerArray: MarkerArray(markers=[marker])}
    with isolated_context() as context:
        shown = MagicMock(is_watched=True)
        node = live_page.ViewNode(shown, queue.SimpleQueue(), context=context)
        for subscription in node.subscriptions:
            kind = subscription.msg_type
            message = good.get(kind) or kind()
            messages = hostile_messages(message, np.random.default_rng(3))
            for _ in range(len(list(changes_of(message))) + 40):
                _give(subscription, next(messages).data)
                for timer in node.timers:
                    timer.callback()
        _give(posture_of_puppet(node), bytes(serialize_message(good[PostureMsg])))
        spoiled = PostureWriter().fill(_still())
        spoiled.segments[0] = np.nan
        node._latest[live_page.PERFORMER] = bytes(serialize_message(spoiled))
        node._draw()
        assert list(shown.move_bodies.call_args.args[0]) == [live_page.PUPPET]
    assert shown.move_bodies.called and shown.set_solids.called
    for call in shown.move_bodies.call_args_list:
        for turns, places in call.args[0].values():
            assert np.isfinite(turns).all() and np.abs(places).max() <= MAX_COORDINATE_M
    for call in shown.set_solids.call_args_list:
        for solid in call.args[1]:
            assert np.isfinite([*solid.position, *solid.rotation, *solid.size]).all()


def test_puppets_of_other_nodes_are_found():
    """Whatever moves on a topic /NAME/posture."""
    sally = load_character(CHARACTERS / 'sally.yaml')
    with isolated_context() as context:
        shown, other = MagicMock(is_watched=True), Node('other', context=context)
        node = live_page.ViewNode(shown, queue.SimpleQueue(), context=context)
        RobotDescriptionPublisher(other, '/puppet2/robot_description', urdf_text(sally))
        stream = other.create_publisher(PostureMsg, '/puppet2/posture', qos.STREAM)
        writer = PostureWriter()
        still = _still()
        executor = make_executor(context)
        for one in (node, other):
            executor.add_node(one)
        assert spin_until(
            executor,
            lambda: shown.move_bodies.called and shown.set_body.called,
            before=lambda: stream.publish(writer.fill(still)),
        )
        assert shown.set_body.call_args.args[0] == 'puppet2'
        (postures,) = shown.move_bodies.call_args.args
        executor.shutdown()
    np.testing.assert_allclose(postures['puppet2'][1], still.segments)
