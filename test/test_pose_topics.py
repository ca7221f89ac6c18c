# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A tracker that only speaks PoseStamped drives the pose filter, on real topics."""

import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from geometry_msgs.msg import PoseStamped  # noqa: E402,I100
from puppet_core.sensor_frames import FILTER_LOST, FILTER_OK  # noqa: E402
from puppet_driver.pose_topics_node import PoseTopicsNode  # noqa: E402
from puppet_filter.pose_filter import warm_up  # noqa: E402
from puppet_filter.pose_filter_node import PoseFilterNode  # noqa: E402
from puppet_msgs.msg import PoseFrame  # noqa: E402
from puppet_ros.messages import flat_array, from_pose_frame  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.node.streams import to_poses  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

pytestmark = pytest.mark.ros

STEP_NS = 8_333_333
SENSORS = ['pelvis', 'head', 'gone']
SPEED = np.array([0.5, 0.0, 0.25])  # [m/s], Y up


@pytest.fixture
def context():
    """Yield an initialised context of its own, on a domain of this process."""
    with isolated_context() as context:
        yield context


def test_poses_of_another_tracker_come_out_filtered_in_our_axes(context):
    warm_up()
    given = {
        'sensors': SENSORS,
        'topics': ['/tracker/{sensor}'],
        'frame_timeout_s': 0.05,
        'source.rpy_deg': [90.0, 0.0, 0.0],
    }
    source = PoseTopicsNode(
        context=context, parameter_overrides=[Parameter(k, value=v) for k, v in given.items()]
    )
    nodes = [source, PoseFilterNode(context=context), rclpy.create_node('lab', context=context)]
    lab, filtered = nodes[-1], []
    lab.create_subscription(PoseFrame, '/tracker/filtered', filtered.append, qos.STREAM)
    publishers = [lab.create_publisher(PoseStamped, f'/tracker/{s}', 10) for s in SENSORS[:2]]
    executor = make_executor(context)
    for node in nodes:
        executor.add_node(node)

    assert spin_until(executor, lambda: all(p.get_subscription_count() for p in publishers))
    assert spin_until(executor, lambda: source.count_subscribers('/tracker/raw') > 0)
    assert spin_until(executor, lambda: nodes[1].count_subscribers('/tracker/filtered') > 0)
    begin_ns, n_frames = time.time_ns(), 60
    for k in range(n_frames):
        place = SPEED * k * STEP_NS * 1e-9
        for row, publisher in enumerate(publishers):
            msg = PoseStamped(pose=to_poses(place[None] + row, np.array([[1.0, 0, 0, 0]]))[0])
            flat_array.write_stamp(begin_ns + k * STEP_NS, msg.header.stamp)
            publisher.publish(msg)
        assert spin_until(executor, lambda: len(filtered) > k)  # noqa: B023
    out = from_pose_frame(filtered[-1])
    executor.shutdown()
    assert out.sensors == tuple(SENSORS) and len(filtered) == n_frames
    assert list(out.status) == [FILTER_OK, FILTER_OK, FILTER_LOST]
    assert out.stamp_ns == begin_ns + (n_frames - 1) * STEP_NS
    # Y up to Z up: (x, y, z) is (x, -z, y)
    turned = np.array([place + row for row in range(2)])[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
    np.testing.assert_allclose(out.positions[:2], turned, atol=1e-4)
    np.testing.assert_allclose(out.linear_velocities[0], [0.5, -0.25, 0.0], atol=0.02)
