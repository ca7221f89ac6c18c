# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The driver's raw frames as PoseArray, on request."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from driver_graph import Graph  # noqa: E402,I100
from geometry_msgs.msg import PoseArray  # noqa: E402
from puppet_driver.emulator.server import EmulatorServer  # noqa: E402
from puppet_driver.tracker_driver_node import (  # noqa: E402
    OUTPUT_TOPIC,
    POSE_ARRAY_TOPIC,
    TrackerDriverNode,
)
from puppet_msgs.msg import TrackerFrame  # noqa: E402
from puppet_ros.messages import tracker_frame  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.pose_array import from_poses  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import spin_until  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

pytestmark = pytest.mark.ros


def test_pose_array_has_the_poses_of_the_frame_with_its_stamp(
    ros_context: Any, emulator: Callable[..., EmulatorServer]
) -> None:
    ports = [str(line.pty.link) for line in emulator().lines]
    given = {'ports': ports, 'auto_configure_pause_s': 0.3, 'pose_array': 'all'}
    node = TrackerDriverNode(
        context=ros_context, parameter_overrides=[Parameter(k, value=v) for k, v in given.items()]
    )
    listener = rclpy.create_node('listener', context=ros_context)
    frames: dict[int, TrackerFrame] = {}
    arrays: list[PoseArray] = []
    listener.create_subscription(
        TrackerFrame, OUTPUT_TOPIC, lambda m: frames.update({stamp_of(m): m}), qos.STREAM
    )
    listener.create_subscription(PoseArray, POSE_ARRAY_TOPIC, arrays.append, qos.STREAM)
    executor = make_executor(ros_context)
    executor.add_node(node)
    executor.add_node(listener)

    def both() -> list[PoseArray]:
        return [msg for msg in arrays if stamp_of(msg) in frames]

    assert spin_until(executor, lambda: bool(both()))
    found = both()
    executor.shutdown()
    assert found[0].header.frame_id == 'transmitter'
    frame = tracker_frame.from_msg(frames[stamp_of(found[0])])
    positions, quaternions = from_poses(found[0].poses)
    np.testing.assert_array_equal(positions, frame.positions)
    np.testing.assert_array_equal(quaternions, frame.quaternions)


def test_topics_come_with_configuring_and_go_with_cleaning_up(
    emulator: Callable[..., EmulatorServer], graph: Callable[..., Graph]
) -> None:
    run = graph(emulator(), autostart=False, pose_array='valid')
    before = topics_of(run.node)
    for _ in range(2):
        run.node.trigger_configure()
        made = [OUTPUT_TOPIC, POSE_ARRAY_TOPIC, '/tf', '/tf_static']
        assert topics_of(run.node) == sorted([*before, *made])
        run.node.trigger_activate()
        assert run.spin_until(run.has(5))
        assert topics_of(run.node) == sorted([*before, *made])
        run.node.trigger_deactivate()
        run.node.trigger_cleanup()
        assert topics_of(run.node) == before


def topics_of(node: TrackerDriverNode) -> list[str]:
    """Return what a node publishes."""
    return sorted(publisher.topic_name for publisher in node.publishers)


def stamp_of(msg: TrackerFrame | PoseArray) -> int:
    """Return a message's stamp [ns]."""
    return msg.header.stamp.sec * 10**9 + msg.header.stamp.nanosec
