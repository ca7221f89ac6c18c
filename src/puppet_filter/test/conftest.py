# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of puppet_filter: seeded numbers, and a context of ROS."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20261120)


@pytest.fixture
def ros_context():
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from puppet_ros.testing import isolated_context

    with isolated_context() as context:
        yield context
