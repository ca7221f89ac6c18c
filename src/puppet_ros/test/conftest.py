# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_ros: seeded numbers and an isolated ROS context."""

from collections.abc import Callable

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')


@pytest.fixture
def rng():
    """Return a seeded generator."""
    return np.random.default_rng(20261120)


@pytest.fixture
def ros_context():
    """Yield an initialised context of its own, on a domain of this process."""
    from puppet_ros.testing import isolated_context

    with isolated_context() as context:
        yield context


@pytest.fixture
def spin_until(ros_context):
    """Yield a function of (nodes, condition) that spins until it holds or a deadline."""
    from puppet_ros.node.spin import make_executor
    from puppet_ros.testing import spin_until as wait

    executor = make_executor(ros_context)
    added = set()

    def run(nodes: list, condition: Callable[[], bool]) -> bool:
        for node in nodes:
            if node not in added:
                executor.add_node(node)
                added.add(node)
        return wait(executor, condition)

    yield run
    executor.shutdown()
