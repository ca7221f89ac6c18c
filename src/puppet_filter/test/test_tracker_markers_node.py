# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""tracker_markers on real topics, behind the real filter: what is drawn, when, and where."""

from filter_samples import make_frame, tracker_message
import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_core.io import ConfigError  # noqa: E402,I100
from puppet_filter import tracker_markers_node  # noqa: E402
from puppet_filter.pose_filter_node import PoseFilterNode  # noqa: E402
from puppet_filter.tracker_markers_node import NAMESPACES, TrackerMarkersNode  # noqa: E402
from puppet_msgs.msg import PoseFrame, TrackerFrame  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import spin_until  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

pytestmark = pytest.mark.ros

LATER = 3000  # frames: more than what the filter takes for a hiccup
PATIENCE = 20  # events without an answer: the filter refuses some frames


class Lab:
    def __init__(self, context):
        self.node = TrackerMarkersNode(context=context)
        self.nodes = [PoseFilterNode(context=context), self.node, Node('lab', context=context)]
        self.messages = []
        self.filtered = []
        self.index = self._waited = 0
        self._publisher = self.nodes[2].create_publisher(TrackerFrame, '/tracker/raw', qos.STREAM)
        self.nodes[2].create_subscription(
            PoseFrame, '/tracker/filtered', self.filtered.append, qos.STREAM
        )
        self.executor = make_executor(context)
        for node in self.nodes:
            self.executor.add_node(node)
        assert spin_until(
            self.executor,
            lambda: (
                self._publisher.get_subscription_count() == 2
                and self.node.count_subscribers('/tracker/filtered') == 2
                and self.node.count_publishers('/tracker/filtered') == 1
            ),
        )

    def watch(self):
        self.nodes[2].create_subscription(
            MarkerArray, tracker_markers_node.MARKERS_TOPIC, self.messages.append, 10
        )

    def feed_until(self, condition):

        def feed():
            self._waited += 1
            if self.index and len(self.filtered) < self.index and self._waited < PATIENCE:
                return
            self._waited = 0
            self.index += 1
            places = np.array([[0.001 * self.index, 0.0, 1.0], [0.0, 0.5, 1.2]])
            self._publisher.publish(tracker_message(make_frame(self.index, places)))

        return spin_until(self.executor, condition, before=feed)

    def drawn(self):
        return [m for msg in self.messages for m in msg.markers if m.action == Marker.ADD]


@pytest.fixture
def lab(ros_context):
    made = Lab(ros_context)
    yield made
    made.executor.shutdown()


def test_all_groups_are_drawn_in_the_trackers_frame(lab):
    lab.watch()
    assert lab.feed_until(lambda: {m.ns for m in lab.drawn()} == set(NAMESPACES))
    stamps = {(m.header.stamp.sec, m.header.stamp.nanosec) for m in lab.filtered}
    for marker in lab.drawn():
        assert marker.header.frame_id == 'transmitter'
        assert marker.lifetime.sec or marker.lifetime.nanosec
        assert (marker.header.stamp.sec, marker.header.stamp.nanosec) in stamps
    trail = next(m for m in lab.drawn() if m.ns == 'trails')
    assert trail.type == Marker.LINE_LIST and len(trail.points) == len(trail.colors) > 0


def test_nobody_watching_costs_no_markers(lab):
    made = []
    lab.node._markers.step = lambda *given: made.append(given) or ()
    assert lab.feed_until(lambda: len(lab.filtered) > 30)
    assert not made


def test_time_that_jumps_back_takes_all_away(lab):
    lab.watch()
    lab.index = LATER
    assert lab.feed_until(lambda: bool(lab.drawn()))
    lab.index = 0
    lab.messages.clear()
    assert lab.feed_until(
        lambda: any(m.action == Marker.DELETEALL for msg in lab.messages for m in msg.markers)
    )


def test_parameters_are_checked(ros_context):
    with pytest.raises(ConfigError, match='rate_hz: expected 0.0 <= value <= 30.0'):
        TrackerMarkersNode(
            context=ros_context, parameter_overrides=[Parameter('rate_hz', value=60.0)]
        )
