# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Two whole graphs on one domain, in namespaces of their own: they do not meet."""

from importlib import import_module

import pytest
from source_tree import ROOT

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

from puppet_bringup.process_table import HARDWARE, NODES, processes  # noqa: E402,I100
from puppet_ros.bags import BagReader, class_of  # noqa: E402
from puppet_ros.interface_table import TF_STATIC, TOPICS  # noqa: E402
from puppet_ros.node import qos  # noqa: E402
from puppet_ros.node.spin import make_executor  # noqa: E402
from puppet_ros.testing import isolated_context, spin_until  # noqa: E402
from robustness.goldens import FOLDER, PERFORMANCE  # noqa: E402

pytestmark = pytest.mark.ros

SPACES = ('/robot1', '/robot2')
RAW = '/tracker/raw'
AHEAD, PATIENCE = 5, 30  # frames, events
GLOBAL = ('/rosout', '/parameter_events')  # of ROS
CHAIN = ('/tracker/filtered', '/performer/posture', '/importance', '/joint_states', '/tf')


def nodes_of(space, context):
    """Return the nodes of a graph but for its tracker, as the process table starts them."""
    given = {'namespace': space, 'rviz': 'tracker.rviz', 'environment': 'demo'}
    for process in processes(HARDWARE, given):
        if process.package and process.name in NODES:
            module, name = NODES[process.name]
            arguments = process.ros_arguments(ROOT / 'config')
            if process.name == 'tracker_driver':
                arguments += ['-p', 'autostart:=false']
            kind = getattr(import_module(module), name)
            yield kind(context=context, cli_args=arguments)


def test_two_graphs_do_not_meet():
    """What enters one comes out of it, and nothing of it in the other; all names are below."""
    with isolated_context() as context:
        executor = make_executor(context)
        for space in SPACES:
            for node in nodes_of(space, context):
                executor.add_node(node)
        other = rclpy.create_node('other', context=context)
        executor.add_node(other)
        kinds = {topic.name: class_of(topic.type) for topic in TOPICS}
        profiles = {topic.name: topic.profile for topic in TOPICS}
        got = {space + topic: 0 for space in SPACES for topic in CHAIN}

        def count(name):
            def on_message(_):
                got[name] += 1

            return on_message

        for space in SPACES:
            for topic in CHAIN:
                name = space + topic
                other.create_subscription(kinds[topic], name, count(name), profiles[topic])
        inputs = {
            topic: other.create_publisher(kinds[topic], SPACES[0] + topic, profile)
            for topic, profile in ((RAW, qos.STREAM), (TF_STATIC, qos.STATIC_TRANSFORMS))
        }
        with BagReader(FOLDER / PERFORMANCE) as reader:
            static, *_ = reader.messages([TF_STATIC])
            frames = iter([message.data for message in reader.messages([RAW])])
        assert spin_until(executor, lambda: inputs[RAW].get_subscription_count() >= 2)
        inputs[TF_STATIC].publish(static.data)

        first = [SPACES[0] + topic for topic in CHAIN]
        sent, calls = 0, 0

        def feed():
            """Publish as fast as frames are filtered, and now and then while nobody hears."""
            nonlocal sent, calls
            calls += 1
            if sent - got[first[0]] < AHEAD or calls % PATIENCE == 0:
                inputs[RAW].publish(next(frames))
                sent += 1

        assert spin_until(executor, lambda: all(got[name] for name in first), before=feed), got
        assert not any(got[SPACES[1] + topic] for topic in CHAIN)
        names = [name for name, _ in other.get_topic_names_and_types()]
        names += [name for name, _ in other.get_service_names_and_types()]
        outside = [name for name in names if not name.startswith((*SPACES, '/other/'))]
        assert set(outside) <= set(GLOBAL), outside
