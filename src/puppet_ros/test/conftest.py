# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_ros: seeded numbers and an isolated ROS context."""

from collections.abc import Callable, Iterator
import os
import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('puppet_msgs', reason='needs the built messages')

SPIN_DEADLINE_S = 60.0


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded generator."""
    return np.random.default_rng(20261120)


@pytest.fixture
def ros_context() -> Iterator['rclpy.Context']:
    """Yield an initialised context of its own, on a domain of this process."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=1 + os.getpid() % 100)
    yield context
    rclpy.try_shutdown(context=context)


@pytest.fixture
def spin_until(ros_context: 'rclpy.Context') -> Iterator[Callable]:
    """Yield a function of (nodes, condition) that spins until it holds or a deadline."""
    from puppet_ros.spin import make_executor

    executor = make_executor(ros_context)
    added = set()

    def run(nodes: list, condition: Callable[[], bool]) -> bool:
        for node in nodes:
            if node not in added:
                executor.add_node(node)
                added.add(node)
        deadline = time.monotonic() + SPIN_DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
        return condition()

    yield run
    executor.shutdown()
