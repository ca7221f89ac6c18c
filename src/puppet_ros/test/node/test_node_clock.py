# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The time of frames: the system's, or the simulated one as soon as that is looked for."""

import time

from puppet_ros.node.clock import NodeClock
from puppet_ros.testing import isolated_context
import pytest
import rclpy
from rclpy.parameter import Parameter

pytestmark = pytest.mark.ros


def test_the_system_s_time_unless_it_is_simulated() -> None:
    with isolated_context() as context:
        node = rclpy.create_node('clock', context=context)
        clock = NodeClock(node)
        before_ns = time.time_ns()
        assert before_ns <= clock.now_ns() <= node.get_clock().now().nanoseconds
        node.set_parameters([Parameter('use_sim_time', value=True)])
        clock.look()
        assert clock.now_ns() == 0  # nobody publishes /clock
        node.set_parameters([Parameter('use_sim_time', value=False)])
        clock.look()
        assert clock.now_ns() >= before_ns


def test_a_node_that_begins_with_simulated_time_has_it_from_the_start() -> None:
    with isolated_context() as context:
        node = rclpy.create_node(
            'clock', context=context, parameter_overrides=[Parameter('use_sim_time', value=True)]
        )
        assert NodeClock(node).now_ns() == 0
