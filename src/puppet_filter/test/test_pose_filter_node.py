# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""pose_filter_node on real topics: one frame in, one out, same stamp; live tuning; bad input."""

from array import array
import itertools
import math
import time

from filter_samples import make_frame, tracker_message
import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402,I100
from geometry_msgs.msg import PoseArray  # noqa: E402
from puppet_core.io import ConfigError  # noqa: E402
from puppet_core.sensor_frames import FILTER_OK  # noqa: E402
from puppet_filter.parameters import PoseFilterConfig, ROWS  # noqa: E402
from puppet_filter.pose_filter import default_noise, PoseFilter  # noqa: E402
from puppet_filter.pose_filter_node import (  # noqa: E402
    FILTERED_TOPIC,
    POSE_ARRAY_TOPIC,
    PoseFilterNode,
    RAW_TOPIC,
)
from puppet_filter.sensor_noise import save_noise  # noqa: E402
from puppet_msgs.msg import PoseFrame, TrackerFrame  # noqa: E402
from puppet_ros.messages import from_pose_frame  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import spin_until  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

pytestmark = pytest.mark.ros

SILENCE_S = 0.3  # more than what a takeover waits for


class Graph:
    def __init__(self, context, **overrides):
        given = [Parameter(k.replace('__', '.'), value=v) for k, v in overrides.items()]
        self.node = PoseFilterNode(context=context, parameter_overrides=given)
        self.other = Node('other', context=context)
        self.filtered = []
        self.statuses = []
        self.publisher = self.other.create_publisher(TrackerFrame, RAW_TOPIC, qos.STREAM)
        self.other.create_subscription(PoseFrame, FILTERED_TOPIC, self.filtered.append, qos.STREAM)
        self.other.create_subscription(
            DiagnosticArray, '/diagnostics', lambda msg: self.statuses.extend(msg.status), 10
        )
        self.executor = make_executor(context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.other)
        assert self.spin_until(
            lambda: (
                self.publisher.get_subscription_count() > 0
                and self.node.count_subscribers(FILTERED_TOPIC) > 0
            )
        )

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.other.destroy_node()

    def spin_until(self, condition):
        return spin_until(self.executor, condition)

    def fall_silent(self):
        """Let so much time pass that another publisher may take over."""
        until = time.monotonic() + SILENCE_S
        assert self.spin_until(lambda: time.monotonic() > until)

    def send(self, msg):
        before = len(self.filtered)
        self.publisher.publish(msg)
        assert self.spin_until(lambda: len(self.filtered) > before)
        return self.filtered[-1]


@pytest.fixture
def graph(ros_context):
    graph = Graph(ros_context)
    yield graph
    graph.close()


def raw(index, positions):
    return tracker_message(make_frame(index, positions))


def test_every_frame_comes_out_with_its_own_stamp_and_index(graph):
    for k in range(10):
        sent = raw(k, [[0.01 * k, 1.0, 2.0]])
        got = graph.send(sent)
        assert got.header == sent.header and got.frame_index == k
    frame = from_pose_frame(got)
    assert frame.status[0] == FILTER_OK
    np.testing.assert_allclose(frame.positions[0], [0.09, 1.0, 2.0], atol=1e-3)
    np.testing.assert_allclose(frame.linear_velocities[0], [1.2, 0.0, 0.0], atol=0.05)


def test_bad_and_late_messages_are_counted_and_the_next_is_filtered(graph):
    graph.send(raw(1, [[0.0, 0.0, 0.0]]))
    broken = raw(2, [[0.0, 0.0, 0.0]])
    broken.positions = array('d', [1.0])
    graph.publisher.publish(broken)
    graph.publisher.publish(raw(1, [[0.0, 0.0, 0.0]]))
    got = graph.send(raw(3, [[0.0, 0.0, 0.0]]))
    assert got.frame_index == 3 and len(graph.filtered) == 2

    def counted():
        if not graph.statuses:
            return False
        values = {item.key: item.value for item in graph.statuses[-1].values}
        return values.get('drops_bad_input') == '1' and values.get('drops_stamp') == '1'

    assert graph.spin_until(counted)


def test_lookahead_takes_effect_while_running(graph):
    for k in range(60):
        graph.send(raw(k, [[2.0 * (k + 1) * 8_333_333e-9, 0.0, 0.0]]))
    result = graph.node.set_parameters([Parameter('lookahead_s', value=0.05)])[0]
    assert result.successful
    got = graph.send(raw(60, [[2.0 * 61 * 8_333_333e-9, 0.0, 0.0]]))
    ahead = from_pose_frame(got).positions[0, 0] - 2.0 * 61 * 8_333_333e-9
    assert ahead == pytest.approx(0.1, abs=1e-3)


