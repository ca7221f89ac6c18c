# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""pose_topics on real topics: PoseStamped and PoseArray in, whole frames in our axes out."""

import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from driver_graph import NodeGraph, overrides  # noqa: E402
from geometry_msgs.msg import PoseArray, PoseStamped  # noqa: E402
from puppet_core.math import quaternions as quaternion_batch  # noqa: E402
from puppet_core.math.quaternions import from_rpy  # noqa: E402
from puppet_driver.pose_topics_node import OUTPUT_TOPIC, PoseTopicsNode  # noqa: E402
from puppet_ros.messages import flat_array, from_tracker_frame  # noqa: E402
from puppet_ros.messages.tf_message import TransformsWriter  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.streams import pose_row, to_poses  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

pytestmark = pytest.mark.ros
SENSORS = ['pelvis', 'head']
PLACES = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.25]])
TURNS = quaternion_batch.exp(np.array([[0.1, -0.4, 0.8], [1.0, 0.0, 0.2]]))


class Graph(NodeGraph):
    def __init__(self, context, **options):
        given = overrides(**{'sensors': SENSORS, **options})
        super().__init__(context, PoseTopicsNode(context=context, parameter_overrides=given))

    def publisher(self, kind, topic):
        publisher = self.listener.create_publisher(kind, topic, 10)
        assert self.spin_until(lambda: publisher.get_subscription_count() > 0)
        assert self.spin_until(lambda: self.node.count_subscribers(OUTPUT_TOPIC) > 0)
        return publisher

    def frame(self, number=1):
        assert self.spin_until(lambda: len(self.frames) >= number)
        return from_tracker_frame(self.frames[number - 1][1])

    def statuses(self):
        return [status for message in self.diagnostics for status in message.status]


@pytest.fixture
def graph(ros_context):
    graphs = []

    def make(**overrides):
        graphs.append(Graph(ros_context, **overrides))
        return graphs[-1]

    yield make
    for one in graphs:
        one.close()


def stamped(row, stamp_ns, frame_id='lab'):
    msg = PoseStamped(pose=to_poses(PLACES[row : row + 1], TURNS[row : row + 1])[0])
    msg.header.frame_id = frame_id
    flat_array.write_stamp(stamp_ns, msg.header.stamp)
    return msg


def test_stamped_poses_become_frames_with_ages(graph):
    run = graph(topics=['/vrpn_mocap/{sensor}/pose'], frame_timeout_s=1.0)
    publishers = [run.publisher(PoseStamped, f'/vrpn_mocap/{s}/pose') for s in SENSORS]
    begin_ns = time.time_ns()
    for tick in range(3):
        for row, publisher in enumerate(publishers):
            publisher.publish(stamped(row, begin_ns + 8_000_000 * tick + 2_000_000 * row))
        frame = run.frame(tick + 1)
        assert frame.stamp_ns == begin_ns + 8_000_000 * tick + 2_000_000
        assert frame.sensors == tuple(SENSORS) and not frame.status.any()
        np.testing.assert_allclose(frame.positions, PLACES)
        np.testing.assert_allclose(frame.quaternions, TURNS)
        np.testing.assert_allclose(frame.ages_s, [0.002, 0.0], atol=1e-9)
    assert run.frames[0][1].header.frame_id == 'transmitter'
    wanted = {('world', 'transmitter'), ('transmitter', 'tracker/head')}

    def told():
        sent = [t for messages in run.transforms.values() for m in messages for t in m.transforms]
        return wanted <= {(t.header.frame_id, t.child_frame_id) for t in sent}

    assert run.spin_until(told)


def test_pose_array_of_a_tracker_with_y_up_in_millimetres(graph):
    run = graph(
        topics=['/poses[1]', '/poses[0]'],
        unit_m=0.001,
        source__rpy_deg=[90.0, 0.0, 0.0],
        source__position_m=[0.0, 0.0, 1.0],
        pose_array='all',
    )
    publisher = run.publisher(PoseArray, '/poses')
    msg = PoseArray(poses=to_poses(np.array([[1e3, 2e3, 3e3], [0.0, 0.0, 0.0]]), TURNS))
    publisher.publish(msg)
    frame = run.frame()
    np.testing.assert_allclose(frame.positions, [[0.0, 0.0, 1.0], [1.0, -3.0, 3.0]], atol=1e-12)
    turn = from_rpy(np.radians([90.0, 0.0, 0.0]))
    expected = quaternion_batch.multiply(turn, TURNS[::-1])
    np.testing.assert_allclose(frame.quaternions, expected, atol=1e-12)
    assert abs(frame.stamp_ns - time.time_ns()) < 60e9  # no stamp in the header: arrival
    assert run.spin_until(lambda: bool(run.arrays))
    rows = np.array([pose_row(pose) for pose in run.arrays[0].poses])
    positions, quaternions = rows[:, :3], rows[:, 3:]
    np.testing.assert_array_equal(positions, frame.positions)
    np.testing.assert_array_equal(quaternions, frame.quaternions)
    assert run.arrays[0].header == run.frames[0][1].header


def test_axes_come_from_static_transforms(graph):
    run = graph(topics=['/a', '/b'], axes='tf', transmitter__position_m=[0.0, 0.0, 1.0])
    publishers = [run.publisher(PoseStamped, topic) for topic in ('/a', '/b')]
    static = run.listener.create_publisher(TFMessage, '/tf_static', qos.STATIC_TRANSFORMS)

    def refused():
        publishers[0].publish(stamped(0, time.time_ns()))
        return any('/tf_static does not connect lab' in s.message for s in run.statuses())

    assert run.spin_until(refused)
    turn = quaternion_batch.exp(np.array([0.0, 0.0, np.pi / 2.0]))
    static.publish(
        TransformsWriter([('world', 'lab')]).fill(0, np.array([[5.0, 0.0, 0.0]]), turn[None])
    )

    def whole():
        for row, publisher in enumerate(publishers):
            publisher.publish(stamped(row, time.time_ns()))
        run.executor.spin_once(timeout_sec=0.05)
        return any(not any(frame.status) for _, frame in run.frames)

    assert run.spin_until(whole)
    frame = from_tracker_frame(next(f for _, f in run.frames if not any(f.status)))
    expected = np.array([5.0, 0.0, -1.0]) + quaternion_batch.rotate(turn, PLACES)
    np.testing.assert_allclose(frame.positions, expected, atol=1e-12)


def test_silent_sensor_is_missing_and_its_topic_named(graph):
    run = graph(topics=['/a', '/b'], pose_array='valid')
    publisher = run.publisher(PoseStamped, '/a')
    publisher.publish(stamped(0, time.time_ns()))
    frame = run.frame()  # after the timeout
    assert list(frame.status) == [0, 1] and np.isnan(frame.positions[1]).all()
    assert run.spin_until(lambda: bool(run.arrays)) and len(run.arrays[0].poses) == 1
    assert run.spin_until(lambda: any('nobody publishes /b' in s.message for s in run.statuses()))


def test_short_array_and_garbage_are_counted(graph):
    run = graph(topics=['/poses[*]'])
    publisher = run.publisher(PoseArray, '/poses')
    publisher.publish(PoseArray(poses=to_poses(np.array([[np.nan, 0.0, 0.0]]), TURNS[:1])))
    publisher.publish(PoseArray(poses=to_poses(PLACES, TURNS)))
    np.testing.assert_allclose(run.frame().positions, PLACES)

    def counted():
        values = {v.key: v.value for s in run.statuses() for v in s.values}
        return values.get('drops_short_array') == '1' and values.get('invalid_samples') == '1'

    assert run.spin_until(counted)
