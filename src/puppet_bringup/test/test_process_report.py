# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The report of the programs: a node that nobody spins."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from puppet_bringup.respawner import NODE_NAME, ProcessReport  # noqa: E402,I100
from puppet_ros.interface_table import DIAGNOSTICS, TOPICS  # noqa: E402
from puppet_ros.testing import isolated_context  # noqa: E402

pytestmark = pytest.mark.ros


def test_it_offers_no_service_that_nobody_would_answer() -> None:
    with isolated_context() as context:
        node = ProcessReport(['filter'], context=context)
        assert list(node.services) == []
        assert DIAGNOSTICS in {publisher.topic_name for publisher in node.publishers}
    assert any(t.name == DIAGNOSTICS and NODE_NAME in t.publishers for t in TOPICS)