def test_every_parameter_may_be_changed_while_running(graph):
    for row in ROWS:
        value = row.choices[-1] if row.choices else graph.node.get_parameter(row.name).value
        result = graph.node.set_parameters([Parameter(row.name, value=value)])[0]
        assert result.successful, (row.name, result.reason)


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('gate.jump_count', 0, 'gate.jump_count: expected 1'),
        ('noise.position_mm', math.nan, 'noise.position_mm: expected'),
        ('lookahead_s', math.inf, 'lookahead_s: expected'),
        ('process.model', 'best', 'process.model: expected'),
        ('process.q2', 0.5, 'process.q3: expected'),
        ('lookahead_s', 'soon', 'lookahead_s'),
    ],
)
def test_bad_value_is_refused_in_the_stream_and_changes_nothing(graph, name, value, text):
    twin = PoseFilter(PoseFilterConfig())
    places = np.cumsum(np.full((40, 1, 3), 0.01), axis=0)
    for k in range(40):
        if k == 20:
            before = graph.node.get_parameter(name).value
            result = graph.node.set_parameters([Parameter(name, value=value)])[0]
            assert not result.successful and text in result.reason
            assert graph.node.get_parameter(name).value == before
        got = from_pose_frame(graph.send(raw(k, places[k])))
        expected = twin.step(make_frame(k, places[k]))
        np.testing.assert_array_equal(got.positions, expected.positions)
        np.testing.assert_array_equal(got.twist_covariances, expected.twist_covariances)


def test_measured_noise_is_read_while_running_and_a_bad_file_refused(graph, tmp_path):
    path = tmp_path / 'noise.yaml'
    before = graph.send(raw(0, [[0.0, 0.0, 0.0]]))
    save_noise({'s0': 16.0 * default_noise(PoseFilterConfig())}, path)
    assert graph.node.set_parameters([Parameter('noise.file', value=str(path))])[0].successful
    # the state keeps the covariance it has; a new one begins with the new R
    graph.fall_silent()
    after = graph.send(raw(100, [[0.0, 0.0, 0.0]]))
    assert after.pose_covariances[0] == pytest.approx(16.0 * before.pose_covariances[0])
    path.write_text('format: nonsense\n')
    result = graph.node.set_parameters([Parameter('noise.file', value=str(path))])[0]
    assert not result.successful and f'noise.file: {path}' in result.reason
    graph.fall_silent()
    again = graph.send(raw(200, [[0.0, 0.0, 0.0]]))
    assert again.pose_covariances[0] == pytest.approx(after.pose_covariances[0])


def test_pose_array_comes_on_request(graph):
    arrays = []
    graph.other.create_subscription(PoseArray, POSE_ARRAY_TOPIC, arrays.append, qos.STREAM)
    places = [[1.0, 2.0, 3.0], [np.nan, 0.0, 0.0]]
    graph.send(raw(0, places))
    assert graph.node.count_publishers(POSE_ARRAY_TOPIC) == 0
    frames = itertools.count(1)
    for mode, n_poses in (('all', 2), ('valid', 1)):
        assert graph.node.set_parameters([Parameter('pose_array', value=mode)])[0].successful

        def heard(n_poses=n_poses):
            graph.send(raw(next(frames), places))
            return bool(arrays) and len(arrays[-1].poses) == n_poses

        assert graph.spin_until(heard)
        assert arrays[-1].header.frame_id == 'transmitter'
        assert arrays[-1].poses[0].position.x == pytest.approx(1.0)


def test_lost_sensor_is_named_in_the_diagnostics(graph):
    indices = iter(range(100_000))

    def named():
        graph.send(raw(next(indices), [[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]))
        return any('no samples from s1' in status.message for status in graph.statuses)

    assert graph.spin_until(named)


@pytest.mark.parametrize(
    ('overrides', 'text'),
    [
        ({'gate__mahalanobis_limit': 0.5}, 'gate.mahalanobis_limit: expected 1.0'),
        ({'nonsense': 1}, 'nonsense: expected a known parameter'),
        ({'noise__file': '/no/such.yaml'}, 'noise.file: /no/such.yaml: expected a readable'),
    ],
)
def test_bad_start_parameter_is_refused(ros_context, overrides, text):
    with pytest.raises(ConfigError, match=text):
        Graph(ros_context, **overrides)
