# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_ros, all of whose tests need ROS 2."""

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')


@pytest.fixture
def spin_until(ros_context):
    """Yield a function of (nodes, condition) that spins until it holds or a deadline."""
    from puppet_ros.node.spin import make_executor
    from puppet_ros.testing import spin_until as wait

    executor = make_executor(ros_context)
    added = set()

    def run(nodes, condition):
        for node in nodes:
            if node not in added:
                executor.add_node(node)
                added.add(node)
        return wait(executor, condition)

    yield run
    executor.shutdown()
